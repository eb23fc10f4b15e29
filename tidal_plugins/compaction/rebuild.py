"""Rebuilding of a context: the parts to keep, the parts to condense, and the size of each text [SIYA §2.2–2.4]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from tidal_plugins.compaction.files.restore import Files
from tidal_plugins.compaction.files.tracked import Said
from tidal_plugins.compaction.fold import foldable
from tidal_plugins.compaction.preparation import Prepared
from tidal_plugins.compaction.recorded import Recorded, Recorder, forgotten, holds
from tidal_plugins.compaction.state import Covered, Fold, State
from tidal_plugins.compaction.turns import Turn, marked
from tidal_plugins.compaction.view import HEADER, Context, fold_text, pieces, size, summary, synthesis_text
from tidal_plugins.english.secrets import masked, masked_value
from tidal_plugins.errors import BrokenInvariant, ContextOverflow
from tidal_plugins.model.compaction import Kept, RestoredFile, Size
from tidal_plugins.model.episode import FORGOTTEN_TEXT, Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.loss import LossLedger
from tidal_plugins.model.summary import Source
from tidal_plugins.protocols import CurrentFiles, Summariser, TokenCounter
from tidal_plugins.summarising.summary import Condensed, condense
from tidal_plugins.tuning import CompactionTuning

TEXT_BYTES_PER_TOKEN = 5
"""Bytes per token of condensed texts, so that counting their tokens respects a limit in bytes."""


@dataclass
class Rebuild:
    """A context on its way from one state to the next; the first ``covered`` turns of its history are in the state.

    ``used`` collects the episodes that the next state quotes, as they were read.
    """

    context: Context
    covered: int
    recorder: Recorder
    settings: CompactionTuning
    timeout: float
    summariser: Summariser | None
    counter: TokenCounter
    now: datetime
    disk: CurrentFiles | None = None
    used: dict[str, Episode] = field(default_factory=dict)

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
        sources = self._sources(turns[state.told : -1])
        if not sources:
            return None
        condensed = self._condensed(state, sources, before)
        return None if condensed.fallback else Prepared(state.id, sources, condensed)  # it may work when it matters

    def check(self, ledger: LossLedger) -> None:
        """Raise ``BrokenInvariant`` if a message does not stand in its episode at the place that the ledger names.

        Episodes that were not read for this compaction were checked when they were read.
        """
        messages = self.context.history.messages
        for loss in ledger:
            episode = self.used.get(loss.episode)
            if episode and not forgotten(episode) and not holds(episode, loss.index, messages[loss.position]):
                raise BrokenInvariant(f"message {loss.position} is not number {loss.index} of [ep:{loss.episode}]")

    def _next(self, state: State, prepared: Prepared | None, *, hard: bool, demote: bool = False) -> State:
        turns = self._turns(state)
        fresh = len(turns) > len(state.covered)
        last = turns[-1] if (fresh or state.question is not None) and not demote else None
        told = len(turns) - (last is not None)
        fold = state.fold if state.fold and self.ongoing and state.fold.of(self.ongoing) else None
        if state.hard and not fresh and not demote:
            held = replace(state, fold=fold)
            if self._share(held) >= self.settings.hard:
                held = replace(held, files=())
            return self._shown(self._folded(held))  # a fold may leave room for more of it
        sources = self._sources(turns[state.told : told])
        new = replace(state, covered=turns, told=told, question=self._question(last), fold=fold, hard=hard)
        new = replace(new, summary="", synthesis=(), synthesis_text="", files=())
        if sources:  # what is said of how it was written is said anew
            new = replace(new, summariser=None, fallback=None, unknown_citations=0)
        if hard:
            new = self._folded(new)
        new = self._summarised(state, new, sources, prepared)
        if last is not None:
            new = self._synthesised(state, new, last)
        new = self._shown(new)
        return replace(new, files=self._files(new, self._size(new)))

    # the covered turns

    def _turns(self, state: State) -> tuple[Covered, ...]:
        """Return every turn that the next state covers, and record those that were not."""
        turns = self.context.history.turns[self.covered : self.completed]
        recorded = self.recorder.recorded(turns, self.context.thread, self.now)
        self.used |= {each.episode.id: each.episode for each in recorded}
        return (*state.covered, *map(_covered, recorded))

    def _episodes(self, ids: Iterable[str]) -> list[Episode]:
        """Return episodes by id, except those that were forgotten as a whole."""
        wanted = list(dict.fromkeys(ids))
        unread = [id_ for id_ in wanted if id_ not in self.used]
        self.used |= self.recorder.episodes(unread)
        return [self.used[id_] for id_ in wanted if id_ in self.used and not forgotten(self.used[id_])]

    def _sources(self, turns: Sequence[Covered]) -> tuple[Source, ...]:
        self._episodes(turn.episode for turn in turns)  # all at once
        return tuple(source for turn in turns for source in self._source(turn, turn.indexes))

    def _source(self, turn: Covered, indexes: Iterable[int]) -> list[Source]:
        """Return the messages of a turn's episode, under ids unique in the store; nothing if it was forgotten.

        Secrets are hidden: nothing that is written of them may tell them again.
        """
        return [
            Source(each.id, tuple(replace(_shown(each.messages[at]), id=f"{each.id}/{at}") for at in sorted(indexes)))
            for each in self._episodes([turn.episode])
        ]

    # the texts

    def _question(self, last: Covered | None) -> str | None:
        """Return the user's last question, verbatim. An episode that was forgotten leaves an empty question."""
        if last is None:
            return None
        said = [each.messages[at] for each in self._episodes([last.episode]) for at in sorted(last.indexes)]
        asked = [message.text for message in said if message.role == "user"]
        return "\n\n".join(filter(None, asked))

    def _condensed(self, state: State, sources: Sequence[Source], ready: Prepared | None) -> Condensed:
        """Condense the sources on top of the earlier statements, to the size of an ordinary summary."""
        previous, given = state.statements, tuple(sources)
        if ready and ready.base == state.id and given[: len(ready.sources)] == ready.sources:
            given = given[len(ready.sources) :]
            if not given:
                return ready.condensed
            previous = ready.condensed.statements
        room = self.context.limit * self.settings.summary
        budget = max(0, int(_tokens(room) * (1 - self.settings.cited)) - self.counter.count(HEADER))
        condensed = condense(
            self.summariser,
            given,
            purpose="summary",
            previous=previous,
            max_tokens=budget,
            counter=self.counter,
            timeout=self.timeout,
        )
        unknown = ready.condensed.unknown if ready and given != tuple(sources) else 0
        return replace(condensed, unknown=condensed.unknown + unknown)

    def _summarised(self, state: State, new: State, sources: Sequence[Source], ready: Prepared | None) -> State:
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

    def _shown(self, new: State) -> State:
        """Return the state with a summary of as many of its statements as fit now."""
        limit, settings = self.context.limit, self.settings
        if not new.told:
            return new
        episodes = list(dict.fromkeys(turn.episode for turn in new.covered[: new.told]))
        room = self._room(self._size(replace(new, summary="")))
        room = room.at_most(limit * (settings.summary_hard if new.hard else settings.summary))
        text, shown = summary(new.statements, episodes, room, self.counter)
        return replace(new, summary=text, shown=shown)

    def _synthesised(self, state: State, new: State, last: Covered) -> State:
        if not new.hard and state.question is not None and len(new.covered) == len(state.covered):
            return replace(new, synthesis=state.synthesis, synthesis_text=state.synthesis_text)
        condensed = self._brief(self._sources([last]), synthesis_text(last.episode, ()))
        text = synthesis_text(last.episode, condensed.statements)
        return _noted(replace(new, synthesis=condensed.statements, synthesis_text=text), condensed)

    def _brief(self, sources: Sequence[Source], header: str) -> Condensed:
        budget = max(0, _tokens(self.context.limit * self.settings.synthesis) - self.counter.count(header))
        return condense(
            self.summariser,
            sources,
            purpose="synthesis",
            max_tokens=budget,
            counter=self.counter,
            timeout=self.timeout,
        )

    def _folded(self, new: State) -> State:
        """Return the state with as much of the ongoing turn folded as the other texts need."""
        turn, settings, limit = self.ongoing, self.settings, self.context.limit
        texts = limit * (settings.summary_hard + settings.synthesis)
        if turn is None or (self._size(new) + texts).within(limit * settings.compact):
            return new
        others = self._size(replace(new, fold=None)) - self.context.of(turn.positions) + texts
        aim = limit * (settings.target - settings.synthesis) - others
        indexes = foldable(turn, [self.context.sizes[at] for at in turn.said_at], aim)
        known = set(new.fold.indexes) if new.fold else set()
        return self._refolded(new, turn, indexes) if set(indexes) > known else new

    def _refolded(self, new: State, turn: Turn, indexes: tuple[int, ...]) -> State:
        (recorded,) = self.recorder.recorded([turn], self.context.thread, self.now)
        self.used[recorded.episode.id] = recorded.episode
        end = max(indexes) + 1
        covered = replace(_covered(recorded), mark=marked(turn.said[:end]))
        folded = [covered.indexes[index] for index in indexes]
        if self.context.carried is not None:  # what earlier folds took is in the episode alone
            kept = set(covered.indexes) - set(folded)
            messages = enumerate(recorded.episode.messages)
            folded = [at for at, message in messages if at not in kept and message.role != "user"]
        condensed = self._brief(self._source(covered, folded), fold_text(covered.episode, ()))
        text = fold_text(covered.episode, condensed.statements)
        return _noted(replace(new, fold=Fold(covered, indexes, end, condensed.statements, text)), condensed)

    def _files(self, new: State, taken: Size) -> tuple[RestoredFile, ...]:
        limit, settings = self.context.limit, self.settings
        room = (limit * settings.compact - taken).at_most(limit * settings.files)
        return Files(settings, self.counter, self.disk).restored(self._said(new), room, limit)

    def _said(self, new: State) -> list[Said]:
        """Return all messages of the thread; those of the ongoing turn that stay, without an episode."""
        turns = [(turn.episode, turn.indexes) for turn in new.covered]
        found = {episode.id: episode for episode in self._episodes(id_ for id_, _ in turns)}
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
        for episode in self._episodes([fold.turn.episode]):
            for each in _dated(episode, range(len(episode.messages))):
                same = next((one for one in stays if holds(episode, len(said), one.message)), None)
                said.append(same or each)
                stays = [one for one in stays if one is not same]
        return said + stays

    # sizes

    def _size(self, state: State) -> Size:
        return size(self.context, pieces(self.context.history, state, self.completed), self.counter)

    def _share(self, state: State) -> float:
        return self._size(state).share(self.context.limit)

    def _room(self, taken: Size) -> Size:
        """Return the size that the texts may take.

        A rebuilt context leaves space to grow, if that leaves enough for the texts.
        """
        limit = self.context.limit
        for aim in (self.settings.target, self.settings.compact):
            room = limit * aim - taken
            if room.least_share(limit) >= self.settings.least:
                return room
        return limit * self.settings.hard - taken

    def _overflow(self, state: State) -> str:
        history, sizes = self.context.history, self.context.sizes
        shown = [piece.position for piece in pieces(history, state, self.completed) if isinstance(piece, Kept)]
        largest = max(shown, key=lambda at: sizes[at].share(self.context.limit), default=0)
        which = f"message {largest}, {history.messages[largest].role}, {sizes[largest]}" if shown else "none"
        return (
            f"what may not be shortened takes {self._size(state)} of {self.context.limit}: {self.context.reserved} is "
            f"reserved for system prompt, tools and whisper, and {len(shown)} messages stay verbatim: system prompts, "
            f"the ongoing request, its last tool calls (the largest: {which}). Raise max_tokens or max_bytes, or let "
            "tools return less"
        )


def _shown(message: Message) -> Message:
    calls = tuple(replace(call, arguments=masked_value(call.arguments)) for call in message.tool_calls)
    return replace(message, text=masked(message.text), tool_calls=calls)


def _covered(recorded: Recorded) -> Covered:
    plain = recorded.places == tuple(range(len(recorded.places)))
    places = None if plain else recorded.places
    return Covered(recorded.turn.key, recorded.turn.mark, recorded.episode.id, len(recorded.places), places)


def _dated(episode: Episode, indexes: Iterable[int]) -> list[Said]:
    messages = [(at, episode.messages[at]) for at in indexes]
    return [
        Said(message, episode.id, message.at or episode.occurred_at + timedelta(milliseconds=at))
        for at, message in messages
    ]


def _tokens(room: Size) -> int:
    return min(room.tokens, room.bytes // TEXT_BYTES_PER_TOKEN)


def _noted(state: State, condensed: Condensed) -> State:
    """Return the state with the name of its summariser and with the errors that occurred."""
    return replace(
        state,
        summariser=state.summariser or condensed.by,
        fallback=state.fallback or condensed.fallback,
        unknown_citations=state.unknown_citations + condensed.unknown,
    )
