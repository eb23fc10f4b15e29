"""Compactor: decides before every model call whether a context must be rebuilt, and rebuilds it [SIYA §2].

How a context is rebuilt: turns that are not recorded yet are recorded; the history is split, what its completed turns
say is condensed without any lock held, the context is assembled and verified; then one transaction stores the state,
unless something that it quotes has changed meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from tidal_plugins.aio import in_thread
from tidal_plugins.compaction.assemble import Context, folded, ledger, pieces, size
from tidal_plugins.compaction.files import CompactionTuning
from tidal_plugins.compaction.preparation import Preparations, Prepared
from tidal_plugins.compaction.rebuild import Means, Recorded, prepare, rebuild, record
from tidal_plugins.compaction.recorded import Recorder, check_ledger
from tidal_plugins.compaction.state import Covered, State, States, note_compaction
from tidal_plugins.compaction.state import history as split
from tidal_plugins.errors import CompactionError, Conflict, ContextOverflow, InvalidInput
from tidal_plugins.ingestion.episodes import from_entry
from tidal_plugins.model.compaction import Compaction, Size, Stage
from tidal_plugins.model.entry import EPISODE
from tidal_plugins.model.exchange import Exchange, Message
from tidal_plugins.protocols import CurrentFiles, Summariser, TokenCounter
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.summarising.extractive import ExtractiveSummariser
from tidal_plugins.summarising.sizes import measure
from tidal_plugins.tracing import traced
from tidal_plugins.validation import items, label, shaped

logger = logging.getLogger(__name__)

ATTEMPTS = 5

WHISPER_SHARE = 0.15
"""Share of the limit that is kept free for a whisper, at most: between the target and the limit there is room for more.
At limits of 450 to 1,200 tokens the room for the longest whisper is missed by what was said."""

PROSE = "Here is what it reminds me of: in May the user said that the boat would be painted green. "
"""Text to count where a whisper's room is reserved: some counters take a run of one character for nothing."""


