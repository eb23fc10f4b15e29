"""Notes of a session: how far its transcript is recorded, what surfaced in it, and what the model still sees."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tidal_plugins.apps.histories.tail import Mark, Turn

logger = logging.getLogger(__name__)

MAX_SURFACED = 64
"""Prompts of a session whose whispers are noted until their turns are recorded: those of one turn are a few."""


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
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(json.dumps(known), "utf-8")
            new.replace(self.path)
        except OSError as error:
            logger.warning("the notes of the session cannot be written: %s", error)


def _said(turn: Turn) -> str:
    return _digest(repr([(message.id, message.text, message.tool_calls) for message in turn.messages]))


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
