"""Rivals: two statements of one thing that cannot both hold, so that the later one takes the place of the earlier one.

They need values that exclude each other, or words by which the later one ends the earlier value, and words in common
that say that both are of one thing. A period, a place, a person, a version or an environment that is said is part of
the thing: January's bill and February's both hold.

In long texts most pairs of statements that look so are none: «give me Step 3 now» ends nothing. Six features say how
likely it is that a pair is one; ``make fit-changes`` fits their weights.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tidal_plugins.english.cues import AGAIN, CHANGE_VERB, HOLDERS, OPPOSED, STATES, VAGUE, WEAK
from tidal_plugins.english.words import stem
from tidal_plugins.facts.statements import (
    Clause,
    Over,
    Statement,
    Value,
    is_past,
    stems_of,
    was,
)
from tidal_plugins.model.fact import Replacement
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.ranking import chance
from tidal_plugins.scoring.text import terms

CHANGES = Path(__file__).with_name("changes.json")
"""The weights of :func:`features`, as ``make fit-changes`` makes them."""

LIKELY = 0.5
"""The chance from which on one statement replaces another."""


@dataclass(frozen=True, slots=True)
class RivalWeights:
    """How sure a rivalry is, in [0, 1], and how near two texts must be."""

    named: float = 0.9
    """The later statement names the value that it replaces or ends."""
    cued: float = 0.8
    """It has words of change, and another value of the same."""
    likely: float = 0.6
    """The same, where each statement names something that the other does not."""
    restated: float = 0.5
    """The same words but for the value, and no word of change."""
    near: float = 0.45
    """The cosine that two statements need which share one word."""
    faint: float = 0.3
    """The cosine that two texts need which share nothing but a name that the later one ends, or that lack words of
    change. What it leaves out of the links of six stories is wrong, by reading."""
    alone: float = 0.5
    """The cosine that two statements of one speaker need which share none: «I live in Porto», «I moved to Lisbon»."""
    alike: float = 2 / 3
    """Share of their words that two statements without a word of change need in common."""


WEIGHTS = RivalWeights()

SHORT = 40
"""Characters below which a text counts as having one statement."""
FURTHER = 3
"""Words that an earlier statement may have beside those of the later one that takes its place as a whole."""
LONG = 3
"""Words that a value has at most which is told by its place in a sentence alone."""

_SALIENT = ("name", "code", "phone", "email")
_TITLED = lazy_re(r"(?: is|'s) (?:the|our|my|now)\b", re.IGNORECASE)
_FRAME = lazy_re(r"\b(?:is|are|am|in|at|on|called|by|with|under|named)\Z|'(?:s|m|re)\Z|:\Z", re.IGNORECASE)
_PLACED = lazy_re(r"(?:in|at|on|under|by|near|behind|with)\b", re.IGNORECASE)
_DAYS = lazy_re(r"\bon \w+days?\b|\b\w+days\b|\bweekends?\b", re.IGNORECASE)
_ASIDE = lazy_re(r"[,;(]")
_OF_MINE = lazy_re(r"\W*(?:my|our) (?P<words>[\w']+(?: [\w']+)?)", re.IGNORECASE)
_STILL = lazy_re(r"\b(?:still|same)\b", re.IGNORECASE)


def rivals_among(
    later: Sequence[Statement],
    earlier: Sequence[Statement],
    cosine: float,
    *,
    one_speaker: bool = True,
    asked: frozenset[str] = frozenset(),
    sizes: tuple[int, int] = (0, 0),
) -> Replacement | None:
    """Return the surest way in which one of some later statements replaces one of some earlier ones.

    ``cosine`` is how near the two texts are, ``sizes`` the characters of the later and of the earlier. Of two speakers,
    not both may speak of their own. ``asked`` are the words of a question that both texts are near to, if there is one:
    it says what they are about.
    """
    found = [
        one if len(earlier) == 1 and len(held.words - said.every) <= FURTHER else _less_sure(one)
        for said, held, one in rivalries(later, earlier, cosine, one_speaker=one_speaker, asked=asked)
        if likelihood(features(one, said, held, sizes)) >= LIKELY
    ]
    return max(found, key=lambda one: one.confidence, default=None)


def rivalries(
    later: Sequence[Statement],
    earlier: Sequence[Statement],
    cosine: float,
    *,
    one_speaker: bool = True,
    asked: frozenset[str] = frozenset(),
) -> Iterator[tuple[Statement, Statement, Replacement]]:
    """Yield each later and earlier statement of which one may replace the other, and how."""
    for said in filter(may_end, later):
        for held in earlier:
            may = held.stated and (one_speaker or not (said.is_own and held.is_own))
            if may and (one := _rival(said, held, cosine, asked, WEIGHTS)):
                yield said, held, one


def features(found: Replacement, later: Statement, earlier: Statement, sizes: tuple[int, int]) -> Mapping[str, float]:
    """Return what tells whether a replacement is one: how long the two texts are, in which the statements stand among
    others, whether these are lasting or demand something, and whether they share little. A fact is short and lasts."""
    later_size, earlier_size = (math.log(max(size, SHORT) / SHORT) for size in sizes)
    return {
        "later_size": later_size,
        "earlier_size": earlier_size,
        "later_lasting": later.scores.get("lasting", 1.0),
        "earlier_lasting": earlier.scores.get("lasting", 1.0),
        "later_request": later.scores.get("request", 0.0),
        "loose": float(found.confidence <= WEIGHTS.likely),
    }


def likelihood(features: Mapping[str, float]) -> float:
    """Return the chance that a pair with such :func:`features` is a replacement."""
    weights, bias = _fitted()
    return float(chance(features, weights, bias))


@cache
def _fitted() -> tuple[Mapping[str, float], float]:
    read = json.loads(CHANGES.read_text("utf-8"))
    return read["weights"], read["bias"]


def _less_sure(found: Replacement) -> Replacement:
    """Return a replacement of a part of what was said: the rest still holds, so that nobody may leave it out."""
    return replace(found, confidence=min(found.confidence, WEIGHTS.cued))


def rival(
    later: Statement,
    earlier: Statement,
    cosine: float = 1.0,
    *,
    asked: frozenset[str] = frozenset(),
    weights: RivalWeights = WEIGHTS,
) -> Replacement | None:
    """Return how a later statement replaces an earlier one, or ``None`` if both may hold."""
    return _rival(later, earlier, cosine, asked, weights) if may_end(later) and earlier.stated else None


def _rival(
    later: Statement, earlier: Statement, cosine: float, asked: frozenset[str], weights: RivalWeights
) -> Replacement | None:
    if framed := _framed(later, earlier, weights):
        return framed
    if not _is_comparable(later, earlier):
        return None
    found = _ended(later, earlier, cosine, asked, weights) or _replaced(later, earlier, cosine, asked, weights)
    return found if found and not are_apart(later, earlier) else None  # asked last: it reads the most of both


def may_end(later: Statement) -> bool:
    """Return whether a statement may take the place of any other one.

    «A piece to practise is …» is one of several, and «it can land at …» leaves room for another.
    """
    if later.adds or not later.real:
        return False
    return not later.leaves_room or later.changed


def _is_comparable(later: Statement, earlier: Statement) -> bool:
    """Return whether a statement has a word of change, shares a kind of value with the earlier one, or differs from it
    in denial. Most pairs of statements do not."""
    return not later.kinds.isdisjoint(earlier.kinds) or len(later.denials | earlier.denials) > 1 or later.changed


def are_apart(later: Statement, earlier: Statement) -> bool:
    """Return whether two statements are of different periods, environments, versions, numbered things or owners, or
    put different words in the same place: the roof budget, and the budget for the cellar."""
    for noun, which in later.parts.items():
        other = earlier.parts.get(noun)
        if other and not which & other and which - earlier.every and other - later.every:
            return True
    manifold = len(later.values) > 1 and len(earlier.values) > 1
    for name, mine in later.qualifiers.items():
        theirs = earlier.qualifiers.get(name, frozenset())
        apart = not mine & theirs
        if apart and name == "owner":
            apart = not later.names & earlier.names and not ("other" in mine | theirs and "self" not in mine | theirs)
        if theirs and apart and (manifold or name not in ("numbered", "version")):
            return True
        if apart and name in ("period", "environment", "person") and not later.changed:
            return True
    return False


def exclude(new: Value, old: Value) -> bool:
    """Return whether two values are of one kind and cannot both be that of one thing."""
    if new.kind != old.kind or new.says == old.says:
        return False
    if new.kind == "state":
        return frozenset((new.says, old.says)) in OPPOSED
    if new.kind == "date":
        mine, theirs = (dict(part.split("=") for part in value.says.split(",")) for value in (new, old))
        common = mine.keys() & theirs.keys()
        return not common or any(mine[name] != theirs[name] for name in common)
    if new.kind == "name":
        return not stems_of(new.text) <= stems_of(old.text) and not stems_of(old.text) <= stems_of(new.text)
    if new.kind == "code":
        return new.unit == old.unit  # files come and go, and host-07 becomes host-12
    return new.kind != "number" or new.unit == old.unit or not new.unit or not old.unit


def _ended(
    later: Statement, earlier: Statement, cosine: float, asked: frozenset[str], weights: RivalWeights
) -> Replacement | None:
    """Return how a statement names what holds no more: «migrated from Fluentd to Vector», «sold the Skoda»."""
    if _has_another_subject(later, earlier):
        return None
    for over in later.over:
        words, new = stems_of(over.old), stems_of(over.new)
        salient = any(value.kind in _SALIENT and stems_of(value.text) <= words for value in earlier.values)
        mine = salient or words <= earlier.every or bool(earlier.key)
        if not words or not mine or (new and new <= earlier.every):
            continue
        shared = (over.beside & earlier.every) - words
        own = later.is_own and earlier.is_own
        named = salient and (bool(earlier.key or asked) or cosine >= weights.faint)
        known = named or bool(shared) or ((own or _is_alone(over)) and (bool(asked) or cosine >= weights.near))
        if _ends_fact(later, words, earlier, named=salient) if earlier.key else known:
            held = [value.text for value in later.values if stems_of(value.text) <= new]
            value = (held or [over.new if new else ""])[0] or _successor(later, earlier, over.old)
            sure = weights.named if salient or shared or earlier.key else weights.likely
            old = earlier.text.partition(": ")[2] if earlier.key else over.old
            return Replacement(old, value, later.cue or over.cue, sure)
    return None


def _has_another_subject(later: Statement, earlier: Statement) -> bool:
    """Return whether a statement is of somebody or something of the speaker's that an earlier one does not name: «my
    uncle sold the Skoda» ends nothing that «I drive a Skoda» says."""
    subject = _OF_MINE.match(later.text)
    return subject is not None and earlier.is_own and not earlier.key and not stems_of(subject["words"]) & earlier.every


def _ends_fact(later: Statement, words: frozenset[str], fact: Statement, *, named: bool) -> bool:
    """Return whether words that hold no more are the value of a fact, or a part of it that stands for it."""
    value = stems_of(fact.text.partition(": ")[2])
    if words >= value and (named or len(words) > 1):
        return True
    if fact.key <= words and value & later.every:
        return True  # Imani is no longer the release manager
    return bool(words & value and (fact.key & later.every or value - words <= later.every))


def _is_alone(over: Over) -> bool:
    """Return whether a clause names nothing but several words of the value that it ends, and what takes its place."""
    words = stems_of(over.old)
    return len(words) > 1 and not over.beside - words - stems_of(over.new)


def _successor(later: Statement, earlier: Statement, old: str) -> str:
    """Return the value of the same kind that a statement has beside the one that it ends, best near its word of
    change."""
    kinds = {value.kind for value in earlier.values if stems_of(value.text) & stems_of(old)}
    found = [
        value
        for value in later.values
        if value.kind in kinds and value.text not in old and value.says not in earlier.every
    ]
    found.sort(key=lambda value: later.cue not in later.clause(value).text)
    return found[0].text if found else ""


def _replaced(
    later: Statement, earlier: Statement, cosine: float, asked: frozenset[str], weights: RivalWeights
) -> Replacement | None:
    pairs = list(_differing(later, earlier, bool(asked)))
    named = later.names and earlier.names and any(new.kind != "name" for new, _ in pairs)
    if named and not later.names & earlier.every and not earlier.names & later.every:
        return None  # the ferry to Oban, and the ferry to Arran
    found = [
        Replacement(old.text, new.text, later.cue, sure)
        for new, old in pairs
        if (sure := _sure(later, new, earlier, old, cosine, asked, weights))
    ]
    if not earlier.key:
        found += _denied(later, earlier, weights)
        found += _updated(later, earlier, weights) if not found else []
    return max(found, key=lambda one: one.confidence, default=None)


def _updated(later: Statement, earlier: Statement, weights: RivalWeights) -> Iterator[Replacement]:
    """Yield what has no value that could be compared, in a statement with a word of change and most of the same words:
    «We keep the spare key at the neighbours' now» of «The spare key hangs behind the boiler»."""
    if not later.cue or is_past(later.text):
        return
    if later.names - earlier.every and earlier.names - later.every and not later.names & earlier.names:
        return
    for mine in later.clauses:
        for theirs in earlier.clauses:
            shared, new = mine.words & theirs.words, mine.every - earlier.every - VAGUE
            most = max(len(mine.words), len(theirs.words))
            if later.cue in mine.text and new and len(shared) > 1 and 2 * len(shared) >= most:
                yield Replacement(theirs.text, mine.text, later.cue, weights.likely)


