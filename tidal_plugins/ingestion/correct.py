"""Correcting: an entry gets another text, and what was read from the earlier one is read anew.

The entry keeps its id, and with it its labels, its importance, its tier, its signals and its associations. The earlier
text stays as an entry of its own that has left recall and that the corrected one supersedes. A turn keeps the words
that were said in it; the graph reads them as they were corrected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from tidal_plugins.errors import Conflict, Forgotten, InvalidInput
from tidal_plugins.facts.conflicts import FACT_CHANNEL, close_quoting
from tidal_plugins.facts.invalidation import SupersessionStore
from tidal_plugins.ingestion.batch import Batch
from tidal_plugins.ingestion.derived import purge
from tidal_plugins.ingestion.following import forget_derived, read_notes, read_turns
from tidal_plugins.ingestion.pipeline import flag, load_links, prepare_notes
from tidal_plugins.ingestion.plan import Plan, Writing
from tidal_plugins.ingestion.repeats import duplicates, promote, reword
from tidal_plugins.ingestion.writer import Writer, unfading
from tidal_plugins.jobs.queue import note
from tidal_plugins.model.entry import CONVERSATION, FACT, Entry, Scope, derive_id
from tidal_plugins.model.link import WORDING, Link
from tidal_plugins.model.supersession import CORRECTED, Replacement
from tidal_plugins.model.trust import CHANNELS
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

    Raises ``InvalidInput`` for the same text and for an entry that was made of others, ``InvalidText``, ``Forgotten``
    for a text that was forgotten, and ``Conflict`` if the entry does not say ``expected``, or was changed meanwhile.
    """
    said = _checked(writer, entry, text)
    if expected is not None and expected != entry.text:
        raise Conflict(f"{shown(entry.id)} was corrected since it was read, and nothing was changed: read it again")
    writing = Writing(writer, scope, now)
    plan = Plan([replace(entry, text=said, recorded_at=now)])
    prepare_notes(writing, [plan])
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
            again = _Withdrawn(writer, scope, standing, now).all()
            promote(writer, scope, {entry.id}, promoted, now)
            return _store(writing, plan, standing, earlier, again)


@dataclass(frozen=True, slots=True)
class _Withdrawn:
    """Takes back what was read from the words of an entry. Use it inside the transaction that changes them."""

    writer: Writer
    scope: Scope
    entry: Entry
    now: datetime

    def all(self) -> set[str]:
        """Take it back, and return the ids of the episodes to read anew."""
        storage, scope, id_ = self.writer.storage, self.scope, self.entry.id
        later = SupersessionStore(storage, scope).withdraw(id_)
        close_quoting(storage, scope, [id_])
        derived = forget_derived(self.writer, scope, [self.entry], (), self.now)
        purge(storage, scope, {id_, *derived}, self.now)
        episodes = {one.episode for one in storage.get(scope, later).values()} | {self.entry.episode}
        return {episode for episode in episodes if episode}


def _store(writing: Writing, plan: Plan, standing: Entry, earlier: Record, episodes: set[str]) -> Entry:
    """Store the new text with the strength that the entry has by now, and the earlier one. Return the entry."""
    writer, scope, now = writing.writer, writing.scope, writing.now
    [new] = plan.entries
    stored = replace(standing, text=new.text, recorded_at=now)
    writer.put(scope, [replace(plan.records[new.id], entry=stored)], replace=True)
    writer.put(scope, [earlier])
    reword(writer, scope, stored, now)
    old = earlier.entry
    wording = Link(derive_id(scope, WORDING, new.id, old.id), WORDING, new.id, old.id, recorded_at=now)
    writer.storage.put_links(scope, [wording])
    SupersessionStore(writer.storage, scope).correct(stored, old, _replacement(old.text, stored.text), now)
    batch = Batch(writing)
    load_links(batch, [plan])
    flag(batch, plan)
    batch.store()
    forget_sentences(storage := writer.storage, scope, [stored.id])
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
    given = writer.frames.strip(text) if isinstance(text, str) else text
    said = writer.redaction.text(clean(given, max_chars=writer.settings.ingestion.max_chars))
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
