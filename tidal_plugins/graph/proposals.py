"""Proposals: pairs of names that may belong to one entity. They are proposed, never merged [SIYA §3.3].

«Jon Smith» and «John Smith» may be one person or two. Only the user knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from tidal_plugins.graph.records.entities import Node
from tidal_plugins.scoring.text import normal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Embed = Callable[[Sequence[str]], "NDArray[np.float32]"]

SHARED = 0.3
"""Share of the rare groups of letters that two names must have in common to be compared at all."""
COMMON = 100
"""Names from which on a group of letters is too common to be compared by."""

Pair = tuple[str, str]


def likely(
    known: Mapping[str, Node], apart: Collection[frozenset[str]], threshold: float, embed: Embed
) -> list[tuple[float, str, Pair]]:
    """Return the pairs of entities that may be one, most similar first: similarity, reason and ids.

    Equal names of different types are always proposed. Technical names are never proposed for similarity, since one
    letter makes another file. ``apart`` are pairs to leave out, and ``threshold`` is the smallest similarity of the
    vectors.
    """
    pairs = [pair for pair in _same_names(known) if frozenset(pair) not in apart]
    found = [(1.0, "the same name", pair) for pair in pairs]
    people = {id_: normal(node.name) for id_, node in known.items() if node.category != "technical"}
    close = [p for p in _close(people, known) if frozenset(p) not in apart and people[p[0]] != people[p[1]]]
    similar = _similarities(close, people, embed)
    found += [(s, "similar names", pair) for pair, s in zip(close, similar, strict=True) if s >= threshold]
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


def _letters(name: str) -> frozenset[str]:
    padded = f" {name} "
    return frozenset(padded[start : start + 3] for start in range(len(padded) - 2))
