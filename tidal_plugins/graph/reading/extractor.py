"""RuleExtractor: entities and assertions of texts, without a language model [SIYA §3.3]."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tidal_plugins.english.pasted import FENCED
from tidal_plugins.english.sentences import sentences
from tidal_plugins.graph.reading import code
from tidal_plugins.graph.reading.mentions import named
from tidal_plugins.graph.reading.parsing import LONGEST, NoParser
from tidal_plugins.graph.reading.talk import THRESHOLD, TalkReader
from tidal_plugins.model.graph import Assertion, Extraction, Mention
from tidal_plugins.patterns import lazy_re

logger = logging.getLogger(__name__)

MAX_FOUND = 2000
"""Names, and statements, that are taken from one text. A text with more is a listing."""

_FRAME = lazy_re(r"(?m)^Traceback \(most recent call last\):")


@dataclass(frozen=True, slots=True)
class RuleExtractor:
    """Reads texts: names by their form, code by its grammar, and what talk tells by spaCy's parse of its sentences.

    Questions, conditions, jokes and quotations say nothing. «I», «my» and «we» stay as written, as a person and a
    group, for the caller who knows the speaker. Without the extra ``language`` talk tells nothing; that is logged once.

    Args:
        model: the name of spaCy's model. Default: ``en_core_web_sm``.
        threshold: the chance in 0 to 1 from which on a relation of talk is kept.
    """

    model: str | None = None
    threshold: float = THRESHOLD

    def extract_graph(self, texts: Sequence[str]) -> list[Extraction]:
        """Return what each text names and says, in order. A name comes once, where it first stands."""
        return self._extracted(texts, episode=False)

    def read_episode(self, texts: Sequence[str]) -> list[Extraction]:
        """Return what the texts of one episode name and say, in order. «She» may be somebody whom an earlier text
        names: her name need not stand where she is meant."""
        return self._extracted(texts, episode=True)

    def _extracted(self, texts: Sequence[str], *, episode: bool) -> list[Extraction]:
        found: list[list[Assertion | Mention]] = []
        talk: list[tuple[str, Sequence[Mention]]] = []
        for text in texts:
            whole = code.whole(text)
            plain = "" if whole else FENCED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
            names = named(plain, 0, len(plain))
            found.append([*code.read(whole)] if whole else [*_of_code(text, plain), *names])
            talk.append((plain, names))
        for said, told in zip(found, self._told(talk, episode=episode), strict=True):
            said += told
        return [_extraction(one) for one in found]

    def _told(self, talk: Sequence[tuple[str, Sequence[Mention]]], *, episode: bool) -> Sequence[Sequence[Assertion]]:
        try:
            return TalkReader(self.model, self.threshold).read(talk, episode=episode)
        except NoParser as error:
            _log_once(str(error))
            return [()] * len(talk)


@cache
def _log_once(reason: str) -> None:
    logger.warning("%s", reason)


def _of_code(text: str, plain: str) -> Iterator[Assertion | Mention]:
    """Yield what a text says of code: in its blocks, and by its versions and tracebacks."""
    for _, block in code.blocks(text):
        yield from code.read(block)
    for start, end in sentences(plain):
        yield from code.pinned(plain, named(plain, start, end)) if end - start <= LONGEST else ()
    if _FRAME.search(plain):
        yield from code.traceback(code.Block(plain, 0, len(plain), ""))


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
