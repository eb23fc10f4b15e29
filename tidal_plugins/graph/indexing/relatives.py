"""Relatives: «my sister» is the sister whose name somebody says, as long as only one has been named."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tidal_plugins.graph.indexing.stale import mark_around
from tidal_plugins.graph.indexing.writing import WriteBatch
from tidal_plugins.graph.reading.mentions import KIN
from tidal_plugins.graph.records.entities import entity_id, nodes
from tidal_plugins.graph.records.merging import join, merges, undo_merge
from tidal_plugins.graph.records.relations import STANDING, predicate
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.graph import Mention
from tidal_plugins.storage.base import Storage, WhereLinks

_MANY = frozenset("friend_of neighbour_of colleague_of child_of grandchild_of parent_of".split())
"""Predicates of relatives of whom one has many: «my friend» is now this one, now that one."""
_WORDS = {
    kin: [word for word, other in KIN.items() if other == kin]
    for kin in dict.fromkeys(KIN.values())
    if kin not in _MANY
}

Role = tuple[str, str]
"""A person by name, and the predicate of a relative of that person."""


def join_relatives(storage: Storage, scope: Scope, batches: Iterable[WriteBatch], now: datetime) -> None:
    """Merge «Ada's sister» with the one sister of Ada who has a name.

    When a second one is named, a merge from the time before is undone, since nobody knows which of them was meant. A
    merge that a user has undone is not made again. Call it in the transaction that writes the batches.
    """
    for owner, kin in dict.fromkeys(_roles(batches)):
        unnamed = {_person(scope, f"{owner}'s {word}") for word in _WORDS[kin]}
        there = nodes(storage, scope, unnamed)
        rows = storage.links(scope, WhereLinks(targets=[_person(scope, owner)], kinds=STANDING)) if there else []
        known = sorted({row.source for row in rows if predicate(row) == kin} - unnamed)
        if known:
            _join(storage, scope, known, sorted(there), now)


def _join(storage: Storage, scope: Scope, known: list[str], unnamed: list[str], now: datetime) -> None:
    made = {(merge.kept, merge.absorbed): merge for merge in merges(storage, scope)}
    for id_ in unnamed:
        held = [merge for (_, absorbed), merge in made.items() if absorbed == id_ and merge.undone_at is None]
        if len(known) > 1:
            for merge in held:
                undo_merge(storage, scope, merge.id, now)
                mark_around(storage, scope, now, [merge.kept, merge.absorbed])
        elif not held and (known[0], id_) not in made:
            join(storage, scope, known[0], id_, now)
            mark_around(storage, scope, now, [known[0], id_])


def _roles(batches: Iterable[WriteBatch]) -> Iterable[Role]:
    """Yield the relatives that the batches name, or speak of without a name."""
    for batch in batches:
        for part in batch.parts:
            for said, assertion in part.said:
                if said.predicate in _WORDS and assertion.object.type == "person":
                    yield assertion.object.name, said.predicate
            for named in part.named:
                owner, _, word = named.name.rpartition("'s ")
                if named.type == "person" and owner and KIN.get(word.lower()) in _WORDS:
                    yield owner, KIN[word.lower()]


def _person(scope: Scope, name: str) -> str:
    return entity_id(scope, Mention(name, "person", "contextual", 0, 0))
