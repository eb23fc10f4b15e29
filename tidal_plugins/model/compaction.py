"""Compaction: a rebuilt context, and the check that it broke no rule [SIYA §2]."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, overload

from tidal_plugins.errors import CompactionError
from tidal_plugins.model.dossier import Statement
from tidal_plugins.model.exchange import Message, ToolCall
from tidal_plugins.patterns import lazy_re
from tidal_plugins.shown import shown

Stage = Literal["none", "prepare", "compact", "hard"]
Part = Literal["summary", "question", "synthesis", "fold"]


@dataclass(frozen=True, slots=True)
class Loss:
    """A message that the model no longer sees.

    Attributes:
        position: its place in the history.
        role: its role.
        episode: the episode in which it stands verbatim.
        index: its place in that episode.
        message: its id, if it has one.
        stated: the statements of the context that tell of it.
    """

    position: int
    role: str
    episode: str
    index: int
    message: str | None = None
    stated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LossLedger(Sequence[Loss]):
    """Every message of the history that a rebuilt context leaves out."""

    losses: tuple[Loss, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Loss: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Loss]: ...

    def __getitem__(self, index: int | slice) -> Loss | Sequence[Loss]:
        return self.losses[index]

    def __len__(self) -> int:
        return len(self.losses)

    def __iter__(self) -> Iterator[Loss]:
        return iter(self.losses)

    @property
    def episodes(self) -> tuple[str, ...]:
        """Return the episodes that hold the omitted messages, in order."""
        return tuple(dict.fromkeys(loss.episode for loss in self.losses))

    def to_json(self) -> list[dict[str, Any]]:
        """Return a list of objects that JSON can hold, one for each loss."""
        return [
            {
                "position": loss.position,
                "role": loss.role,
                "episode": loss.episode,
                "index": loss.index,
                "message": loss.message,
                "stated": list(loss.stated),
            }
            for loss in self.losses
        ]


_ORDER = {"summary": 0, "question": 1, "synthesis": 2, "file": 3, "fold": 4}

_CITED = lazy_re(r"\[ep:([0-9a-z]+)\]")


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a part of a context: in tokens, and in bytes as it is sent."""

    tokens: int = 0
    bytes: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.tokens + other.tokens, self.bytes + other.bytes)

    def __sub__(self, other: Size) -> Size:
        return Size(max(0, self.tokens - other.tokens), max(0, self.bytes - other.bytes))

    def __str__(self) -> str:
        return f"{self.tokens:,} tokens ({self.bytes:,} bytes)"

    def __mul__(self, share: float) -> Size:
        return Size(int(self.tokens * share), int(self.bytes * share))

    def at_most(self, other: Size) -> Size:
        """Return the smaller of the two, in tokens and in bytes."""
        return Size(min(self.tokens, other.tokens), min(self.bytes, other.bytes))

    def at_least(self, other: Size) -> Size:
        """Return the larger of the two, in tokens and in bytes."""
        return Size(max(self.tokens, other.tokens), max(self.bytes, other.bytes))

    def within(self, limit: Size) -> bool:
        """Return whether this is at most ``limit``, in tokens and in bytes."""
        return self.tokens <= limit.tokens and self.bytes <= limit.bytes

    def share(self, limit: Size) -> float:
        """Return the larger of the shares of ``limit`` that this takes in tokens and in bytes."""
        return max(self.tokens / limit.tokens, self.bytes / limit.bytes)

    def least_share(self, limit: Size) -> float:
        """Return the smaller of the two shares."""
        return min(self.tokens / limit.tokens, self.bytes / limit.bytes)


def total(sizes: Iterable[Size], start: Size = Size()) -> Size:
    """Return the sum of sizes. A context has thousands: they are added as numbers."""
    tokens, bytes_ = start.tokens, start.bytes
    for each in sizes:
        tokens += each.tokens
        bytes_ += each.bytes
    return Size(tokens, bytes_)


@dataclass(frozen=True, slots=True)
class Kept:
    """A message of the history that stays as it is, at ``position``, counted from 0 over the whole history."""

    position: int


@dataclass(frozen=True, slots=True)
class Written:
    """A message that compaction wrote: the part ``question`` verbatim for the user, other parts for the assistant."""

    part: Part
    text: str


