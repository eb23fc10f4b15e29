"""The default estimator of emotion: VADER's lexicon and rules, calibrated for conversation. English.

VADER was made for short posts. On chat it calls 85 % of ordinary turns intense, for three reasons, each with its
remedy here: its score grows with every further word, so long texts end near ±1 (read by the sentence and average);
courtesy and good cheer are made of its strongest words (bend pleasant valence down); and software fails and warns
all day without anybody being upset (count those words for nothing).

The constants were chosen on public conversations: somewhat under one ordinary turn in ten exceeds an intensity of
0.5. They calibrate VADER, and are nothing that a user would set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import sqrt
from operator import methodcaller
from pathlib import Path
from string import punctuation
from typing import TYPE_CHECKING, Any, NamedTuple

from tidal_plugins.affect.provoked import provoked
from tidal_plugins.english.sentences import sentences
from tidal_plugins.english.tools import WORKADAY
from tidal_plugins.errors import TidalError
from tidal_plugins.model.affect import Affect
from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

READ_CHARS = 2_000
"""Of a longer text only the first and the last half of this are read: what people feel, they say first or last."""

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
    for place, said in enumerate(words):
        word = said if said in strengths else said.strip(_EDGES)
        if word in strengths and not WORKADAY.fullmatch(word):
            strength, before = float(strengths[word]), words[max(0, place - BEFORE) : place]
            denied = not negations.isdisjoint(before) or any(map(_NOT, before))
            total += strength * (DENIED if denied else 1.0)
    total *= FEW / max(FEW, len(words))
    return total / sqrt(total * total + CALM)


@cache
def _lists() -> tuple[Mapping[str, str], frozenset[str]]:
    """Return VADER's words, each with its strength as it is written, and the words that negate.

    To read the list alone takes a tenth of what its analyser takes. Raises :class:`TidalError` without the library.
    """
    vader = _vader()
    lines = Path(vader.__file__).with_name("vader_lexicon.txt").read_text("utf-8").split("\n")
    return dict(line.strip().split("\t", 2)[:2] for line in lines if line), frozenset(vader.NEGATE)


PIECE_CHARS = 240
"""A longer sentence is read in pieces: VADER's time grows with the square of the words, and its score saturates."""

PLAIN_WEIGHT = 0.5
"""Weight of a sentence without charged words; others weigh \\|score\\| more: details don't drown a complaint."""

PLEASANT_POWER = 2.7
"""Pleasant valence is score^2.7, above 0.5 from a score of .77: thanks and praise alone reach .6 or .7."""

UNPLEASANT_POWER = 1.2
"""Unpleasant valence is −\\|score\\|^1.2, beyond −0.5 from a score of −.56: courtesy says few bad things."""

FEW_WORDS = 3
"""Plain words added to every sentence: one charged word alone («Thanks») is no outburst."""

EMPHASIS = 0.15
"""Added by an exclamation mark to a sentence's share of charged words, up to ``MOST_MARKS``."""

INTENSIFIER = 0.5
"""The part of an exclamation mark that a strengthening word («really», «extremely») stands for."""

MOST_MARKS = 3
"""More exclamation marks than this say no more; a sentence all in capitals says as much."""

FULL_AROUSAL = 0.66
"""The share of charged words and emphasis at which arousal is 1; arousal grows with the square of the share."""


_LONG_RUN = lazy_re(r"([^\w\s]{8})[^\w\s]+")  # rules and rows of emoji, which VADER is slow on


class LexiconEmotion:
    """Reads valence and arousal off words and punctuation; no model.

    Valence is VADER's compound score; arousal its share of charged words and emphasis (exclamation marks, capitals,
    intensifiers); both calibrated. ``emotions`` stays ``None``: a lexicon of polarity names none. The time is bounded:
    a text of any length takes no longer than one of 2,000 characters. Safe to use from several threads [Tidal §3].
    """

    def estimate(self, texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> list[Affect]:
        """Return one :class:`Affect` per text, neutral for an empty one.

        ``vectors`` are not needed. Raises :class:`TidalError` if the vaderSentiment library is missing.
        """
        return [provoked(text, _affect([_read(piece) for piece in _pieces(text)])) for text in texts]


class _Reading(NamedTuple):
    score: float  # VADER's compound, in [−1, 1]
    charge: float  # share of charged words, and emphasis; from 0 to about 1.5

    @property
    def weight(self) -> float:
        return PLAIN_WEIGHT + abs(self.score)


def _affect(readings: list[_Reading]) -> Affect:
    if not readings:
        return Affect()
    total = sum(reading.weight for reading in readings)
    score = sum(reading.score * reading.weight for reading in readings) / total
    charge = sum(reading.charge * reading.weight for reading in readings) / total
    return Affect(_valence(score), min(1.0, (charge / FULL_AROUSAL) ** 2))


def _valence(score: float) -> float:
    bounded = max(-1.0, min(1.0, score))
    return float(bounded**PLEASANT_POWER if bounded >= 0 else -((-bounded) ** UNPLEASANT_POWER))


def _read(piece: str) -> _Reading:
    scores = _analyzer().polarity_scores(piece)
    words = piece.split()
    charged = (scores["pos"] + scores["neg"]) * len(words) / (len(words) + FEW_WORDS)
    return _Reading(scores["compound"], charged + EMPHASIS * _marks(piece, words))


def _marks(piece: str, words: list[str]) -> float:
    if piece.isupper() and len(words) > 2:  # one or two words in capitals are a name or an acronym
        return MOST_MARKS
    intensifiers = sum(word.strip(punctuation).lower() in _intensifiers() for word in words)
    return min(MOST_MARKS, piece.count("!") + INTENSIFIER * intensifiers)


def _pieces(text: str) -> Iterator[str]:
    if len(text) > READ_CHARS:
        text = f"{text[: READ_CHARS // 2]}\n\n{text[-READ_CHARS // 2 :]}"
    text = _LONG_RUN.sub(r"\1", text.replace("’", "'"))  # VADER knows «don't», not «don’t»
    for start, end in sentences(text):
        for cut in range(start, end, PIECE_CHARS):
            yield text[cut : min(end, cut + PIECE_CHARS)]


@cache
def _analyzer() -> SentimentIntensityAnalyzer:
    """Return the analyser.

    It is only read once built, so threads may share it; two threads that build it at once do no harm.
    """
    analyzer: SentimentIntensityAnalyzer = _vader().SentimentIntensityAnalyzer()
    analyzer.lexicon = {word: score for word, score in analyzer.lexicon.items() if not WORKADAY.fullmatch(word)}
    return analyzer


def _vader() -> Any:
    """Return VADER's module. Raises :class:`TidalError` if its library is missing."""
    try:
        import vaderSentiment.vaderSentiment
    except ImportError as error:
        raise TidalError(
            "LexiconEmotion needs the vaderSentiment library, which is missing; "
            "install it (pip install vaderSentiment) or give another emotion estimator"
        ) from error
    return vaderSentiment.vaderSentiment


@cache
def _intensifiers() -> frozenset[str]:
    return frozenset(word for word, change in _vader().BOOSTER_DICT.items() if change > 0)
