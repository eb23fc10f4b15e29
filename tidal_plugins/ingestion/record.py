"""Turns and notes into memory [SIYA §3.1, §3.2, Tidal §2.2].

A turn becomes one episode, verbatim, and the entries that make it findable; a note (a skill, a document, a fact) one
entry. Both are checked here, planned and prepared without a lock (:mod:`~tidal_plugins.ingestion.plan`), and stored in
one transaction for each batch (:mod:`~tidal_plugins.ingestion.store`).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from datetime import datetime
from math import inf
from typing import Any

from tidal_plugins.affect.state import AffectLoop, AffectTuning
from tidal_plugins.english.tags import tags
from tidal_plugins.errors import InvalidInput
from tidal_plugins.ingestion.appraise import Impressions, impressions, measured
from tidal_plugins.ingestion.plan import SPOKEN, Given, Known, Stored, plan, prepare, read_known, refuse_forgotten
from tidal_plugins.ingestion.store import ahead, store
from tidal_plugins.ingestion.writer import DECAYING, IngestionTuning, Progress, Writer, batches, new_tier
from tidal_plugins.language.importance import importance
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import KINDS, TRUST, Entry, Note, Scope, check_channel
from tidal_plugins.model.exchange import Episode, Exchange, Imported, Message, ToolCall, turn
from tidal_plugins.scoring.decay import DecayTuning
from tidal_plugins.secrets.finding import untagged
from tidal_plugins.shown import shown
from tidal_plugins.storage.transactions import retry
from tidal_plugins.validation import (
    MAX_METADATA_BYTES,
    MAX_SURFACED,
    MAX_TAGS,
    check_number,
    check_progress,
    clean,
    items,
    label,
    labels,
    mapping,
    shaped,
)

ROLES = (*SPOKEN, "tool")

AT_ONCE = 16
"""Turns of one call that are appraised when they are stored. Of more, an import, that follows in the jobs."""


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
    Raises ``InvalidInput``.
    """
    given = [identified(exchange) for exchange in exchanges]
    unseen = all(one is not other for one, other in zip(given, exchanges, strict=True))  # they get their ids here
    checked = [_checked(writer, exchange, blank=blank) for exchange in given]
    stored = _record(writer, affect, scope, checked, now, unseen=unseen)
    return [_admitted(episode, one) for batch in stored for one in batch if (episode := one.episode)]


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
    for batch in _record(writer, affect, scope, checked, now, most=AT_ONCE):
        changed = {one.episode.id: one for one in batch if one.changed and one.episode}.values()
        grown = sum(one.known is not None for one in changed)
        done += Imported(len(batch), len(changed) - grown, grown)
        if progress:
            progress(done.exchanges, total)
    return done


def remember(
    writer: Writer, scope: Scope, notes: Sequence[Note], now: datetime, *, progress: Progress | None = None
) -> list[Entry]:
    """Store notes in batches, each in one transaction, and return their entries in order.

    A note remembered before (same kind, source, thread, time and text) is returned as it stands, so that an interrupted
    bulk can be run again. A note that repeats another one word for word strengthens that one and is got by its id.
    Nothing is written when any note is invalid or was forgotten. Raises ``InvalidInput`` and
    ``Forgotten``.
    """
    check_progress(progress)
    entries = [_to_entry(writer, scope, note, now) for note in notes]
    chunks = list(batches(entries, lambda entry: len(entry.text), writer.settings[IngestionTuning]))
    if len(chunks) > 1:
        refuse_forgotten(writer.forgotten(scope, {entry.text for entry in entries}), entries)
    stored: dict[str, Entry] = {}
    done = 0
    for chunk in chunks:
        given = {entry.id: entry for entry in chunk if entry.id not in stored}
        for one in _write(writer, None, scope, given, now).values():
            stored |= {entry.id: entry for entry in one.entries}
        done += len(chunk)
        if progress:
            progress(done, len(entries))
    return [stored[entry.id] for entry in entries]


def _record(
    writer: Writer,
    affect: AffectLoop,
    scope: Scope,
    exchanges: Iterable[Exchange],
    now: datetime,
    *,
    unseen: bool = False,
    most: float = inf,
) -> Iterator[list[Stored]]:
    """Store checked exchanges in batches, and yield for each batch what its exchanges became, in order.

    From a batch of more than ``most`` turns on, their appraisal follows in the jobs.
    """
    later = False
    for batch in batches(
        exchanges, lambda one: sum(len(m.text) for m in one.messages), writer.settings[IngestionTuning]
    ):
        ids = [writer.episode_id(scope, exchange.thread, str(exchange.key)) for exchange in batch]
        turns: dict[str, list[Exchange]] = {}
        for id_, exchange in zip(ids, batch, strict=True):
            turns.setdefault(id_, []).append(exchange)
        later = later or (len(turns) > most and not writer.settings.recording.gate)  # which weighs what matters
        stored = _write(writer, affect, scope, turns, now, unseen=unseen, later=later)
        yield [stored[id_] for id_ in ids]


