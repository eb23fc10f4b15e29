"""Talk: what texts tell of people and things, read off the parse of their sentences.

Each sentence gives candidates, whose ends are resolved within the episode and which a fitted filter keeps or drops.
What is asked, imagined or joked is never kept; what is planned or wished is kept as a plan or a wish only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tidal_plugins.english.intentions import FICTION
from tidal_plugins.english.moods import JOKE, leaves_scene, opens_scene
from tidal_plugins.english.words import month_number
from tidal_plugins.graph.reading.candidates import Candidate, candidates, kin_word, phrase
from tidal_plugins.graph.reading.mentions import CATEGORIES, DATE, IT, KIN, OBJECT_TYPES, PERIOD, PERSONAL, PRONOUNS
from tidal_plugins.graph.reading.parsing import Episode, Sentence, parsed
from tidal_plugins.language.tagger import tag
from tidal_plugins.model.graph import Assertion, Mention
from tidal_plugins.model.sentence import SentenceTags
from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

THRESHOLD = 0.45
"""Chance from which on a candidate is kept."""
LONGEST = 4_000
"""Characters of a text that is talk. Longer ones are documents and drafts."""

KIN_CLASS = "kin"
PLANNED = frozenset("plans wants promised decided chose appointment deadline must never always".split())
WISHED = frozenset("wants must never always".split())
"""Predicates of what is still to come, and of what only may come."""
DEEDS = frozenset("plans wants promised decided must never always".split())
_MINDS = frozenset("plans wants promised decided".split())
"""Predicates of somebody, never of a thing."""
_OF_DEEDS = frozenset("deed to that is fragment".split())
"""Forms whose object is what is to be done."""
_SAYS = {
    "deed": DEEDS | {"has_status"},
    "to": DEEDS | {"likes", "dislikes", "prefers", "responsible_for"},
    "ing": DEEDS | {"likes", "dislikes", "prefers", "attends", "plays"},
    "that": DEEDS | {"likes", "dislikes"},
    "state": frozenset(("has_status",)),
}
"""The predicates that clauses and phrases may be objects of."""
_SELF, _US, _YOU = (
    frozenset("i me my mine myself".split()),
    frozenset("we us our ours".split()),
    frozenset(("you", "your", "yours")),
)
_OPENING = 7
"""Words in which a speaker says a name."""
_HOLLOW = frozenset(
    "what which who whom whose that this these those one ones something anything nothing everything someone anyone "
    "everyone nobody somebody everybody thing things stuff lot lots bit way kind sort there here all some any none "
    "each both half more most other others another people x".split()
)
"""Words that name nothing that a later text could name again."""
_ERRANDS = frozenset(
    "rewrite rephrase paraphrase summarize summarise translate proofread polish reword shorten expand pretend act "
    "simulate imagine".split()
)
"""Verbs of requests after which a text says nothing of whoever sends it."""
_DAY = lazy_re(
    rf"(?:{DATE.pattern})|(?P<period>{PERIOD})(?=\s*(?:[^\w\s.-]|\.(?!\d)|\Z|(?:and|but|so|or|until|till|it)\b))",
    DATE.flags,
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A candidate whose ends are known: what ``sentence`` may state of ``subject`` and ``object``."""

    candidate: Candidate
    sentence: Sentence
    subject: Mention
    object: Mention


