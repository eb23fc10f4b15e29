"""Choose the hits that a whisper shows: nothing beside its own sources, and of an exchange the half that tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidal_plugins.english.moods import asks
from tidal_plugins.english.words import NEGATED
from tidal_plugins.model.entry import CONVERSATION, SYNTHESIS, Entry
from tidal_plugins.model.recall import Hit
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import stems

NEW_WORDS = 2
"""Words of the query, names and numbers that the second half of an exchange must add to be shown."""

_FIGURE = lazy_re(r"\d+(?:[.,:/-]\d+)*")


def select(hits: Sequence[Hit], query: str, most: int) -> tuple[list[Hit], dict[str, str]]:
    """Return at most ``most`` hits to show, in order, and by id why the others are not shown.

    An entry that memory made of others stands in for its sources and never beside them: of these, the first of the
    ranking is shown. Of an exchange the person's half comes before the agent's. A half that only asks gives way to
    the other, and the second half is shown only if it adds something.
    """
    reasons: dict[str, str] = {}
    shown: list[Hit] = []
    for hit in hits:
        if reason := _repeats(hit, shown) or _covered(hit, shown):
            reasons[hit.id] = reason
            continue
        half = next((other for other in shown if _halves(hit, other)), None)
        if half is not None and (left := _settle(hit, half, shown, query)):
            reasons |= dict([left])
            continue
        if len(shown) == most:
            reasons[hit.id] = "beyond what is shown"
            continue
        if half is not None and hit.entry.role == "user":
            shown.insert(shown.index(half), hit)
        else:
            shown.append(hit)
    return _newest_first(shown), reasons


def _newest_first(shown: Sequence[Hit]) -> list[Hit]:
    """Return the hits with each that is superseded behind the newer one, and so the other half of its exchange, if it
    has the older value."""
    order = list(shown)
    for old in shown:
        newer = {link.later: link.replacement.old for link in old.why.superseded_by}
        places = [place for place, hit in enumerate(order) if hit.id in newer]
        for place in places[:1]:
            value = newer[order[place].id]
            stale = [
                hit for hit in order[:place] if hit is old or (_halves(hit, old) and value and value in hit.answer)
            ]
            order = [hit for hit in order[: place + 1] if hit not in stale] + stale + order[place + 1 :]
    return order


def _covered(hit: Hit, shown: Sequence[Hit]) -> str:
    """Return why a hit says nothing beside those that are shown: the same speaker used all its words there."""
    words, denials = _terms(hit.answer)
    for other in shown:
        others = _terms(other.answer)
        one_voice = hit.entry.speaker == other.entry.speaker
        if one_voice and words and words <= others[0] and denials == others[1]:
            return f"says nothing that {other.id} does not say"
    return ""


def _terms(text: str) -> tuple[set[str], int]:
    """Return the stems and the figures of a text, and how often it denies."""
    return {*stems(text), *_FIGURE.findall(text)}, len(NEGATED.findall(text.lower()))


def _repeats(hit: Hit, shown: Sequence[Hit]) -> str:
    """Return why a hit says nothing beside those that are shown: one was made of the other."""
    for other in shown:
        if other.id in sources(hit.entry):
            return f"was made from {other.id}, which is shown"
        if hit.id in sources(other.entry):
            return f"{other.id}, which is shown, was made from it"
    return ""


def sources(entry: Entry) -> Sequence[Any]:
    """Return the ids that memory made an entry from. Metadata of an entry that was not made here may be anything."""
    made = entry.metadata.get("sources") if entry.channel == SYNTHESIS else None
    return made if isinstance(made, list | tuple) else ()


def _halves(hit: Hit, other: Hit) -> bool:
    one, two = hit.entry, other.entry
    return one.kind == two.kind == CONVERSATION and one.episode is not None and one.episode == two.episode


def _settle(hit: Hit, half: Hit, shown: list[Hit], query: str) -> tuple[str, str] | None:
    """Return the half of an exchange that is not shown, and why; ``None`` if both say something.

    If it is the one that was to be shown, the new one takes its place.
    """
    first, second = (hit, half) if hit.entry.role == "user" else (half, hit)
    if asks(first.answer) and not asks(second.answer):
        left, reason = first, f"asks what {second.id} answers"
    elif len(_notable_words(second, query) - _words(first)) < NEW_WORDS:
        left, reason = second, f"adds nothing to {first.id}, the other half of its exchange"
    else:
        return None
    if left is half:
        shown[shown.index(half)] = hit
    return left.id, reason


def _words(hit: Hit) -> set[str]:
    return set(stems(hit.text))


def _notable_words(hit: Hit, query: str) -> set[str]:
    """Return the stems of the query's words, of names and of numbers in the unit that would be shown."""
    wanted, words = set(stems(query)), hit.answer.split()
    marked = " ".join(word for word in words[1:] if not word.islower())
    return set(stems(marked)) | (set(stems(hit.answer)) & wanted)