@dataclass(frozen=True)
class Compactor:
    """Rebuilds the contexts of a scope within a limit. ``memory.compactor(max_tokens=…)`` returns one."""

    recorder: Recorder
    preparations: Preparations
    limit: Size
    summariser: Summariser | None
    counter: TokenCounter
    clock: Callable[[], datetime]
    files: CurrentFiles | None = None

    @traced("tidal.compaction", lambda made: {"tidal.tokens": made.after.tokens, "tidal.before": made.before.tokens})
    def compact(
        self,
        history: Sequence[Message] | Sequence[Exchange],
        *,
        thread: str | None = None,
        sizes: Sequence[Size] | None = None,
        reserved: Size = Size(),  # noqa: B008  it is frozen
        force: Literal["compact", "hard"] | None = None,
        carried: str | None = None,
    ) -> Compaction:
        """Return the context for a model, made of a history. Call it before each call of the model.

        Args:
            history: all messages in order, or exchanges with one turn each.
            thread: the conversation in which the turns are recorded, and the rebuilt context is kept.
            sizes: the sizes of the messages, if they are not those of their texts (images).
            reserved: the size of everything else that is sent (a system prompt, tool schemas).
            force: ``compact`` or ``hard`` to rebuild whatever the size, such as after a provider's complaint.
            carried: the id of the compaction that the history was rewritten with.

        A message that was shown before must come again as it was, under its id. With a changed message a turn is
        another one, and the summary is made anew. Raises ``ContextOverflow`` if the parts that may not be shortened
        exceed the limit, ``CompactionError`` for a turn that cannot be recorded, and ``InvalidInput`` for an unusable
        history.
        """
        if force is not None and not (isinstance(force, str) and force in ("compact", "hard")):
            raise InvalidInput(f"force must be 'compact', 'hard' or None, got {shown(force)}")
        context = self._context(history, thread, sizes, reserved, carried)
        prepared: list[Prepared] = []
        for _ in range(ATTEMPTS):
            try:
                return self._compacted(context, force, prepared)
            except Conflict:  # somebody else rebuilt it, or something that it quotes was recorded or forgotten
                force = None  # and if somebody else did, it may fit now
        return self._compacted(context, None, prepared, save=False)

    acompact = in_thread(compact)

    def _compacted(
        self,
        context: Context,
        force: Literal["compact", "hard"] | None,
        prepared: list[Prepared],
        *,
        save: bool = True,
    ) -> Compaction:
        settings = self.recorder.writer.settings[CompactionTuning]
        timeout = self.recorder.writer.settings.models.timeout
        states = States(self._storage, self.recorder.scope, context.thread, context.history)
        known, version = states.load()
        state, covered = self._current(known, context)
        lost = context.carried is not None and state.id != context.carried
        id_ = state.id
        if context.carried is not None:
            state = state.carried_on(context.history)
        now = self._result(context, state, covered, "none", id_)
        share = now.after.share(context.limit)
        if force is None and share < settings.compact and not lost:
            if share < settings.prepare:
                return _verified(now)
            self._prepare(context, state, covered)
            return _verified(replace(now, stage="prepare"))
        hard = force == "hard" or (force is None and share >= settings.hard)
        stage: Stage = "hard" if hard else "compact"
        going = covered < len(context.history.turns) and context.history.ongoing is not None
        if stage == "compact" and force is None and id_ and covered == len(context.history.turns) - going and not lost:
            return _verified(replace(now, stage=stage))  # no turn was completed: there is nothing to leave out yet
        try:
            means = self._means()
            recorded = record(means, context, state, covered, lost=lost)
            if ready := self.preparations.take(self._conversation(context), timeout):
                prepared.append(ready)
            new, recorded = rebuild(means, recorded, state, prepared[-1] if prepared else None, hard=hard)
            new_id = id_ if new == state else new.id
            made = self._result(context, new, recorded.completed, "hard" if new.hard else stage, new_id)
            made.verify()
            check_ledger(self.recorder.writer, made.ledger, recorded.episodes, context.history.messages)
        except CompactionError as error:
            if isinstance(error, ContextOverflow) or share > 1 or lost:
                raise
            logger.warning("the context stays as it is: %s", error)
            return _verified(replace(now, stage=stage, fallback=str(error)))
        if save and new != state:
            self._save(states, version, [new, *(each for each in known if each.id != new_id)], recorded, made)
        return made

    def _current(self, known: Sequence[State], context: Context) -> tuple[State, int]:
        """Return the newest state that stands in for the head of this history, and how many of its turns it covers."""
        for state in known:
            covered = state.matches(context.history, context.carried)
            if covered is not None:
                return state, covered
        return (State(), 0) if context.carried is None else self._recovered(context)

    def _recovered(self, context: Context) -> tuple[State, int]:
        """Return a state for a rewritten history whose own state is gone, and how many turns it covers.

        It covers the thread's episodes before the turns that the history holds, with no statements yet. The history's
        first turn may be the question of the last of these episodes.
        """
        scope, turns = self.recorder.scope, context.history.turns
        held = [self.recorder.episode_id(context.thread, turn.key) for turn in turns]
        entries = self._storage.find(scope, Where(kinds={EPISODE}, threads={str(context.thread)}))
        episodes = sorted(map(from_entry, entries), key=lambda episode: episode.turn)
        asked = len(turns) > 1 and all(message.role == "user" for message in turns[0].said)
        first = next((episode for episode in episodes if asked and episode.id == held[0]), None)
        later = [episode.turn for episode in episodes if episode.id in held and episode is not first]
        end = first.turn + 1 if first else min(later, default=len(episodes) + 1)
        covered = [Covered(each.id, "", each.id, len(each.messages)) for each in episodes if each.turn < end]
        return State(tuple(covered)), int(first is not None)

    def _prepare(self, context: Context, state: State, covered: int) -> None:
        means = self._means()

        def work(before: Prepared | None) -> Prepared | None:
            return prepare(means, record(means, context, state, covered), state, before)

        what = (state.id, tuple(turn.mark for turn in context.history.completed))
        self.preparations.start(self._conversation(context), what, work)

    def _means(self) -> Means:
        settings, given = self.recorder.writer.settings, self.summariser
        extractive = (
            given
            if isinstance(given, ExtractiveSummariser)
            else ExtractiveSummariser(self.counter, settings.compaction.file_tools)
        )
        timeout, now = settings.models.timeout, self.clock()
        return Means(
            self.recorder, settings[CompactionTuning], timeout, given, extractive, self.counter, now, self.files
        )

    def _save(self, states: States, version: int, kept: Sequence[State], recorded: Recorded, made: Compaction) -> None:
        """Save the new state. Raise ``Conflict`` if anything that it quotes has changed since it was read."""
        with self._storage.transaction():
            used = {id_: episode for id_, episode in recorded.episodes.items() if episode.messages}
            if self.recorder.episodes(used) != used:
                raise Conflict("an episode changed while it was being condensed")
            states.save(kept, version)
            note_compaction(self._storage, self.recorder.scope, made, self.clock())

    def _result(self, context: Context, state: State, covered: int, stage: Stage, id_: str | None) -> Compaction:
        history = context.history
        open_ = history.ongoing if covered < len(history.turns) else None
        view = pieces(history, state, covered, self.recorder.writer.delimiters)
        return Compaction(
            stage=stage,
            history=history.messages,
            view=view,
            before=context.whole,
            after=size(context, view, self.counter),
            limit=context.limit,
            id=id_,
            episodes=state.episodes,
            statements=state.shown,
            ledger=ledger(history, state, covered, view),
            ongoing=open_.start if open_ else len(history.messages),
            folded=folded(history, state.fold),
            summariser=state.summariser,
            fallback=state.fallback,
            unknown_citations=state.unknown_citations,
            resolve=self._resolve,
        )

    def _resolve(self, ids: Collection[str]) -> set[str]:
        found = set(self._storage.summaries(self.recorder.scope, ids))
        return found | self.recorder.tombstoned(set(ids) - found)

    def _context(
        self,
        given: Sequence[Message] | Sequence[Exchange],
        thread: str | None,
        sizes: Sequence[Size] | None,
        reserved: Size,
        carried: str | None,
    ) -> Context:
        whole: Any = items(given, "history")  # of the one or of the other: split tells
        for item in whole:
            if isinstance(item, Message | Exchange):
                shaped(item, type(item), "a part of the history")
        thread, carried = label(thread, "thread"), label(carried, "carried")
        if not isinstance(reserved, Size):
            raise InvalidInput(f"reserved is a Size(tokens, bytes), got {shown(reserved)}")
        if carried is not None and any(isinstance(item, Message) for item in whole):
            raise InvalidInput(
                "give a history that was rewritten as Exchanges: its messages alone do not say whose turn a question "
                "belongs to"
            )
        if carried is not None and thread is None:
            raise InvalidInput("a history that was rewritten can be known again by its thread only: give one")
        history = split(whole)
        known = None if sizes is None else items(sizes, "sizes")
        if known is not None and not (len(known) == len(history.messages) and all(isinstance(s, Size) for s in known)):
            raise InvalidInput(f"sizes has one Size per message: {len(history.messages)}, got {shown(sizes)}")
        each = [measure(message, self.counter) for message in history.messages] if known is None else known
        whisper = self._whisper(history.messages)
        return Context(history, tuple(each), reserved + whisper, self.limit, thread, carried)

    def _conversation(self, context: Context) -> tuple[object, ...]:
        """Return the key of a preparation: a thread, or a history without one, known by its first turn."""
        first = context.history.turns[0].key if context.history.turns else None
        return (self.recorder.scope, context.thread, None if context.thread else first)

    def _whisper(self, messages: Sequence[Message]) -> Size:
        """Return the size of the longest whisper: in this conversation's script or in English, if that takes more.

        Of a small limit it is at most a share: what was said matters more there than room for the longest whisper.
        """
        chars = self.recorder.writer.settings.whisper.most_chars
        said = "".join(message.text[:chars] for message in messages[-20:])[-4 * chars :]
        texts = [(text * (chars // len(text) + 1))[:chars] for text in (said, PROSE) if text]
        tokens = max(self.counter.count(text) for text in texts)
        longest = Size(tokens, max(len(text.encode(errors="replace")) for text in texts))
        return longest.at_most(self.limit * WHISPER_SHARE)

    @property
    def _storage(self) -> Storage:
        return self.recorder.writer.storage


def _verified(compaction: Compaction) -> Compaction:
    compaction.verify()
    return compaction