@dataclass(frozen=True, slots=True)
class RestoredFile:
    """A file that the agent had read or changed, shown as a tool call that reads it and its result.

    Attributes:
        id: the same whenever the same content is restored.
        tool: the tool that read it, or one that reads files like it.
        path: its path.
        arguments: the arguments of the call.
        content: the file as it is now, or as far as that is known, below its header. Lines have numbers if the tool
            gives them, or if lines are missing.
        episode: the episode in which it was last read or changed.
        seen: when it was first read or changed.
        reads: how often it was read.
        cut: whether lines are missing.
        state: what the thread did with it: ``read``, ``edited`` or ``created``.
        header: the first line of the content, which says of when it is and why it may be another by now; empty if it is
            what is on disk.
        doubt: what may have changed the file since it was last known; ``None`` if nothing in the thread has, or if the
            content is that of the disk.
    """

    id: str
    tool: str
    path: str
    arguments: Mapping[str, Any]
    content: str
    episode: str
    seen: datetime
    reads: int = 1
    cut: bool = False
    state: Literal["read", "edited", "created"] = "read"
    header: str = ""
    doubt: str | None = None

    @property
    def messages(self) -> tuple[Message, Message]:
        """Return the call that read the file, and the result."""
        call = ToolCall(self.tool, self.arguments, self.id)
        return Message("assistant", "", tool_calls=(call,)), Message("tool", self.content, tool_call_id=self.id)