@retry
def _write(
    writer: Writer,
    affect: AffectLoop | None,
    scope: Scope,
    given: Mapping[str, Given],
    now: datetime,
    *,
    unseen: bool = False,
    later: bool = False,
) -> dict[str, Stored]:
    """Store a batch in one transaction, and return what became of each turn and note, by id.

    What the store knows is read before the work and again in the transaction. If another process wrote meanwhile, the
    work is done again. ``unseen`` ids were drawn for this call: the store is taken to know nothing, and only what was
    forgotten is looked for. ``later`` leaves the appraisal of new turns to the jobs.
    """
    known = Known()
    if not unseen:
        with writer.storage.snapshot():
            known = read_known(writer, scope, given)
    while True:
        plans, standing = plan(writer, scope, given, known, now)
        if not plans:
            return standing
        ready, felt = prepare(writer, scope, list(plans.values())), Impressions()
        if affect and (turns := [one for one in plans.values() if one.episode and (one.known or not later)]):
            passages = {id_: measured(record) for id_, record in ready.records.items()}
            felt = impressions(affect, turns, passages)
        coming = ahead(scope, plans.values())
        with writer.storage.transaction():
            before, known = known, read_known(writer, scope, given, coming, unseen=unseen)
            if known == before:
                stored = store(writer, affect, scope, list(plans.values()), ready, felt, now)
                return standing | dict(zip(plans, stored, strict=True))


def _admitted(episode: Episode, stored: Stored) -> Episode:
    """Return an episode with what the write gate decided on its new entries."""
    new = [entry for entry in stored.entries if entry.id not in stored.repeated]
    return replace(episode, admissions={entry.id: entry.admission for entry in new if entry.admission})


# input


def identified(exchange: Exchange) -> Exchange:
    """Return an exchange with an id: its own, or a new one. Leaves it to the check to refuse other objects."""
    if not isinstance(exchange, Exchange) or shaped(exchange, Exchange, "an exchange").key is not None:
        return exchange
    return replace(exchange, id=secrets.token_hex(8))


def one_turn(
    user: str | None, agent: str | None, messages: Sequence[Message], tools: Sequence[ToolCall]
) -> tuple[Message, ...]:
    """Return the messages of a turn, which are given or made of its two texts and the tools that ran between."""
    given, calls = items(messages, "messages"), items(tools, "tools")
    for text, name in ((user, "user"), (agent, "agent")):
        if text is not None and not isinstance(text, str):
            raise InvalidInput(f"{name} must be a text, got {shown(text)}; for Messages there is messages=")
    if given and (user is not None or agent is not None or calls):
        raise InvalidInput("give either messages, or user, agent and tools")
    if not all(isinstance(call, ToolCall) for call in calls):
        raise InvalidInput("tools must be ToolCalls: ToolCall(name, arguments, result=…)")
    return tuple(shaped(each, Message, "each of messages") for each in given) or turn(user, agent, calls)


def to_notes(texts: Iterable[Note | str], fields: Mapping[str, Any]) -> list[Note]:
    """Return notes of texts with ``fields``; a note is one already, and takes none. Raises ``InvalidInput``."""
    if isinstance(texts, bytes | Mapping) or not isinstance(texts, Iterable):
        raise InvalidInput(f"give texts or Notes to remember, got {shown(texts)}")
    given = list(texts)
    if fields and not all(isinstance(text, str) for text in given):
        raise InvalidInput(f"{', '.join(sorted(fields))} belong into the Note, which is given already")
    return [_to_note(text, fields) if isinstance(text, str) else text for text in given]


def _to_note(text: str, fields: Mapping[str, Any]) -> Note:
    """Return a note of a text with ``fields``; a field that is ``None`` has its default. Raises ``InvalidInput``."""
    try:
        return Note(text, **{name: value for name, value in fields.items() if value is not None})
    except TypeError as error:
        raise InvalidInput(f"{error}; see Note for what can be said about a text") from error


def _checked(writer: Writer, exchange: Exchange, *, blank: bool = False) -> Exchange:
    return writer.redaction.exchange(_check(exchange, writer.settings.recording.max_chars, blank=blank))


