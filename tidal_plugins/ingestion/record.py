"""Exchanges into memory: each becomes one episode, verbatim, and the entries that make it findable [SIYA §3.1, §3.2].

Texts are checked and embedded first, without a lock. Then one transaction reads the affect state, gives each turn its
number and writes episodes, entries and state together.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.english.importance import importance
from tidal_plugins.english.tags import tags
from tidal_plugins.errors import InvalidInput
from tidal_plugins.facts.conflicts import Said
from tidal_plugins.facts.versions import flag_claims
from tidal_plugins.ingestion.associate import associate
from tidal_plugins.ingestion.episodes import FORGOTTEN_TEXT, from_entry, summary, to_entry
from tidal_plugins.ingestion.feeling import Feelings, feelings
from tidal_plugins.ingestion.gate import admit, tally
from tidal_plugins.ingestion.repeats import Neighbours, add, neighbours
from tidal_plugins.ingestion.uses import strengthen
from tidal_plugins.ingestion.writer import Progress, Writer, batches, message_entry_id, new_tier
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import EPISODE, Entry, Scope, derive_id
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Exchange, Message, ToolCall
from tidal_plugins.model.fence import unframed
from tidal_plugins.storage.base import Record
from tidal_plugins.validation import clean, label, labels, mapping

SPOKEN = ("user", "assistant")
ROLES = (*SPOKEN, "tool")
TURNS = "turns"
"""Collection of counters: the number of the last turn of each thread."""


@dataclass(slots=True)
class Plan:
    """One exchange on its way into the store."""

    known: Episode | None
    episode: Episode
    entries: list[Entry]
    fresh: Episode
    """The episode with only the messages that are new: what its feeling and its entries come from."""
    feelings: Feelings = Feelings(Affect(), Affect(), {})  # noqa: RUF009  a tuple
    records: dict[str, Record] = field(default_factory=dict)
    near: Neighbours = field(default_factory=dict)
    said: list[Said] = field(default_factory=list)
    """What its entries claim of facts."""
    forgotten: bool = False

    @property
    def nothing_new(self) -> bool:
        return self.forgotten or (self.known is not None and self.known.messages == self.episode.messages)

    @property
    def standing(self) -> Episode:
        """The episode as it is stored already, where there is nothing new."""
        return self.episode if self.forgotten or self.known is None else self.known


def record(
    writer: Writer,
    affect: AffectLoop,
    scope: Scope,
    exchanges: Sequence[Exchange],
    now: datetime,
    *,
    blank: bool = False,
    progress: Progress | None = None,
) -> list[Episode]:
    """Store exchanges in batches, each in one transaction, and return their episodes in order.

    Recording a turn again adds the messages that are new and changes nothing else: a retry, a replay or a turn that
    goes on after an interrupt ends as one episode. A turn that was forgotten on
    request stays so: its episode comes back without messages, and nothing is stored. ``blank`` admits a turn in which
    nobody said or called anything. With an exchange are written what it repeats, which facts it contradicts, how it
    used what was shown before it, and that all of this came up together.
    """
    checked = [check(writer, exchange, blank=blank) for exchange in exchanges]
    episodes: list[Episode] = []
    with writer.recording(scope):
        for batch in batches(checked, _length, writer.settings.ingestion):
            episodes += _batch(writer, affect, scope, batch, now)
            if progress:
                progress(len(episodes), len(checked))
    return episodes


def _batch(
    writer: Writer, affect: AffectLoop, scope: Scope, exchanges: Sequence[Exchange], now: datetime
) -> list[Episode]:
    done: dict[str, Episode] = {}
    while True:
        plans = plan(writer, scope, exchanges, now)
        _prepare(writer, affect, scope, plans.values())
        with writer.storage.transaction():
            if _overtaken(writer, scope, plans):
                continue  # plan again on what another process wrote meanwhile
            for id_, item in plans.items():
                done[id_] = item.standing if item.nothing_new else _store(writer, affect, scope, item, now)
        return [done[episode_id(scope, exchange)] for exchange in exchanges]


def _overtaken(writer: Writer, scope: Scope, plans: Mapping[str, Plan]) -> bool:
    """Whether, since planning, a turn was recorded by somebody else, or what it says was forgotten."""
    known = known_episodes(writer, scope, plans)
    planned = [id_ for id_, item in plans.items() if not item.forgotten]
    texts = {entry.text for item in plans.values() for entry in item.entries}
    return (
        any(item.known != known.get(id_) for id_, item in plans.items())
        or bool(writer.buried(scope, planned))
        or bool(writer.forgotten(scope, texts))
    )


def _length(exchange: Exchange) -> int:
    return sum(len(message.text) for message in exchange.messages)


def check(writer: Writer, exchange: Exchange, *, blank: bool = False) -> Exchange:
    """Return an exchange whose texts can be stored and whose messages all have ids, or raise what is wrong with it."""
    limits = writer.settings.ingestion
    if not isinstance(exchange, Exchange) or not all(isinstance(message, Message) for message in exchange.messages):
        raise InvalidInput("record Messages, in Exchanges where there are many: Message(role='user', text='Hello')")
    key = label(exchange.key, "id")
    if key is None:
        raise InvalidInput("an exchange needs an id, or a message that has one")
    messages = tuple(
        _checked(message, label(message.id or None, "id") or f"{key}/{number}", limits.max_chars)
        for number, message in enumerate(exchange.messages)
    )
    if len({message.id for message in messages}) < len(messages):
        raise InvalidInput("two messages of an exchange have the same id; give each its own, or none")
    if not blank and not any(message.text.strip() for message in messages):
        raise InvalidInput("an exchange needs at least one message with a text")
    return replace(
        exchange,
        messages=messages,
        thread=label(exchange.thread, "thread"),
        id=key,
        surfaced=labels(exchange.surfaced, "surfaced"),
        occurred_at=aware(exchange.occurred_at, "occurred_at") if exchange.occurred_at else None,
        metadata=mapping(exchange.metadata, "metadata", limits.max_metadata_bytes),
    )


def _checked(message: Message, id_: str, max_chars: int) -> Message:
    if message.role not in ROLES:
        raise InvalidInput(f"a message's role must be one of {', '.join(ROLES)}, got {message.role!r}")
    text = unframed(message.role, message.text) if isinstance(message.text, str) else message.text
    return replace(
        message,
        text=_verbatim(text, max_chars),
        id=id_,
        speaker=label(message.speaker, "speaker"),
        at=aware(message.at, "at") if message.at else None,
        tool_call_id=label(message.tool_call_id, "tool_call_id"),
        tool_calls=tuple(_checked_call(call, max_chars) for call in message.tool_calls or ()),
    )


def _checked_call(call: ToolCall, max_chars: int) -> ToolCall:
    if not isinstance(call, ToolCall):
        raise InvalidInput(f"tool calls must be ToolCall(name, arguments, …), got {type(call).__name__}")
    name = clean(call.name, max_chars=200, name="a tool's name")
    arguments = mapping(call.arguments, f"arguments of {name}", max_chars)
    result = None if call.result is None else _verbatim(call.result, max_chars)
    return replace(call, name=name, arguments=arguments, id=label(call.id, "a tool call's id"), result=result)


def _verbatim(text: str, max_chars: int) -> str:
    """Unlike what is remembered, a message may be blank: a tool that printed a line break, a model that only called."""
    return text[:max_chars] if isinstance(text, str) and not text.strip() else clean(text, max_chars=max_chars)


def identified(exchange: Exchange) -> Exchange:
    """Return an exchange with an id: its own, or a new one. What is no exchange is refused by :func:`check`."""
    if not isinstance(exchange, Exchange) or exchange.id or any(getattr(m, "id", None) for m in exchange.messages):
        return exchange
    return replace(exchange, id=secrets.token_hex(8))


def episode_id(scope: Scope, exchange: Exchange) -> str:
    return derive_id(scope, EPISODE, exchange.thread, exchange.key)


def known_episodes(writer: Writer, scope: Scope, ids: Mapping[str, object]) -> dict[str, Episode]:
    return {id_: from_entry(entry) for id_, entry in writer.storage.get(scope, list(ids)).items()}


def plan(writer: Writer, scope: Scope, exchanges: Sequence[Exchange], now: datetime) -> dict[str, Plan]:
    """Work out what each exchange adds to what is stored, exchanges of the same turn together."""
    turns: dict[str, list[Exchange]] = {}
    for exchange in exchanges:
        turns.setdefault(episode_id(scope, exchange), []).append(exchange)
    known = known_episodes(writer, scope, turns)
    texts = {message.text for exchange in exchanges for message in exchange.messages if message.text}
    forgotten, buried = writer.forgotten(scope, texts), writer.buried(scope, turns)
    plans = {}
    for id_, turn in turns.items():
        base = known.get(id_) or _new_episode(scope, id_, turn[0], now)
        if id_ in buried:  # recorded again, by a retry or a replay: it stays forgotten
            episode = replace(base, summary=FORGOTTEN_TEXT)
            plans[id_] = Plan(None, episode, [], episode, forgotten=True)
        else:
            plans[id_] = _plan(writer, known.get(id_), base, turn, forgotten, now)
    return plans


def _new_episode(scope: Scope, id_: str, first: Exchange, now: datetime) -> Episode:
    return Episode(id_, scope, (), "", first.occurred_at or now, now, first.thread)


def _plan(
    writer: Writer,
    known: Episode | None,
    base: Episode,
    turn: Sequence[Exchange],
    forgotten: set[str],
    now: datetime,
) -> Plan:
    messages = {str(message.id): message for message in base.messages}
    old = len(messages)
    for exchange in turn:
        for message in exchange.messages:
            text = FORGOTTEN_TEXT if message.text in forgotten else message.text
            messages.setdefault(str(message.id), replace(message, text=text))
    surfaced = dict.fromkeys([*base.surfaced, *(memory for exchange in turn for memory in exchange.surfaced)])
    episode = replace(
        base,
        messages=tuple(messages.values()),
        summary=summary(messages.values(), writer.settings.ingestion.summary_chars),
        surfaced=tuple(surfaced),
        recorded_at=now if len(messages) > old else base.recorded_at,
        metadata={**base.metadata, **{k: v for exchange in turn for k, v in exchange.metadata.items()}},
    )
    fresh = replace(episode, messages=episode.messages[old:])
    numbered = enumerate(fresh.messages, start=old)
    entries = [_entry(episode, number, message, now) for number, message in numbered if findable(message)]
    return Plan(known, replace(episode, entries=(*base.entries, *(entry.id for entry in entries))), entries, fresh)


def findable(message: Message) -> bool:
    return message.role in SPOKEN and bool(message.text.strip()) and message.text != FORGOTTEN_TEXT


def _entry(episode: Episode, number: int, message: Message, now: datetime) -> Entry:
    return Entry(
        id=message_entry_id(episode, message),
        kind="conversation",
        text=message.text,
        scope=episode.scope,
        occurred_at=message.at or episode.occurred_at + timedelta(microseconds=number),
        recorded_at=now,
        thread=episode.thread,
        episode=episode.id,
        position=number,
        speaker=message.speaker,
        role=message.role,
        channel="user" if message.role == "user" else "agent",
        importance=importance(message.text, role=message.role),
        tags=tags(message.text),
        metadata={"message": message.id, **episode.metadata},
    )


def _prepare(writer: Writer, affect: AffectLoop, scope: Scope, plans: Collection[Plan]) -> None:
    """Embed everything that is new, read its feeling and what it claims, in one go and without a lock."""
    fresh = [item for item in plans if not item.nothing_new]
    entries = [entry for item in fresh for entry in (to_entry(item.episode), *item.entries)]
    records = {record.entry.id: record for record in writer.records(entries)}
    felt = feelings(affect, [(item.fresh, item.entries) for item in fresh], records)
    near = neighbours(writer, scope, [[records[entry.id] for entry in item.entries] for item in fresh])
    said = writer.claims(scope, [entry for item in fresh for entry in item.entries])
    for item, own in zip(fresh, felt, strict=True):
        item.records, item.near, item.feelings = records, near, own
        item.said = [claim for claim in said if claim[0].episode == item.episode.id]


def _store(writer: Writer, affect: AffectLoop, scope: Scope, item: Plan, now: datetime) -> Episode:
    settings, episode = writer.settings, item.episode
    if item.known is None:
        episode = replace(episode, turn=_next_turn(writer, scope, episode.thread))
    lengths = (len(item.fresh.query), len(item.fresh.answer))
    query, answer, own = item.feelings
    felt = affect.advance(scope, query, answer, lengths, min(episode.occurred_at, now), now)
    strongest = max((felt, query, answer), key=lambda affect: affect.intensity)
    tier = new_tier(strongest, now, settings.decay, settings.affect.threshold)
    told = [
        # The mood is the agent's after the exchange [Tidal §3.4], the emotions are the text's own [Anamnesis].
        replace(entry, affect=replace(felt, emotions=own[entry.id].emotions), tier=tier)
        for entry in item.entries
    ]
    entries = [admit(entry, strongest.intensity, item.near.get(entry.id), now, settings.gate) for entry in told]
    row = replace(item.records[episode.id], entry=to_entry(episode))
    if item.known is None:
        writer.storage.put(scope, [row])
    else:
        writer.storage.put(scope, [row], replace=True)
    again = add(writer, scope, [replace(item.records[entry.id], entry=entry) for entry in entries], item.near, now)
    new = [entry for entry in entries if entry.id not in again]
    tally(writer.storage, scope, new)
    seen = strengthen(writer, scope, item.known, episode, now)
    associate(writer, scope, item.known, episode, seen, now)
    flag_claims(writer.storage, scope, item.said)
    writer.queue(scope, episode.id, now)
    return replace(episode, admissions={entry.id: entry.admission for entry in new if entry.admission})


def _next_turn(writer: Writer, scope: Scope, thread: str | None) -> int:
    """Turns count from 1 in the order in which a thread's were recorded; outside a thread they have no number."""
    if thread is None:
        return 0
    key = derive_id(scope, TURNS, thread)  # a hash: the thread's name may have to be forgotten
    last = writer.storage.read_document(scope, TURNS, key)
    turn = 1 + (last.value if last else 0)
    writer.storage.write_document(scope, TURNS, key, turn)
    return turn
