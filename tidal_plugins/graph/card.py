"""Relations in plain words, and the card of an entity: all that is known of it, in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tidal_plugins.english.reported import to_second_person, to_third_person
from tidal_plugins.model.entry import Link
from tidal_plugins.model.graph import Entity, Relation
from tidal_plugins.patterns import lazy_re

_BE = "be"
_VERBS = {
    "is": (_BE, ""), "depends_on": ("depend", "on"), "calls": ("call", ""), "imports": ("import", ""),
    "contains": ("contain", ""), "defined_in": (_BE, "defined in"), "causes": ("cause", ""),
    "fixed_by": (_BE, "fixed by"), "prefers": ("prefer", ""), "prefers_over": (_BE, "preferred over"),
    "likes": ("like", ""), "dislikes": ("dislike", ""), "uses": ("use", ""), "plans": ("plan", ""),
    "wants": ("want", ""), "promised": ("promise", ""), "decided": ("decide", ""), "chose": ("choose", ""),
    "lives_in": ("live", "in"), "from_place": ("come", "from"), "works_at": ("work", "at"),
    "works_as": ("work", "as"), "responsible_for": (_BE, "responsible for"), "on_call": (_BE, "on call:"),
    "member_of": (_BE, "in"), "studies": ("study", ""), "owns": ("own", ""), "has_pet": ("have", "the pet"),
    "created": ("create", ""), "costs": ("cost", ""), "attends": ("attend", ""), "visited": ("visit", ""),
    "plays": ("play", ""), "appointment": (_BE, "on"), "deadline": (_BE, "due"), "allergic_to": (_BE, "allergic to"),
    "has_condition": ("have", ""), "takes": ("take", ""), "diet": ("eat", ""), "age_is": (_BE, "aged"),
    "has_version": ("have", "version"), "located_in": (_BE, "in"), "has_status": (_BE, ""),
    "configured_as": (_BE, "configured as"), "raises": ("raise", ""), "extends": ("extend", ""),
    "tests": ("test", ""), "passes": ("pass", "in"), "fails": ("fail", "in"), "fails_at": ("fail", "at"),
    "has_purpose": ("have", "the purpose"),
}  # fmt: skip
"""The verb of a predicate in its basic form, and the words after it."""
_PAST = {"created": "created", "visited": "visited", "decided": "decided", "chose": "chose", "promised": "promised"}
"""Predicates of what was done once."""
_IRREGULAR = {
    "have": "had", "take": "took", "eat": "ate", "come": "came", "choose": "chose", "cost": "cost", "plan": "planned",
    "prefer": "preferred", "own": "owned",
}  # fmt: skip
_RULES = ("must", "always", "never")
_INTENTS = frozenset(("plans", "wants", "promised", "decided"))
"""Predicates whose object may be a verb."""
_HAPPENED = lazy_re(r"(?:died|passed|broke|crashed|fell|stopped|failed|expired|burned|went|came|runs|works|packed)\b")
"""Statuses that are verbs themselves: «the boiler broke down»."""
_NAMES_THING = lazy_re(
    r"(?:an?|the|my|our|your|his|her|their|this|that|these|those|some|two|three)\s|[^a-z]|\w+ing\b|\S+\Z"
)
_DOING = lazy_re(r"[a-z]+ing\b")
_ADDED = lazy_re(r"\s(?:of|with|for|in|at)\s")
"""Words after the head of a name: «handover of the keys» is one thing."""
_OWN_BODY = lazy_re(r"(?:my|his|her|their)\s+", re.IGNORECASE)
_A = frozenset("owns created attends works_as".split())
_THE = frozenset("located_in responsible_for member_of".split())
"""Predicates whose objects are things of which there are several, or one: the object has lost its article."""
_THE_SUBJECT = frozenset("appointment deadline has_status located_in".split())
"""Predicates whose subjects are mostly things, which have lost their article."""
_DETERMINED = lazy_re(
    r"(?:an?|the|my|our|your|his|her|their|its|this|that|these|those|some|any|all|both|each|every|no|one|two|three|four|five"
    r"|half|home|bed|school|work|church|town|\d\S*|\S+['’]s)(?:\s|\Z)|[^a-z]|\w+ing\b"
)
_MASS = lazy_re(
    r"(?:\w*(?:ware|ment|ness|ity|age|ance|ence|ism)|furniture|clothing|jewellery|music|software|money|art|food|water|"
    r"yoga|physio|therapy|chess|bread|coffee|tea|land|stock|people|children|kids|men|women)\Z"
)
"""Nouns without «a»."""
_OF_ONE = frozenset(("raises", "passes", "fails", "fails_at"))
"""Predicates whose subject is a test or a function, whatever its name."""
_PLURAL = frozenset("i we you they".split())
_SELVES = frozenset("i we".split())


def sentence(subject: str, predicate: str, object_: str, *, negated: bool = False, past: bool = False) -> str:
    """Return a relation in words, such as «checkout depends on billing» or «We plan to move».

    One that was so and is no more is told in the ``past``: «We lived in Ghent».
    """
    plural = predicate not in _OF_ONE and _is_plural(subject)
    object_ = _with_article(predicate, _reported(subject, object_))
    if predicate in _RULES:
        return f"{subject} {_ruled(predicate, object_, plural=plural, negated=negated)}"
    kin = predicate.removesuffix("_of").replace("_", "-")
    if predicate != kin and subject.casefold() == f"{_possessive(object_)} {kin}".casefold() and not negated:
        have = _conjugated(predicate, "have", plural=_is_plural(object_), negated=False, past=past)
        return f"{object_} {have} {_a(kin)}"  # «Ada's brother is the brother of Ada» says only that there is one
    if predicate.endswith("_of") and predicate not in _VERBS:
        phrase = f"{_be(plural, past)}{' not' if negated else ''} the {predicate.replace('_', ' ')}"
        return f"{subject} {phrase} {object_}"
    if predicate == "has_status" and not negated and _HAPPENED.match(object_):
        return f"{subject} {object_}"
    special = "" if negated or past else _special(subject, predicate, object_, plural=plural)
    if special:
        return special
    verb, rest = _VERBS.get(predicate, ("", ""))
    if not verb:
        plain = predicate.replace("_", " ")
        return f"{subject} {f'not {plain}' if negated else plain} {object_}"
    words = [subject, _conjugated(predicate, verb, plural=plural, negated=negated, past=past), rest]
    if predicate in _INTENTS and not _NAMES_THING.match(object_):
        words.append("to")
    elif predicate == "decided":
        words.append("on")
    elif predicate == "has_status" and object_[:1].isdigit():
        words.append("at")
    return " ".join([*filter(None, words), object_])


def _special(subject: str, predicate: str, object_: str, *, plural: bool) -> str:
    """Return a relation whose object asks for words of its own, or an empty text."""
    have = "have" if plural else "has"
    if predicate == "plans" and _DOING.match(object_):
        return f"{subject} {'plan' if plural else 'plans'} on {object_}"
    if predicate == "wants" and _DOING.match(object_):
        return f"{subject} {have} {object_} in mind"
    if predicate == "has_condition" and _OWN_BODY.match(object_):
        return (
            f"{subject} {have} hurt {'your' if subject.casefold() == 'you' else 'their'} {_OWN_BODY.sub('', object_)}"
        )
    if predicate == "has_pet" and object_[:1].islower():
        return f"{subject} {have} {object_ if _is_many(object_) else _a(object_)}"
    return ""


def _reported(subject: str, object_: str) -> str:
    """Return what somebody said of themselves as another tells it: «Ada likes their garden», «You like your garden»."""
    if object_.startswith("“"):
        return object_  # it is quoted
    who = subject.casefold()
    if who in _SELVES or " " not in object_:
        return object_
    told = to_second_person(object_) if who == "you" else to_third_person(object_)
    return told or object_


def definite(subject: str, predicate: str) -> str:
    """Return a subject with the article that the name of a thing is kept without: «the boiler»."""
    bare = predicate in _THE_SUBJECT and not _DETERMINED.match(subject) and _is_words(subject)
    return f"the {subject}" if bare else subject


def _with_article(predicate: str, object_: str) -> str:
    """Return an object with the article that names are kept without."""
    if _DETERMINED.match(object_) or not _is_words(object_) or _is_many(object_):
        return object_
    if predicate in _A and not _MASS.search(object_):
        return _a(object_)
    return f"the {object_}" if predicate in _THE else object_


def _is_words(name: str) -> bool:
    """Return whether a name is of common words: no file, no service, no name of its own."""
    return all(word.isalpha() and word.islower() for word in name.replace("-", "").replace("'", "").split())


def _is_many(name: str) -> bool:
    last = name.split()[-1] if name.split() else ""
    return last.endswith("s") and not last.endswith(("ss", "us", "is"))


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _possessive(name: str) -> str:
    own = {"i": "My", "we": "Our", "you": "Your"}.get(name.casefold())
    return own or f"{name}'s"


def _is_plural(subject: str) -> bool:
    """Return whether a subject takes «do», not «does»: «we», «my kids». A name of one word may be that of a module."""
    *before, last = _ADDED.split(subject, maxsplit=1)[0].split() or [""]
    ends = last.islower() and last.isalpha() and last.endswith("s") and not last.endswith(("ss", "us", "is"))
    return subject.casefold() in _PLURAL or (bool(before) and ends)


def _conjugated(predicate: str, verb: str, *, plural: bool, negated: bool, past: bool) -> str:
    if verb == _BE:
        return f"{_be(plural, past)} not" if negated else _be(plural, past)
    if predicate in _PAST or past:
        return f"did not {verb}" if negated else _PAST.get(predicate) or _in_past(verb)
    if negated:
        return f"{'do' if plural else 'does'} not {verb}"
    return verb if plural else _singular(verb)


def _be(plural: bool, past: bool = False) -> str:
    return ("were" if plural else "was") if past else "are" if plural else "is"


def _in_past(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("y") and verb[-2] not in "aeo":
        return f"{verb[:-1]}ied"
    return f"{verb}d" if verb.endswith("e") else f"{verb}ed"


def _singular(verb: str) -> str:
    if verb in ("have", "be"):
        return {"have": "has", "be": "is"}[verb]
    if verb.endswith("y") and verb[-2] not in "aeo":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{verb}s"


def _ruled(predicate: str, object_: str, *, plural: bool, negated: bool) -> str:
    """Return a rule or a habit in words: «must not X», «always uses pytest»."""
    if predicate == "must":
        return f"must{' not' if negated else ''} {object_}"
    first, space, rest = object_.partition(" ")
    if not plural and first.isalpha() and first.islower():
        object_ = f"{_singular(first)}{space}{rest}"
    return f"{'not ' if negated else ''}{predicate} {object_}"


MAX_NOTES = 12
"""Notes of a part of a card: what is so, what was, and what is planned. Those learned last stay."""

READ = 4 * MAX_NOTES
"""Relations that hold of which a card is made: both what is so and what is planned are among them."""

_PLANNED = frozenset(("plans", "wants", "promised", "appointment", "deadline"))


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence of a card, with the time from which and until which it is true, as far as that is known.

    ``said_in`` cites the newest turn that says so, if any does.
    """

    text: str
    since: datetime | None
    until: datetime | None
    said_in: str | None


