"""Rebuilding of a context: record first, then split → condense → assemble [SIYA §2.2–2.4]. The compactor verifies it.

Each step is a function from values to values: the state before, what was recorded, and the state that comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tidal_plugins.actions.files import Said
from tidal_plugins.compaction.assemble import (
    BYTES_PER_TOKEN,
    HEADER,
    Context,
    fold_text,
    foldable,
    pieces,
    room_of_files,
    room_of_summary,
    size,
    summary,
    synthesis_text,
)
from tidal_plugins.compaction.files import Candidate, CompactionTuning, Restorer, weight
from tidal_plugins.compaction.preparation import Prepared
from tidal_plugins.compaction.recorded import Recorder, covered_turn, is_one_of, stored_forms
from tidal_plugins.compaction.state import Covered, Fold, State, Turn, marked
from tidal_plugins.errors import ContextOverflow
from tidal_plugins.model.compaction import Kept, Size
from tidal_plugins.model.dossier import Source, Statement
from tidal_plugins.model.exchange import FORGOTTEN_TEXT, Episode, Message
from tidal_plugins.protocols import CurrentFiles, Summariser, TokenCounter
from tidal_plugins.secrets.finding import masked
from tidal_plugins.summarising.extractive import ExtractiveSummariser
from tidal_plugins.summarising.quotes import cut, folded
from tidal_plugins.summarising.sources import source_of
from tidal_plugins.summarising.summary import Condensed, condense
from tidal_plugins.summarising.work import Work

KEPT_OF_FOLDED = 0.5
"""Share of the room of a long ongoing turn, its fold and the summary that its newest steps keep verbatim: the model
needs what it just did word for word, and its past in words."""

MAX_ANSWER = 120
"""Characters of the answer that stand for a turn of which nothing else is worth telling."""


@dataclass(frozen=True, slots=True)
class Means:
    """What every step works with."""

    recorder: Recorder
    settings: CompactionTuning
    timeout: float
    summariser: Summariser | None
    extractive: ExtractiveSummariser
    counter: TokenCounter
    now: datetime
    disk: CurrentFiles | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A history of which every completed turn stands in an episode.

    Attributes:
        turns: the completed turns, in order: those that the state before covers, and the others.
        completed: how many turns of the history they include.
        ongoing: the turn that goes on, and stays as it is.
        episodes: the episodes of the turns by id, as they were read; those that were forgotten have no messages.
        lost: whether the state that the history was rewritten with is gone, and its fold with it.
    """

    context: Context
    turns: tuple[Covered, ...]
    completed: int
    ongoing: Turn | None
    episodes: Mapping[str, Episode]
    lost: bool = False


def record(means: Means, context: Context, state: State, covered: int, *, lost: bool = False) -> Recorded:
    """Record the completed turns beyond the first ``covered`` ones, which the state covers, and read all episodes."""
    history = context.history
    ongoing = None if covered == len(history.turns) else history.ongoing
    completed = len(history.turns) - (ongoing is not None)
    new = means.recorder.recorded(history.turns[covered:completed], context.thread, means.now)
    episodes = {each.episode.id: each.episode for each in new}
    episodes |= means.recorder.episodes(id_ for id_ in state.episodes if id_ not in episodes)
    return Recorded(context, (*state.covered, *map(covered_turn, new)), completed, ongoing, episodes, lost)


def rebuild(
    means: Means, recorded: Recorded, state: State, ready: Prepared | None, *, hard: bool
) -> tuple[State, Recorded]:
    """Return the state that covers every completed turn and keeps to the limit, and what was recorded for it.

    What does not fit is made again as in the hard stage; then the last question goes into the summary too. Raises
    ``ContextOverflow`` if even that exceeds the limit.
    """
    for stage in range(1 if hard else 0, 3):
        hard = stage > 0
        last = split(recorded, state, demoted=stage == 2)
        sources = tuple(_sources(means, recorded, recorded.turns[state.told : last]))
        new = condense_turns(means, recorded, state, sources, ready, last, hard=hard)
        if hard or recorded.lost:
            new, recorded = fold(means, recorded, new)
        state, ready = assemble(means, recorded, new, _chooser(means, state, new, sources)), None
        share = _size(means, recorded, state).share(recorded.context.limit)
        if share < means.settings.hard or (hard and (share <= 1 or state.question is None)):
            break
    if share > 1:
        raise ContextOverflow(_overflow(means, recorded, state))
    return state, recorded


