"""What the demo plays: the conversation in ``mara/``, or one from a file in LoCoMo's format."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tidal_plugins import Exchange, Message, Note

MARA = Path(__file__).parent / "mara"


class BadFile(Exception):
    """A conversation file that cannot be read, and why."""


@dataclass(frozen=True)
class Thread:
    """A thread held in one process: its date, what it reads in, and the user's turns with scripted answers."""

    date: datetime
    title: str
    notes: tuple[Note, ...]
    turns: Mapping[str, str]


@dataclass(frozen=True)
class Ending:
    """The three questions at the end; the memory that answers ``last`` has ``expected`` in it."""

    feeling: str
    unrelated: str
    last: str
    expected: str


def mara() -> tuple[list[Thread], Ending]:
    content = tomllib.loads((MARA / "conversation.toml").read_text(encoding="utf-8"))
    return [_thread(raw) for raw in content["thread"]], Ending(**content["ending"])


def _thread(raw: Mapping[str, Any]) -> Thread:
    notes = tuple(_note(name) for name in raw.get("remember", ()))
    return Thread(raw["date"], raw["title"], notes, {turn["user"]: turn["agent"].strip() for turn in raw["turn"]})


def _note(name: str) -> Note:
    kind = "skill" if name.startswith("skills/") else "kb"
    return Note((MARA / name).read_text(encoding="utf-8"), kind=kind, source=name)


@dataclass(frozen=True)
class Question:
    """A question, its answer by the file's authors, and the ids of the turns that hold it."""

    text: str
    answer: str
    evidence: frozenset[str]


@dataclass(frozen=True)
class Talk:
    """A conversation from a file: ``end`` is a time after its last turn."""

    name: str
    exchanges: tuple[Exchange, ...]
    questions: tuple[Question, ...]
    end: datetime


ADVERSARIAL = 5
"""The category of questions that the conversation does not answer."""


def locomo(path: Path) -> Talk:
    """Read the first conversation of a file in LoCoMo's format."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFile(f"{path} cannot be read: {error}") from error
    try:
        sample = content[0] if isinstance(content, list) else content
        threads = list(_threads(sample["conversation"]))
        exchanges = [exchange for name, _, said in threads for exchange in _exchanges(name, said)]
        questions = [
            Question(qa["question"], str(qa["answer"]), frozenset(re.findall(r"D\d+:\d+", str(qa["evidence"]))))
            for qa in sample["qa"]
            if qa["category"] != ADVERSARIAL
        ]
        if not questions:
            raise ValueError("it has no question that the conversation answers")
        end = max(date for _, date, _ in threads) + timedelta(days=1)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadFile(f"{path} is no conversation in LoCoMo's format: {type(error).__name__}: {error}") from error
    return Talk(path.name, tuple(exchanges), tuple(questions), end)


def _threads(talk: Mapping[str, Any]) -> Iterator[tuple[str, datetime, list[Message]]]:
    names = [name for name in talk if re.fullmatch(r"session_\d+", name)]
    for name in sorted(names, key=lambda name: int(name.removeprefix("session_"))):
        date = datetime.strptime(talk[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        yield name, date, [_message(turn, talk["speaker_a"], date, number) for number, turn in enumerate(talk[name])]


def _message(turn: Mapping[str, Any], user: str, date: datetime, number: int) -> Message:
    """Return a message in which the second speaker takes the agent's part, since an answer moves the agent's mood."""
    photo = turn.get("blip_caption")
    text = f"{turn['text']} [photo: {photo}]" if photo else turn["text"]
    at = date + timedelta(minutes=number)
    return Message("user" if turn["speaker"] == user else "assistant", text, turn["dia_id"], turn["speaker"], at=at)


def _exchanges(thread: str, messages: list[Message]) -> list[Exchange]:
    """Return the exchanges: two turns at a time, words and answer."""
    pairs = [tuple(messages[start : start + 2]) for start in range(0, len(messages), 2)]
    return [Exchange(pair, thread, occurred_at=pair[0].at) for pair in pairs]
