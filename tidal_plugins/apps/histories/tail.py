"""The turns of a transcript that goes on: those from a mark, each with the mark at which it begins."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from tidal_plugins import Message
from tidal_plugins.apps.histories import reader_of
from tidal_plugins.apps.histories.conversation import MALFORMED, Conversation, opens, size_of

logger = logging.getLogger(__name__)

LONGEST = 32 << 20
"""Bytes of the longest line that is read. An image is some megabytes; what is longer is passed over."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a transcript: the byte and the number at which a line begins, the session of the lines before, and the
    id of the first message of a turn, which may stand behind another in its line.

    In a file that is written anew, ``number`` is that of a turn.
    """

    offset: int = 0
    number: int = 0
    session: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """The messages of one turn, the session that they belong to, and where they begin.

    ``went_back`` says that it goes on from an earlier turn than the one before it: turns were left.
    """

    session: str
    messages: tuple[Message, ...]
    start: Mark
    went_back: bool = False


def turns_from(path: Path, format: str, mark: Mark) -> Iterator[Turn]:
    """Yield the turns of a transcript from a mark on; the last may go on later.

    A mark that does not fit, since the file was written anew, stands for the beginning. A line without an end is left
    for later, since the program writes it at this moment.
    """
    from tidal_plugins.apps.histories.transcripts import APPENDED  # a hook that only reminds needs no reader

    if format not in APPENDED:
        yield from _rewritten(path, format, mark)
        return
    said, went_back = APPENDED[format]
    with path.open("rb") as file:
        begin = mark if _fits(file, mark) else Mark(session=path.stem)
        session, turn, size = begin.session, None, 0
        seen, back = set[str](), False
        for offset, number, line in _lines(file, begin):
            before = session
            try:
                session, messages = said(line, session, number)
            except MALFORMED as error:
                logger.warning("line %d of %s cannot be read: %s", number + 1, path.name, error)
                continue
            back = back or (bool(seen) and went_back(line, seen))
            seen.add(str(line.get("uuid") or number))
            for message in _from(begin, offset, messages):
                goes_on = turn is not None and turn.session == session and not (back and message.role == "user")
                if turn is not None and goes_on and not opens(message, turn.messages[-1], size):
                    turn = replace(turn, messages=(*turn.messages, message))
                    size += size_of(message)
                    continue
                if turn is not None:
                    yield turn
                turn = Turn(session, (message,), Mark(offset, number, before, str(message.id)), back)
                size, back = size_of(message), False
                if message.role == "user":  # a question that goes on from before this one takes its place
                    seen = {str(line.get("uuid") or number)}
        if turn is not None:
            yield turn


def _rewritten(path: Path, format: str, mark: Mark) -> Iterator[Turn]:
    """Yield the turns of a file that is written anew, from the marked one on; all, if another stands in its place."""
    read = [each for each in reader_of(format)(path) if isinstance(each, Conversation)]
    found = [(each.thread, tuple(turn)) for each in read for turn in each.turns]
    fits = 0 <= mark.number < len(found) and found[mark.number][1][0].id == mark.id
    begin = mark.number if fits else 0
    for number, (thread, messages) in enumerate(found[begin:], begin):
        yield Turn(thread, messages, Mark(number=number, id=str(messages[0].id)))


def _from(mark: Mark, offset: int, messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages of a line without those that stand before a mark in it."""
    ids = [str(message.id) for message in messages] if offset == mark.offset else []
    return messages[ids.index(mark.id) :] if mark.id in ids else messages


def _fits(file: IO[bytes], mark: Mark) -> bool:
    """Return whether a line begins at the mark."""
    if mark.offset == 0:
        return mark.session != ""
    file.seek(mark.offset - 1)
    return file.read(1) == b"\n"


def _lines(file: IO[bytes], mark: Mark) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the objects of the whole lines from a mark on, each with its offset and its number among the objects."""
    file.seek(mark.offset)
    number = mark.number
    while True:
        offset, line = file.tell(), file.readline(LONGEST)
        if not line.endswith(b"\n"):
            rest = line
            while rest and not rest.endswith(b"\n"):
                rest = file.readline(LONGEST)
            if not rest:
                return
            continue
        try:
            value = json.loads(line.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield offset, number, value
            number += 1
