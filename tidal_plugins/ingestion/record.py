"""Exchanges into memory: each becomes one episode, verbatim, and the entries that make it findable [SIYA §3.1, §3.2].

Exchanges are checked, planned and prepared without a lock. Then one transaction for each batch stores them, step by
step (:mod:`tidal_plugins.ingestion.pipeline`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from datetime import datetime, timedelta

from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.english.tags import tags
from tidal_plugins.ingestion.check import SPOKEN, check, identified
from tidal_plugins.ingestion.episodes import read_episodes, summary
from tidal_plugins.ingestion.frames import cited_by, without_gone
from tidal_plugins.ingestion.pipeline import prepare_turns, store_turns
from tidal_plugins.ingestion.plan import TurnPlan, Writing
from tidal_plugins.ingestion.wording import unframed
from tidal_plugins.ingestion.writer import Progress, Writer, batches, message_entry_id
from tidal_plugins.language.importance import importances
from tidal_plugins.model.entry import CONVERSATION, Entry, Scope
from tidal_plugins.model.episode import FORGOTTEN_TEXT, Episode
from tidal_plugins.model.exchange import Exchange, Message
from tidal_plugins.model.imported import Imported
from tidal_plugins.model.trust import TRUST, Channel
from tidal_plugins.secrets.finding import untagged
from tidal_plugins.storage.repeating import repeated
from tidal_plugins.validation import check_progress


def record(
    writer: Writer,
    affect: AffectLoop,
    scope: Scope,
    exchanges: Sequence[Exchange],
    now: datetime,
    *,
    blank: bool = False,
) -> list[Episode]:
    """Store a few exchanges and return their episodes in order. Nothing is stored if one of them is invalid.

    Recording a turn again adds the messages that are new and changes nothing else: a retry, a replay or a turn that
    goes on after an interrupt ends as one episode. A turn that was forgotten on request stays so: its episode comes
    back without messages, and nothing is stored. ``blank`` admits a turn in which nobody said or called anything.
    Raises ``InvalidInput`` and ``InvalidText``.
    """
    checked = [_checked(writer, exchange, blank=blank) for exchange in exchanges]
    return [_recorded(plan) for plans in _stored(writer, affect, scope, checked, now) for plan in plans]


def record_stream(
    writer: Writer,
    affect: AffectLoop,
    scope: Scope,
    exchanges: Iterable[Exchange],
    now: datetime,
    *,
    progress: Progress | None = None,
) -> Imported:
    """Store exchanges as they come, one batch after the other, and count them.

    One batch is in memory at a time, with the first exchange of the next. A batch that is stored stays, whatever ends
    the rest. ``progress`` is called after each batch. Raises as :func:`record` does, once the batches before an invalid
    exchange are stored.
    """
    check_progress(progress)
    total = len(exchanges) if isinstance(exchanges, Sized) else None
    checked = (_checked(writer, identified(exchange)) for exchange in exchanges)
    done = Imported()
    for plans in _stored(writer, affect, scope, checked, now):
        changed = {plan.episode.id: plan for plan in plans if not plan.nothing_new}.values()
        grown = sum(plan.known is not None for plan in changed)
        done += Imported(len(plans), len(changed) - grown, grown)
        if progress:
            progress(done.exchanges, total)
    return done


def _checked(writer: Writer, exchange: Exchange, *, blank: bool = False) -> Exchange:
    return writer.redaction.exchange(check(exchange, writer.settings.ingestion, blank=blank))


def _stored(
    writer: Writer, affect: AffectLoop, scope: Scope, exchanges: Iterable[Exchange], now: datetime
) -> Iterator[list[TurnPlan]]:
    """Store checked exchanges in batches, each in one transaction, and yield the plans of each batch's exchanges."""
    for batch in batches(exchanges, _length, writer.settings.ingestion):
        yield _batch(Writing(writer, scope, now), affect, batch)


@repeated
def _batch(writing: Writing, affect: AffectLoop, exchanges: Sequence[Exchange]) -> list[TurnPlan]:
    writer, scope = writing.writer, writing.scope
    ids = [writer.episode_id(scope, exchange.thread, str(exchange.key)) for exchange in exchanges]
    while True:
        with writer.storage.snapshot():
            plans = _plans(writing, affect, list(zip(ids, exchanges, strict=True)))
        fresh = [plan for plan in plans.values() if not plan.nothing_new]
        if not fresh:
            return [plans[id_] for id_ in ids]
        prepare_turns(writing, fresh)
        with writer.storage.transaction():
            if _overtaken(writer, scope, plans):
                continue  # plan again on what another process wrote meanwhile
            store_turns(writing, fresh)
        return [plans[id_] for id_ in ids]


def _recorded(plan: TurnPlan) -> Episode:
    if plan.nothing_new:
        return plan.standing
    new = [entry for entry in plan.entries if entry.id not in plan.repetitions]
    return replace(plan.episode, admissions={entry.id: entry.admission for entry in new if entry.admission})


