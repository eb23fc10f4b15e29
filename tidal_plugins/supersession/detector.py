"""The detector: whether a later statement gives another value to what an earlier one is about.

It prefers precision to recall. Every pair needs two values that exclude each other, or words that end the earlier
value, and words that say that both are about one thing; how near the texts are decides only how sure it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidal_plugins.english.changes import CHANGE_VERB, Change, changes, is_unsure
from tidal_plugins.english.stems import stem
from tidal_plugins.english.things import are_apart, overlap
from tidal_plugins.english.values import Value, agree, differ, values
from tidal_plugins.model.supersession import Replacement, Utterance
from tidal_plugins.patterns import lazy_re
from tidal_plugins.supersession.reading import Placed, Sentence, read_sentence, read_utterance, topic
from tidal_plugins.supersession.sameness import LIKELY, NEAR_SENTENCE, placed_confidence
from tidal_plugins.supersession.untyped import other_value, tells_news

SURE = 0.9
"""The later statement names the value that the earlier one gives."""
ENDED = 0.75
"""The later statement says that the earlier one holds no more, or names it in words."""
SAME_SLOT = 0.8
"""A cue, and the same words beside both values."""
RESTATED = 0.5
"""The same words but for the value, without a cue."""
FAR = 0.1
"""Taken off where the two texts are not near."""

_BARRIER = lazy_re(r"[;()–—!?]|, (?:so|and|but|because)\b")
_ONWARDS = lazy_re(r"\b(?:from|starting)\b", re.IGNORECASE)
_OWN = lazy_re(r"\b(?:i|my|me|mine|we|our|us)\b", re.IGNORECASE)
_DIGIT = lazy_re(r"\d")
_MANIFOLD = frozenset("% € $ £".split())
"""Units that a text has many values of."""
_AT = lazy_re(r"\bat\s+\Z", re.IGNORECASE)
_REACH = 30
"""Characters between a cue and the number that it says is new."""


def supersedes(later: Utterance, earlier: Utterance, cosine: float) -> Replacement | None:
    """Return how a later statement replaces a value of an earlier one, or ``None`` if it does not.

    ``cosine`` is how near the two texts are. Questions, conditions, wishes and guesses replace nothing; a value that is
    confirmed is none; and two people who each speak of themselves speak of different things.
    """
    found = _Pair(later, earlier, cosine).found()
    if cosine >= _NEAR_DAY:
        found += other_value(later, earlier)
    return max(found, key=lambda found: found.confidence, default=None)


def may_supersede(text: str) -> bool:
    """Return whether a text says that something changed, or gives a value at all. Most texts do neither."""
    return bool(changes(text) or values(text) or tells_news(text))


@dataclass(frozen=True, slots=True)
class _Pair:
    later: Utterance
    earlier: Utterance
    cosine: float

    def found(self) -> list[Replacement]:
        made = changes(self.later.text)
        if not made and self.cosine < _NEAR_RESTATED:
            return []
        before, common = read_utterance(self.earlier), topic(self.later.text) & topic(self.earlier.text)
        found = [one for change in made for one in self._changed(change, before, common)]
        if found or self.cosine < _NEAR_RESTATED:
            return found
        plain = [said for said in read_utterance(self.later) if not is_unsure(said.text)]
        pairs = [(said, sentence) for said in plain for sentence in before]
        return [
            one
            for said, sentence in pairs
            if self._may_be_one(said, sentence)
            for one in _restated(said, sentence, common)
        ]

    def _changed(self, change: Change, before: Sequence[Sentence], common: frozenset[str]) -> Iterator[Replacement]:
        said = read_sentence(change.sentence, self.later.at)
        alone = said.alone("date") and sum(item.value.kind == "date" for one in before for item in one.placed) == 1
        for sentence in before:
            if not self._may_be_one(said, sentence):
                continue
            if values(change.old):
                yield from self._value_named(change, said, sentence)
            elif change.old:
                yield from self._words_named(change, said, sentence)
            elif change.ends:
                yield from _ended(change, said, sentence)
            else:
                yield from self._cued(change, said, sentence, common if alone else frozenset())

    def _may_be_one(self, said: Sentence, sentence: Sentence) -> bool:
        """Return whether two sentences may be about one thing: of two people, not both speak of their own."""
        one, other = self.later.speaker, self.earlier.speaker
        apart = one is not None and other is not None and one != other
        return not (apart and _OWN.search(said.text) and _OWN.search(sentence.text))

    def _value_named(self, change: Change, said: Sentence, sentence: Sentence) -> Iterator[Replacement]:
        """Yield what «from 9 March to 16 March» or «24 March instead of Friday» replaces."""
        new = values(change.new)
        named = [item for item in said.placed if change.covers(item.value)]
        for old in values(change.old):
            for item in sentence.placed:
                value = item.value
                if not agree(old, value) or any(agree(one, value) for one in new):
                    continue
                shared = said.words & (sentence.words if value.kind == "date" else item.near)
                days = _is_day(old) and _is_day(value) and self.cosine >= _NEAR_DAY
                highest = max((self._highest(one, item, said, sentence) for one in named), default=0.0)
                apart = highest < SURE and not any(overlap(one.clause, item.clause) for one in named)
                if shared and highest and not apart:
                    yield Replacement(value.text, _brief(change.new), change.cue, min(SURE, highest))
                elif not shared and days and not any(are_apart(one.clause, item.clause) for one in named):
                    yield Replacement(value.text, _brief(change.new), change.cue, LIKELY)

    def _highest(self, new: Placed, old: Placed, said: Sentence, sentence: Sentence) -> float:
        return placed_confidence(new, old, said, sentence, self.cosine)

    def _words_named(self, change: Change, said: Sentence, sentence: Sentence) -> Iterator[Replacement]:
        """Yield what «moved off SQLite to Postgres», «half-up, not half-even» or «no longer vegetarian» replaces."""
        old, new = topic(change.old), topic(change.new)
        if not old or not old <= sentence.words or (new and new <= sentence.words):
            return
        about = (said.words & sentence.words) - old
        if are_apart(said.text, sentence.text):
            return
        if self.cosine >= _NEAR and (about or len(old) > 1):
            yield Replacement(_brief(change.old), _brief(change.new), change.cue, ENDED)
        elif self.cosine >= _NEAR_DAY and about and new and not change.ends:
            yield Replacement(_brief(change.old), _brief(change.new), change.cue, LIKELY)

    def _cued(
        self, change: Change, said: Sentence, sentence: Sentence, common: frozenset[str]
    ) -> Iterator[Replacement]:
        """Yield what «is now Tuesday», «back to 5 mg» or «moved to 14 September» replaces, which name no old value."""
        verbs = {stem(word.lower()) for word in CHANGE_VERB.findall(change.cue)}
        shared = (said.words & sentence.words) - verbs
        for new_item in said.placed:
            new = new_item.value
            if not _reaches(change, new, said):
                continue
            for old_item in sentence.placed:
                if not _excludes(new_item, old_item, said, sentence):
                    continue
                beside = (new_item.near & old_item.near) - verbs
                if len(beside) > 1 or (beside and self.cosine >= (_NEAR_DATE if new.kind == "date" else _NEAR)):
                    sure = len(beside) > 1 or len(shared) > 1 or self.cosine >= _NEAR_SLOT
                    confidence = round((SAME_SLOT if sure else LIKELY) - FAR * (self.cosine < _NEAR), 2)
                elif self.cosine >= NEAR_SENTENCE and (len(shared) > 1 or (new.kind == "date" and len(common) > 1)):
                    confidence = LIKELY if len(shared) > 1 else LIKELY - FAR
                else:
                    continue
                if highest := self._highest(new_item, old_item, said, sentence):
                    yield Replacement(old_item.value.text, new.text, change.cue, min(confidence, highest))


_NEAR = 0.45
_NEAR_DATE = 0.35
_NEAR_DAY = 0.3
_NEAR_SLOT = 0.6
_NEAR_RESTATED = 0.55
"""Cosines from which on two texts are near enough for what their words say."""


def _ended(change: Change, said: Sentence, sentence: Sentence) -> Iterator[Replacement]:
    """Yield what «Thursday is no good after all» ends: the same date of the same thing."""
    for over in said.placed:
        for item in sentence.placed:
            value = item.value
            same = over.value.kind == "date" and agree(over.value, value)
            if (
                same
                and over.near & sentence.words
                and item.near & said.words
                and not are_apart(over.clause, item.clause)
            ):
                yield Replacement(value.text, "", change.cue, ENDED)


def _restated(said: Sentence, sentence: Sentence, common: frozenset[str]) -> Iterator[Replacement]:
    """Yield what is said in the same words with another value: a date of its own, or a number of the same unit."""
    for new_item in said.placed:
        for old_item in sentence.placed:
            (new, near, *_), (old, near_old, *_) = new_item, old_item
            if not (_DIGIT.search(new.text) and _DIGIT.search(old.text)):
                continue
            if not _excludes(new_item, old_item, said, sentence):
                continue
            if new.kind == "date":
                single = said.alone("date") and sentence.alone("date")
            elif new.kind == "time" or (new.unit == old.unit == "" and _is_hour(new, said) and _is_hour(old, sentence)):
                single = said.words == sentence.words and said.alone(new.kind) and sentence.alone(new.kind)
            else:
                single = new.kind == "number" and new.unit == old.unit != "" and new.unit not in _MANIFOLD
                single = single and len(common) >= (1 if len(new.unit) < 4 else 3)
            single = single and not are_apart(new_item.clause, old_item.clause)
            if single and 3 * len(near & near_old) >= len(near | near_old) > 0:
                yield Replacement(old.text, new.text, "", RESTATED)


def _reaches(change: Change, value: Value, said: Sentence) -> bool:
    """Return whether a cue says of a value that it is new: no clause ends and no other number stands between them."""
    if change.covers(value):
        return True
    start, end = min(change.end, value.end), max(change.start, value.start)
    if _BARRIER.search(change.sentence[start:end]):
        return False
    if value.kind in ("date", "version"):
        return not _ONWARDS.search(change.cue)  # «from today» says when, not what
    others = any(item.value.kind != "date" and start <= item.value.start < end for item in said.placed)
    ahead = value.start >= change.end or "instead" in change.cue.lower()
    return ahead and end - start <= _REACH and not others


def _excludes(new: Placed, old: Placed, said: Sentence, sentence: Sentence) -> bool:
    """Return whether two values differ, neither statement has the other's too, and they are not of different names."""
    if new.names and old.names and not said.names & sentence.names:
        return False  # the ferry to Oban, and the ferry to Arran
    return (
        differ(new.value, old.value)
        and new.value.text.lower() != old.value.text.lower()  # two Fridays may be every Friday
        and not any(agree(item.value, old.value) for item in said.placed)
        and not any(agree(new.value, item.value) for item in sentence.placed)
    )


def _is_day(value: Value) -> bool:
    return value.kind == "date" and {"day", "month"} <= value.parts.keys()


def _is_hour(value: Value, said: Sentence) -> bool:
    """Return whether a number may be an hour: «the standup is at 9»."""
    return _AT.search(said.text, 0, value.start) is not None


def _brief(phrase: str) -> str:
    """Return the values of a phrase alone, if it has any: «24 March» of «is now due Tuesday 24 March»."""
    found = values(phrase)
    return phrase[found[0].start : found[-1].end] if found else phrase.rstrip(".")