@dataclass(frozen=True, slots=True)
class TalkReader:
    """Reads talk with the parser's ``model``, and keeps what is likelier than ``threshold``."""

    model: str | None = None
    threshold: float = THRESHOLD

    def read(self, texts: Sequence[tuple[str, Sequence[Mention]]], *, episode: bool = False) -> list[list[Assertion]]:
        """Return what each text tells, given the names of code in it. Texts of one ``episode`` refer to each other.

        Raises ``NoParser`` if spaCy or its model is not installed.
        """
        from tidal_plugins.graph.reading.predicates import features, weights

        found = self.drafts(texts, episode=episode)
        everything = [draft for drafts in found for draft in drafts]
        scores = iter(
            weights().score(
                [features(one.candidate, tags) for one, tags in zip(everything, tagged(everything), strict=True)]
            )
        )
        kept = [self._kept([(draft, *next(scores)) for draft in drafts]) for drafts in found]
        return [sorted(each, key=lambda one: (one.start, one.object.start)) for each in kept]

    def drafts(self, texts: Sequence[tuple[str, Sequence[Mention]]], *, episode: bool = False) -> list[list[Draft]]:
        """Return what each text may tell."""
        told, known = [], Episode()
        talk = [(text, names) if len(text) <= LONGEST else ("", ()) for text, names in texts]
        for sentences in parsed(talk, self.model):
            if not episode:
                known = Episode()
            told.append(list(_of_text(sentences, known)))
            known.next_text()
        return told

    def _kept(self, scored: list[tuple[Draft, str, float]]) -> Iterator[Assertion]:
        kept: list[tuple[Draft, str]] = []
        for draft, which, chance in sorted(scored, key=lambda one: -one[2]):
            predicate = KIN[draft.candidate.verb] if which == KIN_CLASS else which
            if chance < self.threshold or any(_again(draft, predicate, *one) for one in kept):
                continue
            if not holds(draft.candidate, which):
                continue
            kept.append((draft, predicate))
            yield _assertion(draft, predicate, chance)


def tagged(drafts: Sequence[Draft]) -> list[SentenceTags]:
    """Return what the tagger says of the sentence of each draft."""
    texts = dict.fromkeys(draft.sentence.doc.text for draft in drafts)
    tags = dict(zip(texts, tag(list(texts)), strict=True))
    return [tags[draft.sentence.doc.text] for draft in drafts]


def holds(one: Candidate, predicate: str) -> bool:
    """Return whether a clause of this form and mood may state the predicate."""
    if predicate == KIN_CLASS or one.form == "kin":
        return predicate == KIN_CLASS and one.form == "kin"
    if one.form in _SAYS and predicate not in _SAYS[one.form]:
        return False
    if predicate == "has_status" and one.form == "of" and one.verb.startswith("be "):
        return False  # «out of order» is the state, not the order
    if predicate in ("appointment", "deadline") and one.object.ent_type_ not in ("DATE", "TIME"):
        return False
    if predicate == "decided" and one.form == "deed" and one.object.lemma_ in ("decide", "agree"):
        return False  # «we haven't decided yet»
    if predicate in ("lives_in", "works_at", "works_as") and "perfect" in one.marks and not _goes_on(one):
        return False  # «I have lived in Rome» does not say where I live
    if kin_word(one.object) and predicate in ("works_as", "is", "has_status"):
        return False  # «Ann is my sister» says whose
    if predicate in ("plans", "promised") and one.form not in _OF_DEEDS:
        return False
    if predicate in DEEDS and one.mood != "fact" and one.form not in (*_OF_DEEDS, "object"):
        return False
    if predicate in _MINDS and not _has_mind(one.subject):
        return False  # «this will help» is nobody's plan
    if predicate == "has_status" and one.form == "deed" and one.object.tag_ not in ("VBN", "VBG", "VBD"):
        return False  # «the rooms sell out quickly» is no state
    if predicate == "promised" and not (
        one.subject is None or one.subject.lower_ in ("i", "we") or "promise" in one.verb
    ):
        return False
    return one.mood == "fact" or predicate in (PLANNED if one.mood == "planned" else WISHED)


def _has_mind(subject: Token | None) -> bool:
    """Return whether a subject is somebody: a pronoun of persons, a name, a relative. ``None`` is the speaker."""
    return (
        subject is None
        or subject.pos_ == "PROPN"
        or subject.ent_type_ in ("PERSON", "ORG")
        or bool(kin_word(subject))
        or (subject.pos_ == "PRON" and subject.lower_ not in (*IT, "this", "that", "these", "those"))
    )