def _overtaken(writer: Writer, scope: Scope, plans: Mapping[str, TurnPlan]) -> bool:
    """Return whether, since planning, a turn was recorded by another process, or a text of it was forgotten."""
    known = read_episodes(writer.storage, scope, plans)
    planned = [id_ for id_, plan in plans.items() if not plan.forgotten]
    texts = {entry.text for plan in plans.values() for entry in plan.entries}
    if any(plan.known != known.get(id_) for id_, plan in plans.items()):
        return True
    return any(writer.gone(scope, planned, texts))


def _length(exchange: Exchange) -> int:
    return sum(len(message.text) for message in exchange.messages)


def _plans(writing: Writing, affect: AffectLoop, exchanges: Sequence[tuple[str, Exchange]]) -> dict[str, TurnPlan]:
    """Work out what each exchange adds to the store, exchanges of the same turn together."""
    writer, scope = writing.writer, writing.scope
    turns: dict[str, list[Exchange]] = {}
    for id_, exchange in exchanges:
        turns.setdefault(id_, []).append(exchange)
    known = read_episodes(writer.storage, scope, turns)
    new = [exchange for id_, exchange in exchanges if _adds(exchange, known.get(id_))]
    said = [message for exchange in new for message in unframed(exchange.messages, writer.frames)]
    texts = {message.text for message in said if message.text}
    tombstoned, forgotten = writer.gone(scope, turns, texts)
    plans = {}
    for id_, turn in turns.items():
        first = turn[0]
        standing = known.get(id_)
        base = standing or Episode(id_, scope, (), "", first.occurred_at or writing.now, writing.now, first.thread)
        if standing and not any(_adds(exchange, standing) for exchange in turn):
            plans[id_] = TurnPlan([], episode=standing, known=standing, fresh=standing, affect=affect)
        elif id_ in tombstoned:  # recorded again, by a retry or a replay: it stays forgotten
            gone = replace(base, summary=FORGOTTEN_TEXT)
            plans[id_] = TurnPlan([], episode=gone, known=None, fresh=gone, affect=affect, forgotten=True)
        else:
            plans[id_] = _plan(writing, affect, standing, base, turn, forgotten)
    return plans


def _adds(exchange: Exchange, known: Episode | None) -> bool:
    """Return whether an exchange has messages that an episode lacks."""
    stored = {message.id for message in known.messages} if known else ()
    return any(message.id not in stored for message in exchange.messages)


def _plan(
    writing: Writing,
    affect: AffectLoop,
    known: Episode | None,
    base: Episode,
    turn: Sequence[Exchange],
    forgotten: set[str],
) -> TurnPlan:
    frames = writing.writer.frames
    cited = {id_ for exchange in turn for message in exchange.messages for id_ in cited_by(message, frames)}
    gone = writing.writer.tombstoned(writing.scope, cited) if cited else set()
    messages = {str(message.id): message for message in base.messages}
    old = len(messages)
    for exchange in turn:
        for message in exchange.messages:
            if frames.strip(message.text) in forgotten:
                message = replace(message, text=FORGOTTEN_TEXT)
            messages.setdefault(str(message.id), without_gone(message, gone, frames))
    surfaced = dict.fromkeys([*base.surfaced, *(memory for exchange in turn for memory in exchange.surfaced)])
    episode = replace(
        base,
        messages=tuple(messages.values()),
        summary=summary(unframed(messages.values(), frames), writing.writer.settings.ingestion.summary_chars),
        surfaced=tuple(surfaced),
        recorded_at=writing.now if len(messages) > old else base.recorded_at,
        metadata={**base.metadata, **{k: v for exchange in turn for k, v in exchange.metadata.items()}},
    )
    fresh = replace(episode, messages=unframed(episode.messages[old:], frames))
    numbered = enumerate(fresh.messages, start=old)
    spoken = [(place, message) for place, message in numbered if _is_findable(message)]
    matters = importances([message.text for _, message in spoken], [message.role for _, message in spoken])
    entries = [
        _entry(episode, place, message, writing.now, matter)
        for (place, message), matter in zip(spoken, matters, strict=True)
    ]
    episode = replace(episode, entries=(*base.entries, *(entry.id for entry in entries)))
    return TurnPlan(entries, episode=episode, known=known, fresh=fresh, affect=affect)


def _is_findable(message: Message) -> bool:
    return message.role in SPOKEN and bool(message.text.strip()) and message.text != FORGOTTEN_TEXT


def _entry(episode: Episode, place: int, message: Message, now: datetime, importance: float) -> Entry:
    channel: Channel = "user" if message.role == "user" else "agent"
    return Entry(
        id=message_entry_id(episode, message),
        kind=CONVERSATION,
        text=message.text,
        scope=episode.scope,
        occurred_at=message.at or episode.occurred_at + timedelta(microseconds=place),
        recorded_at=now,
        thread=episode.thread,
        episode=episode.id,
        position=place,
        speaker=message.speaker,
        role=message.role,
        channel=channel,
        trust=TRUST[channel],
        importance=importance,
        tags=tags(untagged(message.text)),
        metadata={"message": message.id, **episode.metadata},
    )