def _check(exchange: Exchange, max_chars: int, *, blank: bool = False) -> Exchange:
    """Return an exchange whose texts can be stored and whose messages all have ids.

    ``blank`` admits a turn in which nobody said or called anything. Raises ``InvalidInput``.
    """
    if not isinstance(exchange, Exchange) or not all(isinstance(message, Message) for message in exchange.messages):
        raise InvalidInput("record Messages, in Exchanges where there are many: Message(role='user', text='Hello')")
    key = label(exchange.key, "id")
    if key is None:
        raise InvalidInput("an exchange needs an id, or a message that has one")
    messages = tuple(
        _checked_message(message, label(message.id or None, "id") or f"{key}/{number}", max_chars)
        for number, message in enumerate(exchange.messages)
    )
    if len({message.id for message in messages}) < len(messages):
        raise InvalidInput("two messages of an exchange have the same id; give each its own, or none")
    if not blank and not any(message.text.strip() for message in messages):
        raise InvalidInput("an exchange needs at least one message with a text")
    return Exchange(
        messages,
        thread=label(exchange.thread, "thread"),
        id=key,
        surfaced=labels(exchange.surfaced, "surfaced", MAX_SURFACED),
        occurred_at=aware(exchange.occurred_at, "occurred_at") if exchange.occurred_at is not None else None,
        metadata=mapping(exchange.metadata, "metadata", MAX_METADATA_BYTES),
    )


def _checked_message(message: Message, id_: str, max_chars: int) -> Message:
    if message.role not in ROLES:
        raise InvalidInput(f"a message's role must be one of {', '.join(ROLES)}, got {shown(message.role)}")
    return Message(
        message.role,
        _verbatim(message.text, max_chars),
        id_,
        speaker=label(message.speaker, "speaker"),
        tool_calls=tuple([_checked_call(call, max_chars) for call in message.tool_calls or ()]),
        tool_call_id=label(message.tool_call_id, "tool_call_id"),
        error=message.error,
        at=aware(message.at, "at") if message.at is not None else None,
        reasoning=_verbatim(message.reasoning[:max_chars], max_chars),
    )


def _checked_call(call: ToolCall, max_chars: int) -> ToolCall:
    if not isinstance(call, ToolCall):
        raise InvalidInput(f"tool calls must be ToolCall(name, arguments, …), got {type(call).__name__}")
    name = clean(call.name, max_chars=200, name="a tool's name")
    arguments = mapping(call.arguments, f"arguments of {name}", max_chars)
    result = None if call.result is None else _verbatim(call.result, max_chars)
    return replace(call, name=name, arguments=arguments, id=label(call.id, "a tool call's id"), result=result)


def _verbatim(text: str, max_chars: int) -> str:
    """Return a checked text. A message may be blank, unlike a note: a tool prints a line break, a model only calls."""
    return text[:max_chars] if isinstance(text, str) and not text.strip() else clean(text, max_chars=max_chars)


def _to_entry(writer: Writer, scope: Scope, note: Note, now: datetime) -> Entry:
    """Check a note and return the entry that it becomes. Raises ``InvalidInput``."""
    settings = writer.settings
    if not isinstance(note, Note):
        raise InvalidInput(f"give a text or Notes to remember, got {type(note).__name__}")
    if not isinstance(note.kind, str) or note.kind not in KINDS:
        raise InvalidInput(f"kind must be one of {', '.join(KINDS)}, got {shown(note.kind)}")
    text = writer.delimiters.strip(note.text) if isinstance(note.text, str) else note.text
    redact = writer.redaction
    text = redact.text(clean(text, max_chars=settings.recording.max_chars))
    occurred_at = now if note.occurred_at is None else aware(note.occurred_at, "occurred_at")
    source, thread = label(note.source, "source"), label(note.thread, "thread")
    source = source and redact.text(source)
    speaker, role = label(note.speaker, "speaker"), label(note.role, "role")
    metadata = redact.value(mapping(note.metadata, "metadata", MAX_METADATA_BYTES))
    matters = importance(text) if note.importance is None else check_number(note.importance, "importance", 1, 10)
    channel, fades = check_channel(note.channel), note.kind == DECAYING
    return Entry(
        id=writer.id_of(scope, note.kind, source, thread, speaker, note.occurred_at and occurred_at, text),
        kind=note.kind,
        text=text,
        scope=scope,
        occurred_at=occurred_at,
        recorded_at=now,
        tier=new_tier(matters, None, now, settings[DecayTuning], settings[AffectTuning].threshold) if fades else None,
        thread=thread,
        speaker=speaker,
        role=role,
        source=source,
        channel=channel,
        trust=TRUST[channel] if note.trust is None else check_number(note.trust, "trust", 0, 1),
        importance=matters,
        tags=tags(untagged(text))
        if note.tags is None
        else tuple(map(redact.text, labels(note.tags, "tags", MAX_TAGS))),
        valid_until=None if note.valid_until is None else aware(note.valid_until, "valid_until"),
        metadata=metadata,
    )
