"""Notes into memory: skills, knowledge documents, facts [Tidal §2.2]."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tidal_plugins.english.tags import tags
from tidal_plugins.errors import Forgotten, InvalidInput
from tidal_plugins.ingestion.pipeline import prepare_notes, store_notes
from tidal_plugins.ingestion.plan import Plan, Writing
from tidal_plugins.ingestion.writer import DECAYING, Progress, Writer, batches, new_tier
from tidal_plugins.language.importance import importance
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import KINDS, Entry, Scope
from tidal_plugins.model.note import Note
from tidal_plugins.model.trust import TRUST, check_channel
from tidal_plugins.secrets.finding import untagged
from tidal_plugins.shown import shown
from tidal_plugins.storage.repeating import repeated
from tidal_plugins.validation import MAX_TAGS, check_number, check_progress, clean, label, labels, mapping


def remember(
    writer: Writer, scope: Scope, notes: Sequence[Note], now: datetime, *, progress: Progress | None = None
) -> list[Entry]:
    """Store notes in batches, each in one transaction, and return their entries in order.

    A note remembered before (same kind, source, thread, time and text) is returned as it stands, so that an interrupted
    bulk can be run again. A note that repeats another one word for word strengthens that one and is got by its id.
    Nothing is written when any note is invalid or was forgotten. Raises ``InvalidInput``, ``InvalidText`` and
    ``Forgotten``.
    """
    check_progress(progress)
    writing = Writing(writer, scope, now)
    entries = [to_entry(writer, scope, note, now) for note in notes]
    _refuse_forgotten(writer, scope, entries)
    stored: dict[str, Entry] = {}
    done = 0
    for chunk in batches(entries, lambda entry: len(entry.text), writer.settings.ingestion):
        stored |= _batch(writing, chunk, stored)
        done += len(chunk)
        if progress:
            progress(done, len(entries))
    return [stored[entry.id] for entry in entries]


@repeated
def _batch(writing: Writing, chunk: Sequence[Entry], stored: Collection[str]) -> dict[str, Entry]:
    """Store some entries in one transaction, but for those that are, and return them by id as they stand."""
    writer, scope = writing.writer, writing.scope
    batch = {entry.id: entry for entry in chunk if entry.id not in stored}
    known = writer.storage.get(scope, list(batch))
    plans = [Plan([entry]) for id_, entry in batch.items() if id_ not in known]
    prepare_notes(writing, plans)
    with writer.storage.transaction():
        _refuse_forgotten(writer, scope, chunk)  # again: it may have happened while we embedded
        store_notes(writing, plans)
    return {entry.id: entry for plan in plans for entry in plan.entries} | known


def _refuse_forgotten(writer: Writer, scope: Scope, entries: Sequence[Entry]) -> None:
    gone = writer.forgotten(scope, {entry.text for entry in entries})
    if gone:
        raise Forgotten(f"{len(gone)} of these texts were forgotten on request; leave them out, or reword them")


def to_notes(texts: Iterable[Note | str], fields: Mapping[str, Any]) -> list[Note]:
    """Return notes of texts with ``fields``; a note is one already, and takes none. Raises ``InvalidInput``."""
    given = list(texts)
    if fields and not all(isinstance(text, str) for text in given):
        raise InvalidInput(f"{', '.join(sorted(fields))} belong into the Note, which is given already")
    return [to_note(text, fields) if isinstance(text, str) else text for text in given]


def to_note(text: str, fields: Mapping[str, Any]) -> Note:
    """Return a note of a text with ``fields``; a field that is ``None`` has its default. Raises ``InvalidInput``."""
    try:
        return Note(text, **{name: value for name, value in fields.items() if value is not None})
    except TypeError as error:
        raise InvalidInput(f"{error}; see Note for what can be said about a text") from error


def to_entry(writer: Writer, scope: Scope, note: Note, now: datetime) -> Entry:
    """Check a note and return the entry that it becomes. Raises ``InvalidInput`` and ``InvalidText``."""
    settings = writer.settings
    if not isinstance(note, Note):
        raise InvalidInput(f"give a text or Notes to remember, got {type(note).__name__}")
    if not isinstance(note.kind, str) or note.kind not in KINDS:
        raise InvalidInput(f"kind must be one of {', '.join(KINDS)}, got {shown(note.kind)}")
    text = writer.frames.strip(note.text) if isinstance(note.text, str) else note.text
    redact = writer.redaction
    text = redact.text(clean(text, max_chars=settings.ingestion.max_chars))
    occurred_at = now if note.occurred_at is None else aware(note.occurred_at, "occurred_at")
    source, thread = label(note.source, "source"), label(note.thread, "thread")
    source = source and redact.text(source)
    speaker, role = label(note.speaker, "speaker"), label(note.role, "role")
    metadata = redact.value(mapping(note.metadata, "metadata", settings.ingestion.max_metadata_bytes))
    matters = importance(text) if note.importance is None else check_number(note.importance, "importance", 1, 10)
    channel, fades = check_channel(note.channel), note.kind == DECAYING
    return Entry(
        id=writer.id_of(scope, note.kind, source, thread, speaker, note.occurred_at and occurred_at, text),
        kind=note.kind,
        text=text,
        scope=scope,
        occurred_at=occurred_at,
        recorded_at=now,
        tier=new_tier(matters, None, now, settings.decay, settings.affect.threshold) if fades else None,
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
