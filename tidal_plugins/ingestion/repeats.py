"""Repetitions: an exact repetition strengthens what was said first; nothing is merged.

A repetition says the same words (case and space folded) in the same voice: of the same kind, speaker, role, source and
channel, valid alike, with the same metadata. Its entry is stored like any other, so that its episode stays whole and
forgetting stays exact; but only the first one is indexed for search.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b

from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.entry import Entry, Scope, derive_id
from tidal_plugins.model.link import REPEAT, Link
from tidal_plugins.scoring.text import normal
from tidal_plugins.storage.base import Record, WhereLinks
from tidal_plugins.storage.transactions import retry

FIRST = "first"
"""Kind of the link from a hash of words and voice to the entry that said them first."""


def firsts(writer: Writer, scope: Scope, ids: Collection[str]) -> dict[str, str]:
    """Return, for those of ``ids`` that are repetitions, the ids of the entries that they repeat."""
    return {link.source: link.target for link in writer.storage.links(scope, WhereLinks(sources=ids, kinds=[REPEAT]))}


@retry
def stand_alone(writer: Writer, scope: Scope, ids: Collection[str]) -> None:
    """Index those of ``ids`` that are repetitions: something else held since, so that they say something new again.

    Takes no lock while it embeds. What is said again from now on repeats them.
    """
    entries = writer.storage.get(scope, firsts(writer, scope, ids))
    if not entries:
        return
    records = writer.records(list(entries.values()))
    with writer.storage.transaction():
        standing = firsts(writer, scope, entries)
        for record in (record for record in records if record.entry.id in standing):
            writer.put(scope, [record], replace=True)
            writer.storage.erase_links(scope, WhereLinks(sources=[record.entry.id], kinds=[REPEAT]))
            _mark_first(writer, scope, record.entry, record.entry.recorded_at)


def duplicates(writer: Writer, scope: Scope, to_delete: Collection[str]) -> set[str]:
    """Return, for each entry that is about to be erased and that others repeat, the id of its first repetition."""
    links = writer.storage.links(scope, WhereLinks(targets=to_delete, kinds=[REPEAT]))
    return set({link.target: link.source for link in reversed(links) if link.source not in to_delete}.values())


def promote(
    writer: Writer, scope: Scope, to_delete: Collection[str], duplicates: Iterable[Record], now: datetime
) -> None:
    """Index duplicates in place of the entries that they repeat, with the tiers of those, which they strengthened.

    Call it inside the transaction, before ``to_delete`` are erased.
    """
    links = writer.storage.links(scope, WhereLinks(targets=to_delete, kinds=[REPEAT]))
    first = {link.source: link.target for link in links}
    known = writer.storage.summaries(scope, set(first.values()))
    for record in duplicates:
        id_ = record.entry.id
        old = first.get(id_)
        others = [link.source for link in links if link.target == old and link.source not in (id_, *to_delete)]
        tier = known[old].tier if old in known else record.entry.tier
        writer.put(scope, [replace(record, entry=replace(record.entry, tier=tier))], replace=True)
        writer.storage.erase_links(scope, WhereLinks(sources=[id_], kinds=[REPEAT]))
        writer.storage.put_links(scope, [repeat_link(scope, other, id_, now) for other in others])
        _mark_first(writer, scope, record.entry, now)


def reword(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> None:
    """Note that an entry says other words than before: it repeats none, and others repeat it if it is the first.

    Call it inside the transaction, after those that repeat the earlier words were promoted.
    """
    storage, own = writer.storage, mark(writer, entry)
    storage.erase_links(scope, WhereLinks(kinds=[FIRST], targets=[entry.id]))
    storage.erase_links(scope, WhereLinks(kinds=[REPEAT], sources=[entry.id]))
    if not storage.links(scope, WhereLinks(kinds=[FIRST], sources=[own])):
        storage.put_links(scope, [first_link(own, entry, now)])


def _mark_first(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> None:
    writer.storage.put_links(scope, [first_link(mark(writer, entry), entry, now)])


def first_link(mark: str, entry: Entry, now: datetime) -> Link:
    """Return the link from a mark to the entry that said it first."""
    return Link(f"{FIRST}:{mark}", FIRST, mark, entry.id, now)


def mark(writer: Writer, entry: Entry) -> str:
    """Return a keyed hash of the words and their speaker, which means nothing without the store's own key."""
    metadata = {name: value for name, value in entry.metadata.items() if name != "message"}
    voice = (entry.kind, entry.speaker, entry.role, entry.source, entry.channel, entry.trust)
    said = [normal(entry.text), *voice, entry.valid_from, entry.valid_until, metadata]
    data = json.dumps(said, default=str, sort_keys=True).encode()
    return "said:" + blake2b(data, key=writer.key, digest_size=12).hexdigest()


def repeat_link(scope: Scope, repetition: str, first: str, now: datetime) -> Link:
    """Return the link from a repetition to the entry that it repeats."""
    return Link(derive_id(scope, REPEAT, repetition), REPEAT, repetition, first, now)
