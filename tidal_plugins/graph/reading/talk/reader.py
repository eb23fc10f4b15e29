"""The statements of talk: the forms that stand at the beginnings of clauses, and those found anywhere in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tidal_plugins.english.hypotheses import is_imagined, is_rumoured, leaves_scene, opens_scene
from tidal_plugins.english.sentences import sentences
from tidal_plugins.graph.reading.arguments import Sentence, sentence_at
from tidal_plugins.graph.reading.clauses import HUSH, MASK
from tidal_plugins.graph.reading.talk import choices, doings, happenings, people, things
from tidal_plugins.graph.reading.talk.elided import with_speaker
from tidal_plugins.graph.reading.talk.forms import ADV, Form, Phrase
from tidal_plugins.graph.reading.talk.gating import (
    AFTERWARDS,
    BREAK,
    CONDITION,
    DRAFTED,
    JOKE,
    LEADS,
    PLAYED,
    SINCE,
    stated,
)
from tidal_plugins.graph.reading.talk.persons import Persons
from tidal_plugins.graph.reading.talk.phrases import objects
from tidal_plugins.graph.reading.talk.subjects import Subject, subject_at
from tidal_plugins.graph.reading.talk.words import KIN
from tidal_plugins.graph.reading.times import validity
from tidal_plugins.model.graph import Assertion, Mention
from tidal_plugins.patterns import lazy_re

LONGEST = 400
"""Characters of a sentence that is read. A longer one is a list, a log or code."""
LONGEST_TURN = 1200
"""Characters of a text that is talk. Longer ones are documents, drafts and explanations: of 50 statements read in the
answers of an assistant, more than half stood in texts that it had written for somebody else."""
SHORTEST = 6
"""Characters of the shortest statement."""

_FORMS: tuple[Form, ...] = (*people.FORMS, *things.FORMS, *doings.FORMS, *choices.FORMS, *happenings.FORMS)
_PHRASES: tuple[Phrase, ...] = (
    *people.PHRASES,
    *things.PHRASES,
    *doings.PHRASES,
    *choices.PHRASES,
    *happenings.PHRASES,
)
_BY_KIND = {
    kind: tuple(form for form in _FORMS if kind in form.subjects)
    for kind in frozenset[str]().union(*(form.subjects for form in _FORMS))
}
_FRAGMENT = lazy_re(r"(?:my|our)\s+(?:\w+\s+)?(?P<kin>[\w-]+)\W*", re.IGNORECASE)
_ONE = frozenset(("name", "kin", "third"))
_BARE = lazy_re(
    rf"\s+{ADV}(?:like|love|enjoy|adore|hate|dislike|have|own|live|work|use|play|study|take|want|hope|wish|go|run|lead|"
    r"manage|handle|look|need|are|attend|join|start|maintain|head|suffer)\s",
    re.IGNORECASE,
)
"""Verbs that one person does not do in this form: «Dogs like bones» is about no person of that name."""
_INSTEAD = lazy_re(r"\s+(?:now\s+)?(?:instead\s+of|in\s+place\s+of)\s+", re.IGNORECASE)
_REPLACED = frozenset("uses takes depends_on diet plays responsible_for".split())
"""Predicates of what may be replaced: «it uses a pool instead of a path» ends the path."""
_ANOTHER = lazy_re(
    r"['’]ll\b|['’]d\b|\b(?:that|which|who|what|how|if|you|it|is|are|was|will|would|can|could|should|might|(?:wants?|needs?|hopes?|hoping|going|plan\w*|have|had|like|love|try\w*|ready|about)\s+to)\b",
    re.IGNORECASE,
)
"""Words between a subject and a verb after «and» that may have another subject, or tell of what only may be."""
_JOINS = lazy_re(r"\b(?:and|but|then)\b", re.IGNORECASE)
_DID = lazy_re(r"(?:\w{2,}ed|went|had|got|took|made|met|saw|bought|found|won|ran|wrote|gave|came)\s", re.IGNORECASE)
"""Verbs after a comma that go on with the subject before: «we hiked, roasted chestnuts and swam»."""
_QUOTES = tuple("\"'“‘«")
_LEAD = lazy_re(r"\s*(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_SERVICE = lazy_re(r"[a-z]\w*(?:-[a-z0-9]+)+")
_POINTS = lazy_re(
    r"\b(?:it|that|them|this one|those)\Z|\A(?:they|these|this|he|she|him|her|us|you|(?:this|these)\s\w+)\Z",
    re.IGNORECASE,
)
"""A phrase whose meaning another sentence has."""
_STARS = lazy_re(r"(?<!\w)\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?!\w)")
_TYPES = {"has_pet": "pet", "has_condition": "condition", "kin": "person"}


def told(text: str, names: list[Mention]) -> Iterator[Assertion]:
    """Yield what a text tells of people and things. Questions, conditions, jokes and played roles tell nothing."""
    if len(text) > LONGEST_TURN or PLAYED.search(text) or DRAFTED.match(text):
        return
    persons, imagined = Persons(text), False
    found: list[list[Assertion]] = []
    position = 0
    for start, end in sentences(text):
        while position < len(names) and names[position].start < start:
            position += 1
        last = position
        while last < len(names) and names[last].start < end:
            last += 1
        said = text[start:end]
        plain = said.lower().replace("’", "'")
        imagined = opens_scene(plain) or (imagined and not leaves_scene(plain))
        if JOKE.search(plain) and found:
            found[-1] = []  # the joke is over
        found.append([])
        if end - start <= LONGEST:
            persons.meet(start, end)
        told_here, position = names[position:last], last
        if imagined or JOKE.search(plain) or is_imagined(plain) or is_rumoured(plain):
            continue
        end = start + len(stated(said))
        if SHORTEST <= end - start <= LONGEST:
            inside = [name for name in told_here if name.end <= end]
            found[-1] = list(_read(_bare(sentence_at(text, start, end, inside)), persons))
    for assertions in found:
        yield from assertions


def _bare(sentence: Sentence) -> Sentence:
    """Return a sentence without the asterisks of Markdown, each of which becomes a space."""
    if "*" not in sentence.masked:
        return sentence
    return replace(sentence, masked=_STARS.sub(lambda match: " " * len(match[0]), sentence.masked))


def _read(sentence: Sentence, persons: Persons) -> Iterator[Assertion]:
    said: set[tuple[str, int, int]] = set()
    fragment = list(_fragment(sentence, persons))
    for assertion in fragment or (*_anywhere(sentence, persons), *_clauses(sentence, persons)):
        key = (assertion.predicate, assertion.subject.start, assertion.object.start)
        if key not in said:
            said.add(key)
            yield assertion


def _clauses(sentence: Sentence, persons: Persons) -> Iterator[Assertion]:
    masked = sentence.masked
    before: Subject | None = None
    starts = _starts(masked)
    first = min(starts, default=0)
    for start, joined in starts.items():
        if CONDITION.search(masked, 0, start):
            continue
        nobody, subject = Subject("none", ((start, start),), start), subject_at(masked, start)
        subjects = dict.fromkeys((subject, nobody))
        if before and joined and subject.kind == "none" and not _ANOTHER.search(masked, before.end, start):
            subjects[replace(before, end=start - 1)] = None  # «I moved out and joined a band»
        elided = (
            with_speaker(sentence, start, first=start == first) if before is None and subject.kind == "none" else None
        )
        before = subject if subject.kind != "none" else before
        for who in subjects:
            yield from _formed(sentence, persons, who)
        if elided:
            rest, verb = elided
            yield from _formed(rest, persons, Subject("me", ((verb, verb),), 0))


def _starts(masked: str) -> dict[int, bool]:
    """Return where clauses begin, and whether each may go on with the subject of the one before."""
    starts = dict[int, bool]()
    for match in BREAK.finditer(masked):
        start = _after_leads(masked, match.end())
        between = masked[match.start() : start]
        joins = bool(_JOINS.search(between) or ("," in between and _DID.match(masked, start)))
        starts[start] = joins and between.endswith(" ")
    return starts


def _formed(sentence: Sentence, persons: Persons, who: Subject) -> Iterator[Assertion]:
    """Yield what each form tells that fits a subject and the words after it."""
    masked = sentence.masked
    for form in _BY_KIND.get(who.kind, ()):
        verb = form.verb.match(masked, who.end)
        if verb and not (who.kind in _ONE and len(who.spans) == 1 and _BARE.match(masked, who.end)):
            yield from _said(sentence, persons, who, form, verb)


def _after_leads(masked: str, start: int) -> int:
    leads = LEADS.match(masked, start)
    return leads.end() if leads else start


def _said(
    sentence: Sentence, persons: Persons, subject: Subject, form: Form, match: re.Match[str]
) -> Iterator[Assertion]:
    groups = match.groupdict()
    if groups.get("since") and not SINCE.search(sentence.masked):
        return  # «I have worked at a mill» tells nothing of today
    if form.object:
        found = objects(form.object, sentence.masked, match.end())
    else:
        span = (
            match.span("o") if groups.get("o") else subject.spans[0]
        )  # «art gives me joy»: what is liked stands first
        found = [(*span, None)]
    if not found or AFTERWARDS.match(sentence.masked, found[0][1]):
        return
    spans = [match.span("s")] if groups.get("s") else list(subject.spans)
    negated, ended = _has(groups, "not"), form.ended or _has(groups, "ended")
    for first, last in spans:
        implied = not form.object and not groups.get("o")
        if implied:
            who: Mention | None = persons.speaker(sentence, match.start())
        elif groups.get("s"):
            who = persons.called(sentence, first, last)
        else:
            who = persons.who(sentence, subject.kind, first, last)
        for start, end, predicate in found:
            said = predicate or form.predicate
            what = _what(sentence, _TYPES.get(said, form.type), start, end)
            if said == "owns" and what and (what.category == "technical" or _SERVICE.fullmatch(what.name)):
                said = "responsible_for"  # nobody has a service as one has a car
            if who and what:
                yield from _assertion(sentence, said, who, what, form.confidence, negated, ended)
                rival = _INSTEAD.match(sentence.masked, end) if said in _REPLACED else None
                for first_, last_, _ in objects("thing", sentence.masked, rival.end()) if rival else ():
                    other = _what(sentence, form.type, first_, last_)
                    if other:
                        yield from _assertion(sentence, said, who, other, form.confidence, False, True)


def _has(groups: Mapping[str, str | None], name: str) -> bool:
    return any(said for group, said in groups.items() if group.startswith(name))


def _anywhere(sentence: Sentence, persons: Persons) -> Iterator[Assertion]:
    for phrase in _PHRASES:
        for match in phrase.pattern.finditer(sentence.masked):
            if phrase.predicate != "kin" and CONDITION.search(sentence.masked, 0, match.start()):
                continue  # «if my sister Ana comes»: she is my sister anyway
            groups = match.groupdict()
            place = match.start("o") if "o" in groups else match.start()
            who = persons.called(sentence, *match.span("s")) if "s" in groups else sentence.addressed(place)
            what = _object(sentence, persons, phrase, match)
            if not who or not what or (who.start, who.end) == (what.start, what.end):
                continue
            predicate = phrase.predicate
            if predicate == "kin":
                kin = (match["kin"] or "child").lower()  # «my youngest»
                persons.know(what.name, kin)
                who, what, predicate = what, who, KIN[kin]
            if predicate == "responsible_for":
                persons.topic = what
            yield from _assertion(sentence, predicate, who, what, phrase.confidence, False, phrase.ended)


def _object(sentence: Sentence, persons: Persons, phrase: Phrase, match: re.Match[str]) -> Mention | None:
    """Return the object of a phrase. Without a group of its own it is the speaker."""
    if "o" not in match.groupdict():
        return persons.speaker(sentence, match.start())
    if match["o"].lower() == "it":
        return persons.topic
    return _what(sentence, phrase.type, *_trimmed(sentence.masked, *match.span("o")))


def _fragment(sentence: Sentence, persons: Persons) -> Iterator[Assertion]:
    """Yield who the person of the sentence before is: «Ada rang. My sister.»."""
    match = _FRAGMENT.fullmatch(sentence.masked)
    before = persons.last(sentence.start)
    if match and before and match["kin"].lower() in KIN:
        who = sentence.mention("person", 0, 2)
        yield from _assertion(sentence, KIN[match["kin"].lower()], before, replace(who, name="my"), 0.8, False, False)


def _trimmed(masked: str, start: int, end: int) -> tuple[int, int]:
    said = masked[start:end]
    return start, start + len(said.rstrip())


def _what(sentence: Sentence, type: str, start: int, end: int) -> Mention | None:
    """Return the object of a statement."""
    titled = sentence.text[sentence.start + start - 1 : sentence.start + start] in _QUOTES  # an article of its own
    lead = None if titled or type != "preference" else _LEAD.match(sentence.masked, start, end)
    start = lead.end() if lead else start
    said = sentence.masked[start:end].rstrip(" .,;:")
    if not said.strip() or said.lower() in ("the", "a", "an", "my", "our") or HUSH in said or _POINTS.search(said):
        return None
    if "**" in sentence.text[sentence.start + start : sentence.start + start + len(said)]:
        return None  # the words before and after a mark of Markdown are two phrases
    name = sentence.names.get(start)
    if name and not said.strip(MASK):
        return name
    return sentence.mention(type, start, start + len(said))


def _assertion(
    sentence: Sentence, predicate: str, who: Mention, what: Mention, confidence: float, negated: bool, ended: bool
) -> Iterator[Assertion]:
    if predicate == "kin":  # «I have a brother, Tom»
        predicate, who, what = "relative_of", what, who
    offset = sentence.start
    first, last = sorted((who, what), key=lambda side: side.start)
    if first.start < offset:  # somebody named before
        first = last if last.start >= offset else first
    inside = [side for side in (who, what) if offset <= side.start < offset + len(sentence.masked)]
    start = min((side.start for side in inside), default=offset)
    end = max((side.end for side in inside), default=offset + len(sentence.masked))
    since, until = validity(sentence, start - offset, end - offset)
    yield Assertion(who, predicate, what, start, end, confidence, negated, since, until, ended)
