"""Plans: what turns and notes add to a store, worked out without a lock.

A write is ``input → plan → store``: :mod:`~tidal_plugins.ingestion.record` checks what is given,
:func:`plan` works out the new entries from it and from what the store knows, :func:`prepare` adds what takes time
(vectors, claims about facts), and :mod:`~tidal_plugins.ingestion.store` writes it all in one transaction. A
note is a turn without an episode.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from tidal_plugins.affect.state import AffectTuning
from tidal_plugins.english.tags import tags
from tidal_plugins.errors import Forgotten
from tidal_plugins.ingestion.episodes import (
    cited_by,
    from_entry,
    message_ids,
    summary,
    to_entry,
    unframed,
    without_gone,
)
from tidal_plugins.ingestion.gate import nearest
from tidal_plugins.ingestion.writer import IngestionTuning, Writer, fading, mark, message_entry_id
from tidal_plugins.language.importance import BASE
from tidal_plugins.model.delimiters import Delimiters
from tidal_plugins.model.entry import CONVERSATION, TRUST, Channel, Entry, Scope, Tier
from tidal_plugins.model.exchange import FORGOTTEN_TEXT, Episode, Exchange, Message, final_of, query_of
from tidal_plugins.scoring.decay import DecayTuning
from tidal_plugins.secrets.finding import untagged
from tidal_plugins.storage.base import Record

if TYPE_CHECKING:
    from tidal_plugins.facts.conflicts import Said

SPOKEN = ("user", "assistant")
"""Roles whose messages are entries."""

How = Literal["cited", "echoed"]
"""Way in which an answer used a memory that it was shown."""

Given = Entry | Sequence[Exchange]
"""A note as an entry, or the exchanges of one turn, checked."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a store knows of what is given: its rows, by id, and the ids and texts that were forgotten."""

    rows: Mapping[str, Entry] = field(default_factory=dict)
    ids: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Plan:
    """What one turn, or one note, adds to a store.

    Attributes:
        entries: the new entries.
        episode: the episode of a turn, with what is new in it.
        known: the episode as it is stored already.
        query: what is new of what was asked.
        answer: what is new of what was answered.
    """

    entries: Sequence[Entry]
    episode: Episode | None = None
    known: Episode | None = None
    query: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a store needs of the entries of some plans.

    Attributes:
        records: the entries and episodes with their vectors, by id.
        marks: what each entry says and in which voice, as a keyed hash, by id.
        claims: what the entries claim of facts.
        nearest: the cosine of each entry to the nearest known one, for the write gate.
    """

    records: Mapping[str, Record]
    marks: Mapping[str, str]
    claims: Sequence[Said]
    nearest: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Stored:
    """What a turn or a note became: its new entries and its episode as they are stored.

    ``repeated`` are the ids of entries that repeat a known one word for word, ``shown`` those of the memories that were
    shown before the turn, with how its answer used them.
    """

    entries: Sequence[Entry]
    repeated: frozenset[str] = frozenset()
    episode: Episode | None = None
    known: Episode | None = None
    changed: bool = True
    shown: Mapping[str, How | None] = field(default_factory=dict)


def read_known(
    writer: Writer,
    scope: Scope,
    given: Mapping[str, Given],
    ahead: Mapping[str, Collection[str]] = MappingProxyType({}),
    *,
    unseen: bool = False,
) -> Known:
    """Return what the store knows of what is given, as the open snapshot or transaction sees it. ``ahead`` are the keys
    of the documents that a transaction reads next, by collection. No row is looked for that has an ``unseen`` id."""
    rows = {} if unseen else writer.storage.get(scope, list(given))
    ids, texts = set[str](given), set[str]()
    for id_, one in given.items():
        if isinstance(one, Entry):
            texts.add(one.text)
            continue
        for exchange in one:
            if _adds(exchange, rows.get(id_)):
                texts.update(m.text for m in unframed(exchange.messages, writer.delimiters) if m.text)
                ids.update(each for m in exchange.messages for each in cited_by(m, writer.delimiters))
    gone, forgotten = writer.gone(scope, ids, texts, ahead)
    return Known(rows, frozenset(gone), frozenset(forgotten))


def plan(
    writer: Writer, scope: Scope, given: Mapping[str, Given], known: Known, now: datetime
) -> tuple[dict[str, Plan], dict[str, Stored]]:
    """Return what turns and notes add to the store, by id, and those that add nothing, as they stand.

    Raises ``Forgotten`` for a note whose text was forgotten.
    """
    refuse_forgotten(known.texts, given.values())
    plans, standing = dict[str, Plan](), dict[str, Stored]()
    settings, most = writer.settings, writer.settings[IngestionTuning].summary_chars
    tier = fading(None, now, settings[DecayTuning], settings[AffectTuning].threshold)
    for id_, one in given.items():
        row = known.rows.get(id_)
        if isinstance(one, Entry):
            found = Plan([one]) if row is None else Stored([row], changed=False)
        else:
            found = _turn(writer.delimiters, scope, id_, one, row, known, now, tier, most)
        if isinstance(found, Plan):
            plans[id_] = found
        else:
            standing[id_] = found
    return plans, standing


def refuse_forgotten(forgotten: Iterable[str], given: Iterable[Given]) -> None:
    """Raise ``Forgotten`` if notes have texts that were forgotten."""
    if gone := {one.text for one in given if isinstance(one, Entry)}.intersection(forgotten):
        raise Forgotten(f"{len(gone)} of these texts were forgotten on request; leave them out, or reword them")


def prepare(writer: Writer, scope: Scope, plans: Sequence[Plan]) -> Prepared:
    """Work out what storing some plans needs. It may wait for a model; all texts are embedded in one go."""
    entries = [entry for each in plans for entry in each.entries]
    rows = [row for each in plans for row in ([to_entry(each.episode)] if each.episode else []) + [*each.entries]]
    records = {record.entry.id: record for record in writer.records(rows)}
    cosines = (
        nearest(writer, scope, (each.entries for each in plans), records) if writer.settings.recording.gate else {}
    )
    claims = writer.claims(scope, entries)
    return Prepared(records, {e.id: mark(writer, e) for e in entries}, claims, cosines)


def _adds(exchange: Exchange, row: Entry | None) -> bool:
    """Return whether an exchange has messages that the row of its episode lacks."""
    if row is None:
        return True
    stored = message_ids(row)
    return any(message.id not in stored for message in exchange.messages)


def _turn(
    delimiters: Delimiters,
    scope: Scope,
    id_: str,
    turn: Sequence[Exchange],
    row: Entry | None,
    known: Known,
    now: datetime,
    tier: Tier,
    most: int,
) -> Plan | Stored:
    """Return what a turn adds. Its entries have the ``tier``, and its summary at most so many characters."""
    first = turn[0]
    stored = None if row is None else from_entry(row)
    if stored and not any(_adds(exchange, row) for exchange in turn):
        return Stored((), episode=stored, known=stored, changed=False)
    base = stored or Episode(id_, scope, (), "", first.occurred_at or now, now, first.thread)
    if id_ in known.ids:  # recorded again, by a retry or a replay: it stays forgotten
        return Stored((), episode=replace(base, summary=FORGOTTEN_TEXT), changed=False)
    messages = {str(message.id): message for message in base.messages}
    old = len(messages)
    for exchange in turn:
        for message in exchange.messages:
            if known.texts and delimiters.strip(message.text) in known.texts:
                message = replace(message, text=FORGOTTEN_TEXT, reasoning="")
            if known.ids:
                message = without_gone(message, known.ids, delimiters)
            messages.setdefault(str(message.id), message)
    said = unframed(messages.values(), delimiters)
    fresh, metadata = said[old:], {**base.metadata, **{k: v for each in turn for k, v in each.metadata.items()}}
    entries = _entries(base, metadata, fresh, old, now, tier)
    episode = replace(
        base,
        messages=tuple(messages.values()),
        summary=summary(said, most),
        entries=(*base.entries, *(entry.id for entry in entries)),
        surfaced=tuple(dict.fromkeys([*base.surfaced, *(memory for exchange in turn for memory in exchange.surfaced)])),
        recorded_at=now if len(messages) > old else base.recorded_at,
        metadata=metadata,
    )
    final = final_of(fresh)
    return Plan(entries, episode, stored, query_of(fresh), final.text if final else "")


def _entries(
    episode: Episode, metadata: Mapping[str, Any], messages: Sequence[Message], old: int, now: datetime, tier: Tier
) -> list[Entry]:
    """Return the entries of an episode's messages from the position ``old`` on, as they are before an appraisal."""
    entries = list[Entry]()
    for place, message in enumerate(messages, start=old):
        if message.role not in SPOKEN or not message.text.strip() or message.text == FORGOTTEN_TEXT:
            continue
        channel: Channel = "user" if message.role == "user" else "agent"
        entries.append(
            Entry(
                id=message_entry_id(episode, message),
                kind=CONVERSATION,
                text=message.text,
                scope=episode.scope,
                occurred_at=message.at or episode.occurred_at + timedelta(microseconds=place),
                recorded_at=now,
                tier=tier,
                thread=episode.thread,
                episode=episode.id,
                position=place,
                speaker=message.speaker,
                role=message.role,
                channel=channel,
                trust=TRUST[channel],
                importance=BASE,
                tags=tags(untagged(message.text)),
                metadata={"message": message.id, **metadata},
            )
        )
    return entries