def _sure(
    later: Statement,
    new: Value,
    earlier: Statement,
    old: Value,
    cosine: float,
    asked: frozenset[str],
    weights: RivalWeights,
) -> float:
    """Return how sure it is that two values are of the same thing, and 0 if they are not."""
    mine, theirs = _about(later, new, bool(asked)), _about(earlier, old, bool(asked))
    shared = mine & theirs
    beside = later.clause(new)
    near_cue = later.cue in beside.text or not (beside.words - stems_of(new.text) or _STILL.search(beside.text))
    weak = AGAIN if asked else WEAK
    cue = bool(later.cue) and (bool(asked) or near_cue) and not weak.fullmatch(later.cue)
    if not cue and (_are_two_days(later, earlier) if new.kind == "date" else _on_other_days(later, earlier)):
        return 0.0
    named = earlier.key - VAGUE
    covers = mine <= theirs or (theirs <= mine and cue) or (bool(named) and named <= mine <= named | HOLDERS)
    if cue:
        if shared:
            near = bool(asked) or cosine >= weights.near
            return weights.cued if covers or len(shared) > 1 else weights.likely if near else 0.0
        both = later.is_own and earlier.is_own
        near = cosine >= weights.alone and not (mine or theirs)
        return weights.likely if both and (near or asked) else 0.0
    if not shared - {new.label, new.unit} or not mine or _are_events(later, new, earlier):
        return 0.0
    if not earlier.key and ((not asked and cosine < weights.faint) or new.unit != old.unit):
        return 0.0  # 27 hives at Nettle Bank, and four km to Nettle Bank
    counted = not earlier.key or new.kind != "number" or new.unit != ""
    if asked and counted and len(asked & later.every) >= len(asked & earlier.every) > 0:
        return weights.restated
    leads = new.kind == "name" and new.start == 0
    if leads and not HOLDERS & later.clause(new).every and not _TITLED.match(later.text, new.end):
        return 0.0  # another one has a boat, too
    alike = named <= later.every if earlier.key else len(shared) >= weights.alike * len(mine | theirs)
    return weights.restated if covers and alike else 0.0


