"""The answer of a model, held to the messages that it was asked about.

What is not quoted, what names things that the messages do not name, and what a message only asks, imagines or jokes
about is left out, whatever the model says of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from tidal_plugins.english.dates import named_days, with_dates
from tidal_plugins.english.faithful import names_in, unsupported
from tidal_plugins.english.moods import JOKE, asks, is_imagined, is_rumoured, stated
from tidal_plugins.english.sentences import sentences
from tidal_plugins.graph.reader.prompt import KEPT, PASSED, Answer, Context, NumberedText, Told, ToldFact, numbers
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
from tidal_plugins.graph.records.entities import ADDRESSED, SPEAKER, bare, stands_in
from tidal_plugins.model.fact import Claim
from tidal_plugins.model.graph import WORD, Assertion, Category, Extraction, Mention, Reading
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import normal, terms

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

_WORD = lazy_re(r"\w+")

Known = Mapping[str, tuple[str, Category]]
"""Type and category of the entities that are known already, by their normalised names."""


@dataclass(slots=True)
class Checked:
    """What the messages support of an answer, by episode, and counts of the rest.

    ``readings`` are its relations, ``facts`` its values, each with the position of the message that gives it.
    """

    readings: dict[str, list[Reading]] = field(default_factory=dict)
    facts: dict[str, list[tuple[int, Claim]]] = field(default_factory=dict)
    summaries: dict[str, str] = field(default_factory=dict)
    refused: int = 0
    passed: int = 0


def checked(answer: Answer, texts: Sequence[NumberedText], context: Context, known: Known, max_chars: int) -> Checked:
    """Return what the messages support of an answer. A summary has at most ``max_chars`` characters."""
    found, said = Checked(refused=answer.broken), dict[NumberedText, list[Assertion]]()
    names = dict[NumberedText, set[str]]()
    for one in answer.relations:
        if (place := _supported(found, one, texts)) is None:
            continue
        status, text, span = place
        elsewhere = _elsewhere(one, status, text, texts, context)
        if assertion := _assertion(one, status, text, span, known, elsewhere):
            said.setdefault(text, []).append(assertion)
            names.setdefault(text, set()).update(elsewhere)
        else:
            found.refused += 1
    for text, assertions in said.items():
        extraction, elsewhere = Extraction((), tuple(assertions)), frozenset(names[text])
        reading = Reading(text.position, None, extraction, reader="model", elsewhere=elsewhere)
        found.readings.setdefault(text.episode, []).append(reading)
    for fact in answer.facts:
        if (place := _supported(found, fact, texts)) is not None:
            _add_fact(found, fact, *place)
    episodes = numbers(texts)
    for told in answer.summaries:
        of_it = [text for text in texts if episodes[text.episode] == told.episode]
        summary, refused = _summary(told.summary, of_it, max_chars) if of_it else ("", 1)
        found.refused += refused
        if summary:
            found.summaries[of_it[0].episode] = summary
    return found


def _supported(
    found: Checked, one: Told | ToldFact, texts: Sequence[NumberedText]
) -> tuple[str, NumberedText, tuple[int, int]] | None:
    """Return the status of what a message tells, the message, and where its quotation stands; else count it."""
    status = snake(one.status or "") or "holds"
    place = _place(one, texts) if status in KEPT else None
    if status in PASSED or (place and not _is_told(place[0].text, *place[1])):
        found.passed += 1
    elif place:
        return status, *place
    else:
        found.refused += 1
    return None


def _add_fact(found: Checked, one: ToldFact, status: str, text: NumberedText, span: tuple[int, int]) -> None:
    """Add a fact, if a person gives its value in the words of the quotation."""
    value = named_at(text.text, one.value, *span)
    if status == "planned":
        found.passed += 1
    elif text.role == "user" and value and one.key.strip():
        claim = Claim(
            one.key.strip(), text.text[slice(*value)], text.text[slice(*span)], status == "ended", explicit=True
        )
        found.facts.setdefault(text.episode, []).append((text.position, claim))
    else:
        found.refused += 1


def _summary(told: str, texts: Sequence[NumberedText], max_chars: int) -> tuple[str, int]:
    said = "\n".join(f"{text.speaker}: {with_dates(text.text, text.at)}" for text in texts)
    days = {day for text in texts for day in (text.at.date(), *named_days(text.text, text.at))}
    return borne_out(told, said, days, max_chars)


def borne_out(told: str, said: str, days: Collection[date], max_chars: int) -> tuple[str, int]:
    """Return the sentences of a summary whose numbers, dates, names and quotations an episode has, as many as fit, and
    how many have others. A word that begins a sentence and that the episode does not have may be a name, too.

    ``said`` is all of the episode, and ``days`` are those that it is about.
    """
    names, stems, kept, refused = names_in(said), set(terms(said)), "", 0
    for start, end in sentences(told):
        more = f"{kept} {told[start:end]}".strip()
        first = {word for word in _WORD.findall(told[start:end])[:1] if not stems.issuperset(terms(word))}
        if unsupported(told[start:end], said, days, names | first):
            refused += 1
        elif len(more) <= max_chars:
            kept = more
    return kept, refused


def _elsewhere(
    one: Told, status: str, text: NumberedText, texts: Sequence[NumberedText], context: Context
) -> frozenset[str]:
    """Return those ends of a relation that its message need not name: another message of the episode, or one that was
    shown before it, does, or they are what a relation has that was shown and is said to be over."""
    ends = _called(one.subject, text), _called(one.object, text)
    near = [other.text for other in texts if other.episode == text.episode]
    near += [other.text for other in context.earlier.get(text.episode, ())]
    over = {(normal(bare(subject)), verb, normal(bare(object_))) for subject, verb, object_ in context.relations}
    subject, object_ = (normal(text.speaker if end == "I" else bare(end)) for end in ends)
    is_over = status == "ended" and (subject, snake(one.predicate), object_) in over
    return frozenset(bare(end) for end in ends if is_over or any(named_at(other, end, 0, len(other)) for other in near))


def _place(one: Told | ToldFact, texts: Sequence[NumberedText]) -> tuple[NumberedText, tuple[int, int]] | None:
    """Return the message that a statement quotes, the one that it names if possible, and where the quotation stands."""
    named = texts[one.message - 1 : one.message] if one.message > 0 else ()
    for text in (*named, *texts):
        span = quoted_at(text.text, one.quote)
        if span and (text in named or isinstance(one, ToldFact) or not _implied(one, text, span)):
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


def _assertion(
    one: Told, status: str, text: NumberedText, span: tuple[int, int], known: Known, elsewhere: Collection[str]
) -> Assertion | None:
    piece, predicate = Piece(0, 0, text.text), snake(one.predicate)
    since, until = time_of(one.since), time_of(one.until)
    subject, object_ = (
        _mention(_called(name, text), type_ or "", piece, span, known, elsewhere)
        for name, type_ in ((one.subject, one.subject_type), (one.object, one.object_type))
    )
    if status == "planned" and predicate not in INTENTS and not (since and since > text.at):
        predicate, object_ = "plans", _intended(object_, piece, span)
    named = any(_stands_in(text.text, span, each) for each in (subject, object_))
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


def _stands_in(text: str, span: tuple[int, int], named: Mention) -> bool:
    """Return whether a quotation has a name. What is only implied, or said elsewhere, has all that is quoted for its
    place and does not count: it would make any words a quotation of anything. Neither does a quotation of «I» alone."""
    whole = (named.start, named.end) == span
    if whole and (named.name in ("I", "you") or not stands_in(named.name, text[slice(*span)])):
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


def _mention(
    name: str, type_: str, piece: Piece, span: tuple[int, int], known: Known, elsewhere: Collection[str]
) -> Mention:
    """Return an entity at its name, of the type by which it is known already. «I» and «you» need no word of their own
    («moved to Rome» is said of who speaks), nor does what is named ``elsewhere``."""
    if name in ("I", "you"):
        place = named_at(piece.content, name, *span) or span
        return Mention(name, PERSON, category(PERSON), *place)
    found = mention_at(name, {name: type_}, piece, span)
    if not found.end and bare(name) in elsewhere:
        found = replace(found, name=bare(name), start=span[0], end=span[1])
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
