"""Suggestions for the capsule's sections that people write, by rules. They are offered, never put there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from tidal_plugins.english.instructions import IDENTITY, OWN_PLANS, ROUTINE, STANDING_RULE
from tidal_plugins.english.people import CONTACT
from tidal_plugins.facts.phrases import Phrase, phrases
from tidal_plugins.model.capsule import Suggestion
from tidal_plugins.model.entry import Entry

_RULES = {
    "identity": IDENTITY,
    "loop_protocol": ROUTINE,
    "key_contacts": CONTACT,
    "operational_rules": STANDING_RULE,
}
_FOR_AGENTS = ("loop_protocol", "operational_rules")


def suggestions(entries: Iterable[Entry], sections: Sequence[str], *, each: int) -> list[Suggestion]:
    """Return at most ``each`` suggestions for each of ``sections``: the most important first, of the newest entries.

    A model's statements about itself and its own rules are never suggested; only statements of others are.
    """
    said = [phrase for entry in entries if entry.role != "assistant" for phrase in phrases(entry) if phrase.sure]
    said.sort(key=lambda phrase: (phrase.entry.importance, phrase.entry.occurred_at), reverse=True)
    return [item for name in sections if name in _RULES for item in islice(_offered(name, said), each)]


def _offered(name: str, said: Iterable[Phrase]) -> Iterable[Suggestion]:
    texts = set()
    for phrase in said:
        plan = name in _FOR_AGENTS and OWN_PLANS.search(phrase.plain)
        if not plan and phrase.plain not in texts and _RULES[name].search(phrase.raw):
            texts.add(phrase.plain)
            yield Suggestion(name, phrase.text, phrase.entry.citation)