@dataclass(frozen=True, slots=True)
class Card:
    """An entity with what is so, what was so, and what is planned, each learned last first."""

    entity: Entity
    current: tuple[Note, ...]
    past: tuple[Note, ...]
    planned: tuple[Note, ...]


def newest_of(rows: Iterable[Link], now: datetime) -> list[Link]:
    """Return the rows of relations that a card may show: of what is so and of what was, those that began last."""
    believed = sorted((row for row in rows if row.superseded_at is None), key=_begun, reverse=True)
    over = [row for row in believed if row.valid_until is not None and row.valid_until <= now]
    gone = {row.id for row in over}
    return [row for row in believed if row.id not in gone][:READ] + over[:MAX_NOTES]


def _begun(row: Link) -> datetime:
    return row.valid_from or row.recorded_at


def card_of(
    entity: Entity, relations: Iterable[Relation], names: Mapping[str, str], now: datetime, reader: str | None = None
) -> Card:
    """Return the card of an entity. ``names`` has the names of all ends by id; ``reader`` is told of as «you»."""
    current, past, planned = list[Note](), list[Note](), list[Note]()
    for one in sorted(relations, key=_learned, reverse=True):
        if one.subject not in names or one.object not in names:
            continue
        over = one.valid_until is not None and one.valid_until <= now
        ahead = one.predicate in _PLANNED or (one.valid_from is not None and one.valid_from > now)
        part = past if over else planned if ahead else current
        part.append(_note(one, names, reader, over))
    return Card(entity, *map(_distinct, (current, past, planned)))


