"""Rules and decisions that a user gave: which sentences are such, and which older ones a newer one replaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidal_plugins.english.instructions import DECISION, OWN_PLANS, RULE
from tidal_plugins.english.rule_changes import changes_rule, differs_in_one_value
from tidal_plugins.english.sentences import sentences
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import terms
from tidal_plugins.summarising.noted import Noted
from tidal_plugins.summarising.quotes import folded

_MARK = lazy_re(r"(?:\(?\d{1,2}[.)]|[-*•])\s+")
"""The mark of an item in a list, which a sentence does not need alone."""
_SAME = 0.6
"""Share of the words of a rule from which a newer one is taken to replace it. Set by hand."""


def rules(text: str) -> list[str]:
    """Return the sentences of a user that set a rule or take a decision, verbatim."""
    found = []
    for start, end in sentences(text[:8_000]):
        said = folded(text[start:end])
        said = said[mark.end() :] if (mark := _MARK.match(said)) else said
        plain = said.lower().replace("’", "'")
        ruled = RULE.search(plain) and not OWN_PLANS.search(plain)
        if (ruled or DECISION.search(plain)) and not plain.endswith("?"):
            found.append(said)
    return found


def replaced(known: Sequence[Noted], said: Sequence[str]) -> tuple[list[Noted], list[str]]:
    """Return the known rules that stay beside new ones, and the texts of those that hold no longer.

    A rule gives way to one that shares most words of the shorter of the two. That it no longer holds is sure only where
    they share most words of the longer one, and the newer one says that another held before or differs in one value.
    """
    words = [frozenset(terms(text)) for text in said]
    old = [(each, frozenset(terms(each.text))) for each in known]
    kept = [each for each, before in old if not any(_shared(before, new, min) >= _SAME for new in words)]
    lifted = [
        each.text
        for each, before in old
        if any(
            before != new and _shared(before, new, max) >= _SAME and _changes(text, each.text)
            for new, text in zip(words, said, strict=True)
        )
    ]
    return kept, lifted


def _changes(newer: str, older: str) -> bool:
    return changes_rule(newer) or differs_in_one_value(newer, older)


def _shared(one: frozenset[str], other: frozenset[str], of: Callable[[int, int], int]) -> float:
    return len(one & other) / of(len(one), len(other)) if one and other else 0.0
