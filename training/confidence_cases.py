"""Ask memories of conversations and stories; note for each recall what its confidence is made of, and what helped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from benchmarks import story
from benchmarks.conversations import ADVERSARIAL, Conversation, fill, load
from benchmarks.retrieval import turns_of
from benchmarks.story_checks import SETTINGS, folded
from tidal_plugins import Affect, TidalMemory
from tidal_plugins.protocols import Embedder
from tidal_plugins.settings import Profile
from tidal_plugins.testing import FrozenClock

OWN = Path(__file__).resolve().parents[1] / "benchmarks" / "data"

LINES = 4
"""Hits of a recall that are judged: one more than a whisper shows."""

ASKING = ("whisper", "remembered")
"""Types of a story's checks that say what a whisper must show."""


@dataclass(frozen=True, slots=True)
class Case:
    """A recall of one profile: the features of its hits, and which of them help.

    ``kind`` is the kind of conversation, ``part`` the one that the recall was about: cross-validation keeps it apart.
    """

    kind: str
    part: str
    profile: Profile
    features: tuple[Mapping[str, float], ...]
    helps: tuple[bool, ...]

    @property
    def margin(self) -> float:
        """Return how far the first hit stands out."""
        return self.features[0]["margin"]

    @property
    def answered(self) -> bool:
        """Return whether a hit helps."""
        return any(self.helps)


def conversations(kind: str, path: Path, embedder: Embedder) -> Iterator[Case]:
    """Yield the cases of a file of conversations: each question with its evidence in the memory and without it."""
    for conversation in load(path).conversations:
        with TemporaryDirectory(prefix="tidal-fit-") as folder:
            clock = FrozenClock()
            with TidalMemory(Path(folder, "memory.db"), embedder=embedder, clock=clock) as memory:
                yield from _asked(kind, conversation, memory, clock)


def stories(folder: Path, embedder: Embedder) -> Iterator[Case]:
    """Yield the cases of each story's checks of whispers, with what they must show in the memory and without it."""
    for told in story.load(folder):
        with TemporaryDirectory(prefix="tidal-fit-") as place:
            clock = FrozenClock(told.start)
            with TidalMemory(Path(place, "memory.db"), embedder=embedder, settings=SETTINGS, clock=clock) as memory:
                yield from _lived(told, memory, clock)


def _asked(kind: str, conversation: Conversation, memory: TidalMemory, clock: FrozenClock) -> Iterator[Case]:
    for at, known, new in conversation.moments():
        clock.set(at)
        fill(memory, new)
        entries = {turn: id_ for id_, turn in turns_of(memory).items()}
        for question in known.questions:
            if question.category != ADVERSARIAL:
                evidence = {entries[turn] for turn in question.evidence if turn in entries}
                yield from _cases(kind, conversation.name, memory, question.text, evidence)


def _lived(told: story.Story, memory: TidalMemory, clock: FrozenClock) -> Iterator[Case]:
    checks = [check for check in told.checks if check.type in ASKING and check.at and check.fields.get("shows")]
    events: list[story.Document | story.Turn | story.Check] = [*told.documents, *told.turns, *checks]
    for event in sorted(events, key=_when):
        clock.set(_when(event))
        if isinstance(event, story.Document):
            for scope in told.scopes:
                memory.scoped(scope).remember(event.text, kind=event.kind, source=event.source)
        elif isinstance(event, story.Turn):
            here = memory.scoped(event.scope)
            here.record(event.user, event.agent, tools=event.tools, thread=event.session, id=event.key)
        else:
            here, turn = memory.scoped(event.scope), event.fields.get("turn") or event.fields["query"]
            evidence = {hit.id for hit in here.recall(turn, limit=1000) if _shows(hit.text, event.fields["shows"])}
            yield from _cases("stories", told.name, here, turn, evidence)


def _when(event: story.Document | story.Turn | story.Check) -> datetime:
    at = event.end if isinstance(event, story.Turn) else event.at
    assert at  # checks that follow a turn are left out
    return at


def _shows(text: str, groups: Iterable[Sequence[str]]) -> bool:
    said = folded(text)
    return any(folded(one) in said for group in groups for one in group)


def _cases(kind: str, part: str, memory: TidalMemory, turn: str, evidence: Collection[str]) -> Iterator[Case]:
    for profile in get_args(Profile):
        for exclude in ((), evidence):
            found = memory.recall(turn, limit=LINES, profile=profile, affect=Affect(), exclude=list(exclude))
            hits = [hit for hit in found if hit.why.features]  # one that a supersession brought has none
            if hits:
                helps = tuple(hit.id in evidence for hit in hits)
                yield Case(kind, part, profile, tuple(hit.why.features for hit in hits), helps)