def prepare(means: Means, recorded: Recorded, state: State, before: Prepared | None) -> Prepared | None:
    """Condense the sources that a compaction would have to condense now, on top of the last preparation."""
    sources = tuple(_sources(means, recorded, recorded.turns[state.told : -1]))
    if not sources:
        return None
    condensed = _condensed(means, recorded.context.limit, state, sources, before)
    return None if condensed.fallback else Prepared(state.id, sources, condensed)  # it may work when it matters


# split


def split(recorded: Recorded, state: State, *, demoted: bool) -> int:
    """Return how many turns the summary tells: all but the last, which is shown as its question and synthesis."""
    fresh = len(recorded.turns) > len(state.covered)
    return len(recorded.turns) - (not demoted and (fresh or state.question is not None))


# condense


def condense_turns(
    means: Means,
    recorded: Recorded,
    state: State,
    sources: tuple[Source, ...],
    ready: Prepared | None,
    told: int,
    *,
    hard: bool,
) -> State:
    """Return the state with its texts condensed: statements of the turns, the state of the work, the last turn."""
    turns, going, tools = recorded.turns, recorded.ongoing, means.settings.file_tools
    new = replace(
        state,
        covered=turns,
        told=told,
        fold=state.fold if state.fold and going and state.fold.of(going) else None,
        hard=hard,
        question=None,
        masked=False,
        work=state.work.after(_sources(means, recorded, turns[state.worked :]), tools),
        worked=len(turns),
        summary="",
        shown=(),
        synthesis=(),
        synthesis_text="",
        files=(),
    )
    if sources:
        condensed = _condensed(means, recorded.context.limit, state, sources, ready)
        new = replace(new, statements=condensed.statements, summariser=None, fallback=None, unknown_citations=0)
        new = _noted(new, condensed)
    if told == len(turns):
        return new
    last = turns[-1]
    said = [each.message for each in _dated(recorded.episodes, last.episode, sorted(last.indexes))]
    asked = "\n\n".join(message.text for message in said if message.role == "user" and message.text)
    hidden = masked(asked)
    new = replace(new, question=hidden, masked=hidden != asked)
    if state.question == new.question and len(turns) == len(state.covered):
        return replace(new, synthesis=state.synthesis, synthesis_text=state.synthesis_text)
    found = _sources(means, recorded, [last])
    brief = _brief(means, recorded.context.limit, found, synthesis_text(last.episode, ()))
    text = synthesis_text(last.episode, brief.statements)
    return _noted(replace(new, synthesis=brief.statements, synthesis_text=text), brief)


def _condensed(
    means: Means, limit: Size, state: State, sources: tuple[Source, ...], ready: Prepared | None
) -> Condensed:
    """Condense the sources on top of the earlier statements, to what the target leaves at most."""
    previous, given = state.statements, sources
    if ready and ready.base == state.id and given[: len(ready.sources)] == ready.sources:
        given = given[len(ready.sources) :]
        if not given:
            return ready.condensed
        previous = ready.condensed.statements
    condensed = condense(
        means.summariser or means.extractive,
        given,
        purpose="summary",
        previous=previous,
        max_tokens=max(0, _tokens(limit * means.settings.target) - means.counter.count(HEADER)),
        counter=means.counter,
        timeout=means.timeout,
        tools=means.settings.file_tools,
    )
    unknown = ready.condensed.unknown if ready and given is not sources else 0
    return replace(condensed, unknown=condensed.unknown + unknown)


def _brief(means: Means, limit: Size, sources: Sequence[Source], header: str, room: int = 0) -> Condensed:
    """Condense the sources of one turn; where nothing is worth telling, the beginning of its answer stands for it."""
    room = max(room, _tokens(limit * means.settings.synthesis))
    condensed = condense(
        means.summariser,
        sources,
        purpose="synthesis",
        max_tokens=max(0, room - means.counter.count(header)),
        counter=means.counter,
        timeout=means.timeout,
        tools=means.settings.file_tools,
    )
    said = [(source.id, m) for source in sources for m in source.messages if m.role == "assistant" and m.text]
    if condensed.statements or not said:
        return condensed
    id_, message = said[-1]
    text = cut(folded(message.text), MAX_ANSWER)
    found = (Statement(text, (id_,), (message.id,) if message.id else ()),) if text else ()
    return replace(condensed, statements=found)


