"""Names of entities: which names are the same, and by which words an entity is found [SIYA §3.3].

Technical names are the same only if they are equal: ``Order`` is not ``order``. Other names are the same if their types
are equal and they differ only in case and space. Anything beyond that is only proposed to the user.
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
"""Kind of the link from a name, or a word of it, to its entity. Its weight is 1 / words in the name."""

CASELESS = frozenset("package library service database tool language host".split())
"""Types of technical entities whose names are written in any case: Redis, redis."""

SPEAKER = frozenset("i me my mine myself".split())

ADDRESSED = frozenset("you your yours".split())

_QUOTES = {("`", "`"), ("'", "'"), ('"', '"'), ("“", "”"), ("‘", "’"), ("«", "»")}
MAX_ENDS = 6
"""Ends of a path, from the file's own name on, by which it is found: more folders are hardly ever said."""
_CANDIDATES = 200
"""Entities that one word may bring up; those with the shortest names come first."""


class Shared(NamedTuple):
    """The number of words that a name and a text share, and of different words in each."""

    words: int
    asked: int
    length: int

    @property
    def likeness(self) -> float:
        """Return the shared part of all words of both, in (0, 1]."""
        return 2 * self.words / (self.asked + self.length)

    @property
    def coverage(self) -> float:
        """Return the part of the name that stands in the text, in (0, 1]."""
        return self.words / self.length


def bare(name: str) -> str:
    """Return a name without surrounding quotation marks, empty brackets and extra space."""
    plain = " ".join(unicodedata.normalize("NFKC", name).split())
    while len(plain) > 2 and (plain[0], plain[-1]) in _QUOTES:
        plain = plain[1:-1].strip()
    return plain.removeprefix("./").removesuffix("()") or plain


def entity_id(scope: Scope, mention: Mention) -> str:
    """Return the id of the entity that a mention names, the same everywhere in the scope."""
    name = bare(mention.name)
    if mention.category == "technical":
        exact = name.casefold() if mention.type in CASELESS else name
        return derive_id(scope, ENTITY, "technical", exact)
    return derive_id(scope, ENTITY, mention.category, mention.type, normal(name))


def spoken(mention: Mention, speaker: str, addressed: str | None) -> str | None:
    """Return the name of a mentioned entity, or ``None`` if «you» is nobody known.

    «I» is the speaker, «you» the one ``addressed``, and «my sister» a relative of the speaker.
    """
    if mention.type != "person":
        return bare(mention.name)
    if is_in_talk(mention):
        return speaker if is_speaker(mention) else addressed
    owner, _, relative = mention.name.partition(" ")
    if relative and owner.casefold() in ("my", "our", "your"):
        whose = addressed if owner.casefold() == "your" else speaker
        return whose and f"{whose}'s {relative}"
    return bare(mention.name)


def is_speaker(mention: Mention) -> bool:
    return mention.type == "person" and mention.name.casefold() in SPEAKER


def is_in_talk(mention: Mention) -> bool:
    """Return whether a mention is the one who speaks or who is spoken to, named or not."""
    return is_speaker(mention) or (mention.type == "person" and mention.name.casefold() in ADDRESSED)


def stands_in(name: str, text: str) -> bool:
    """Return whether a name occurs in a text as words of its own, in any case."""
    return re.search(rf"(?<!\w){re.escape(normal(bare(name)))}(?!\w)", normal(text)) is not None


def index_names(storage: Storage, scope: Scope, names: Iterable[tuple[str, str, str]], now: datetime) -> None:
    """Index entities, given as ids with names and types, by their names and by the words of the names.

    A file is found by each end of its path, and what two files define by its bare name.
    """
    links = []
    for id_, name, type_ in names:
        words = dict.fromkeys(terms(name))
        for node in [*map(_whole, _shorter(name, type_)), *map(_word, words)]:
            key = derive_id(scope, NAMED, id_, node)
            links.append(Link(key, NAMED, node, id_, now, weight=1 / max(1, len(words))))
    storage.put_links(scope, links)


def unindex_names(storage: Storage, scope: Scope, ids: Collection[str]) -> None:
    storage.erase_links(scope, WhereLinks(targets=ids, kinds=[NAMED]))


def called(storage: Storage, scope: Scope, name: str) -> list[str]:
    """Return the ids of the entities that have this name, in any case."""
    return [link.target for link in storage.links(scope, WhereLinks(sources=[_whole(name)], kinds=[NAMED]))]


def sharing(storage: Storage, scope: Scope, text: str) -> dict[str, Shared]:
    """Return the entities whose names share words with a text, by id."""
    asked = dict.fromkeys(terms(text))
    shared: dict[str, Shared] = {}
    for step in storage.frontier(scope, [_word(word) for word in asked], [NAMED], each=_CANDIDATES):
        known = shared.get(step.other)
        shared[step.other] = Shared(1 + (known.words if known else 0), len(asked), round(1 / step.weight))
    return shared


def files_called(storage: Storage, scope: Scope, paths: Collection[str]) -> dict[str, list[str]]:
    """Return the ids of the entities that are called by these paths, or by longer ones that end with them."""
    wanted = {_whole(path): path for path in paths}
    ids: dict[str, list[str]] = {}
    for link in storage.links(scope, WhereLinks(sources=wanted, kinds=[NAMED])):
        ids.setdefault(wanted[link.source], []).append(link.target)
    return ids


def _shorter(name: str, type_: str) -> Iterable[str]:
    """Return a name and the shorter ones by which it is found."""
    if type_ == "file":
        parts = name.split("/")
        return [name, *("/".join(parts[-count:]) for count in range(1, min(len(parts), MAX_ENDS + 1)))]
    return [name, name.rpartition("::")[2]] if "::" in name and "/" in name else [name]


def _whole(name: str) -> str:
    return f"name:{normal(bare(name))}"


def _word(word: str) -> str:
    return f"part:{word}"
