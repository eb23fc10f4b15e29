"""Rebuilding of a context: the parts to keep, the parts to condense, and the size of each text [SIYA §2.2–2.4]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any

from tidal_plugins.actions.files import Said
from tidal_plugins.compaction.files.restore import Candidate, Files, weight
from tidal_plugins.compaction.fold import foldable
from tidal_plugins.compaction.preparation import Prepared
from tidal_plugins.compaction.reading import Reading, answered, covered
from tidal_plugins.compaction.recorded import is_one_of, stored_forms
from tidal_plugins.compaction.shares import Shares
from tidal_plugins.compaction.state import Covered, Fold, State
from tidal_plugins.compaction.turns import Turn, marked
from tidal_plugins.compaction.view import (
    BYTES_PER_TOKEN,
    HEADER,
    Context,
    fold_text,
    pieces,
    size,
    summary,
    synthesis_text,
)
from tidal_plugins.errors import ContextOverflow
from tidal_plugins.model.compaction import Kept, Size
from tidal_plugins.model.episode import FORGOTTEN_TEXT, Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.fence import Frames
from tidal_plugins.model.summary import Source, Statement
from tidal_plugins.protocols import CurrentFiles, Summariser, TokenCounter
from tidal_plugins.secrets.finding import masked
from tidal_plugins.summarising.extractive import ExtractiveSummariser
from tidal_plugins.summarising.summary import Condensed, condense
from tidal_plugins.summarising.work import Work
from tidal_plugins.tuning import CompactionTuning

KEPT_OF_FOLDED = 0.5
"""Share of the room of a long ongoing turn, its fold and the summary that its newest steps keep verbatim: the model
needs what it just did word for word, and its past in words."""


@dataclass
class Rebuild:
    """A context on its way from one state to the next; the first ``covered`` turns of its history are in the state."""

    context: Context
    covered: int
    reading: Reading
    settings: CompactionTuning
    timeout: float
    summariser: Summariser | None
    counter: TokenCounter
    disk: CurrentFiles | None = None
    lost: bool = False
    """Whether the state that the history was rewritten with is gone, and its fold with it."""
    extractive: ExtractiveSummariser = field(init=False)

    def __post_init__(self) -> None:
        given = self.summariser
        self.extractive = (
            given
            if isinstance(given, ExtractiveSummariser)
            else ExtractiveSummariser(self.counter, self.settings.file_tools)
        )

    @property
    def shares(self) -> Shares:
        return Shares(self.context.limit, self.settings)

    @property
    def frames(self) -> Frames:
        return self.reading.recorder.writer.frames

    @property
    def ongoing(self) -> Turn | None:
        """Return the turn that goes on, and stays as it is."""
        return None if self.covered == len(self.context.history.turns) else self.context.history.ongoing

    @property
    def completed(self) -> int:
        """Return how many turns of the history are completed, and so covered by the next state."""
        return len(self.context.history.turns) - (self.ongoing is not None)

    def next(self, state: State, prepared: Prepared | None, *, hard: bool) -> State:
        """Return the state that covers every completed turn, and keeps to the limit."""
        new = self._next(state, prepared, hard=hard)
        self.covered = self.completed
        if not hard and self._share(new) >= self.settings.hard:
            new = self._next(new, None, hard=True)
        if self._share(new) > 1 and new.question is not None:
            new = self._next(new, None, hard=True, demote=True)
        if self._share(new) > 1:
            raise ContextOverflow(self._overflow(new))
        return new

    def prepare(self, state: State, before: Prepared | None) -> Prepared | None:
        """Condense the sources that a compaction would have to condense now, on top of the last preparation."""
        turns = self._turns(state)
        sources = self.reading.sources(turns[state.told : -1])
        if not sources:
            return None
        condensed = self._condensed(state, sources, before)
        return None if condensed.fallback else Prepared(state.id, sources, condensed)  # it may work when it matters

    def _next(self, state: State, prepared: Prepared | None, *, hard: bool, demote: bool = False) -> State:
        turns = self._turns(state)
        fresh = len(turns) > len(state.covered)
        last = turns[-1] if (fresh or state.question is not None) and not demote else None
        told = len(turns) - (last is not None)
        fold = state.fold if state.fold and self.ongoing and state.fold.of(self.ongoing) else None
        sources = self.reading.sources(turns[state.told : told])
        new = replace(state, covered=turns, told=told, fold=fold, hard=hard, **self._question(last))
        new = replace(
            new,
            work=state.work.after(self.reading.sources(turns[state.worked :]), self.settings.file_tools),
            worked=len(turns),
        )
        new = replace(new, summary="", shown=(), synthesis=(), synthesis_text="", files=())
        if sources:  # what is said of how it was written is said anew
            new = replace(new, summariser=None, fallback=None, unknown_citations=0)
        new = self._summarised(state, new, sources, prepared)
        if last is not None:
            new = self._synthesised(state, new, last)
        if hard or self.lost:
            new = self._folded(new)
        files = Files(self.settings, self.counter, self.disk)
        found = files.candidates(self._said(new))
        new = self._shown(state, new, sources, self._wanted(files, found, self._size(new)))
        return replace(new, files=files.fitted(found, self.shares.files(self._size(new)), self.context.limit))

    def _turns(self, state: State) -> tuple[Covered, ...]:
        """Return every turn that the next state covers, and record those that were not."""
        turns = self.context.history.turns[self.covered : self.completed]
        return (*state.covered, *map(covered, self.reading.recorded(turns)))

    # the texts

    def _question(self, last: Covered | None) -> dict[str, Any]:
        """Return the user's last question as fields of a state: verbatim, but for secrets, which are hidden.

        An episode that was forgotten leaves an empty question.
        """
        if last is None:
            return {"question": None, "masked": False}
        said = [each.messages[at] for each in self.reading.episodes([last.episode]) for at in sorted(last.indexes)]
        asked = "\n\n".join(message.text for message in said if message.role == "user" and message.text)
        hidden = masked(asked)
        return {"question": hidden, "masked": hidden != asked}

    def _condensed(self, state: State, sources: tuple[Source, ...], ready: Prepared | None) -> Condensed:
        """Condense the sources on top of the earlier statements, to what the target leaves at most."""
        previous, given = state.statements, sources
        if ready and ready.base == state.id and given[: len(ready.sources)] == ready.sources:
            given = given[len(ready.sources) :]
            if not given:
                return ready.condensed
            previous = ready.condensed.statements
        condensed = condense(
            self.summariser or self.extractive,
            given,
            purpose="summary",
            previous=previous,
            max_tokens=max(0, _tokens(self.context.limit * self.settings.target) - self.counter.count(HEADER)),
            counter=self.counter,
            timeout=self.timeout,
            tools=self.settings.file_tools,
        )
        unknown = ready.condensed.unknown if ready and given is not sources else 0
        return replace(condensed, unknown=condensed.unknown + unknown)

    def _summarised(self, state: State, new: State, sources: tuple[Source, ...], ready: Prepared | None) -> State:
        if not sources:
            return new
        condensed = self._condensed(state, sources, ready)
        return replace(
            new,
            statements=condensed.statements,
            summariser=condensed.by,
            fallback=condensed.fallback or new.fallback,
            unknown_citations=condensed.unknown + new.unknown_citations,
        )

    def _shown(self, state: State, new: State, sources: Sequence[Source], wanted: Size) -> State:
        """Return the state with a summary: the state of the work, and as many of its statements as fit now.

        ``wanted`` is the size of the files that come back beside it.
        """
        work = self._work(new)
        lines = work.lines(self.counter, _tokens(self.context.limit * self.settings.work), shown=_asked(new))
        if not new.told and not lines:
            return new
        episodes = list(dict.fromkeys(turn.episode for turn in new.covered[: new.told]))
        taken = self._size(new)  # the target is one of words: the marks come on top of it
        most = self.context.limit * self.settings.hard - taken - self._marks
        room = self.shares.summary(taken - self._marks, wanted).at_most(most)
        choose = self._chooser(state, new, sources)
        text, shown = summary(choose, lines, episodes, room, self.counter, lifted=work.lifted)
        return replace(new, summary=text, shown=shown)

    def _chooser(
        self, state: State, new: State, sources: Sequence[Source]
    ) -> Callable[[int, str], Sequence[Statement]]:
        """Return a function that chooses what is shown: of what a model wrote, else of the sources themselves."""
        if sources and new.summariser == "extractive":
            return self.extractive.extracts(sources, state.statements).within
        whole = sum(self.counter.count(f"- {each}\n") for each in new.statements)
        extracts = self.extractive.extracts((), new.statements)

        def choose(max_tokens: int, told: str) -> Sequence[Statement]:
            return new.statements if whole <= max_tokens else extracts.within(max_tokens, told)

        return choose

    def _work(self, new: State) -> Work:
        """Return the state of the work, the folded steps included."""
        if new.fold is None:
            return new.work
        return new.work.after(self.reading.source(new.fold.turn, new.fold.places), self.settings.file_tools)

    def _synthesised(self, state: State, new: State, last: Covered) -> State:
        if state.question == new.question and len(new.covered) == len(state.covered):
            return replace(new, synthesis=state.synthesis, synthesis_text=state.synthesis_text)
        condensed = self._brief(self.reading.sources([last]), synthesis_text(last.episode, ()))
        text = synthesis_text(last.episode, condensed.statements)
        return _noted(replace(new, synthesis=condensed.statements, synthesis_text=text), condensed)

    def _brief(self, sources: Sequence[Source], header: str, room: int = 0) -> Condensed:
        room = max(room, _tokens(self.context.limit * self.settings.synthesis))
        condensed = condense(
            self.summariser,
            sources,
            purpose="synthesis",
            max_tokens=max(0, room - self.counter.count(header)),
            counter=self.counter,
            timeout=self.timeout,
            tools=self.settings.file_tools,
        )
        return condensed if condensed.statements else replace(condensed, statements=answered(sources))

    def _folded(self, new: State) -> State:
        """Return the state with as much of the ongoing turn folded as the other texts need."""
        turn, settings, limit = self.ongoing, self.settings, self.context.limit
        lost = self.lost and new.fold is None
        fits = (self._size(new) + limit * settings.least).within(limit * settings.compact)
        if turn is None or (fits and not lost):
            return new
        others = self._size(replace(new, fold=None)) - self.context.of(turn.positions)
        room = limit * settings.target - others
        indexes = foldable(turn, [self.context.sizes[at] for at in turn.said_at], room * KEPT_OF_FOLDED)
        known = set(new.fold.indexes) if new.fold else set()
        return self._refolded(new, turn, indexes) if lost or set(indexes) > known else new

    def _refolded(self, new: State, turn: Turn, indexes: tuple[int, ...]) -> State:
        (recorded,) = self.reading.recorded([turn])
        end = max(indexes, default=-1) + 1
        turned = replace(covered(recorded), mark=marked(turn.said[:end]))
        folded = [turned.indexes[index] for index in indexes]
        if self.context.carried is not None:  # what earlier folds took is in the episode alone
            kept = set(turned.indexes) - set(folded)
            messages = enumerate(recorded.episode.messages)
            folded = [at for at, message in messages if at not in kept and message.role != "user"]
        if not folded:
            return new
        bare = Fold(turned, indexes, end, (), "", tuple(folded))
        left = self.shares.summary(self._size(replace(new, fold=bare)))
        wanted = sum(self.counter.count(str(each)) for each in new.statements) if new.told else 0
        room = max(left.tokens // 2, _tokens(left) - wanted)
        condensed = self._brief(self.reading.source(turned, folded), fold_text(turned.episode, ()), room)
        text = fold_text(turned.episode, condensed.statements)
        return _noted(replace(new, fold=replace(bare, statements=condensed.statements, text=text)), condensed)

    def _wanted(self, files: Files, found: Sequence[Candidate], taken: Size) -> Size:
        """Return the size of the files that come back, or nothing if they do not compete with the summary."""
        room = self.context.limit * self.settings.files
        if not found or self.shares.summary(taken, room) == self.shares.summary(taken):
            return Size()
        shown = files.fitted(found, room.at_most(self.shares.to_compact(taken)), self.context.limit)
        return sum((weight(file, self.counter) for file in shown), Size())

    def _said(self, new: State) -> list[Said]:
        """Return all messages of the thread; those of the ongoing turn that stay, without an episode."""
        turns = [(turn.episode, turn.indexes) for turn in new.covered]
        found = {episode.id: episode for episode in self.reading.episodes(id_ for id_, _ in turns)}
        gone = Said(Message("assistant", FORGOTTEN_TEXT), None, None)
        said = [each for id_, at in turns for each in (_dated(found[id_], at) if id_ in found else [gone])]
        return said + self._going_on(new.fold)

    def _going_on(self, fold: Fold | None) -> list[Said]:
        """Return the messages of the ongoing turn: folded ones stand in its episode only."""
        stays = [] if self.ongoing is None else [Said(message, None, message.at) for message in self.ongoing.said]
        if fold is None:
            return stays
        stays = [each for index, each in enumerate(stays) if index not in fold.indexes]
        said: list[Said] = []
        writer = self.reading.recorder.writer
        stored = [stored_forms(writer, each.message) for each in stays]
        for episode in self.reading.episodes([fold.turn.episode]):
            for each in _dated(episode, range(len(episode.messages))):
                found = (at for at, one in enumerate(stored) if is_one_of(one, each.message, writer.frames))
                same = next(found, None)
                if same is not None:
                    del stored[same]
                said.append(each if same is None else stays.pop(same))
        return said + stays

    # sizes

    @cached_property
    def _marks(self) -> Size:
        """Return the size of the marks around a text."""
        marks = self.frames.summary("")
        return Size(self.counter.count(marks), len(marks.encode()))

    def _size(self, state: State) -> Size:
        return size(self.context, pieces(self.context.history, state, self.completed, self.frames), self.counter)

    def _share(self, state: State) -> float:
        return self._size(state).share(self.context.limit)

    def _overflow(self, state: State) -> str:
        history, sizes = self.context.history, self.context.sizes
        shown = [
            piece.position for piece in pieces(history, state, self.completed, self.frames) if isinstance(piece, Kept)
        ]
        largest = max(shown, key=lambda at: sizes[at].share(self.context.limit), default=0)
        which = f"message {largest}, {history.messages[largest].role}, {sizes[largest]}" if shown else "none"
        return (
            f"what may not be shortened takes {self._size(state)} of {self.context.limit}: {self.context.reserved} is "
            f"reserved for system prompt, tools and whisper, and {len(shown)} messages stay verbatim: system prompts, "
            f"the ongoing request, its last tool calls (the largest: {which}). Raise max_tokens or max_bytes, or let "
            "tools return less"
        )


def _dated(episode: Episode, indexes: Iterable[int]) -> list[Said]:
    messages = [(at, episode.messages[at]) for at in indexes]
    return [
        Said(message, episode.id, message.at or episode.occurred_at + timedelta(milliseconds=at))
        for at, message in messages
    ]


def _asked(state: State) -> str | None:
    """Return the episode whose question is shown verbatim."""
    return state.covered[-1].episode if state.covered and state.question is not None else None


def _tokens(room: Size) -> int:
    return min(room.tokens, room.bytes // BYTES_PER_TOKEN)


def _noted(state: State, condensed: Condensed) -> State:
    """Return the state with the name of its summariser and with the errors that occurred."""
    return replace(
        state,
        summariser=state.summariser or condensed.by,
        fallback=state.fallback or condensed.fallback,
        unknown_citations=state.unknown_citations + condensed.unknown,
    )
