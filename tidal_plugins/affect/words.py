"""The charged words of a text: VADER's list of words, read word by word, without its rules.

They join the valence that a vector tells (:class:`EmbeddingEmotion`), because words and vector err in different places.
For that the list is worth as much as VADER with all its rules, at a thirtieth of the time: with it the polarity of
GoEmotions' dev split is right in 87.0 %, with VADER in 86.4 %, with neither in 85.1 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import sqrt
from operator import methodcaller

from tidal_plugins.affect.lexicon import charged_words

READ_CHARS = 2_000
"""Of a longer text the first and the last half of this are read, as by the lexicon."""

CALM = 30.0
"""Half of full valence is reached by words of a strength of 3.2 in all, such as «great»: the square of that is a third
of this. VADER takes 15, and then short thanks are intense."""

BEFORE = 3
"""Words before a charged one in which a negation counts, as in VADER."""

DENIED = -0.74
"""Factor of a charged word that is negated, as in VADER."""

FEW = 12
"""Words of a text above which its charged ones count by their share: else a long text ends near ±1, whatever it says.
With 20 words 9 % of the ordinary turns of LoCoMo are stirred as they are spoken, with 12 words 6 %."""

_NOT = methodcaller("endswith", "n't")
_EDGES = '.,!?;:"()[]*_-…“”«»'


def word_valence(text: str) -> float:
    """Return the valence of a text by its charged words, in [−1, 1]; 0 without any."""
    if len(text) > READ_CHARS:
        text = f"{text[: READ_CHARS // 2]} {text[-READ_CHARS // 2 :]}"
    words, (strengths, negations) = text.lower().replace("’", "'").split(), _lists()
    total = 0.0
    for place, word in enumerate(words):
        strength = strengths.get(word) or strengths.get(word.strip(_EDGES))
        if strength:
            before = words[max(0, place - BEFORE) : place]
            denied = not negations.isdisjoint(before) or any(map(_NOT, before))
            total += strength * (DENIED if denied else 1.0)
    total *= FEW / max(FEW, len(words))
    return total / sqrt(total * total + CALM)


@cache
def _lists() -> tuple[Mapping[str, float], frozenset[str]]:
    return charged_words()
