"""The whisper buffer: the hits of a whisper as a short text, one line each [Tidal §2.3].

Of the memories' own text it has at most 500 characters, by default; the frame and the heads of the lines come on top,
within a bound of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tidal_plugins.english.moods import asks
from tidal_plugins.english.sentences import shortened
from tidal_plugins.english.words import NEGATED
from tidal_plugins.model.delimiters import Delimiters, around, inert
from tidal_plugins.model.entry import CONVERSATION, DOSSIER
from tidal_plugins.model.recall import OWN, Dropped, Hit, Recall, Whisper, counted
from tidal_plugins.patterns import lazy_re
from tidal_plugins.retrieval.calibration import sources
from tidal_plugins.retrieval.units import blocks, spans, without_fences
from tidal_plugins.retrieval.weights import WhisperTuning
from tidal_plugins.scoring.text import stems

NEW_WORDS = 2
"""Words of the query, names and numbers that the second half of an exchange must add to be shown."""
LEAST_TEXT = 24
"""Characters of text below which a passage is not worth showing."""
LINE = 240
"""Characters that a passage may take, of which no unit is known: it is cut there, and a unit never."""

NEARBY = 2_000
"""Characters before and after a unit in which sentences are looked for that fit beside it."""

HIDDEN = " (hidden here; the citation leads to it)"
"""Note behind a line that shows a mask in place of a secret."""

WAS = ", was"
"""Note before a line whose value a later entry replaces."""

_THOUGHT = "- thought: "

STAGE = "whisper"
"""The stage at which rendering drops hits."""

_FIGURE = lazy_re(r"\d+(?:[.,:/-]\d+)*")
_HEADING = lazy_re(r"^#{1,6}[ \t]+", re.MULTILINE)
_DAY = 86400
_AGES = (("week", 7 * _DAY), ("day", _DAY), ("hour", 3600))
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def compose(
    recall: Recall,
    now: datetime,
    settings: WhisperTuning,
    sure: float,
    delimiters: Delimiters,
    thought: str = "",
) -> Whisper:
    """Return a whisper that shows the hits of a recall, each on one line in the frame.

    A line has a citation, the date and the age, the speaker or the source, and the part of the text that answers, its
    unit. No unit is shown in part, unless the first is longer than all room: one that does not fit gives way to the
    next. What room is left shows the sentences near them, beginning with the first. ``sure`` is the confidence of a
    supersession from which on a line tells the value that its own replaces. A ``thought`` is the last line, if there is
    room. The whisper's recall says why each other hit is left out.

    ``settings.max_chars`` bounds the texts of the lines, :func:`~tidal_plugins.model.delimiters.around` everything
    else.
    """
    chosen, reasons = lines_of(recall.hits, recall.query, settings.max_entries)
    left = [Dropped(id_, STAGE, reason) for id_, reason in reasons.items()]
    room, heads = settings.max_chars, around(settings.max_entries) - len(delimiters.memories([""]))
    shown: list[tuple[Hit, int]] = []
    for hit in chosen:
        need = min(_need(hit), settings.max_chars)
        head = len(_head(hit, now, was=bool(hit.why.superseded_by))) + 1
        if need <= room and head <= heads:
            shown.append((hit, need))
            room, heads = room - need, heads - head
        else:
            left.append(Dropped(hit.id, STAGE, "no room for it", hit.origin))
    lines = []
    for hit, need in shown:
        said = _said(hit, sure, need + room)
        room += need - len(said)
        lines.append(_head(hit, now, was=_is_former(hit, said)) + said)
    if thought and lines and len(thought) <= room and len(_THOUGHT) < heads:
        lines.append(f"{_THOUGHT}{inert(thought)}")
    hits = tuple(hit for hit, _ in shown)
    if left:
        dropped, peers = (*left, *recall.dropped), counted(recall.peers, hits)
        recall = replace(recall, hits=hits, dropped=dropped, peers=peers)
    return Whisper(delimiters.memories(lines), hits, recall)


def lines_of(hits: Sequence[Hit], query: str, most: int) -> tuple[list[Hit], dict[str, str]]:
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


def _need(hit: Hit) -> int:
    """Return how many characters of text a hit needs to be shown."""
    text, (start, end) = hit.text, _placed(hit)
    size = len(_clean(text[start:end]))
    return min(size, LINE) if hit.unit is None else size


def _head(hit: Hit, now: datetime, *, was: bool = False) -> str:
    return f"- [{hit.entry.citation}] {when(hit.entry.occurred_at, now)}, {_source(hit)}{WAS if was else ''}: "


def _is_former(hit: Hit, said: str) -> bool:
    """Return whether a line shows a value that a later entry replaces."""
    return any(inert(link.replacement.old) in said for link in hit.why.superseded_by)


def _said(hit: Hit, sure: float, room: int) -> str:
    """Return what a line shows of a hit's text in ``room`` characters, at least."""
    said = quote(hit.text, _placed(hit), room)
    if any(f"[{kind}]" in said for kind in hit.hidden) and room - len(HIDDEN) >= LEAST_TEXT:
        return quote(hit.text, _placed(hit), room - len(HIDDEN)) + HIDDEN
    was = f" (was {inert(older)})" if (older := hit.older_value(sure)) and older not in hit.text else ""
    return said + was if len(said) + len(was) <= room else said