def _are_events(later: Statement, new: Value, earlier: Statement) -> bool:
    """Return whether a value is one that was, or two statements tell of what happened: «I ran 5 km», «I ran 8 km»."""
    return was(later.clause(new).text) or (is_past(later.text) and is_past(earlier.text))


def _on_other_days(later: Statement, earlier: Statement) -> bool:
    mine, theirs = ({value.says for value in said.values if value.kind == "date"} for said in (later, earlier))
    return bool(mine and theirs) and not mine & theirs


def _are_two_days(later: Statement, earlier: Statement) -> bool:
    """Return whether two statements give another value for each of two days: yoga on Monday at 18:00, on Thursday at
    19:00."""
    return any(new.kind != "date" and exclude(new, old) for new in later.values for old in earlier.values)


def _about(said: Statement, value: Value, whole: bool) -> frozenset[str]:
    """Return what the clause of a value, or else its sentence, says it is a value of."""
    label = frozenset([value.label] if value.label else [])
    words = said.key or (said.words if whole else said.clause(value).words - stems_of(value.text))
    return (words or said.words | label) - stems_of(value.text)


def _differing(later: Statement, earlier: Statement, one_thing: bool) -> Iterator[tuple[Value, Value]]:
    """Yield pairs of values that exclude each other, of which neither statement has that of the other, too.

    ``one_thing`` is whether both are known to be about one thing, so that «costs 32» and «charging 36» may count alike.
    """
    for new in later.values:
        if _was_or_is_not(later.clause(new), new):
            continue  # «no more 14», «it was 22»
        for old in earlier.values:
            if new.kind == "number" and not (
                _same_label(new, old, one_thing) and _same_count(later, new, earlier, old)
            ):
                continue
            if exclude(new, old) and not _has(earlier, new) and (not _has(later, old) or _elsewhere(later, new, old)):
                yield new, old


