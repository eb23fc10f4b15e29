"""Stories for the benchmark of what a memory gives its reader: turns and documents in time, and checks along the way.

A story is one JSON file::

    {"name": "…", "kind": "…", "about": "…", "disk": {"path": "content at the end"},
     "documents": [{"source": "…", "kind": "kb", "at": "2026-03-01T08:00:00+00:00", "text": "…"}],
     "sessions": [{"id": "s1", "scope": "ada", "start": "…", "turns": [
       {"user": "…", "agent": "…", "minutes": 2,
        "tools": [{"name": "Read", "arguments": {}, "result": "…", "error": false}]}]}],
     "checks": [{"id": "…", "type": "whisper", "scope": "ada", "why": "…", "turn": "…", "shows": [["a", "or b"]]}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tidal_plugins import ToolCall

LATER = timedelta(hours=1)
"""Time after the last turn at which checks without a time of their own are asked."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text that every scope of the story is given at a time."""

    source: str
    kind: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a session, from ``start`` to ``end``; ``number`` counts from 1, and ``last`` ends the session."""

    session: str
    number: int
    scope: str
    user: str
    agent: str
    tools: tuple[ToolCall, ...]
    start: datetime
    end: datetime
    last: bool

    @property
    def key(self) -> str:
        """Return the id under which the turn is recorded in its thread."""
        return f"{self.session}-{self.number}"


@dataclass(frozen=True, slots=True)
class Check:
    """A question to the memory, with what its answer must show.

    ``at`` is when it is asked; ``None`` for a check that is asked right after a turn. ``fields`` are those of its type.
    """

    id: str
    type: str
    scope: str
    why: str
    at: datetime | None
    hard: bool
    fields: Mapping[str, Any]

    @property
    def after(self) -> tuple[str, int] | None:
        """Return the session and the turn that the check follows, if it follows one."""
        return None if self.at else (self.fields["session"], self.fields["after_turn"])


@dataclass(frozen=True, slots=True)
class Story:
    """One story: its documents and turns by time, and its checks in the order of the file."""

    name: str
    about: str
    scopes: tuple[str, ...]
    documents: tuple[Document, ...]
    turns: tuple[Turn, ...]
    checks: tuple[Check, ...]
    disk: Mapping[str, str]
    """The agent's files as they are at the end, by path."""

    @property
    def start(self) -> datetime:
        """Return the time at which the story begins."""
        return min([turn.start for turn in self.turns] + [document.at for document in self.documents])


def load(folder: str | Path) -> list[Story]:
    """Read every story of a folder, by name, or leave with a message that says what is wrong with a file."""
    paths = sorted(Path(folder).glob("*.json"))
    if not paths:
        raise SystemExit(f"{folder} holds no stories: give a folder with one .json file for each")
    return [_read(path) for path in paths]


def _read(path: Path) -> Story:
    try:
        return parsed(json.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"{path} cannot be read: {error}") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SystemExit(f"{path} is not a story: {type(error).__name__} {error}") from None


def parsed(given: Mapping[str, Any]) -> Story:
    """Return the story that a file holds. Raises ``KeyError``, ``TypeError`` or ``ValueError`` for another file."""
    sessions = given["sessions"]
    turns = sorted((turn for session in sessions for turn in _turns(session)), key=lambda turn: turn.start)
    later, scopes = max(turn.end for turn in turns) + LATER, tuple(dict.fromkeys(turn.scope for turn in turns))
    documents = [Document(d["source"], d["kind"], _time(d["at"]), d["text"]) for d in given.get("documents", ())]
    checks = tuple(_check(check, scopes[0], later) for check in given["checks"])
    known = {(turn.session, turn.number) for turn in turns}
    if lost := [check.id for check in checks if check.after and check.after not in known]:
        raise ValueError(f"no turn is where these checks are asked: {', '.join(lost)}")
    return Story(
        name=given["name"],
        about=given.get("about", ""),
        scopes=tuple(dict.fromkeys([*scopes, *(check.scope for check in checks)])),
        documents=tuple(sorted(documents, key=lambda document: document.at)),
        turns=tuple(turns),
        checks=checks,
        disk=given.get("disk", {}),
    )


def _turns(session: Mapping[str, Any]) -> Iterator[Turn]:
    start, turns = _time(session["start"]), session["turns"]
    for number, turn in enumerate(turns, 1):
        end = start + timedelta(minutes=turn.get("minutes", 1))
        tools = tuple(_tools(turn.get("tools", ())))
        yield Turn(
            session["id"],
            number,
            session["scope"],
            turn["user"],
            turn["agent"],
            tools,
            start,
            end,
            number == len(turns),
        )
        start = end


def _tools(calls: Sequence[Mapping[str, Any]]) -> Iterator[ToolCall]:
    for call in calls:
        yield ToolCall(call["name"], call["arguments"], result=call.get("result"), error=call.get("error", False))


def _check(given: Mapping[str, Any], scope: str, later: datetime) -> Check:
    common = {"id", "type", "scope", "why", "at", "hard"}
    at = _time(given["at"]) if "at" in given else None if "after_turn" in given else later
    fields = {name: value for name, value in given.items() if name not in common}
    return Check(
        given["id"], given["type"], given.get("scope", scope), given["why"], at, given.get("hard", False), fields
    )


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return time