def _goes_on(one: Candidate) -> bool:
    """Return whether a sentence says since when: what has been so since then is so."""
    return any(token.lower_ in ("since", "for", "always") or token.tag_ == "VBG" for token in one.object.doc)


def _again(draft: Draft, predicate: str, other: Draft, said: str) -> bool:
    """Return whether a draft says what a likelier one has said."""
    one, two = draft.object, other.object
    overlap = one.start < two.end and two.start < one.end
    if predicate == said and draft.subject.name == other.subject.name:
        return overlap
    ends = {(draft.subject.start, draft.subject.name), (one.start, one.name)}
    return ends == {(other.subject.start, other.subject.name), (two.start, two.name)}


# ends


def _of_text(sentences: Sequence[Sentence], known: Episode) -> Iterator[Draft]:
    """Yield what the sentences of a text may tell, without scenes, jokes, and texts that somebody wants worked on."""
    if any(_is_errand(sentence.doc) for sentence in sentences[:2]):
        return
    imagined, before = False, list[Draft]()
    known.speaker = _announced(sentences[0]) if sentences else None
    for sentence in sentences:
        plain = sentence.doc.text.lower()
        imagined = opens_scene(plain) or (imagined and not leaves_scene(plain))
        if JOKE.search(plain):
            before = []
            continue
        yield from before
        before = [] if imagined or FICTION.search(plain) else list(_drafts(sentence, known))
    yield from before


def _announced(sentence: Sentence) -> Mention | None:
    """Return the speaker who says a name first: «Hi, it's Wim»."""
    for token in sentence.doc[:_OPENING]:
        if token.dep_ == "attr" and token.pos_ == "PROPN" and token.head.lemma_ == "be":
            subject = next((child for child in token.head.children if child.dep_ in ("nsubj", "expl")), None)
            if subject is not None and subject.lower_ in ("it", "this"):
                start, end = sentence.span((token.i, token.i + 1))
                return Mention(sentence.text[start:end], "person", "contextual", start, end)
    return None


def _is_errand(doc: Doc) -> bool:
    """Return whether a sentence asks for work on a text, or for a role to be played."""
    roots = (sentence.root for sentence in doc.sents)
    return any(root.lemma_.lower() in _ERRANDS and (root.tag_ == "VB" or root.i == 0) for root in roots)


def _drafts(sentence: Sentence, known: Episode) -> Iterator[Draft]:
    for one in candidates(sentence.doc):
        if one.mood == "unreal" or "asks" in one.marks:
            continue
        subject = _subject(sentence, one, known)
        object_ = subject and _object(sentence, one, known)
        if subject and object_ and (subject.start, subject.end) != (object_.start, object_.end):
            yield Draft(one, sentence, subject, object_)
    known.see(sentence)


def _subject(sentence: Sentence, one: Candidate, known: Episode) -> Mention | None:
    if one.subject is None:
        start = sentence.start
        return known.speaker or Mention("I", "person", "contextual", start, start + 1)
    return _end(sentence, one.subject, phrase(one.subject), known, subject=True)


def _object(sentence: Sentence, one: Candidate, known: Episode) -> Mention | None:
    return _end(sentence, one.object, one.object_span, known, subject=False)


