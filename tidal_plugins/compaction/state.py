"""A history as turns [SIYA §2.2], and the state of the context rebuilt from it.

The state is kept in the store from one call of a model to the next, and for the next process.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

from tidal_plugins.errors import InvalidInput
from tidal_plugins.ingestion.derived import write_derived
from tidal_plugins.model.compaction import Compacted, Compaction, RestoredFile, Size
from tidal_plugins.model.dossier import Statement
from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.model.exchange import Exchange, Message
from tidal_plugins.storage.base import Line, Storage
from tidal_plugins.storage.shorthands import read_document
from tidal_plugins.summarising.work import Work

if TYPE_CHECKING:
    from pydantic import TypeAdapter

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Turn:
    """The messages from one by the user to the next; ``start`` is the position of the first in the history.

    ``key`` is the key under which the turn is recorded. If neither the turn nor a message has an id, the key is made of
    the text of the first message, and ``named`` is false. ``mark`` is the same for the same messages, even if there are
    other system messages among them, such as a prompt that is made anew for each call.
    """

    key: str
    start: int
    messages: tuple[Message, ...]
    mark: str
    named: bool
    said: tuple[Message, ...]
    """The messages that belong into an episode: a system prompt does not."""
    said_at: tuple[int, ...]
    """The positions of :attr:`said`."""

    @property
    def positions(self) -> range:
        return range(self.start, self.start + len(self.messages))

    def positions_of(self, role: str) -> list[int]:
        return [self.start + n for n, message in enumerate(self.messages) if message.role == role]


@dataclass(frozen=True, slots=True)
class History:
    """A history as turns. ``head`` are the positions of the system messages before the first turn."""

    messages: tuple[Message, ...]
    head: range
    turns: tuple[Turn, ...]

    ongoing: Turn | None
    """The last turn, while it waits for its answer: it ends with a question, a call of tools or a result."""

    @property
    def completed(self) -> tuple[Turn, ...]:
        return self.turns[:-1] if self.ongoing else self.turns


def history(given: Sequence[Message] | Sequence[Exchange]) -> History:
    """Split a history into turns.

    Messages are split where a user speaks after somebody else; exchanges stay as they are. Messages of an assistant
    before the first question are a turn too. Raises ``InvalidInput`` for a mixture.
    """
    items = list(given) if isinstance(given, Sequence) else [given]
    if all(isinstance(item, Exchange) for item in items):
        spans = [(item.key, list(item.messages)) for item in items if isinstance(item, Exchange)]
    elif all(isinstance(item, Message) for item in items):
        spans = [(_key(span), span) for span in _spans(item for item in items if isinstance(item, Message))]
    else:
        raise InvalidInput("a history is a list of Messages, or of Exchanges with one turn each")
    messages = tuple(message for _, span in spans for message in span)
    if spans and all(message.role == "system" for message in spans[0][1]):
        head, spans = range(len(spans[0][1])), spans[1:]
    else:
        head = range(0)
    turns = tuple(_turns(spans, len(head)))
    last = turns[-1].said[-1] if turns else None
    finished = last is None or (last.role == "assistant" and not last.tool_calls)
    return History(messages, head, turns, None if finished else turns[-1])


def marked(messages: Iterable[Message]) -> str:
    """Return a hash of all that messages say, without their times. It tells messages apart."""
    told = ((m.role, m.text, m.id, m.speaker, m.tool_calls, m.tool_call_id, m.error) for m in messages)
    return blake2b("\0".join(map(repr, told)).encode(errors="surrogatepass"), digest_size=12).hexdigest()


def _spans(messages: Iterable[Message]) -> list[list[Message]]:
    spans: list[list[Message]] = [[]]
    previous = "system"  # the last role that took part in the conversation
    for message in messages:
        begins = message.role == "user" and previous != "user"
        if begins or (len(spans) == 1 and previous == "system" and message.role != "system"):
            spans.append([])
        spans[-1].append(message)
        previous = message.role if message.role != "system" else previous
    return spans if spans[0] else spans[1:]


def _turns(spans: Iterable[tuple[str | None, list[Message]]], start: int) -> Iterable[Turn]:
    seen: Counter[str] = Counter()
    for key, span in spans:
        messages = tuple(span)
        said_at = tuple(at for at, message in enumerate(messages, start) if message.role != "system")
        said = tuple(messages[at - start] for at in said_at)
        if not said:
            raise InvalidInput("only the first exchange of a history may consist of system messages")
        opening = marked([replace(said[0], id=None)])
        name = key or f"{opening}-{seen[opening]}"
        if seen[name]:  # a turn under an id that another one has
            name = f"{name}#{opening}-{seen[name]}"
        seen.update((opening, name))
        yield Turn(name, start, messages, marked(said), key is not None, said, said_at)
        start += len(messages)


def _key(span: Sequence[Message]) -> str | None:
    return next((message.id for message in span if message.id and message.role != "system"), None)


# the state of a rebuilt context


COMPACTIONS = "compactions"
"""Collection of rebuilt contexts, derived documents that quote episodes."""

MADE = "compactions"
"""Log of the contexts that were rebuilt, by the last episode that each stands in for. A line goes with its episode."""

LOGGED = 1_000
"""Compactions of a scope that are kept in the log."""

KEPT = 4
"""States of a thread that are kept: a history that was led back to an earlier point may find its own."""


@dataclass(frozen=True, slots=True)
class Covered:
    """A turn that the context stands in for: its ``size`` messages have the indexes ``places`` in the episode, where
    they are not simply 0, 1, 2 … The episode may hold more: an answer that was thrown away."""

    key: str
    mark: str
    episode: str
    size: int
    places: tuple[int, ...] | None = None

    @property
    def indexes(self) -> Sequence[int]:
        return range(self.size) if self.places is None else self.places


@dataclass(frozen=True, slots=True)
class Fold:
    """The folded part of a long ongoing turn.

    ``indexes`` are those of the folded messages, among the first ``end``, and ``places`` those in the episode.
    """

    turn: Covered
    indexes: tuple[int, ...]
    end: int
    statements: tuple[Statement, ...]
    text: str
    places: tuple[int, ...] = ()

    def of(self, turn: Turn) -> bool:
        """Return whether the fold belongs to this turn, which may have gone on since."""
        return turn.key == self.turn.key and marked(turn.said[: self.end]) == self.turn.mark


@dataclass(frozen=True, slots=True)
class State:
    """A rebuilt context: what it covers, in order, and the texts that stand in for it.

    While ``question`` is a text, the last covered turn is shown as its question and its synthesis. ``told`` counts the
    covered turns that the summary was made of, ``worked`` those that the state of the work was made of.
    """

    covered: tuple[Covered, ...] = ()
    told: int = 0
    statements: tuple[Statement, ...] = ()
    shown: tuple[Statement, ...] = ()
    """What of the statements fits into ``summary``; the rest may fit another time."""
    work: Work = field(default_factory=Work)
    worked: int = 0
    summary: str = ""
    question: str | None = None
    masked: bool = False
    """Whether a secret is hidden in the question."""
    synthesis: tuple[Statement, ...] = ()
    synthesis_text: str = ""
    files: tuple[RestoredFile, ...] = ()
    fold: Fold | None = None
    hard: bool = False
    summariser: Literal["model", "extractive"] | None = None
    fallback: str | None = None
    unknown_citations: int = 0

    @property
    def id(self) -> str | None:
        """Return the id of the context: the same for the same context, ``None`` for the one that covers nothing."""
        if not self.covered and not self.fold:
            return None
        return blake2b(_states().dump_json([self]), digest_size=10).hexdigest()

    @property
    def episodes(self) -> tuple[str, ...]:
        """Return the episodes that the state stands in for, in order."""
        folded = [self.fold.turn.episode] if self.fold else []
        return tuple(dict.fromkeys([*(turn.episode for turn in self.covered), *folded]))

    def matches(self, history: History, carried: str | None) -> int | None:
        """Return how many turns at the head of a history the state covers, ``None`` for another history.

        Turns that somebody removed from the head may be missing. A history that was rewritten ``carried`` the id of the
        context that it was rewritten with: of the covered turns it holds at most the last one's question.
        """
        turns = history.turns
        if carried is not None:
            held = bool(turns and self.covered and turns[0].key == self.covered[-1].key)
            return int(held) if carried == self.id else None
        marks = [(turn.key, turn.mark) for turn in history.completed]
        mine = [(turn.key, turn.mark) for turn in self.covered]
        for count in range(min(len(marks), len(mine)), 0, -1):
            if marks[:count] == mine[-count:]:
                return count
        return 0 if not mine and self.fold and any(map(self.fold.of, turns)) else None

    def carried_on(self, history: History) -> State:
        """Return the state for a history that was rewritten with it.

        That history no longer holds the folded messages.
        """
        going = history.ongoing
        if self.fold is None or going is None or going.key != self.fold.turn.key:
            return self
        turn = replace(self.fold.turn, mark=marked(()))
        return replace(self, fold=replace(self.fold, turn=turn, indexes=(), end=0))


class States:
    """The states of one thread, newest first."""

    def __init__(self, storage: Storage, scope: Scope, thread: str | None, history: History) -> None:
        self._storage, self._scope = storage, scope
        self._key = derive_id(scope, COMPACTIONS, thread or [history.turns[0].key if history.turns else None])

    def load(self) -> tuple[list[State], int]:
        """Return the states and the version that :meth:`save` must name."""
        document = read_document(self._storage, self._scope, COMPACTIONS, self._key)
        if document is None:
            return [], 0
        try:
            found = _states().validate_python((document.value or {}).get("states", []))
            return [_in_utc(state) for state in found], document.version
        except ValueError:
            logger.warning("a rebuilt context cannot be read, and is made anew")
            return [], document.version

    def save(self, states: Sequence[State], version: int) -> None:
        """Save the states, newest first.

        Raises ``Conflict`` if another process was quicker, or if anything in them was forgotten meanwhile.
        """
        kept = list(states)[:KEPT]
        sources = dict.fromkeys(episode for state in kept for episode in state.episodes)
        value = {"states": _states().dump_python(kept, mode="json")}
        with self._storage.transaction():
            write_derived(self._storage, self._scope, COMPACTIONS, self._key, value, sources=sources, expected=version)


def note_compaction(storage: Storage, scope: Scope, made: Compaction, now: datetime) -> None:
    """Note a compaction. Call it inside the transaction that stores the context."""
    if not made.episodes:
        return
    value = {
        "stage": made.stage,
        "before": [made.before.tokens, made.before.bytes],
        "after": [made.after.tokens, made.after.bytes],
        "turns": len(made.episodes),
    }
    storage.append_log(scope, MADE, [Line(made.episodes[-1], now, value)])
    storage.trim_log(scope, MADE, keep=LOGGED)


def noted_compactions(storage: Storage, scope: Scope, limit: int) -> list[Compacted]:
    """Return the last compactions of a scope, the newest first."""
    with storage.snapshot():
        lines = storage.read_log(scope, MADE, limit=limit, newest_first=True)
        known = storage.summaries(scope, {line.key for line in lines})
    return [
        Compacted(
            at=line.at,
            episode=line.key,
            thread=known[line.key].thread if line.key in known else None,
            stage=line.value["stage"],
            before=Size(*line.value["before"]),
            after=Size(*line.value["after"]),
            turns=line.value["turns"],
        )
        for line in lines
    ]


def _in_utc(state: State) -> State:
    """Return a state that was read, with the times of its files as they were before it was written."""
    return replace(state, files=tuple(replace(file, seen=file.seen.astimezone(UTC)) for file in state.files))


@cache
def _states() -> TypeAdapter[list[State]]:
    from pydantic import TypeAdapter

    return TypeAdapter(list[State])
