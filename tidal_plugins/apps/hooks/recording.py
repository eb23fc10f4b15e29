"""Recording of a transcript: the turns that are new, and those that have grown, and the notes of how far that went."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidal_plugins import Exchange
from tidal_plugins.apps import write_whole
from tidal_plugins.apps.histories import Conversation, reader_of
from tidal_plugins.apps.histories.conversation import record_all, repeated, settle, size_of
from tidal_plugins.apps.histories.tail import Mark, Turn, turns_from

if TYPE_CHECKING:
    from tidal_plugins import TidalMemory

logger = logging.getLogger(__name__)

BATCH = 8
"""Turns that are recorded at a time. A hook that is stopped in time has recorded some of a long transcript, and the
next one goes on there: eight turns of 200 words take a quarter of a second."""

MAX_CHARS = 100_000
"""Characters of the turns that are recorded at a time, but for a longer turn: these take a tenth of a second."""


MAX_SURFACED = 64
"""Prompts of a session whose whispers are noted until their turns are recorded: those of one turn are a few."""


def record(memory: TidalMemory, path: Path, notes: Notes, cwd: str | None) -> None:
    """Record a transcript from where the notes say, and note how far that went.

    The last turn is read again the next time, and recorded again if it has gone on since. A turn that cannot be stored
    is left out. Turns that were taken back leave recall at the end, or the next time if this hook is stopped before.
    """
    from tidal_plugins.apps.histories.files import format_of

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


@dataclass(slots=True)
class Notes:
    """The notes of one session, kept in a file beside the memory. Without them all is read again, and nothing twice.

    ``said`` stands for what the turn at the mark said when it was recorded. ``surfaced`` has the ids of the memories
    that were shown, by the prompt. ``seen`` are the episodes of this session that the model has in its context.
    ``compacted`` says that the context was compacted since the last prompt. ``unsettled`` says that questions were
    taken back, and that their turns may still be in recall: a hook was stopped before they left it.
    """

    path: Path
    mark: Mark = field(default_factory=Mark)
    transcript: str = ""
    surfaced: dict[str, list[str]] = field(default_factory=dict)
    compacted: bool = False
    said: str = ""
    seen: list[str] = field(default_factory=list)
    unsettled: bool = False

    @classmethod
    def of(cls, db: Path, session: str) -> Notes:
        """Return the notes of a session with a memory; new ones if there is no memory, or none that can be read."""
        path = db.with_name(f"{db.name}-hooks") / f"{_digest(session)}.json"
        try:
            if not db.exists():  # somebody took it away, and what was recorded with it
                return cls(path)
            known: Any = json.loads(path.read_text("utf-8"))
            surfaced = {str(key): [str(id_) for id_ in ids] for key, ids in known["surfaced"].items()}
            at = known["mark"]
            mark = Mark(int(at["offset"]), int(at["number"]), str(at["session"]), str(at["id"]))
            said = str(known["said"])
            seen = [str(id_) for id_ in known["seen"]]
            compacted, unsettled = known["compacted"] is True, known.get("unsettled") is True
            return cls(path, mark, str(known["transcript"]), surfaced, compacted, said, seen, unsettled)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return cls(path)

    def show(self, prompt: str, ids: tuple[str, ...]) -> None:
        """Note what surfaced for a prompt."""
        self.surfaced[_digest(prompt.strip())] = list(ids)
        while len(self.surfaced) > MAX_SURFACED:
            del self.surfaced[next(iter(self.surfaced))]

    def shown(self, prompt: str) -> list[str]:
        """Return the ids of what surfaced for a prompt."""
        return self.surfaced.get(_digest(prompt.strip()), [])

    def recorded(self, turn: Turn) -> bool:
        """Return whether a turn is the one at the mark, and has not gone on since."""
        return turn.start == self.mark and _said(turn) == self.said

    def move(self, turn: Turn) -> None:
        """Note that all is recorded up to the end of a turn, which may go on."""
        self.mark, self.said = turn.start, _said(turn)

    def see(self, ids: Iterable[str]) -> None:
        """Note that the model has said or been told these episodes."""
        self.seen = list(dict.fromkeys([*self.seen, *ids]))

    def save(self) -> None:
        """Write the notes, whole or not at all. Where they cannot be written, a hook does without, and says so."""
        known = {name: value for name, value in asdict(self).items() if name != "path"}
        try:
            write_whole(self.path, json.dumps(known))
        except OSError as error:
            logger.warning("the notes of the session cannot be written: %s", error)


def _said(turn: Turn) -> str:
    return _digest(repr([(message.id, message.text, message.tool_calls) for message in turn.messages]))


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
