"""Stages ``drop_echoes``, ``drop_alike`` and ``read_news``: a whisper says nothing twice, nor what the turn says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from tidal_plugins.model.entry import SYNTHESIS
from tidal_plugins.model.recall import Hit
from tidal_plugins.retrieval.candidates import Candidates
from tidal_plugins.retrieval.read import depth, read_first
from tidal_plugins.retrieval.search import Channels
from tidal_plugins.retrieval.state import State
from tidal_plugins.retrieval.traits import traits_of
from tidal_plugins.scoring.text import normal, terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.retrieval.candidates import Rows

OF_A_KIND = 2
"""Entries that say nearly the same and may surface: «at 11:00» is seen beside the «at 10:00» that it changes, «not
allergic» beside «allergic»; a third takes the place of something else."""

REPEATS = 5
"""Entries that may say word for word what the turn says before a whisper loses a place."""

ALONE = 2**18
"""Multiplications of one product of matrices that OpenBLAS does on the thread that asks. For more it wakes a second
one, which gains .05 ms here, and on a busy machine waits for milliseconds."""

KEEP_EVERY_WORD: frozenset[str] = frozenset()
"""No stop words: «not» makes a difference."""

ECHO = "says word for word what the turn says"


def drop_echoes(state: State) -> None:
    """Drop entries that say word for word what the turn says, before they count as rivals."""
    found = state.ranked
    again = traits_of(found.columns).says(found.columns, found.rows, normal(state.request.text))
    state.ranked = found.take(~again)
    state.drop("threshold", sorted(found.take(again).ids), repeat(ECHO))


def drop_alike(state: State) -> None:
    """Drop the third entry, and each further one, of those that say nearly the same.

    No maximal marginal relevance: to weigh how new a memory is against how near costs answers (see docs/recall.md).
    """
    shown: dict[int, list[str]] = {}
    more: dict[str, str] = {}
    for id_, leader in zip(state.ranked.ids, state.ranked.leader.tolist(), strict=True):
        others = shown.setdefault(leader, [])
        if len(others) < OF_A_KIND:
            others.append(id_)
        else:
            more[id_] = f"says nearly the same as {' and '.join(others)}"
    state.ranked = state.ranked.without(more)
    state.drop("diversity", list(more), more.values())


def read_news(state: State) -> None:
    """Read the first entries of the ranking, and drop those that repeat the turn or an entry before them.

    Reading ends once as many other entries are left as may be shown.
    """
    said, profile, most = normal(state.request.text), state.request.profile, depth(state) + REPEATS
    while True:
        whole, entries = read_first(state, most)
        again = sorted(id_ for id_, entry in entries.items() if normal(entry.text) == said)
        others = whole.without(set(again))
        told = [(place, id_) for place, id_ in enumerate(others.ids) if id_ in entries]
        places, shown = [place for place, _ in told], [entries[id_] for _, id_ in told]
        more = said_again(others.take(places).hits(shown, profile))
        kept = others.without(more)
        if most >= len(state.ranked) or all(id_ in entries for id_ in kept.ids[: state.request.limit]):
            break
        most *= 2
    state.drop("threshold", again, repeat(ECHO))
    state.drop("diversity", list(more), more.values())
    state.ranked, state.entries = kept, entries


def first_of_kind(found: Candidates, alike: float, channels: Channels) -> Rows:
    """Return for each entry of a ranking the row of the first of its kind.

    That is the entry itself, or one above it whose best passage has a cosine of at least ``alike`` with its own.
    """
    import numpy as np

    leader = found.rows.copy()
    known = np.flatnonzero(found.vector >= 0)
    units = channels.units(found.vector[known])
    if units is None or not len(known):
        return leader
    above: dict[int, list[int]] = {}
    for later, earlier in _pairs(units, alike):
        above.setdefault(int(known[later]), []).append(int(known[earlier]))
    for place in sorted(above):
        firsts = (other for other in above[place] if leader[other] == found.rows[other])
        leader[place] = next((found.rows[other] for other in firsts), leader[place])
    return leader


def _pairs(units: NDArray[np.float32], alike: float) -> list[list[int]]:
    """Return the pairs of rows whose cosine is at least ``alike``, the later first, by the later and the earlier."""
    import numpy as np

    cosines, step = np.zeros((len(units), len(units)), np.float32), max(1, ALONE // max(1, units.size))
    for first in range(0, len(units), step):
        end = first + step
        np.matmul(units[first:end], units[:end].T, out=cosines[first:end, :end])
    return np.argwhere(np.tril(cosines >= alike, -1)).tolist()


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
