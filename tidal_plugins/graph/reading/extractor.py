"""RuleExtractor: entities and assertions of texts, by rules alone [SIYA §3.3]."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidal_plugins.english.quotations import FENCED
from tidal_plugins.graph.reading import code
from tidal_plugins.graph.reading.clauses import HUSH, MASK
from tidal_plugins.graph.reading.deeds import deeds
from tidal_plugins.graph.reading.mentions import named
from tidal_plugins.graph.reading.statements import statements
from tidal_plugins.graph.reading.talk.reader import told
from tidal_plugins.model.graph import Assertion, Extraction, Mention
from tidal_plugins.patterns import lazy_re

MAX_FOUND = 2000
"""Names, and statements, that are taken from one text. A text with more is a listing."""

_OURS = str.maketrans({MASK: " ", HUSH: " "})
_FRAME = lazy_re(r"(?m)^Traceback \(most recent call last\):")


class RuleExtractor:
    """Reads texts by rules: the forms of names, code, and plain statements of a few forms.

    Questions, conditions, wishes, hearsay and quotations say nothing. «I», «my» and «we» stay as written, as a person
    and a group, for the caller who knows the speaker. Takes time linear in the text.
    """

    def extract_graph(self, texts: Sequence[str]) -> list[Extraction]:
        """Return what each text names and says, in order. A name comes once, where it first stands."""
        return [_extract(text.translate(_OURS) if MASK in text or HUSH in text else text) for text in texts]


def _extract(text: str) -> Extraction:
    whole = code.whole(text)
    if whole:
        return _extraction(code.read(whole))
    found: list[Assertion | Mention] = []
    for _, block in code.blocks(text):
        found += code.read(block)
    plain = FENCED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    names = named(plain, 0, len(plain))
    found += names
    found += statements(plain, names)
    found += told(plain, names)
    found += deeds(plain)
    if _FRAME.search(plain):
        found += code.traceback(code.Block(plain, 0, len(plain), ""))
    return _extraction(found)


def _extraction(found: Iterable[Assertion | Mention]) -> Extraction:
    mentions: dict[tuple[str, str], Mention] = {}
    assertions: dict[tuple[str, str, str, bool], Assertion] = {}
    items = list(found)
    kinds = _kinds(items)
    for item in items:
        if isinstance(item, Mention):
            _add(mentions, _known(item, kinds))
        elif len(assertions) < MAX_FOUND:
            said = replace(item, subject=_known(item.subject, kinds), object=_known(item.object, kinds))
            _add(mentions, said.subject)
            _add(mentions, said.object)
            assertions.setdefault((said.subject.name, said.predicate, said.object.name, said.negated), said)
    return Extraction(
        tuple(sorted(mentions.values(), key=lambda one: one.start)),
        tuple(sorted(assertions.values(), key=lambda one: one.start)),
    )


def _add(mentions: dict[tuple[str, str], Mention], one: Mention) -> None:
    if len(mentions) < MAX_FOUND:
        standing = mentions.setdefault((one.name, one.type), one)
        if one.start < standing.start:
            mentions[one.name, one.type] = one


def _kinds(items: Iterable[Assertion | Mention]) -> dict[str, Mention]:
    """Return the types of names that code tells, for the same names elsewhere in the text."""
    sides = (
        side for item in items for side in ((item.subject, item.object) if isinstance(item, Assertion) else (item,))
    )
    return {
        side.name: side
        for side in sides
        if side.category == "technical" and side.type not in ("symbol", "value", "message")
    }


def _known(one: Mention, kinds: dict[str, Mention]) -> Mention:
    return replace(one, type=kinds[one.name].type) if one.type == "symbol" and one.name in kinds else one
