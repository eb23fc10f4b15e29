"""Contradictions between the sources of a dossier [Capsule]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from tidal_plugins.english.cues import CHANGE_VERB
from tidal_plugins.english.numbers import values
from tidal_plugins.facts.rivals import rival
from tidal_plugins.facts.statements import Statement, statements
from tidal_plugins.language.emphasis import is_shouted
from tidal_plugins.model.dossier import Contradiction, Finding
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.fence import inert
from tidal_plugins.model.supersession import Replacement

MAX_CONTRADICTIONS = 10
"""Contradictions that are listed."""

Told = tuple[Entry, Sequence[Statement]]


def contradictions(entries: Sequence[Entry]) -> list[Contradiction]:
    """Return what contradicts the newest word on each thing, the newest first. One entry's own words are let be, and so
    is what an agent makes of those that it answers, and what says that it changes something."""
    calm = [entry for entry in entries if not is_shouted(entry.text)]
    calm.sort(key=lambda entry: (entry.occurred_at, entry.position or 0, entry.id), reverse=True)
    told = [(entry, statements(entry.text, entry.occurred_at)) for entry in calm]
    found, overtaken = list[Contradiction](), set[str]()
    for place, newer in enumerate(told):
        if newer[0].id not in overtaken and (made := next(_contradicted(newer, told[place + 1 :]), None)):
            overtaken.update(entry.id for entry, _ in told[place + 1 :] if entry.text == newer[0].text)
            overtaken.update(made.older.sources)
            found.append(made)
    return found[:MAX_CONTRADICTIONS]


def _contradicted(newer: Told, earlier: Sequence[Told]) -> Iterator[Contradiction]:
    """Yield how an entry contradicts earlier ones, the last one first."""
    entry, said = newer
    voice = entry.speaker or entry.role
    for older, held in earlier:
        mine = (older.speaker or older.role) == voice
        if not mine and entry.episode and older.episode == entry.episode:
            continue
        for new in said:
            for old in held:
                if (not mine and (new.is_own or old.is_own)) or CHANGE_VERB.search(new.text):
                    continue
                if replaced := rival(new, old):
                    kind = _kind(replaced, new, old)
                    yield Contradiction(kind, _finding(new, entry), _finding(old, older))


def _kind(replaced: Replacement, new: Statement, old: Statement) -> Literal["value", "number", "negation"]:
    if new.denied != old.denied:
        return "negation"
    return "number" if values(replaced.new) else "value"


def _finding(said: Statement, entry: Entry) -> Finding:
    return Finding(inert(said.text), (entry.id,), (entry.citation,))
