"""Facts that a person's words give another value, without a conflict or a supersession that says so."""

from __future__ import annotations

from dataclasses import replace

from tidal_plugins.dossiers.points import Point
from tidal_plugins.english.statements import LEADING_ARTICLE, STATEMENT, STATEMENT_TAIL
from tidal_plugins.english.values import differ, values
from tidal_plugins.facts.versions import KEY
from tidal_plugins.scoring.text import stems


def revalues(said: Point, fact: Point) -> bool:
    """Return whether a statement names all words of a fact's key and gives another value of the same kind.

    Values of one kind are two dates, times of day, or figures of one thing, or two names. What gives none lets the fact
    be: «the allergy is bad today» retires no allergy.
    """
    key = frozenset(stems(str(fact.entry.metadata.get(KEY, ""))))
    if not key or not key <= said.stems:
        return False
    name = fact.raw.partition(": ")[2]
    if held := values(name):
        told = values(said.raw)
        return any(differ(replace(one, slots=key & other.slots), other) for one in held for other in told)
    other = _named(said, key)
    return name[:1].isupper() and bool(other) and other.casefold() not in name.casefold()


def _named(said: Point, key: frozenset[str]) -> str:
    """Return the name that a statement gives what ``key`` says: «the office city is Linz» gives Linz."""
    match = STATEMENT.fullmatch(said.plain)
    if match is None or match["not"] or frozenset(stems(match["subject"])) != key:
        return ""
    value = LEADING_ARTICLE.sub("", STATEMENT_TAIL.sub("", match["value"])).strip()
    return value if value and value.title() in said.raw else ""
