"""The two arguments of a statement: its subject and its object."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tidal_plugins.english.quotations import SPEECH
from tidal_plugins.english.subjects import COURTEOUS_DUTY, NOBODY, NOTHING, OPINION, ROLE
from tidal_plugins.graph.reading.clauses import HUSH, MASK, Clause
from tidal_plugins.graph.reading.vocabulary import mention
from tidal_plugins.model.graph import Mention
from tidal_plugins.patterns import lazy_re

_TYPES = {
    "preferred": "preference",
    "liked": "preference",
    "matter": "decision",
    "deed": "decision",
    "duty": "rule",
    "rule": "rule",
    "habit": "rule",
    "state": "status",
    **{kind: kind for kind in ("person", "place", "organisation", "value", "version")},
}
_BRACKETS = lazy_re(r"\([^()`\n]*\)")
_TITLE = lazy_re(r"(?-i:[A-Z])[\w'’.&-]*(?:\s(?:(?-i:[A-Z])[\w'’.&-]*|of|the|and|in|on|for|to|de|a|\d+)){1,5}(?<!\.)")
"""The words of a name in quotation marks."""
_NO_SUBJECT = frozenset("date value version url message".split())
_ASKED = {
    "calls": frozenset("function symbol class module file url".split()),
    "raises": frozenset("error class symbol".split()),
    "defined_in": frozenset("file module directory symbol class package".split()),
}
"""The types of objects that fit a predicate."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of ``text`` from ``start``, with its technical names and its quoted speech masked."""

    text: str
    start: int
    masked: str
    names: dict[int, Mention]
    """By where their mask begins."""

    def mention(self, type: str, start: int, end: int) -> Mention:
        return mention(self.text, type, self.start + start, self.start + end)

    def addressed(self, place: int) -> Mention:
        """Return the one spoken to, whom the words at ``place`` do not name."""
        return Mention("you", "person", "contextual", self.start + place, self.start + place + 1)


def sentence_at(text: str, start: int, end: int, names: list[Mention]) -> Sentence:
    """Return the sentence ``text[start:end]`` with what is named in it masked."""
    sentence, parts, position = text[start:end], [], 0
    by_start = {}
    for name in names:
        first, last = _extent(sentence, name.start - start, name.end - start)
        if first < position:
            continue
        parts += [sentence[position:first], MASK * (last - first)]
        by_start[first], position = name, last
    masked = "".join([*parts, sentence[position:]])
    return Sentence(text, start, SPEECH.sub(_hushed, masked), by_start)


def _hushed(match: re.Match[str]) -> str:
    """Return quoted speech without its words. A title in quotation marks is a name: «I read "The Long Way"»."""
    said = match[0][1:-1]
    return f" {said} " if _TITLE.fullmatch(said) else HUSH * len(match[0])


def _extent(sentence: str, start: int, end: int) -> tuple[int, int]:
    """Return the extent of a name's mask: with its backticks and the brackets of a call."""
    call = _BRACKETS.match(sentence, end)
    end = call.end() if call else end
    if start and sentence[start - 1] == "`" and sentence[end : end + 1] == "`":
        return start - 1, end + 1
    return start, end


def subject_of(sentence: Sentence, clause: Clause, match: re.Match[str]) -> Mention | None:
    """Return the subject that a form matched, or ``None`` if it names nothing that later texts could name again."""
    groups = {name: said for name, said in match.groupdict().items() if said and name != "not"}
    if "us" in groups:
        start, end = match.span("us")
        if groups["us"].lower().endswith("team"):
            return sentence.mention("group", end - 4, end)
        return sentence.mention("group" if groups["us"].lower() == "we" else "person", start, end)
    if "code" in groups:
        name = sentence.names.get(match.start("code"))
        return _as(name, clause) if name and name.type not in _NO_SUBJECT else None
    if "person" in groups:
        person = groups["person"]
        return None if person.lower() in NOBODY else sentence.mention("person", *match.span("person"))
    (group, said), *_ = groups.items()
    if group == "plain" and not re.search(r"[^s]s$", said):
        return None  # «messages must …» is a rule, «something must …» a guess
    if group != "doing" and any(word.lower() in NOTHING for word in said.split()):
        return None
    return sentence.mention("concept", *match.span(group))


def object_of(sentence: Sentence, clause: Clause, start: int, end: int) -> Mention | None:
    """Return the mention at a span of the sentence, as the form's object."""
    name = sentence.names.get(start)
    if name and sentence.masked[start:end].strip(MASK) == "":
        return None if name.type in ("date", "message") and clause.object != "value" else name
    type = _TYPES.get(clause.object, "concept")
    if type == "value":
        start, end = start + (sentence.masked[start] in "`\"'"), end - (sentence.masked[end - 1] in "`\"'")
    if type in ("person", "place", "organisation") and not sentence.masked[start : start + 1].isupper():
        return None
    return sentence.mention(type, start, end) if start < end else None


def _as(name: Mention, clause: Clause) -> Mention:
    """Return a mention whose type only the verb tells: a name that is set to a value is a setting."""
    type = {"configured_as": "config", "has_version": "package"}.get(clause.predicate)
    return replace(name, type=type) if type and name.type == "symbol" else name


def fits(clause: Clause, subject: Mention, object: Mention) -> bool:
    """Return whether two mentions can be the arguments of such a statement."""
    if (subject.start, subject.end) == (object.start, object.end):
        return False
    if clause.technical and "technical" not in (subject.category, object.category):
        return False
    asked = _ASKED.get(clause.predicate)
    if asked:
        return (subject if clause.reverse and clause.predicate == "raises" else object).type in asked
    if clause.predicate == "is":
        return _is_one(subject, object)
    if clause.predicate == "must" and subject.name.lower() in ("i", "you"):
        return not COURTEOUS_DUTY.match(object.name)
    return True


def _is_one(subject: Mention, object: Mention) -> bool:
    if subject.type == "person" and subject.name.lower() not in ("i", "my"):
        return bool(ROLE.search(object.name))
    return object.type == "person" or not OPINION.search(object.name)
