"""What memory could say in the capsule's sections that people write, by rules: it is offered, never put there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from tidal_plugins.dossiers.phrases import Phrase, phrases
from tidal_plugins.model.capsule import Suggestion
from tidal_plugins.model.entry import Entry

_RULES = {
    "identity": re.compile(
        r"\byour (?:name|role|job|voice|tone|task) (?:is|should be)\b|\byou are (?:called|an? (?:\w+ ){0,3}"
        r"(?:assistant|agent|bot|engineer|analyst|tutor|coach))\b|\bcall yourself\b"
    ),
    "loop_protocol": re.compile(
        r"\bevery (?:\d+ )?(?:minutes?|hours?|morning|day|evening|night|week|loop|cycle|thread|hour)\b"
        r"|\b(?:at the (?:start|end) of|before|after) (?:each|every) (?:loop|cycle|thread|run|day|turn)\b"
        r"|\bfirst thing\b"
    ),
    "key_contacts": re.compile(
        r"[\w.+-]+@[\w-]+\.\w|\+?\d[\d ()-]{7,}\d"
        r"|\bmy (?:boss|manager|wife|husband|partner|lawyer|doctor|accountant|assistant|landlord) is \w"
    ),
    "operational_rules": re.compile(
        r"\b(?:always|never|must(?: not)?|from now on|do not ever|don't ever|make sure (?:to|that)|forbidden)\b"
    ),
}
_PLANS = re.compile(r"\bi(?:'ll|'ve|'m| will| have| am)?\b")
"""What somebody says about themselves is no rule for an agent."""
_FOR_AGENTS = ("loop_protocol", "operational_rules")


def suggestions(entries: Iterable[Entry], sections: Sequence[str], *, each: int) -> list[Suggestion]:
    """Return at most ``each`` for each of ``sections``: the most important first, of the newest entries.

    What a model said about itself or ruled is nobody's rule: only what others said is offered.
    """
    said = [phrase for entry in entries if entry.role != "assistant" for phrase in phrases(entry) if phrase.sure]
    said.sort(key=lambda phrase: (phrase.entry.importance, phrase.entry.occurred_at), reverse=True)
    return [item for name in sections if name in _RULES for item in islice(_offered(name, said), each)]


def _offered(name: str, said: Iterable[Phrase]) -> Iterable[Suggestion]:
    texts = set()
    for phrase in said:
        plan = name in _FOR_AGENTS and _PLANS.search(phrase.plain)
        if not plan and phrase.plain not in texts and _RULES[name].search(phrase.plain):
            texts.add(phrase.plain)
            yield Suggestion(name, phrase.text, phrase.entry.citation)
