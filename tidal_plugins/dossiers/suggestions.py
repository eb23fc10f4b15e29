"""Suggestions for the capsule's sections that people write, by rules. They are offered, never put there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from tidal_plugins.dossiers.laid_down import is_own
from tidal_plugins.english.instructions import IDENTITY, OWN_PLANS, is_routine
from tidal_plugins.english.people import CONTACT
from tidal_plugins.english.rules import lays_down
from tidal_plugins.english.shouting import is_shouted
from tidal_plugins.facts.phrases import Phrase, phrases
from tidal_plugins.model.capsule import Suggestion
from tidal_plugins.model.entry import Entry

_RULES: Mapping[str, Callable[[str], object]] = {
    "identity": IDENTITY.search,
    "loop_protocol": is_routine,
    "key_contacts": CONTACT.search,
    "operational_rules": lays_down,
}
_FOR_AGENTS = ("loop_protocol", "operational_rules")


def suggestions(entries: Iterable[Entry], sections: Sequence[str], *, each: int) -> list[Suggestion]:
    """Return at most ``each`` suggestions for each of ``sections``: the most important first, of the newest entries.

    Only people's own words are suggested, never what a model, a tool or a document says, and nothing that is shouted.
    """
    own = (entry for entry in entries if is_own(entry) and not is_shouted(entry.text))
    said = [phrase for entry in own for phrase in phrases(entry) if phrase.sure]
    said.sort(key=lambda phrase: (phrase.entry.importance, phrase.entry.occurred_at), reverse=True)
    return [item for name in sections if name in _RULES for item in islice(_offered(name, said), each)]


def _offered(name: str, said: Iterable[Phrase]) -> Iterable[Suggestion]:
    texts = set()
    for phrase in said:
        plan = name in _FOR_AGENTS and OWN_PLANS.search(phrase.plain)
        if not plan and phrase.plain not in texts and _RULES[name](phrase.raw):
            texts.add(phrase.plain)
            yield Suggestion(name, phrase.text, phrase.entry.citation)
