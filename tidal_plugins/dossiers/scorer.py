"""What a sentence is worth in a document, and which sentences are chosen by it.

A sentence is worth what its tags, its importance and its nearness to a topic make it, and fades with its age; what is
vital or lasting does not fade. One thread, or one source, does not crowd out the others; what was said again stands
once, and so does all that is shouted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from tidal_plugins.dossiers.sentences import Sentence
from tidal_plugins.model.clock import hours_between
from tidal_plugins.model.entry import FACT, SYNTHESIS
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.priority import worth as of_tags

HALF_LIFE, FLOOR = 30.0, 0.3
"""Days in which a sentence loses half of its worth, and the share that the oldest one keeps."""
ALIKE, ABOUT = 0.75, 0.85
"""Shares of all words, and of those with a content, of the shorter of two sentences, from which on they say the same if
both have them."""
SHARE = 0.5
"""Share of the lines of a section that one thread, or one source, takes as long as others have lines for it."""

_NUMBER = lazy_re(r"\d+")


def worth(said: Sentence) -> float:
    """Return what a sentence is worth by itself, in [0, 1]."""
    return of_tags(said.tags, importance=said.entry.importance, by_agent=said.by_agent)


def current_worth(said: Sentence, now: datetime) -> float:
    """Return what a sentence is worth at a time. What is vital or lasting does not fade."""
    return worth(said) * max(recency(said, now), said.chance("vital"), said.chance("lasting"))


def recency(said: Sentence, now: datetime) -> float:
    """Return the share of its worth that a sentence keeps by its age."""
    return float(max(FLOOR, 2 ** (-max(0.0, hours_between(said.entry.occurred_at, now)) / 24 / HALF_LIFE)))


def best(found: Iterable[Sentence], most: int, value: Callable[[Sentence], float]) -> list[Sentence]:
    """Return at most ``most`` sentences of the highest value, in the order in which they are given.

    Of those of one thread that differ only in numbers one counts. A thread has more than its share only where the
    others leave room.
    """
    shapes: dict[tuple[str, str], Sentence] = {}
    for said in found:
        shapes.setdefault(shape(said), said)
    ranked = sorted(shapes.values(), key=lambda said: -value(said))
    each, taken = max(1, round(SHARE * most)), Counter[str]()
    within, over = list[Sentence](), list[Sentence]()
    for said in ranked:
        taken[said.place] += 1
        (within if taken[said.place] <= each else over).append(said)
    kept = {id(said) for said in [*within, *over][:most]}
    return [said for said in shapes.values() if id(said) in kept]


class Shown:
    """The sentences that a document has already."""

    def __init__(self) -> None:
        self._shapes = set[tuple[str, str]]()
        self._of_entry = defaultdict[str, list[str]](list)
        self._before = set[tuple[str, str]]()

    def __contains__(self, said: Sentence) -> bool:
        """Return whether a sentence, whole, in part or with other numbers, is among these."""
        there = self._of_entry.get(said.entry.id, ())
        return shape(said) in self._shapes or any(raw in said.raw or said.raw in raw for raw in there)

    def tells(self, said: Sentence) -> bool:
        """Return whether a sentence is among these, or stands before one of them."""
        return said in self or (said.entry.id, said.text) in self._before

    def add(self, found: Iterable[Sentence]) -> None:
        for said in found:
            self._shapes.add(shape(said))
            self._of_entry[said.entry.id].append(said.raw)
            self._before.add((said.entry.id, said.before))


def shape(said: Sentence) -> tuple[str, str]:
    """Return what two sentences of one thread have in common that differ in numbers alone."""
    return said.place, _unnumbered(said.raw)


@lru_cache(maxsize=1 << 13)
def _unnumbered(raw: str) -> str:
    return _NUMBER.sub("#", " ".join(raw.lower().split()).rstrip(".!…"))


def one_shout(found: Iterable[Sentence], *, told: bool = False) -> list[Sentence]:
    """Return sentences without those that are shouted, but for the first of these; ``told`` if one stands elsewhere."""
    kept: list[Sentence] = []
    for said in found:
        if said.is_loud:
            if told:
                continue
            told = True
        kept.append(said)
    return kept


def same(said: Sentence, other: Sentence) -> bool:
    """Return whether two sentences share nearly all words of the shorter one, and deny alike."""
    if len(said.words & other.words) < ALIKE * min(len(said.words), len(other.words)):
        return False
    shared, fewer = len(said.about & other.about), min(len(said.about), len(other.about))
    return shared >= ABOUT * fewer and said.denies == other.denies


def distinct(newest_first: Iterable[Sentence]) -> list[Sentence]:
    """Return the sentences without those that a newer one says again, with the same values.

    What a person said is not replaced by what an agent or a document says, and neither is a document.
    """
    kept: list[Sentence] = []
    with_word = defaultdict[str, list[int]](list)
    for said in newest_first:
        newer = (kept[place] for place in _near(said, with_word))
        if any(said.marks <= one.marks and same(said, one) and _may_replace(one, said) for one in newer):
            continue
        for word in said.stems:
            with_word[word].append(len(kept))
        kept.append(said)
    return kept


def _near(said: Sentence, with_word: Mapping[str, Sequence[int]]) -> Iterator[int]:
    """Yield the places of the sentences that share words with one, and a value if it has any."""
    shared = Counter(place for word in said.stems for place in with_word.get(word, ()))
    among = set(shared)
    for mark in said.marks & said.stems:
        among &= set(with_word.get(mark, ()))
    yield from (place for place in among if shared[place] >= min(2, len(said.stems)))


def _may_replace(newer: Sentence, older: Sentence) -> bool:
    made = newer.entry.channel == SYNTHESIS  # it stands for what it was made from
    if newer.entry.kind != older.entry.kind and older.entry.kind != FACT and not made:
        return False
    return older.by_agent or not newer.by_agent
