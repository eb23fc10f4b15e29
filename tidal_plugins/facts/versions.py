"""Facts as they are stored: their versions, the words by which texts mention them, and how they are forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from tidal_plugins.facts.claims import by_rules, plain_words
from tidal_plugins.facts.conflicts import Said, claimed, close, close_quoting, flag
from tidal_plugins.model.clock import from_micros
from tidal_plugins.model.entry import CONVERSATION, FACT, Entry, Link, Scope, derive_id
from tidal_plugins.model.fact import Fact
from tidal_plugins.protocols import ClaimExtractor
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.storage.base import Document, Storage, Where, WhereLinks
from tidal_plugins.storage.rows import to_json
from tidal_plugins.storage.shorthands import entry_id, write_document
from tidal_plugins.validation import page_of

FACTS = "facts"
"""Collection of facts, by key with case and space folded."""

KEY = "fact"
"""Name under which the metadata of entries and links hold a fact's key."""

MENTION = "mention"
"""Kind of the link from a word, which a text that speaks of a fact must have, to the fact's entry."""

MENTIONED = 8
"""Words of a value by which texts find its fact: a value that a text can speak of has no more."""

EARLIER = 50
"""Earlier texts, those that have most of a new fact's words, that are held against it."""

RARE = "rare"
"""Name under which the metadata of a link say whether its word is the rarest of the fact's key."""

FEW = 3
"""Facts that may share a word by which a text finds them: «the limit» of more than three is any."""

PAGE = 256
"""Facts that are read at once."""

EVERY_VERSION = 10**9
"""The number of earlier versions to keep: all."""


@dataclass(frozen=True, slots=True)
class Version:
    """One document of ``FACTS``: a value that a key has from ``since`` on, or none if ``ended``.

    Times are in microseconds. ``entry`` is the id of the entry whose claim the value was taken from. ``read`` says that
    a model read it there, and that nobody has set it.
    """

    key: str
    value: Any
    since: int
    recorded_at: int
    source: str | None = None
    entry: str | None = None
    ended: bool = False
    read: bool = False

    def fact(self, until: int | None = None) -> Fact:
        """Return this version as a fact that holds until then."""
        end = None if until is None else from_micros(until)
        since, recorded_at = from_micros(self.since), from_micros(self.recorded_at)
        return Fact(self.key, self.value, since, end, recorded_at, self.source)


def fact_entry_id(storage: Storage, scope: Scope, folded: str) -> str:
    """Return the id of the entry by which recall finds a fact."""
    return entry_id(storage, scope, FACT, folded)


def history_of(documents: Sequence[Document]) -> list[Fact]:
    """Return the values that a fact had, oldest first; a value that only got another source comes once."""
    versions = [Version(**document.value) for document in reversed(documents)]
    pairs = zip(versions, [*versions[1:], None], strict=False)
    return [v.fact(next_.since if next_ else None) for v, next_ in pairs if not v.ended and not _same(v, next_)]


def standing_versions(storage: Storage, scope: Scope, keys: Collection[str] | None) -> dict[str, Version]:
    """Return the facts that have a value now, by folded key: all of them, or those with these ``keys``."""
    versions = {document.key: Version(**document.value) for document in storage.documents(scope, FACTS, keys)}
    return {folded: version for folded, version in versions.items() if not version.ended}


def standing_page(storage: Storage, scope: Scope, limit: int | None, after: int) -> list[Fact]:
    """Return a page of the facts that have a value now, by folded key. Reads no more of them than it must."""
    found, read = list[Fact](), 0
    wanted = None if limit is None else after + limit
    while wanted is None or len(found) < wanted:
        documents = storage.documents(scope, FACTS, limit=PAGE, after=read)
        read += PAGE
        found += [one.fact() for one in (Version(**document.value) for document in documents) if not one.ended]
        if not documents:
            break
    return page_of(found, limit, after)


def mentioned(storage: Storage, scope: Scope, texts: Iterable[str]) -> list[Fact]:
    """Return the facts of which texts may speak, by key."""
    keys = _mentioned(storage, scope, texts)
    return [fact for _, fact in sorted(_standing(storage, scope, keys).items())] if keys else []


# statements on facts


def mention(storage: Storage, scope: Scope, key: str, value: Any, folded: str, now: datetime) -> None:
    """Link the words of a fact's key, and the first of its value, to the fact, so that texts on it find it.

    The rarest word of the key finds it always, another one only while few facts have it.
    """
    entry, words = fact_entry_id(storage, scope, folded), plain_words(key)
    rarest = max(words, key=lambda word: (any(map(str.isdigit, word)), len(word), word), default=None)
    said = terms(str(value))[:MENTIONED] if isinstance(value, str | int | float) else []
    links = [
        Link(
            derive_id(scope, MENTION, folded, word), MENTION, _node(word), entry, now,
            metadata={KEY: folded, RARE: word == rarest},
        )
        for word in sorted({*words, *said})
    ]  # fmt: skip
    storage.erase_links(scope, WhereLinks(kinds=[MENTION], targets=[entry]))
    storage.put_links(scope, links)