Piece = Kept | Written | RestoredFile


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction as it is noted when a rebuilt context is stored, without a text.

    Attributes:
        at: when the context was rebuilt.
        episode: the id of the last episode that the context stands in for.
        thread: the conversation of that episode.
        stage: ``compact`` or ``hard``.
        before: the size of the whole payload before.
        after: the size of the whole payload afterwards.
        turns: how many episodes the context stands in for.
    """

    at: datetime
    episode: str
    thread: str | None
    stage: Stage
    before: Size
    after: Size
    turns: int


@dataclass(frozen=True, slots=True)
class Compaction:
    """A context for a model, with an account of every message that it leaves out.

    Attributes:
        stage: the action of this call: ``none``, ``prepare``, ``compact`` or ``hard``. It is also ``none`` if a context
            that was rebuilt earlier is still used; see ``rebuilt``.
        history: the messages that were given.
        view: the context in order: system prompt, summary of the completed turns, last completed turn (its question
            verbatim, and a synthesis), restored files, ongoing turn verbatim. It is the history if nothing is left out.
        before: the size of the whole payload before, with the room reserved for system prompt, tools and whisper.
        after: the size of the whole payload now.
        limit: the limit.
        id: the name of the rebuilt context, which stays the same while the context only grows; ``None`` if the view is
            the history.
        statements: the statements of the summary.
        ledger: an entry for each omitted message.
        summariser: the author of the summary: ``model`` or ``extractive``.
        fallback: why the given model did not write it; ``None`` if it did.
        unknown_citations: how many citations of the model referred to nothing and were removed.
    """

    stage: Stage
    history: tuple[Message, ...] = field(repr=False)
    view: tuple[Piece, ...] = field(repr=False)
    before: Size
    after: Size
    limit: Size
    id: str | None = None
    episodes: tuple[str, ...] = field(default=(), repr=False)
    """The ids of all episodes that the texts of the view stand in for, in order."""
    statements: tuple[Statement, ...] = field(default=(), repr=False)
    ledger: LossLedger = field(default=LossLedger(), repr=False)
    ongoing: int = 0
    """Position at which the ongoing turn begins; the length of the history where there is none."""
    folded: tuple[int, ...] = ()
    """Positions of the ongoing turn's messages that a fold stands for."""
    summariser: Literal["model", "extractive"] | None = None
    fallback: str | None = None
    unknown_citations: int = 0
    resolve: Callable[[Collection[str]], Collection[str]] = field(default=set, repr=False, compare=False)
    """Returns those of some episode ids that lead to an episode or to the mark of a forgotten one."""

    @property
    def rebuilt(self) -> bool:
        """Return whether the view is anything else than the history."""
        return self.id is not None

    @property
    def summary(self) -> str:
        return self._written("summary")

    @property
    def synthesis(self) -> str:
        return self._written("synthesis")

    @property
    def fold(self) -> str:
        return self._written("fold")

    @property
    def files(self) -> tuple[RestoredFile, ...]:
        return tuple(piece for piece in self.view if isinstance(piece, RestoredFile))

    @property
    def citations(self) -> tuple[str, ...]:
        """Return the ids of the episodes that the view cites, in order."""
        texts = [piece.text for piece in self.view if isinstance(piece, Written) and piece.part != "question"]
        return tuple(dict.fromkeys(id_ for text in texts for id_ in _CITED.findall(text)))

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the view as messages."""
        return tuple(message for piece in self.view for message in self._shown(piece))

    def verify(self) -> None:
        """Check the invariants [SIYA §2.4]. It has been called on every compaction that was returned.

        Citations and the episodes of the ledger lead somewhere, tool pairs are whole, the ongoing turn is unchanged
        except for its fold, every message is shown or in the ledger, and the whole is within the limit. The episodes
        are not read again: that they hold the messages was checked when they were recorded. Raises ``CompactionError``
        with all problems.
        """
        problems = [
            *self._unresolved(), *self._misplaced(), *self._unpaired(), *self._changed(), *self._unaccounted()
        ]  # fmt: skip
        if not self.after.within(self.limit):
            problems.append(f"it takes {self.after} of {self.limit}")
        if problems:
            raise CompactionError("; ".join(problems))

    def _written(self, part: Part) -> str:
        return "\n".join(piece.text for piece in self.view if isinstance(piece, Written) and piece.part == part)

    def _shown(self, piece: Piece) -> tuple[Message, ...]:
        if isinstance(piece, Kept):
            return (self.history[piece.position],)
        if isinstance(piece, Written):
            return (Message("user" if piece.part == "question" else "assistant", piece.text),)
        return piece.messages

    def _unresolved(self) -> Iterator[str]:
        cited = {*self.citations, *self.ledger.episodes}
        for id_ in sorted(cited - set(self.resolve(cited))):
            yield f"[ep:{id_}] leads nowhere"

    def _misplaced(self) -> Iterator[str]:
        parts = [_ORDER[part] for part in map(_part, self.view) if part]
        if parts != sorted(parts):
            yield "its parts stand in another order"
        ongoing = [piece.position for piece in self.view if isinstance(piece, Kept) and piece.position >= self.ongoing]
        if ongoing != sorted(ongoing):
            yield "the ongoing turn stands in another order"
        if any(self.history[position].role not in ("assistant", "tool") for position in self.folded):
            yield "what the user asked was folded"

    def _unpaired(self) -> Iterator[str]:
        """Yield calls without results and results without calls, except those that the history came with."""
        theirs = unpaired(self.history)
        for id_ in unpaired(self.messages):
            if id_ in theirs:
                theirs.remove(id_)
            else:
                yield f"the tool call {shown(id_)} has lost its result or its call"

    def _changed(self) -> Iterator[str]:
        kept = [piece.position for piece in self.view if isinstance(piece, Kept)]
        ongoing = [position for position in kept if position >= self.ongoing]
        if ongoing != [p for p in range(self.ongoing, len(self.history)) if p not in set(self.folded)]:
            yield "the ongoing turn is not what it was"
        if len(set(kept)) < len(kept):
            yield "a message stands there twice"

    def _unaccounted(self) -> Iterator[str]:
        shown = {piece.position for piece in self.view if isinstance(piece, Kept)}
        known = {loss.position for loss in self.ledger}
        for position in sorted(set(range(len(self.history))) - shown - known):
            yield f"message {position} was dropped without an entry in the ledger"
        for position in sorted(shown & known):
            yield f"message {position} is shown, and the ledger says that it was dropped"


def _part(piece: Piece) -> Part | Literal["file"] | None:
    return piece.part if isinstance(piece, Written) else "file" if isinstance(piece, RestoredFile) else None


def unpaired(messages: Sequence[Message]) -> list[str]:
    """Return the ids of tool calls that no result follows, and of results that answer no call before them.

    A result belongs to the last assistant message that calls tools; the same id may be used again later.
    """
    open_: list[str] = []
    lost: list[str] = []
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id in open_:
                open_.remove(message.tool_call_id)
            else:
                lost.append(str(message.tool_call_id))
        else:
            lost += open_
            open_ = [str(call.id) for call in message.tool_calls]
    return lost + open_