def _distinct(notes: list[Note]) -> tuple[Note, ...]:
    """Return the notes that say different things. Of the same ones the one that goes back furthest stays."""
    return tuple({note.text: note for note in notes}.values())[:MAX_NOTES]


def _learned(relation: Relation) -> tuple[datetime, str]:
    return relation.valid_from or relation.recorded_at, relation.id


def _note(relation: Relation, names: Mapping[str, str], reader: str | None, over: bool) -> Note:
    subject, object_ = (_called(names[id_], reader) for id_ in (relation.subject, relation.object))
    whose, predicate = definite(subject, relation.predicate), relation.predicate
    said = sentence(whose, predicate, object_, negated=relation.negated, past=over)
    if object_ == "you" and said.endswith(" of you"):  # «Ada is your sister»
        who, _, kin = said.removesuffix(" of you").rpartition(" the ")
        said = f"{who} your {kin}"
    told = (
        said
        if said.startswith(f"{subject} ") and " " not in subject and subject != "you"
        else said[:1].upper() + said[1:]
    )
    cited = f"ep:{relation.episodes[0]}" if relation.episodes else None
    return Note(told, relation.valid_from, relation.valid_until, cited)


def _called(name: str, reader: str | None) -> str:
    if reader is not None and name.casefold() == reader.casefold():
        return "you"
    if reader is not None and name.casefold().startswith(f"{reader.casefold()}'s "):
        return f"your{name[len(reader) + 2 :]}"
    return {"user": "the user", "assistant": "the assistant"}.get(name, name)
