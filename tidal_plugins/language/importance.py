"""How much a text matters later, by the tags of its sentences [Tidal §2.2]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from tidal_plugins.english.sentences import ends, sentences
from tidal_plugins.language.emphasis import is_shouted
from tidal_plugins.language.tagger import tag
from tidal_plugins.model.sentence import ACTS, TAGS, SentenceTags

BASE = 4.5
"""Importance of a statement that carries nothing."""

FOR_GOOD = 8.0
"""Importance from which a text matters for good."""

VITAL = 9.0
"""Importance from which to forget a text could do harm."""

SURE = {"vital": 0.55, "rule": 0.7, "lasting": 0.9}
"""The chance from which a sentence of a person's is taken to be one of these, and matters for good."""

CARRIED = {
    "vital": 0.9, "rule": 0.6, "lasting": 0.5, "identity": 0.3, "change": 0.3, "preference": 0.3, "plan": 0.25,
    "done": 0.15, "number": 0.1,
}  # fmt: skip
"""How far each tag raises the importance, from the base to :data:`FOR_GOOD`: what is of use in months the most."""

SOCIAL = 3.5
"""How far thanks and greetings lower it."""

ASKED = 1.0
"""How far a question lowers it: the answer says it."""

REPORTED = 0.5
"""How far it is lowered for what an assistant or a tool says: a person's words are the source."""

MOST = 60
"""Sentences that are read of a text."""


def importance(text: str, *, role: str | None = None) -> float:
    """Return how much a text matters later, in [1, 10]."""
    return importances([text], [role])[0]


def importances(texts: Sequence[str], roles: Sequence[str | None]) -> list[float]:
    """Return how much texts matter later, in [1, 10]: each as much as the sentence that matters most.

    Only what a person says reaches :data:`FOR_GOOD`, and only by a sentence that is vital, a rule or lasting. A text
    that shouts gets no further: five calls for attention say nothing five times.
    """
    said = [[own[start:end] for start, end in islice(sentences(own), MOST)] for own in map(ends, texts)]
    flat = [(one, role or "user") for own, role in zip(said, roles, strict=True) for one in own]
    read = iter(tag([one for one, _ in flat], [role for _, role in flat]))
    return [
        importance_of(text, role, [next(read) for _ in own]) for text, role, own in zip(texts, roles, said, strict=True)
    ]


def importance_of(text: str, role: str | None, tagged: Iterable[SentenceTags]) -> float:
    """Return how much a text matters later, in [1, 10], by what its sentences carry."""
    person = role not in ("assistant", "tool")
    score = max((_of_sentence(one, person=person) for one in tagged), default=1.0)
    most = FOR_GOOD if person and is_shouted(text) else 10.0
    return round(min(most, max(1.0, score)), 2)


def _of_sentence(read: SentenceTags, *, person: bool) -> float:
    chances = dict.fromkeys((*ACTS, *TAGS), 0.0) | dict(read.scores)
    sure = {name: (chances[name] - least) / (1 - least) for name, least in SURE.items()}
    if person and sure["vital"] >= 0:
        return VITAL + (10.0 - VITAL) * sure["vital"]
    if person and max(sure.values()) >= 0:
        return FOR_GOOD + (VITAL - 0.01 - FOR_GOOD) * max(sure.values())
    left = 1.0
    for name, share in CARRIED.items():
        left *= 1 - share * chances[name]
    score = BASE + (FOR_GOOD - 0.01 - BASE) * (1 - left)
    score -= SOCIAL * chances["social"] + ASKED * chances["question"]
    return score if person else score - REPORTED
