"""Files of histories: their values, one a line or a long list read by the piece, and which format they are in."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

from tidal_plugins.apps.histories import HOMES
from tidal_plugins.apps.histories.conversation import Unknown
from tidal_plugins.patterns import lazy_re

CHUNK = 1 << 20
"""Characters that are read at once of a long list."""

CONVERSATIONS = lazy_re(r"conversations(?:-\d+)?\.json")
"""The files with the conversations in the archive of an export. A long one has several."""


LOOK = 20
"""Lines of a transcript by which its format is told: the first ones may be of any kind."""

SQLITE = b"SQLite format 3\0"

SUFFIXES = frozenset([".jsonl", ".json", ".zip", ".db", ".sqlite", ".sqlite3"])


def opened(path: Path) -> Iterator[IO[str]]:
    """Yield a file, or those with the conversations in an archive. Raises ``Unknown`` for an archive without any."""
    if path.suffix.lower() != ".zip":
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            yield file
        return
    import zipfile

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


def files_at(path: Path, format: str | None) -> Iterator[Path]:
    """Yield the files of a history, in order: a file, or those of a folder that may be one. Memories are none."""
    if not path.is_dir():
        if not path.exists():
            raise Unknown("there is no such file or folder")
        yield path
        return
    only = {".jsonl"} if format in HOMES else SUFFIXES
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in only and file.is_file())
    yield from (file for file in files if not _is_memory(file))


def _is_memory(path: Path) -> bool:
    """Return whether a file is a memory of this library, by the header of SQLite files."""
    with path.open("rb") as file:
        header = file.read(72)
    return header.startswith(SQLITE) and header[68:72] == b"tdal"


def format_of(path: Path, remedy: str = "") -> str:
    """Return the name of a file's format. Raises ``Unknown``, which says of a format that is not known what to do."""
    with path.open("rb") as file:
        if file.read(16).startswith(SQLITE):
            return "langgraph"
    if path.suffix.lower() == ".jsonl":
        found = (_of_line(line) for line in islice(lines(path), LOOK))
        name = next((name for name in found if name), None)
    else:
        name = next((_of_item(item) for item in islice(items(path), 1)), None)
    if name is None:
        raise Unknown(f"it is in no format that is known{remedy}")
    return name


def _of_line(line: Mapping[str, Any]) -> str | None:
    kind = line.get("type")
    if kind in ("session_meta", "response_item", "turn_context", "event_msg"):
        return "codex"
    if "sessionId" in line and ("uuid" in line or "message" in line):
        return "claude-code"
    if {"sessionId", "projectHash"} <= line.keys():
        return "gemini-cli"
    if {"id", "timestamp", "instructions"} <= line.keys():
        return "codex"
    return _of_item(line)


def _of_item(item: Any) -> str | None:
    if not isinstance(item, Mapping):
        return None
    if {"sessionId", "messages"} <= item.keys():
        return "gemini-cli"
    if isinstance(item.get("mapping"), Mapping):
        return "chatgpt"
    if isinstance(item.get("chat_messages"), list):
        return "claude-ai"
    if isinstance(item.get("conversation"), Mapping):
        return "locomo"
    return "jsonl" if "role" in item or isinstance(item.get("messages"), list) else None
