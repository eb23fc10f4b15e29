"""What says nearly the same as something else: no rival of it, and no third one of its kind in a whisper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidal_plugins.errors import Corrupt
from tidal_plugins.model.entry import SYNTHESIS, Scope
from tidal_plugins.model.recall import Hit
from tidal_plugins.retrieval.rank import Ranked
from tidal_plugins.scoring.text import terms
from tidal_plugins.storage.base import Storage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OF_A_KIND = 2
"""How many that say nearly the same surface: «at 11:00» is seen beside the «at 10:00» that it changes, «not allergic»
beside «allergic»; a third takes the place of something else."""

EVERY_WORD: frozenset[str] = frozenset()
"""No stop words: «not» makes a difference."""


def first_of_kind(storage: Storage, scope: Scope, ranked: Sequence[Ranked], alike: float) -> dict[str, str]:
    """Return by id, for each of a ranking, the first of its kind: itself, or one above it whose best passage has a
    cosine of at least ``alike`` with its own."""
    spots = {item.id: item.candidate.vector.start for item in ranked if item.candidate.vector}
    try:
        passages = storage.vectors(scope, spots)
    except Corrupt:  # logged when the vectors were searched
        vectors = {}
    else:
        pairs = zip(passages.spans, passages.units, strict=True)
        vectors = {span.id: unit for span, unit in pairs if span.start == spots[span.id]}
    above, first = _alike_above(vectors, list(spots), alike), dict[str, str]()
    for item in ranked:
        first[item.id] = next((other for other in above.get(item.id, ()) if first[other] == other), item.id)
    return first


def rivals(ranked: Sequence[Ranked], first: Mapping[str, str]) -> list[Ranked]:
    """One of each kind: what says the same as the first of a ranking takes nothing from its lead."""
    return [item for item in ranked if first[item.id] == item.id]


def varied(ranked: Sequence[Ranked], first: Mapping[str, str]) -> tuple[list[Ranked], dict[str, str]]:
    """Split a ranking into what may surface, two of a kind at most, and the reasons, by id, for which the rest may
    not.

    No maximal marginal relevance: to weigh how new a memory is against how near costs answers
    (docs/capabilities/whisper.md).
    """
    shown: dict[str, list[str]] = {}
    more: dict[str, str] = {}
    for item in ranked:
        others = shown.setdefault(first[item.id], [])
        if len(others) < OF_A_KIND:
            others.append(item.id)
        else:
            more[item.id] = f"says nearly the same as {' and '.join(others)}"
    return [item for item in ranked if item.id not in more], more


def said_again(hits: Sequence[Hit]) -> dict[str, str]:
    """Return the reasons, by id, for which hits are no news after those before them: the same person says the same in
    the same words. A fact that memory made of others is left to the whisper, which prefers these."""
    told: dict[tuple[str | None, frozenset[str]], str] = {}
    again = {}
    for hit in hits:
        if hit.entry.channel == SYNTHESIS:
            continue
        words = hit.entry.speaker, frozenset(terms(hit.passage, stop=EVERY_WORD))
        if words[1] and (before := told.setdefault(words, hit.id)) != hit.id:
            again[hit.id] = f"says in the same words what {before} says"
    return again


def _alike_above(
    vectors: Mapping[str, NDArray[np.float32]], order: Sequence[str], alike: float
) -> dict[str, list[str]]:
    """By id: those before it in ``order`` that are that near to it."""
    import numpy as np

    known = [id_ for id_ in order if id_ in vectors]
    if not known:
        return {}
    rows = np.stack([vectors[id_] for id_ in known])
    found: dict[str, list[str]] = {}
    for place, earlier in np.argwhere(np.tril(rows @ rows.T >= alike, -1)).tolist():
        found.setdefault(known[place], []).append(known[earlier])
    return found