def _was_or_is_not(clause: Clause, value: Value) -> bool:
    """Return whether the clause of a value says that it is none, or was it and does not say that it became so."""
    return value.kind != "name" and (clause.denied or (was(clause.text) and not CHANGE_VERB.search(clause.text)))


def _same_count(later: Statement, new: Value, earlier: Statement, old: Value) -> bool:
    """Return whether two numbers count or number the same: by their units or labels, or as the only ones."""
    both = ((later, new), (earlier, old))
    alone = all(
        sum(one.kind == "number" and said.clause(one) is said.clause(value) for one in said.values) == 1
        for said, value in both
    )
    return alone or (new.unit == old.unit != "") or (new.label == old.label != "")


def _same_label(new: Value, old: Value, one_thing: bool) -> bool:
    """Return whether two numbers may be of the same noun: a stall that costs 24, and stall 14, are not."""
    return one_thing or new.label == old.label or not (new.label and old.label) or new.unit == old.unit != ""


def _has(said: Statement, value: Value) -> bool:
    if any(one.kind == value.kind and not exclude(one, value) for one in said.values):
        return True
    own = stems_of(value.text)
    return value.kind in ("name", "colour") and bool(own) and own <= said.every


def _elsewhere(later: Statement, new: Value, old: Value) -> bool:
    """Return whether a statement with a word of change names the old value too, in another clause than the new one."""
    spoken = [later.clause(value) for value in later.values if value.kind == old.kind and value.says == old.says]
    former = old.kind != "number" or any(clause.denied or was(clause.text) for clause in spoken)
    return bool(later.cue and spoken) and former and all(later.clause(new) is not clause for clause in spoken)


