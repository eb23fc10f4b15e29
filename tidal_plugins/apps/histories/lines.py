"""Files of JSON: one value a line, or one long list, read a piece at a time; from an archive, too."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tidal_plugins.apps.histories.conversation import Unknown
from tidal_plugins.patterns import lazy_re

CHUNK = 1 << 20
"""Characters that are read at once of a long list."""

CONVERSATIONS = lazy_re(r"conversations(?:-\d+)?\.json")
"""The files with the conversations in the archive of an export. A long one has several."""


def opened(path: Path) -> Iterator[IO[str]]:
    """Yield a file, or those with the conversations in an archive. Raises ``Unknown`` for an archive without any."""
    if path.suffix.lower() != ".zip":
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            yield file
        return
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if CONVERSATIONS.fullmatch(Path(name).name))
            if not names:
                raise Unknown("the archive has no conversations.json")
            for name in names:
                with archive.open(name) as inner:
                    yield io.TextIOWrapper(inner, encoding="utf-8-sig", errors="replace")
    except zipfile.BadZipFile as error:
        raise Unknown("it is no archive that can be read") from error


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file with one a line. A line that is none is passed over: the last may be half-written."""
    for file in opened(path):
        for line in file:
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value


def items(path: Path) -> Iterator[Any]:
    """Yield the values of a long list; a file with one value has that one. Raises ``Unknown`` for what is no JSON."""
    for file in opened(path):
        yield from _items(file)


def _items(file: IO[str]) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    held = file.read(CHUNK).lstrip()
    if not held.startswith("["):
        yield _whole(held + file.read())
        return
    held, step = held[1:], CHUNK
    while True:
        held = held.lstrip(" \t\r\n,")
        if held.startswith("]"):
            return
        try:
            value, end = decoder.raw_decode(held)
        except ValueError as error:
            more = file.read(step)
            if not more:
                raise Unknown("it is no JSON, or its end is missing") from error
            held, step = held + more, step * 2
            continue
        if end == len(held) and (more := file.read(CHUNK)):  # a number may go on
            held += more
            continue
        yield value
        held, step = held[end:], CHUNK


def _whole(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise Unknown("it is no JSON, or its end is missing") from error
