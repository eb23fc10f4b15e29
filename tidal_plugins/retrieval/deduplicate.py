"""Stages ``drop_echoes``, ``drop_alike`` and ``read_news``: a whisper says nothing twice, nor what the turn says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidal_plugins.errors import Corrupt
from tidal_plugins.model.entry import SYNTHESIS, Scope
from tidal_plugins.model.recall import Hit
from tidal_plugins.retrieval.context import echoes
from tidal_plugins.retrieval.read import depth, read_first
from tidal_plugins.retrieval.state import Ranked, State
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.storage.base import Storage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OF_A_KIND = 2
"""Entries that say nearly the same and may surface: «at 11:00» is seen beside the «at 10:00» that it changes, «not
allergic» beside «allergic»; a third takes the place of something else."""

REPEATS = 5
"""Entries that may say word for word what the turn says before a whisper loses a place."""

KEEP_EVERY_WORD: frozenset[str] = frozenset()
"""No stop words: «not» makes a difference."""

ECHO = "says word for word what the turn says"


def drop_echoes(state: State) -> None:
    """Drop entries that say word for word what the turn says, before they count as rivals."""
    said = normal(state.request.text)
    again = sorted(item.id for item in state.ranked if echoes(item.summary, said))
    state.ranked = [item for item in state.ranked if item.id not in again]
    state.drop("threshold", ((id_, ECHO) for id_ in again))


def drop_alike(state: State) -> None:
    """Drop the third entry, and each further one, of those that say nearly the same.

    No maximal marginal relevance: to weigh how new a memory is against how near costs answers (see docs/recall.md).
    """
    shown: dict[str, list[str]] = {}
    more: dict[str, str] = {}
    for item in state.ranked:
        others = shown.setdefault(state.leaders.get(item.id, item.id), [])
        if len(others) < OF_A_KIND:
            others.append(item.id)
        else:
            more[item.id] = f"says nearly the same as {' and '.join(others)}"
    state.ranked = [item for item in state.ranked if item.id not in more]
    state.drop("diversity", more.items())


def read_news(state: State) -> None:
    """Read the first entries of the ranking, and drop those that repeat the turn or an entry before them.

    Reading ends once as many other entries are left as may be shown.
    """
    said, profile, most = normal(state.request.text), state.request.profile, depth(state) + REPEATS
    while True:
        whole, entries = read_first(state, most)
        again = sorted(id_ for id_, entry in entries.items() if normal(entry.text) == said)
        others = [item for item in whole if item.id not in again]
        more = said_again([item.hit(entries[item.id], profile) for item in others if item.id in entries])
        kept = [item for item in others if item.id not in more]
        if most >= len(state.ranked) or all(item.id in entries for item in kept[: state.request.limit]):
            break
        most *= 2
    state.drop("threshold", ((id_, ECHO) for id_ in again))
    state.drop("diversity", more.items())
    state.ranked, state.entries = kept, entries


def first_of_kind(storage: Storage, scope: Scope, ranked: Sequence[Ranked], alike: float) -> dict[str, str]:
    """Return by id, for each entry of a ranking, the first of its kind.

    That is the entry itself, or one above it whose best passage has a cosine of at least ``alike`` with its own.
    """
    spots = {item.id: item.found.vector.start for item in ranked if item.found.vector}
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


def said_again(hits: Sequence[Hit]) -> dict[str, str]:
    """Return by id why hits are no news after those before them: the same person says the same in the same words.

    A fact that memory made of others is left to the whisper, which prefers these.
    """
    told: dict[tuple[str | None, frozenset[str]], str] = {}
    again = {}
    for hit in hits:
        if hit.entry.channel == SYNTHESIS:
            continue
        words = hit.entry.speaker, frozenset(terms(hit.passage, stop=KEEP_EVERY_WORD))
        if words[1] and (before := told.setdefault(words, hit.id)) != hit.id:
            again[hit.id] = f"says in the same words what {before} says"
    return again


def _alike_above(
    vectors: Mapping[str, NDArray[np.float32]], order: Sequence[str], alike: float
) -> dict[str, list[str]]:
    """Return by id the entries before it in ``order`` that are that near to it."""
    import numpy as np

    known = [id_ for id_ in order if id_ in vectors]
    if not known:
        return {}
    rows = np.stack([vectors[id_] for id_ in known])
    found: dict[str, list[str]] = {}
    for place, earlier in np.argwhere(np.tril(rows @ rows.T >= alike, -1)).tolist():
        found.setdefault(known[place], []).append(known[earlier])
    return found
