"""Recording of a transcript: the turns that are new, and those that have grown, in small batches."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from tidal_plugins import Exchange, TidalMemory
from tidal_plugins.apps.histories import Conversation, reader_of
from tidal_plugins.apps.histories.conversation import record_all, repeated, settle, size_of
from tidal_plugins.apps.histories.files import format_of
from tidal_plugins.apps.histories.tail import Mark, Turn, turns_from
from tidal_plugins.apps.hooks.notes import Notes

logger = logging.getLogger(__name__)

BATCH = 8
"""Turns that are recorded at a time. A hook that is stopped in time has recorded some of a long transcript, and the
next one goes on there: eight turns of 200 words take a quarter of a second."""

MAX_CHARS = 100_000
"""Characters of the turns that are recorded at a time, but for a longer turn: these take a tenth of a second."""


def record(memory: TidalMemory, path: Path, notes: Notes, cwd: str | None) -> None:
    """Record a transcript from where the notes say, and note how far that went.

    The last turn is read again the next time, and recorded again if it has gone on since. A turn that cannot be stored
    is left out. Turns that were taken back leave recall at the end, or the next time if this hook is stopped before.
    """
    if notes.transcript != str(path):
        notes.transcript, notes.mark = str(path), Mark()
    format = format_of(path)
    about = {"program": format, **({"cwd": cwd} if cwd else {})}
    at: datetime | None = None
    known = _repeated(memory, path, format) if notes.mark == Mark() else set()
    turns = (turn for turn in turns_from(path, format, notes.mark) if not notes.recorded(turn))
    for batch in _batches(turn for turn in turns if turn.messages[0].id not in known):
        notes.unsettled = notes.unsettled or any(turn.went_back for turn in batch)
        exchanges: list[Exchange] = []
        for turn in batch:
            at = next((message.at for message in turn.messages if message.at), at)
            exchanges += _exchange(turn, notes, about, at)
        record_all(memory, exchanges, lambda _, reason: logger.warning("a turn cannot be stored: %s", reason))
        notes.see(memory.episodes.id_of(str(each.key), thread=each.thread) for each in exchanges)
        notes.move(batch[-1])
        notes.save()
    if notes.unsettled:
        for conversation in _conversations(path, format):
            settle(memory, conversation)
        notes.unsettled = False
        notes.save()


def _repeated(memory: TidalMemory, path: Path, format: str) -> set[str | None]:
    """Return the ids of the messages that begin turns of another session, which this one was forked from."""
    forks = [(each.turns, repeated(memory, each)) for each in _conversations(path, format)]
    return {turn[0].id for turns, count in forks for turn in turns[:count]}


def _conversations(path: Path, format: str) -> list[Conversation]:
    return [each for each in reader_of(format)(path) if isinstance(each, Conversation)]


def _batches(turns: Iterable[Turn]) -> Iterator[list[Turn]]:
    """Yield turns in lists that are recorded soon."""
    batch: list[Turn] = []
    size = 0
    for turn in turns:
        batch.append(turn)
        size += sum(map(size_of, turn.messages))
        if len(batch) >= BATCH or size >= MAX_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _exchange(turn: Turn, notes: Notes, about: dict[str, str], at: datetime | None) -> Iterator[Exchange]:
    """Yield a turn for the memory, with what surfaced for its questions; none if nothing was said in it."""
    if any(message.text.strip() for message in turn.messages):
        asked = [message.text for message in turn.messages if message.role == "user"]
        surfaced = tuple(dict.fromkeys(id_ for text in asked for id_ in notes.shown(text)))
        yield Exchange(turn.messages, turn.session, occurred_at=at, surfaced=surfaced, metadata=about)
