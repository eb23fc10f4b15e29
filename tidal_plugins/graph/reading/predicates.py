"""Predicates: which stored predicate a candidate states, and how likely it states it, by a fitted linear model.

A candidate is a set of named features off its sentence's tree. One logistic regression says whether it is stated as a
lasting relation at all, another which predicate it is. ``training/fit_relations.py`` makes the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.graph.reading.candidates import Candidate, kin_word
from tidal_plugins.model.sentence import SentenceTags

SHIPPED = Path(__file__).with_name("relations.npz")


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of both models: a row for each feature, the last row the bias."""

    features: dict[str, int]
    predicates: tuple[str, ...]
    stated: NDArray[np.float32]
    which: NDArray[np.float32]

    def score(self, found: Sequence[frozenset[str]]) -> list[tuple[str, float]]:
        """Return the likeliest predicate of each set of features, and the chance that it is stated."""
        if not found:
            return []
        known = [[self.features[name] for name in sorted(one) if name in self.features] for one in found]
        odds = np.array([self.stated[rows].sum() + self.stated[-1] for rows in known])
        which = np.array([self.which[rows].sum(axis=0) + self.which[-1] for rows in known])
        which = np.exp(which - which.max(axis=1, keepdims=True))
        which /= which.sum(axis=1, keepdims=True)
        best = which.argmax(axis=1)
        chance = which.max(axis=1) / (1 + np.exp(-odds))
        return [(self.predicates[number], float(one)) for number, one in zip(best, chance, strict=True)]


@cache
def weights(path: Path = SHIPPED) -> Weights:
    with np.load(path, allow_pickle=False) as stored:
        names = {str(name): number for number, name in enumerate(stored["features"])}
        predicates = tuple(map(str, stored["predicates"]))
        return Weights(names, predicates, stored["stated"].astype(np.float32), stored["which"].astype(np.float32))


def features(one: Candidate, tags: SentenceTags) -> frozenset[str]:
    """Return the features of a candidate and of what the tagger says of its sentence."""
    subject, object_ = one.subject, one.object
    who = "I" if subject is None else subject.lower_ if subject.pos_ == "PRON" else subject.ent_type_ or subject.pos_
    if subject is not None and kin_word(subject):
        who = "kin"
    what = object_.ent_type_ or object_.pos_
    words = one.verb.split() or [""]
    length = one.object_span[1] - one.object_span[0]
    found = {
        f"form {one.form}", f"mood {one.mood}", f"who {who}", f"what {what}", f"tag {object_.tag_}",
        f"verb {one.verb}", f"word {words[0]}", f"last {words[-1]}", f"object {object_.lemma_.lower()}",
        f"form {one.form} {one.mood}", f"form {one.form} {what}", f"form {one.form} {who}", f"last {words[-1]} {what}",
        f"length {min(length, 9)}", f"verb {one.verb} {who}", f"{who} {one.mood} {one.form}",
        f"{who} {what} {one.form}", f"word {words[0]} {what}", f"said in {min(len(object_.doc) // 5, 6)}", *one.marks,
        *(f"{mark} {one.form}" for mark in one.marks if mark.startswith(("tag", "modal", "under"))),
    }  # fmt: skip
    if subject is None:
        found.add("elided")
    else:
        found.add(f"subject {subject.lemma_.lower()}" if subject.pos_ == "NOUN" else f"subject {who}")
    found |= {f"act {tags.act}", f"act {tags.act} {one.form}", *(f"tagged {tag}" for tag in tags.tags)}
    found |= {f"tagged {tag} {one.form}" for tag in tags.tags}
    if "!" in object_.doc.text:
        found.add("shouts")
    if any(token.lower_ in ("you", "your") for token in object_.doc):
        found.add("addresses")
    if one.negated:
        found |= {"negated", f"negated {one.form}"}
    if one.ended:
        found.add("ended")
    return frozenset(found)