def read_claims(
    storage: Storage, scope: Scope, entries: Sequence[Entry], extractor: ClaimExtractor | None, timeout: float
) -> list[Said]:
    """Return what entries claim of facts. An extractor gets every fact, the rules only those that are mentioned.

    May wait ``timeout`` seconds for a model; call it without holding locks.
    """
    if not entries:
        return []
    keys = None if extractor else _mentioned(storage, scope, [entry.text for entry in entries])
    if keys is not None and not keys:
        return []
    return claimed(_standing(storage, scope, keys), entries, extractor, timeout)


def flag_claims(storage: Storage, scope: Scope, said: Collection[Said]) -> None:
    """Open a conflict for every claim that contradicts a fact as it is now.

    Call it inside the transaction that stores the entries.
    """
    if said:
        flag(storage, scope, _standing(storage, scope, {normal(claim.key) for _, claim in said}), said)


def flag_earlier(storage: Storage, scope: Scope, fact: Fact) -> None:
    """Open a conflict for what a new fact contradicts: the last statement on it, as rules read it.

    Earlier statements are past, and so is everything that was said of a fact that is updated. Call it inside the
    transaction that stores the fact.
    """
    words = sorted(plain_words(fact.key).union(terms(str(fact.value))[:MENTIONED]))
    near = storage.matching(scope, words, EARLIER, Where(kinds=[CONVERSATION])) if words else []
    entries = storage.get(scope, [match.id for match in near]).values()
    said = [(entry, claim) for entry in entries for claim in by_rules(entry, {fact.key: fact.value})]
    if said:
        last, _ = max(said, key=lambda item: (item[0].occurred_at, item[0].position or 0, item[0].id))
        of_last = [item for item in said if item[0].id == last.id]
        flag(storage, scope, {normal(fact.key): replace(fact, since=last.occurred_at)}, of_last)


# forgetting


def forget_facts(
    storage: Storage,
    scope: Scope,
    to_delete: Iterable[Entry],
    ids: Collection[str] = (),
    source: str | None = None,
    has: Callable[[str], bool] = lambda value: False,
) -> set[str]:
    """Remove the facts that entries stand for, the values taken from their claims and the conflicts that quote them.

    ``ids`` may name facts that were ended and have no entry any more; ``source`` removes the values set from it, too,
    and ``has`` tells which values to remove by what they say. A fact that loses its current value has none from then
    on; its other values stay. Returns the ids of the entries of facts that were removed or lost a value. Call it inside
    the transaction that erases the entries.
    """
    gone = {entry.id for entry in to_delete}.union(ids)
    documents = storage.documents(scope, FACTS)
    keys = [document.key for document in documents if fact_entry_id(storage, scope, document.key) in gone]
    storage.erase_documents(scope, FACTS, keys)
    for key in keys:
        close(storage, scope, key)
    close_quoting(storage, scope, gone)
    left = {document.key for document in documents}.difference(keys)
    changed = [key for key in left if _take_back(storage, scope, key, gone, source, has)]
    return {fact_entry_id(storage, scope, key) for key in [*keys, *changed]}


def _take_back(
    storage: Storage, scope: Scope, folded: str, gone: Collection[str], source: str | None, has: Callable[[str], bool]
) -> bool:
    """Replace the forgotten values of a fact by «ended», and return whether there were any."""
    stored = storage.documents(scope, FACTS, [folded], versions=True)
    versions = [Version(**document.value) for document in reversed(stored)]

    def goes(version: Version) -> bool:
        return version.entry in gone or bool(source and version.source == source) or has(_said(version.value))

    kept = [_emptied(version) if goes(version) else version for version in versions]
    if kept == versions:
        return False
    if kept[-1].ended:
        storage.erase(scope, [fact_entry_id(storage, scope, folded)])
        close(storage, scope, folded)
    storage.erase_documents(scope, FACTS, [folded])
    for version in [] if all(version.ended for version in kept) else kept:
        write_document(storage, scope, FACTS, folded, asdict(version), keep=EVERY_VERSION)
    return True


def _said(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)


def _emptied(version: Version) -> Version:
    return replace(version, value=None, source=None, entry=None, ended=True, read=False)


def _same(version: Version, later: Version | None) -> bool:
    """Return whether ``later`` is the same value from another source."""
    if later is None or later.ended or later.since != version.since:
        return False
    return to_json(later.value) == to_json(version.value)  # 1 is not True


def _standing(storage: Storage, scope: Scope, keys: Collection[str] | None) -> dict[str, Fact]:
    return {folded: version.fact() for folded, version in standing_versions(storage, scope, keys).items()}


def _mentioned(storage: Storage, scope: Scope, texts: Iterable[str]) -> set[str]:
    if not storage.links(scope, WhereLinks(kinds=[MENTION]), limit=1):
        return set()
    words = {_node(word) for text in texts for word in terms(text)}
    links = storage.links(scope, WhereLinks(sources=words, kinds=[MENTION]))
    shared = Counter(link.source for link in links)
    return {str(link.metadata[KEY]) for link in links if link.metadata[RARE] or shared[link.source] <= FEW}


def _node(word: str) -> str:
    return f"word:{word}"