def _end(sentence: Sentence, token: Token, tokens: tuple[int, int], known: Episode, *, subject: bool) -> Mention | None:
    """Return the mention of an end, or ``None`` if nobody knows what it means."""
    word = token.lower_
    start, end = sentence.span(tokens)
    if any(first < end and start < last for first, last in sentence.quoted):
        return None
    name = sentence.names.get(sentence.start + token.idx)
    if name:
        return name
    own = sentence.start + token.idx
    if word in _SELF and known.speaker:
        return known.speaker
    if word in _SELF or word in _YOU:
        return Mention(sentence.text[own : own + len(token)], "person", "contextual", own, own + len(token))
    if word in _US:
        return Mention(sentence.text[own : own + len(token)], "group", "contextual", own, own + len(token))
    if word in PRONOUNS and token.pos_ in ("PRON", "DET"):
        meant = known.meant(token)
        if meant is None:
            return None
        place = (meant.start, meant.end) if meant.text == known.text else (own, own + len(token))
        return Mention(meant.name, "person" if meant.person else "concept", "contextual", *place)
    if word in _HOLLOW or token.is_punct or (subject and token.pos_ not in ("NOUN", "PROPN")):
        return None
    named = next((one for one in token.children if one.dep_ == "appos" and one.pos_ == "PROPN"), None)
    if subject and named is not None and kin_word(token):
        token, tokens = named, (named.i, named.i + 1)  # «my sister Ana» is Ana
    first, last = tokens
    while first < token.i and sentence.doc[first].lower_ in PRONOUNS:
        if subject:
            return None  # «his sister» is nobody by that name
        first += 1
    start, end = sentence.span((first, last))
    if not any(map(str.isalnum, sentence.text[start:end])) or "\n\n" in sentence.text[start:end]:
        return None
    person = token.ent_type_ == "PERSON" or bool(kin_word(token))
    return Mention(sentence.text[start:end], "person" if person else "concept", "contextual", start, end)


# assertions


def _assertion(draft: Draft, predicate: str, chance: float) -> Assertion:
    one, subject, object_ = draft.candidate, draft.subject, draft.object
    if (predicate in PERSONAL or one.form == "kin") and subject.type == "concept":
        subject = _as(subject, "person")
    type = "person" if one.form == "kin" else OBJECT_TYPES.get(predicate)
    if type and object_.category != "technical" and not (object_.type == "person" and type == "concept"):
        object_ = _as(object_, type)
    inside = [end for end in (subject, object_) if end.start >= draft.sentence.start] or [object_]
    start, end = min(each.start for each in inside), max(each.end for each in inside)
    since, until = _validity(draft)
    return Assertion(
        subject, predicate, object_, start, end, chance, one.negated and not one.ended, since, until, one.ended
    )


def _as(one: Mention, type: str) -> Mention:
    return Mention(one.name, type, CATEGORIES[type], one.start, one.end)


def _validity(draft: Draft) -> tuple[datetime | None, datetime | None]:
    """Return since when and until when it is so, as far as a date that belongs to the verb says."""
    sentence, since, until = draft.sentence, None, None
    verb = draft.candidate.object
    while verb.pos_ not in ("VERB", "AUX") and verb.head != verb:
        verb = verb.head
    for token in verb.subtree:
        if token.dep_ in ("prep", "mark") and token.head in (verb, draft.candidate.object, draft.candidate.subject):
            behind = _DAY.match(
                sentence.text, sentence.start + token.idx + len(token) + 1, sentence.start + len(sentence.doc.text)
            )
            day = behind and _date(behind)
            if day and (
                token.lower_ in ("since", "from") or (token.lower_ == "on" and behind and not behind["period"])
            ):
                since = day
            elif day and token.lower_ in ("until", "till", "through"):
                until = day
    return since, until


def _date(match: re.Match[str]) -> datetime | None:
    groups = match.groupdict()
    try:
        if groups["iso"]:
            return datetime.fromisoformat(groups["iso"]).replace(tzinfo=UTC)
        if groups["period"]:
            *month, year = groups["period"].replace(",", " ").replace(".", " ").split()
            return datetime(int(year), month_number(month[0]) if month else 1, 1, tzinfo=UTC)
        day, month_, year = (groups[name + "1"] or groups[name + "2"] for name in "dmy")
        return datetime(int(year), month_number(month_), int(day), tzinfo=UTC)
    except ValueError:
        return None
