"""Statements of a model, held to the messages that they quote.

What is not quoted, what names things that the quoted message does not name, and what the message only asks, imagines or
jokes about is left out, whatever the model says of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from tidal_plugins.english.hypotheses import JOKE, is_imagined, is_rumoured
from tidal_plugins.english.questions import asks, stated
from tidal_plugins.english.sentences import sentences
from tidal_plugins.graph.reader.prompt import KEPT, PASSED, NumberedText, Told
from tidal_plugins.graph.reading.quotes import (
    PERSON,
    Piece,
    category,
    mention_at,
    named_at,
    quoted_at,
    snake,
    time_of,
)
from tidal_plugins.graph.records.names import ADDRESSED, SPEAKER, bare
from tidal_plugins.model.graph import WORD, Assertion, Category, Extraction, Mention, Reading
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import normal

INTENTS = frozenset(("plans", "wants", "promised", "appointment", "deadline", "decided"))
"""Predicates of what is not so yet."""

CONFIDENCE = 0.8
"""Confidence of a statement if the model gives none: that of most forms of the rules."""

_INTENT = lazy_re(
    r"(?:\b(?:plan(?:s|ned|ning)?|going|about|intend\w*|hop(?:e|es|ing)|mean(?:s|ing)?|decided|promised?|want(?:s|ed)?"
    r"|have|has|needs?)\s+to\s+|\bgonna\s+|\b(?:will|shall)\s+|['’]ll\s+|\bplanning\s+(?:on\s+)?)(?:be\s+(?=\w+ing\b))?",
    re.IGNORECASE,
)
"""Words before what somebody means to do."""

Known = Mapping[str, tuple[str, Category]]
"""Type and category of the entities that are known already, by their normalised names."""


@dataclass(slots=True)
class Checked:
    """The statements of an answer that the messages support, as readings of each episode, and counts of the others."""

    readings: dict[str, list[Reading]] = field(default_factory=dict)
    refused: int = 0
    passed: int = 0


def checked(told: Sequence[Told], texts: Sequence[NumberedText], known: Known) -> Checked:
    """Return what the messages support of what a model says that they state."""
    found, said = Checked(), dict[NumberedText, list[Assertion]]()
    for one in told:
        status = snake(one.status or "") or "holds"
        if status in PASSED:
            found.passed += 1
            continue
        place = _place(one, texts) if status in KEPT else None
        if place is None:
            found.refused += 1
            continue
        text, span = place
        if not _is_told(text.text, *span):
            found.passed += 1
        elif assertion := _assertion(one, status, text, span, known):
            said.setdefault(text, []).append(assertion)
        else:
            found.refused += 1
    for text, assertions in said.items():
        reading = Reading(text.position, None, Extraction((), tuple(assertions)), reader="model")
        found.readings.setdefault(text.episode, []).append(reading)
    return found


def _place(one: Told, texts: Sequence[NumberedText]) -> tuple[NumberedText, tuple[int, int]] | None:
    """Return the message that a statement quotes, the one that it names if possible, and where the quotation stands."""
    named = texts[one.message - 1 : one.message] if one.message > 0 else ()
    for text in (*named, *texts):
        span = quoted_at(text.text, one.quote)
        if span and (text in named or not _implied(one, text, span)):
            return text, span
    return None


def _implied(one: Told, text: NumberedText, span: tuple[int, int]) -> bool:
    """Return whether who speaks or is spoken to is meant and not named by the quotation: in another message than the
    one that was named this is somebody else."""
    ends = {_called(name, text) for name in (one.subject, one.object)} & {"I", "you"}
    return any(named_at(text.text, name, *span) is None for name in ends)


def _is_told(text: str, start: int, end: int) -> bool:
    """Return whether the sentences around a quotation tell something, as opposed to asking, supposing or joking."""
    around = [text[first:last] for first, last in sentences(text) if first < end and last > start]
    plain = " ".join(around).lower().replace("’", "'")
    asked = all(asks(sentence) and not stated(sentence) for sentence in around)
    return not (asked or JOKE.search(plain) or is_imagined(plain) or is_rumoured(plain))


def _assertion(one: Told, status: str, text: NumberedText, span: tuple[int, int], known: Known) -> Assertion | None:
    piece, predicate = Piece(0, 0, text.text), snake(one.predicate)
    since, until = time_of(one.since), time_of(one.until)
    subject, object_ = (
        _mention(_called(name, text), type_ or "", piece, span, known)
        for name, type_ in ((one.subject, one.subject_type), (one.object, one.object_type))
    )
    if status == "planned" and predicate not in INTENTS and not (since and since > text.at):
        predicate, object_ = "plans", _intended(object_, piece, span)
    named = any(_stands_in(span, each) for each in (subject, object_))
    if not (subject.end and object_.end and named and WORD.fullmatch(predicate)):
        return None
    if (normal(subject.name), subject.type) == (normal(object_.name), object_.type):
        return None
    if since and until and until <= since:
        return None
    if status == "ended" and since and since >= text.at + timedelta(days=1):
        return None
    return Assertion(
        subject,
        predicate,
        object_,
        *span,
        confidence=_confidence(one.confidence),
        negated=bool(one.negated),
        valid_from=since,
        valid_until=until,
        ended=status == "ended",
    )


def _stands_in(span: tuple[int, int], named: Mention) -> bool:
    """Return whether a quotation has a name. «I» and «you» that are only implied, or all that is quoted, do not count:
    they would make any words a quotation of anything."""
    if named.name in ("I", "you") and (named.start, named.end) == span:
        return False
    return span[0] <= named.start < named.end <= span[1]


def _called(name: str, text: NumberedText) -> str:
    """Return a name as the message has it: who speaks is «I» there, who is spoken to is «you»."""
    plain = name.strip().casefold().removeprefix("the ")
    if plain in SPEAKER | {"speaker", text.speaker.casefold(), text.role}:
        return "I"
    if plain in ADDRESSED | {"user", "assistant", "agent"}:
        return "you"
    return name.strip()


def _mention(name: str, type_: str, piece: Piece, span: tuple[int, int], known: Known) -> Mention:
    """Return an entity at its name, of the type by which it is known already. «I» and «you» need no word of their own:
    «moved to Rome» is said of who speaks."""
    if name in ("I", "you"):
        place = named_at(piece.content, name, *span) or span
        return Mention(name, PERSON, category(PERSON), *place)
    found = mention_at(name, {name: type_}, piece, span)
    type_, category_ = known.get(normal(bare(found.name)), (found.type, found.category))
    return replace(found, type=type_, category=category_) if WORD.fullmatch(type_) else found


def _intended(planned: Mention, piece: Piece, span: tuple[int, int]) -> Mention:
    """Return what somebody means to do, as the quotation says it up to the name of its object."""
    lead = _INTENT.search(piece.content, *span)
    start = lead.end() if lead and span[0] <= lead.end() < planned.end <= span[1] else planned.start
    return Mention(piece.content[start : planned.end], "plan", category("plan"), start, planned.end)


def _confidence(given: float | None) -> float:
    return min(1.0, max(0.01, given)) if given is not None and math.isfinite(given) else CONFIDENCE


def known_types(entities: Iterator[tuple[str, str, Category]]) -> dict[str, tuple[str, Category]]:
    """Return the types of entities by their normalised names, without the names that two of them have."""
    found: dict[str, tuple[str, Category] | None] = {}
    for name, type_, category_ in entities:
        key = normal(bare(name))
        found[key] = None if key in found and found[key] != (type_, category_) else (type_, category_)
    return {name: told for name, told in found.items() if told is not None}
