"""Names of entities: when two are the same, and by which words one is found [SIYA §3.3].

Technical entities are one when their names are, exactly: ``Order`` is no ``order``. All others are one when they are of
one type and their names differ in case and space only. More than that is never taken for one without being asked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.model.graph import Mention
from tidal_plugins.model.link import Link
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.storage.base import Storage, WhereLinks

ENTITY = "entity"
NAMED = "named"
"""Kind of the link from a name, or a word of it, to the entity; its weight is one over how many words the name has."""

CASELESS = frozenset("package library service database tool language host".split())
"""Types of technical entities that people write as they like: Redis, redis."""

SPEAKER = frozenset("i me my mine myself".split())

_QUOTES = {("`", "`"), ("'", "'"), ('"', '"'), ("“", "”"), ("‘", "’"), ("«", "»")}
_CANDIDATES = 200
"""Entities that one word may bring up, those with the shortest names."""


class Shared(NamedTuple):
    """How many words a name and a text share, and how many different ones each has."""

    words: int
    asked: int
    length: int

    @property
    def likeness(self) -> float:
        """What both share of what both have, in (0, 1]."""
        return 2 * self.words / (self.asked + self.length)

    @property
    def coverage(self) -> float:
        """The part of the name that stands in the text, in (0, 1]."""
        return self.words / self.length


def bare(name: str) -> str:
    """A name without quotation marks, empty brackets and extra space around it."""
    plain = " ".join(unicodedata.normalize("NFKC", name).split())
    while len(plain) > 2 and (plain[0], plain[-1]) in _QUOTES:
        plain = plain[1:-1].strip()
    return plain.removeprefix("./").removesuffix("()") or plain


def entity_id(scope: Scope, mention: Mention) -> str:
    """The id of the entity that a mention is of, the same wherever the scope speaks of it."""
    name = bare(mention.name)
    if mention.category == "technical":
        exact = name.casefold() if mention.type in CASELESS else name
        return derive_id(scope, ENTITY, "technical", exact)
    return derive_id(scope, ENTITY, mention.category, mention.type, normal(name))


def spoken(mention: Mention, speaker: str) -> str:
    """The name of what is mentioned: who says «I» is the speaker."""
    return speaker if is_speaker(mention) else bare(mention.name)


def is_speaker(mention: Mention) -> bool:
    return mention.type == "person" and mention.name.casefold() in SPEAKER


def stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text in words of its own, whatever its case."""
    return re.search(rf"(?<!\w){re.escape(normal(bare(name)))}(?!\w)", normal(text)) is not None


def find_by(storage: Storage, scope: Scope, names: Iterable[tuple[str, str]], now: datetime) -> None:
    """Let each entity, given with its id, be found by its name and by the words of it."""
    links = []
    for id_, name in names:
        words = dict.fromkeys(terms(name))
        for node in [_whole(name), *map(_word, words)]:
            key = derive_id(scope, NAMED, id_, node)
            links.append(Link(key, NAMED, node, id_, now, weight=1 / max(1, len(words))))
    storage.put_links(scope, links)


def find_no_more(storage: Storage, scope: Scope, ids: Collection[str]) -> None:
    storage.erase_links(scope, WhereLinks(targets=ids, kinds=[NAMED]))


def called(storage: Storage, scope: Scope, name: str) -> list[str]:
    """Return the ids of the entities that have this name, in whatever case."""
    return [link.target for link in storage.links(scope, WhereLinks(sources=[_whole(name)], kinds=[NAMED]))]


def sharing(storage: Storage, scope: Scope, text: str) -> dict[str, Shared]:
    """Return the entities whose names share words with a text, by id."""
    asked = dict.fromkeys(terms(text))
    shared: dict[str, Shared] = {}
    for step in storage.frontier(scope, [_word(word) for word in asked], [NAMED], each=_CANDIDATES):
        known = shared.get(step.other)
        shared[step.other] = Shared(1 + (known.words if known else 0), len(asked), round(1 / step.weight))
    return shared


def _whole(name: str) -> str:
    return f"name:{normal(bare(name))}"


def _word(word: str) -> str:
    return f"part:{word}"