def fold(means: Means, recorded: Recorded, new: State) -> tuple[State, Recorded]:
    """Return the state with as much of the ongoing turn folded as the other texts need; that turn is recorded then."""
    turn, settings, limit = recorded.ongoing, means.settings, recorded.context.limit
    taken = _size(means, recorded, new)
    lost = recorded.lost and new.fold is None
    if turn is None or ((taken + limit * settings.least).within(limit * settings.compact) and not lost):
        return new, recorded
    others = _size(means, recorded, replace(new, fold=None)) - recorded.context.of(turn.positions)
    aim = (limit * settings.target - others) * KEPT_OF_FOLDED
    indexes = foldable(turn, [recorded.context.sizes[at] for at in turn.said_at], aim)
    if not lost and set(indexes) <= set(new.fold.indexes if new.fold else ()):
        return new, recorded
    (own,) = means.recorder.recorded([turn], recorded.context.thread, means.now)
    recorded = replace(recorded, episodes={**recorded.episodes, own.episode.id: own.episode})
    end = max(indexes, default=-1) + 1
    turned = replace(covered_turn(own), mark=marked(turn.said[:end]))
    places = [turned.indexes[index] for index in indexes]
    if recorded.context.carried is not None:  # what earlier folds took is in the episode alone
        kept = set(turned.indexes) - set(places)
        messages = enumerate(own.episode.messages)
        places = [at for at, message in messages if at not in kept and message.role != "user"]
    if not places:
        return new, recorded
    bare = Fold(turned, indexes, end, (), "", tuple(places))
    left = room_of_summary(limit, settings, _size(means, recorded, replace(new, fold=bare)))
    wanted = sum(means.counter.count(str(each)) for each in new.statements) if new.told else 0
    room = max(left.tokens // 2, _tokens(left) - wanted)
    brief = _brief(means, limit, _fold_sources(means, recorded, bare), fold_text(turned.episode, ()), room)
    text = fold_text(turned.episode, brief.statements)
    return _noted(replace(new, fold=replace(bare, statements=brief.statements, text=text)), brief), recorded


# assemble


def assemble(means: Means, recorded: Recorded, new: State, choose: Chooser) -> State:
    """Return the state with its summary as text and its files: the state of the work, and what else fits the limit."""
    limit, settings = recorded.context.limit, means.settings
    restorer = Restorer(settings, means.counter, means.disk)
    found = restorer.candidates(_said(means, recorded, new))
    taken = _size(means, recorded, new)
    wanted = _wanted(means, limit, restorer, found, taken)
    work = _work(means, recorded, new)
    asked = new.covered[-1].episode if new.covered and new.question is not None else None  # shown verbatim
    lines = work.lines(means.counter, _tokens(limit * settings.work), shown=asked)
    if new.told or lines:
        episodes = list(dict.fromkeys(turn.episode for turn in new.covered[: new.told]))
        marks = means.recorder.writer.delimiters.summary("")
        around = Size(means.counter.count(marks), len(marks.encode()))
        room = room_of_summary(limit, settings, taken - around, wanted)  # the target counts text only, not delimiters
        room = room.at_most(limit * settings.hard - taken - around)
        text, shown = summary(choose, lines, episodes, room, means.counter, lifted=work.lifted)
        new = replace(new, summary=text, shown=shown)
        taken = _size(means, recorded, new)
    return replace(new, files=restorer.fitted(found, room_of_files(limit, settings, taken), limit))


Chooser = Callable[[int, str], Sequence[Statement]]


def _chooser(means: Means, state: State, new: State, sources: Sequence[Source]) -> Chooser:
    """Return a function that chooses what is shown: of what a model wrote, else of the sources themselves."""
    if sources and new.summariser == "extractive":
        return means.extractive.extracts(sources, state.statements).within
    whole = sum(means.counter.count(f"- {each}\n") for each in new.statements)
    extracts = means.extractive.extracts((), new.statements)
    return lambda most, told: new.statements if whole <= most else extracts.within(most, told)


def _work(means: Means, recorded: Recorded, new: State) -> Work:
    """Return the state of the work, the folded steps included."""
    if new.fold is None:
        return new.work
    return new.work.after(_fold_sources(means, recorded, new.fold), means.settings.file_tools)


def _wanted(means: Means, limit: Size, restorer: Restorer, found: Sequence[Candidate], taken: Size) -> Size:
    """Return the size of the files that come back, or nothing if they do not compete with the summary."""
    room, settings = limit * means.settings.files, means.settings
    if not found or room_of_summary(limit, settings, taken, room) == room_of_summary(limit, settings, taken):
        return Size()
    shown = restorer.fitted(found, room.at_most(limit * settings.compact - taken), limit)
    return sum((weight(file, means.counter) for file in shown), Size())


def _said(means: Means, recorded: Recorded, new: State) -> list[Said]:
    """Return all messages of the thread; those of the ongoing turn that stay, without an episode."""
    gone = Said(Message("assistant", FORGOTTEN_TEXT))
    said: list[Said] = []
    for turn in new.covered:
        said += _dated(recorded.episodes, turn.episode, turn.indexes) or [gone]
    stays = [Said(message, None, message.at) for message in recorded.ongoing.said] if recorded.ongoing else []
    if new.fold is None:
        return said + stays
    stays = [each for index, each in enumerate(stays) if index not in new.fold.indexes]
    writer = means.recorder.writer
    stored = [stored_forms(writer, each.message) for each in stays]
    for each in _dated(recorded.episodes, new.fold.turn.episode):
        same = next((at for at, one in enumerate(stored) if is_one_of(one, each.message, writer.delimiters)), None)
        if same is not None:
            del stored[same]
        said.append(each if same is None else stays.pop(same))
    return said + stays


# what was recorded


def _dated(episodes: Mapping[str, Episode], id_: str, indexes: Iterable[int] | None = None) -> list[Said]:
    """Return messages of an episode with their times; none of one that was forgotten."""
    episode = episodes.get(id_)
    if episode is None or not episode.messages:
        return []
    places = range(len(episode.messages)) if indexes is None else indexes
    messages = [(at, episode.messages[at]) for at in places]
    return [Said(m, id_, m.at or episode.occurred_at + timedelta(milliseconds=at)) for at, m in messages]


def _sources(means: Means, recorded: Recorded, turns: Iterable[Covered]) -> list[Source]:
    """Return what may be condensed of turns: nothing of one that was forgotten."""
    found = ((recorded.episodes.get(turn.episode), turn) for turn in turns)
    delimiters = means.recorder.writer.delimiters
    return [source_of(episode, delimiters, turn.indexes) for episode, turn in found if episode and episode.messages]


def _fold_sources(means: Means, recorded: Recorded, fold: Fold) -> list[Source]:
    places = len(fold.places)
    return _sources(means, recorded, [replace(fold.turn, size=places, places=fold.places)])


# sizes


def _size(means: Means, recorded: Recorded, state: State) -> Size:
    view = pieces(recorded.context.history, state, recorded.completed, means.recorder.writer.delimiters)
    return size(recorded.context, view, means.counter)


def _tokens(room: Size) -> int:
    return min(room.tokens, room.bytes // BYTES_PER_TOKEN)


def _overflow(means: Means, recorded: Recorded, state: State) -> str:
    context = recorded.context
    view = pieces(context.history, state, recorded.completed, means.recorder.writer.delimiters)
    shown = [piece.position for piece in view if isinstance(piece, Kept)]
    largest = max(shown, key=lambda at: context.sizes[at].share(context.limit), default=0)
    which = (
        f"message {largest}, {context.history.messages[largest].role}, {context.sizes[largest]}" if shown else "none"
    )
    return (
        f"what may not be shortened takes {_size(means, recorded, state)} of {context.limit}: {context.reserved} is "
        f"reserved for system prompt, tools and whisper, and {len(shown)} messages stay verbatim: system prompts, "
        f"the ongoing request, its last tool calls (the largest: {which}). Raise max_tokens or max_bytes, or let "
        "tools return less"
    )


def _noted(state: State, condensed: Condensed) -> State:
    """Return the state with the name of its summariser and with the errors that occurred."""
    return replace(
        state,
        summariser=state.summariser or condensed.by,
        fallback=state.fallback or condensed.fallback,
        unknown_citations=state.unknown_citations + condensed.unknown,
    )
