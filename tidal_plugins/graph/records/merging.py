"""Merges: entities that a user declared to be one, and pairs that may be one and are proposed [SIYA §3.3].

«Jon Smith» and «John Smith» may be one person or two. Only the user knows: nothing is merged by its likeness.
A merge moves nothing. It records that one entity goes by another, and every query asks for both. Undoing it therefore
takes back exactly the merge, whatever was learned of either entity in the meantime.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import SequenceMatcher
from itertools import combinations
from typing import TYPE_CHECKING

from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.graph.records.entities import Node
from tidal_plugins.model.codec import decode, encode
from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.model.graph import Merge
from tidal_plugins.scoring.text import normal
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.shorthands import read_document, write_document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.embedding.scale import Scale

MERGES = "entity-merges"
"""Collection of merges. Undone ones stay, so that the same merge is not proposed again."""


class Merged:
    """The merges that hold at one time."""

    def __init__(self, merges: Iterable[Merge]) -> None:
        self._parents = {merge.absorbed: merge.kept for merge in merges if merge.undone_at is None}
        self._children: dict[str, list[str]] = {}
        for child, parent in self._parents.items():
            self._children.setdefault(parent, []).append(child)

    def add(self, merge: Merge) -> None:
        self._parents[merge.absorbed] = merge.kept
        self._children.setdefault(merge.kept, []).append(merge.absorbed)

    def root(self, id_: str) -> str:
        """Return the entity that this one goes by."""
        while id_ in self._parents:
            id_ = self._parents[id_]
        return id_

    def alone(self, id_: str) -> bool:
        """Return whether an entity is merged with no other."""
        return id_ not in self._parents and id_ not in self._children

    def members(self, id_: str) -> list[str]:
        """Return every entity that is merged with this one, itself included; the one that they go by comes first."""
        found = [self.root(id_)]
        for member in found:
            found += self._children.get(member, ())
        return found

    def all_members(self, ids: Iterable[str]) -> list[str]:
        return [member for root in dict.fromkeys(map(self.root, ids)) for member in self.members(root)]


def merges(storage: Storage, scope: Scope) -> list[Merge]:
    """Return every merge, in the order in which they were made."""
    found = [decode(Merge, document.value) for document in storage.documents(scope, MERGES)]
    return sorted(found, key=lambda merge: (merge.at, merge.id))


def merged(storage: Storage, scope: Scope) -> Merged:
    return Merged(merges(storage, scope))


def join(
    storage: Storage, scope: Scope, keep: str, absorb: str, now: datetime, *, known: Merged | None = None
) -> Merge:
    """Let ``absorb`` go by ``keep`` from now on, and return the merge. Raises ``InvalidInput`` if they are one already.

    ``known`` are the merges as read in this transaction, so that many joins read them once; it is updated.
    """
    with storage.transaction():
        known = merged(storage, scope) if known is None else known
        kept, absorbed = known.root(keep), known.root(absorb)
        if kept == absorbed:
            raise InvalidInput(f"{shown(keep)} and {shown(absorb)} are one entity already; merge takes two")
        merge = Merge(derive_id(scope, MERGES, *sorted((kept, absorbed))), kept, absorbed, now)
        write_document(storage, scope, MERGES, merge.id, encode(merge))
        known.add(merge)
        return merge


@whole()
def undo_merge(storage: Storage, scope: Scope, id_: str, now: datetime) -> Merge:
    """Undo a merge and return it. Raises ``NotFound`` if there is none, or if it was undone already."""
    with storage.transaction():
        document = read_document(storage, scope, MERGES, id_) if isinstance(id_, str) else None
        if document is None or document.value["undone_at"] is not None:
            raise NotFound(f"no merge {shown(id_)} to undo in scope {shown_scope(scope)}; merges() lists them")
        merge = replace(decode(Merge, document.value), undone_at=now)
        write_document(storage, scope, MERGES, id_, encode(merge))
        return merge


def forget_merges(storage: Storage, scope: Scope, gone: Collection[str], now: datetime) -> None:
    """Remove entities that are gone from all merges; the entities that went by one of them stay together."""
    touched = [merge for merge in merges(storage, scope) if gone and {merge.kept, merge.absorbed} & set(gone)]
    if not touched:
        return
    known = merged(storage, scope)
    groups = {known.root(merge.kept): known.members(merge.kept) for merge in touched}
    storage.erase_documents(scope, MERGES, [merge.id for merge in touched])
    known = merged(storage, scope)
    for members in groups.values():
        left = [member for member in members if member not in gone]
        for member in left[1:]:
            if known.root(member) != known.root(left[0]):
                join(storage, scope, left[0], member, now, known=known)


# proposals


Embed = Callable[[Sequence[str]], Sequence["NDArray[np.float32]"]]

SHARED = 0.3
"""Share of the rare groups of letters that two names must have in common to be compared at all."""
SPELT = 0.8
"""Share of the letters of two words in order, from which on one may be the other, written otherwise: «Kathrine» and
«Catherine» have .82."""
COMMON = 100
"""Names from which on a group of letters is too common to be compared by."""

Pair = tuple[str, str]


def likely(
    known: Mapping[str, Node],
    apart: Collection[frozenset[str]],
    threshold: float,
    embed: Embed,
    scale: Scale,
) -> list[tuple[float, str, Pair]]:
    """Return the pairs of entities that may be one, most similar first: similarity, reason and ids.

    Equal names of different types are always proposed. Technical names are never proposed for similarity, since one
    letter makes another file. ``apart`` are pairs to leave out, and ``threshold`` is the smallest similarity of the
    vectors, whose scale is given.
    """
    pairs = [pair for pair in _same_names(known) if frozenset(pair) not in apart]
    found = [(1.0, "the same name", pair) for pair in pairs]
    people = {id_: normal(node.name) for id_, node in known.items() if node.category != "technical"}
    close = [p for p in _close(people, known) if frozenset(p) not in apart and people[p[0]] != people[p[1]]]
    similar = map(scale.of_texts, _similarities(close, people, embed))
    found += [(s, "similar names", pair) for pair, s in zip(close, similar, strict=True) if s >= threshold]
    named = {pair for *_, pair in found}
    spelt = [(_spelling(people[a], people[b]), "similar spelling", (a, b)) for a, b in close if (a, b) not in named]
    found += [one for one in spelt if one[0]]
    return sorted(found, key=lambda item: (-item[0], item[2]))


def _same_names(known: Mapping[str, Node]) -> Iterator[Pair]:
    groups: dict[str, list[str]] = {}
    for id_, node in known.items():
        groups.setdefault(normal(node.name), []).append(id_)
    for ids in groups.values():
        yield from (pair for pair in combinations(ids, 2) if not _two_by_rule(known, pair))


def _two_by_rule(known: Mapping[str, Node], pair: Pair) -> bool:
    """Return whether two entities are technical: then names that differ in case are two."""
    return all(known[id_].category == "technical" for id_ in pair)


def _close(names: Mapping[str, str], known: Mapping[str, Node]) -> list[Pair]:
    """Return the pairs of one type that share enough of their rare groups of three letters."""
    having: dict[tuple[str, str], list[str]] = {}
    for id_, name in names.items():
        for three in _letters(name):
            having.setdefault((known[id_].type, three), []).append(id_)
    rare = [ids for ids in having.values() if len(ids) <= COMMON]
    sizes = Counter(id_ for ids in rare for id_ in ids)
    shared = Counter(pair for ids in rare for pair in combinations(sorted(ids), 2))
    return [pair for pair, count in shared.items() if count >= SHARED * min(sizes[id_] for id_ in pair)]


def _similarities(pairs: Sequence[Pair], names: Mapping[str, str], embed: Embed) -> list[float]:
    if not pairs:
        return []
    import numpy as np

    ids = list(dict.fromkeys(id_ for pair in pairs for id_ in pair))
    vectors = np.asarray(embed([names[id_] for id_ in ids]), dtype=np.float32)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    rows = dict(zip(ids, vectors, strict=True))
    return [float(rows[a] @ rows[b]) for a, b in pairs]


def _spelling(name: str, other: str) -> float:
    """Return how alike two names are spelt, in [0, 1]; 0 unless each word is spelt much like the other name's."""
    pairs = list(zip(name.split(), other.split(), strict=False))
    if len(name.split()) != len(other.split()) or not all(_alike(*pair) for pair in pairs):
        return 0.0
    return SequenceMatcher(None, name, other, autojunk=False).ratio()


def _alike(word: str, other: str) -> bool:
    return word == other or SequenceMatcher(None, word, other, autojunk=False).ratio() >= SPELT


def _letters(name: str) -> frozenset[str]:
    padded = f" {name} "
    return frozenset(padded[start : start + 3] for start in range(len(padded) - 2))
