"""How exchanges feel, read off the vectors that their entries have anyway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.episode import Episode
from tidal_plugins.storage.base import Passage, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


TINY = 1e-6
"""Length from which on a mean of vectors has a direction."""


class Feelings(NamedTuple):
    """How an exchange feels: what the user said, what was answered, and each entry's text by the entry's id."""

    query: Affect
    answer: Affect
    entries: Mapping[str, Affect]


def feelings(
    affect: AffectLoop, turns: Sequence[tuple[Episode, Sequence[Entry]]], records: Mapping[str, Record]
) -> list[Feelings]:
    """Read turns, each of which comes with the entries made from it. No text is embedded, and none is read twice."""
    passages: dict[str, list[Passage]] = {}
    for turn, entries in turns:
        for entry in entries:
            passages.setdefault(entry.text, list(records[entry.id].passages or ()))
        asked = [passage for entry in entries if entry.role == "user" for passage in records[entry.id].passages or ()]
        passages.setdefault(turn.query, asked)
        passages.setdefault(turn.answer, [])  # that of an entry, or nothing worth one
    read = dict(zip(passages, affect.estimate(list(passages), _means(list(passages.values()))), strict=True))
    return [
        Feelings(read[turn.query], read[turn.answer], {entry.id: read[entry.text] for entry in entries})
        for turn, entries in turns
    ]


def _means(texts: Sequence[Sequence[Passage]]) -> NDArray[np.float32] | None:
    """For each text the mean direction of its passages, each as long as it is; zeros where it has none."""
    import numpy as np

    dimensions = next((len(p.vector) for passages in texts for p in passages if p.vector is not None), None)
    if dimensions is None:
        return None
    means = np.zeros((len(texts), dimensions), np.float32)
    for mean, passages in zip(means, texts, strict=True):
        told = [passage for passage in passages if passage.vector is not None]
        if told:
            lengths = [passage.end - passage.start for passage in told]
            total = np.average([passage.vector for passage in told], axis=0, weights=lengths)
            mean[:] = total / max(float(np.linalg.norm(total)), TINY)
    return means