def _denied(later: Statement, earlier: Statement, weights: RivalWeights) -> Iterator[Replacement]:
    """Yield what a clause denies that an earlier one says, or says that an earlier one denies."""
    for mine in later.clauses:
        for theirs in earlier.clauses:
            if mine.denied == theirs.denied or not (later.cue or len(mine.undenied) == len(theirs.undenied)):
                continue
            shared = mine.every & theirs.every
            if not shared:
                continue
            past = is_past(mine.text) or is_past(theirs.text)
            if list(map(stem, mine.undenied)) == list(map(stem, theirs.undenied)) and not past:
                sure = weights.cued if later.cue else weights.restated
                yield Replacement(theirs.text, mine.text, later.cue, sure)
            elif later.cue and len(shared) > 1 and not (mine.denied and CHANGE_VERB.search(later.cue)):
                yield Replacement(theirs.text, mine.text, later.cue, weights.likely)


def _framed(later: Statement, earlier: Statement, weights: RivalWeights) -> Replacement | None:
    """Return what is said in the same words up to the value: «the default branch is trunk»."""
    if later.text[:1].casefold() != earlier.text[:1].casefold():
        return None
    mine, theirs = later.text.rstrip(" .!").split(), earlier.text.rstrip(" .!").split()
    pairs = zip(mine, theirs, strict=False)
    same = next((place for place, (a, b) in enumerate(pairs) if a.casefold() != b.casefold()), 0)
    frame = " ".join(mine[:same])
    if (
        same < 2
        or not _FRAME.search(frame)
        or was(later.text)
        or (is_past(later.text) and is_past(earlier.text))
        or later.denied
        or earlier.denied
    ):
        return None
    new, old = (_ASIDE.split(" ".join(words[same:]))[0].strip() for words in (mine, theirs))
    if not terms(frame) or (same == 2 and later.is_own) or max(len(new.split()), len(old.split())) > LONG:
        return None
    a, b = stems_of(new), stems_of(old)
    alike = new[:1].isupper() == old[:1].isupper() and bool(_PLACED.match(new)) == bool(_PLACED.match(old))
    known = len({new, old} & STATES) == 1 or any(map(str.isdigit, new + old))
    if not a or not b or a & b or not alike or known or _DAYS.search(new):
        return None
    return Replacement(old, new, later.cue, weights.cued if later.cue else weights.restated)
