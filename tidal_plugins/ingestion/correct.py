"""Correcting: an entry gets another text, and what was read from the earlier one is read anew.

The entry keeps its id, and with it its labels, its importance, its tier, its signals and its associations. The earlier
text stays as an entry of its own that has left recall and that the corrected one supersedes. A turn keeps the words
that were said in it; the graph reads them as they were corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tidal_plugins.errors import Conflict, Forgotten, InvalidInput
from tidal_plugins.facts.conflicts import FACT_CHANNEL, Said, close_quoting
from tidal_plugins.facts.invalidation import SupersessionStore
from tidal_plugins.facts.versions import flag_claims
from tidal_plugins.ingestion.derived import forget_derived, purge
from tidal_plugins.ingestion.follow import read_notes, read_turns
from tidal_plugins.ingestion.writer import Writer, duplicates, promote, reword, unfading
from tidal_plugins.jobs.queue import note
from tidal_plugins.model.entry import CHANNELS, CONVERSATION, FACT, WORDING, Entry, Link, Scope, derive_id
from tidal_plugins.model.fact import CORRECTED, Replacement
from tidal_plugins.reading.sentences import forget_sentences
from tidal_plugins.secrets.finding import masked
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Record
from tidal_plugins.validation import clean

CORRECTABLE = (CONVERSATION, "skill", "kb", FACT)

MAX_WORDS = 80
"""Characters of the words that differ, as the link quotes them."""


def correct(
    writer: Writer, scope: Scope, entry: Entry, text: str, now: datetime, *, expected: str | None = None
) -> Entry:
    """Give an entry another text, in one transaction, and return it as it is stored then.

    Raises ``InvalidInput`` for the same text and for an entry that was made of others, ``Forgotten``
    for a text that was forgotten, and ``Conflict`` if the entry does not say ``expected``, or was changed meanwhile.
    """
    said = _checked(writer, entry, text)
    if expected is not None and expected != entry.text:
        raise Conflict(f"{shown(entry.id)} was corrected since it was read, and nothing was changed: read it again")
    new = replace(entry, text=said, recorded_at=now)
    [record], claims = writer.records([new]), writer.claims(scope, [new])
    old = _wording(writer, scope, entry, now)
    [earlier] = writer.records([old])
    while True:
        repeating = duplicates(writer, scope, {entry.id})
        promoted = writer.records(list(writer.storage.get(scope, repeating).values()))
        with writer.storage.transaction():
            if writer.forgotten(scope, {said}):
                raise Forgotten("this text was forgotten on request: give another one")
            standing = writer.storage.get(scope, [entry.id]).get(entry.id)
            if standing is None or standing.text != entry.text:
                raise Conflict(f"{shown(entry.id)} was changed meanwhile, and nothing was corrected: read it again")
            if repeating != duplicates(writer, scope, {entry.id}):
                continue  # it was said again
            again = _withdraw(writer, scope, standing, now)
            promote(writer, scope, {entry.id}, promoted, now)
            return _store(writer, scope, standing, record, claims, earlier, again, now)


def _withdraw(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> set[str]:
    """Take back what was read from the words of an entry, and return the ids of the episodes to read anew."""
    storage = writer.storage
    later = SupersessionStore(storage, scope).withdraw(entry.id)
    close_quoting(storage, scope, [entry.id])
    derived = forget_derived(writer, scope, [entry], (), now)
    purge(storage, scope, {entry.id, *derived}, now)
    episodes = {one.episode for one in storage.get(scope, later).values()} | {entry.episode}
    return {episode for episode in episodes if episode}


def _store(
    writer: Writer,
    scope: Scope,
    standing: Entry,
    record: Record,
    claims: Sequence[Said],
    earlier: Record,
    episodes: set[str],
    now: datetime,
) -> Entry:
    """Store the new text with the strength that the entry has by now, and the earlier one. Return the entry."""
    storage, old = writer.storage, earlier.entry
    stored = replace(standing, text=record.entry.text, recorded_at=now)
    writer.put(scope, [replace(record, entry=stored)], replace=True)
    writer.put(scope, [earlier])
    reword(writer, scope, stored, now)
    wording = Link(derive_id(scope, WORDING, stored.id, old.id), WORDING, stored.id, old.id, recorded_at=now)
    storage.put_links(scope, [wording])
    SupersessionStore(storage, scope).correct(stored, old, _replacement(old.text, stored.text), now)
    flag_claims(storage, scope, claims)
    forget_sentences(storage, scope, [stored.id])
    if not read_turns(writer, scope, sorted(episodes), episodes, now):
        read_notes(writer, scope, [stored], now)
    note(storage, scope, now)
    return stored


def _checked(writer: Writer, entry: Entry, text: str) -> str:
    """Return a text as it may be stored."""
    if entry.channel == FACT_CHANNEL:
        raise InvalidInput("this entry shows a fact: set the fact to another value")
    if entry.kind not in CORRECTABLE or entry.channel not in CHANNELS:
        kind = f"of kind {shown(entry.kind)} by {shown(entry.channel)}"
        raise InvalidInput(f"an entry {kind} is made of other memories: correct those")
    given = writer.delimiters.strip(text) if isinstance(text, str) else text
    said = writer.redaction.text(clean(given, max_chars=writer.settings.recording.max_chars))
    if said == entry.text:
        raise InvalidInput("the entry says this already: give another text")
    return said


def _wording(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> Entry:
    """Return the entry that keeps an earlier text. It has left recall, and belongs to no turn and no thread."""
    return replace(
        entry,
        id=writer.id_of(scope, WORDING, entry.id, entry.recorded_at, now, entry.text),
        tier=replace(entry.tier or unfading(now), expires_at=now),
        thread=None,
        episode=None,
        position=None,
    )


def _replacement(old: str, new: str) -> Replacement:
    """Return the words that differ, without secrets."""
    before, after = masked(old).split(), masked(new).split()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    if not before or not after:  # words were only added, or only left out
        before, after = masked(old).split(), masked(new).split()
    return Replacement(_brief(before), _brief(after), CORRECTED, 1.0)


def _brief(words: list[str]) -> str:
    text = " ".join(words).rstrip(".,;:!?")
    return text if len(text) <= MAX_WORDS else f"{text[: MAX_WORDS - 1]}…"