def _placed(hit: Hit) -> tuple[int, int]:
    """Return the offsets of a hit's unit, or of its passage if no whisper looked for one."""
    if hit.unit is not None:
        return hit.unit
    start = max(0, hit.text.find(hit.passage))
    return start, start + len(hit.passage)


def _source(hit: Hit) -> str:
    """Return the speaker or the source of a hit, and its peer. Names are cut short, since the text matters more."""
    entry, own = hit.entry, hit.origin == OWN
    if entry.kind == CONVERSATION:
        roles = {"user": "user", "assistant": "you" if own else "assistant"}  # a peer's assistant is somebody else
        source = entry.speaker or roles.get(entry.role or "", "conversation")
    elif entry.kind == DOSSIER and entry.source:  # its topic may be a name, and it is nobody who speaks
        return f"dossier on {_short(entry.source)}" + ("" if own else f" in {_short(hit.origin)}")
    else:
        source = entry.source or entry.kind
    return _short(source) if own else f"{_short(source)} in {_short(hit.origin)}"


def _short(name: str, most: int = 24) -> str:
    name = inert(name).replace(": ", " ")  # a name must not look like somebody's words
    return name if len(name) <= most else "…" + name[-(most - 1) :]


def when(then: datetime, now: datetime) -> str:
    """Return the date of a time and how many days, weeks, months or years of the calendar ago it is; within a day the
    age alone."""
    if abs((now - then).total_seconds()) < _DAY:
        return age(then, now)
    local = then.astimezone(now.tzinfo)
    year = f" {local.year}" if local.year != now.year else ""
    ago = age(_midnight(local), _midnight(now))  # two times of one date are equally old
    return f"{local.day} {_MONTHS[local.month - 1]}{year}, {ago}"


def age(then: datetime, now: datetime) -> str:
    """Return how long ago a time is, in one unit; months and years are those of the calendar."""
    seconds = (now - then).total_seconds()
    months = 12 * (now.year - then.year) + now.month - then.month - (now.day < then.day)
    for unit, length in (("year", 12), ("month", 1)):
        if (count := months // length) > 0:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    for unit, length in _AGES:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now" if seconds > -60 else "ahead"


def _midnight(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)


def quote(text: str, unit: tuple[int, int], room: int) -> str:
    """Return a unit of a text on one line, and as much of the text around it as fits into ``room`` characters.

    What follows the unit is added before what precedes it, whole sentences at a time. A unit that is longer than the
    room is cut at a word, and so is the first item of a list, or line of code, that it only announces. A line of code
    stands alone: several on one line cannot be read.
    """
    prose = _prose(text, unit)
    around = _neighbouring_units(text, unit, prose)
    start, end = unit
    shown = _clean(text[start:end])
    for following in (span for span in around if span[0] >= end):
        if _HEADING.match(text, following[0]):
            break
        longer = _clean(text[start : following[1]])
        announced = shown.rstrip("*_ ").endswith(":")
        if announced and (len(longer) > room or following[1] > prose[1]):
            return shortened(longer, room)
        if len(longer) > room or following[1] > prose[1]:
            break
        end, shown = following[1], longer
    for before in (span for span in reversed(around) if span[1] <= start):
        if _HEADING.match(text, before[0]):
            break
        longer = _clean(text[before[0] : end])
        if len(longer) > room:
            break
        start, shown = before[0], longer
    return shortened(shown, room)


def _prose(text: str, unit: tuple[int, int]) -> tuple[int, int]:
    """Return the offsets of the prose around a unit, as far as the next blocks of code; of the unit, if it is code."""
    first, last = 0, len(text)
    for start, end in blocks(text):
        if start <= unit[0] and unit[1] <= end:
            return unit
        first = max(first, end) if end <= unit[0] else first
        last = min(last, start) if start >= unit[1] else last
    return first, last


def _neighbouring_units(text: str, unit: tuple[int, int], prose: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the offsets of the sentences near a unit, and of a line of code behind them. What is too far from it to be
    shown is not read."""
    if prose == unit:
        return []
    first, last = max(prose[0], unit[0] - NEARBY), unit[1] + NEARBY
    found = spans(text, first, last)
    code = next((place for place, span in enumerate(found) if span[0] >= prose[1]), len(found))
    return found[first > prose[0] : code + 1]  # the beginning of the first one may not be known


def _clean(text: str) -> str:
    return inert(_HEADING.sub("", without_fences(text)))
