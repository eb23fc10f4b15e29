"""What is stored of facts: their versions, which of them a text mentions, and how they forget."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tidal_plugins.facts.claims import plain_words
from tidal_plugins.facts.conflicts import CONFLICTS, Said, claimed, close, flag, open_conflicts
from tidal_plugins.model.clock import from_micros
from tidal_plugins.model.entry import Entry, Scope, derive_id
from tidal_plugins.model.fact import Fact
from tidal_plugins.model.link import Link
from tidal_plugins.protocols import ClaimExtractor
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.storage.base import Document, Storage, WhereLinks
from tidal_plugins.storage.values import to_json

FACTS = "facts"
"""Collection of facts, by key with case and space folded."""

KIND = "fact"
MENTION = "mention"
"""Kind of the link from a word, which a text that speaks of a fact must have, to the fact's entry."""

ALL = 10**9
"""Versions that are kept."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a document of ``FACTS`` holds. ``entry`` is whose claim the value was taken from; ``ended``: there is no
    value from ``since`` on."""

    key: str
    value: Any
    since: int
    recorded_at: int
    source: str | None = None
    entry: str | None = None
    ended: bool = False

    def to_json(self) -> dict[str, Any]:
        names = ("key", "value", "since", "recorded_at", "source", "entry", "ended")
        return {name: getattr(self, name) for name in names}

    def fact(self, until: int | None = None) -> Fact:
        end = None if until is None else from_micros(until)
        since, recorded_at = from_micros(self.since), from_micros(self.recorded_at)
        return Fact(self.key, self.value, since, end, recorded_at, self.source)


def entry_id(scope: Scope, folded: str) -> str:
    """The id of the entry by which recall finds a fact."""
    return derive_id(scope, KIND, folded)


def history_of(documents: Sequence[Document]) -> list[Fact]:
    """The values that a fact had, oldest first; of one that somebody else vouched for later, the later word."""
    versions = [Version(**document.value) for document in reversed(documents)]
    pairs = zip(versions, [*versions[1:], None], strict=False)
    return [v.fact(next_.since if next_ else None) for v, next_ in pairs if not v.ended and not _same(v, next_)]


def standing_versions(storage: Storage, scope: Scope, keys: Collection[str] | None) -> dict[str, Version]:
    """Return the facts that have a value now, by folded key: all, or those of ``keys``."""
    versions = {document.key: Version(**document.value) for document in storage.documents(scope, FACTS, keys)}
    return {folded: version for folded, version in versions.items() if not version.ended}


# what texts say of facts


def mention(storage: Storage, scope: Scope, key: str, folded: str, now: datetime) -> None:
    """Let texts that mention a fact find it, by the one word of its key that fewest texts may have."""
    word = max(plain_words(key), key=lambda word: (any(map(str.isdigit, word)), len(word), word), default=None)
    if word is not None:
        id_, metadata = derive_id(scope, MENTION, folded), {KIND: folded}
        link = Link(id_, MENTION, _node(word), entry_id(scope, folded), now, metadata=metadata)
        storage.put_links(scope, [link])


def read_claims(
    storage: Storage, scope: Scope, entries: Sequence[Entry], extractor: ClaimExtractor | None, timeout: float
) -> list[Said]:
    """Return what entries claim of facts. An extractor is shown every fact, the rules only those that are mentioned.

    It may call a model, and wait for it ``timeout`` seconds: call it without a lock.
    """
    if not entries:
        return []
    keys = None if extractor else _mentioned(storage, scope, entries)
    return claimed(_standing(storage, scope, keys), entries, extractor, timeout)


def flag_claims(storage: Storage, scope: Scope, said: Collection[Said]) -> None:
    """Open a conflict for every claim that contradicts a fact as it stands now. Call it inside the transaction of the
    entries."""
    if said:
        flag(storage, scope, _standing(storage, scope, {normal(claim.key) for _, claim in said}), said)


# forgetting


def forget_facts(
    storage: Storage, scope: Scope, doomed: Iterable[Entry], ids: Collection[str] = (), source: str | None = None
) -> set[str]:
    """Remove what facts have of forgotten entries: the facts that they are, the values that were taken from what they
    claimed, and the conflicts that quote them. Call it inside the transaction that erases them.

    ``ids`` may name facts that were ended and have no entry any more; ``source`` takes along what was set from it. A
    fact that loses its current value so has none from then on; what others said it was stays. Returns the ids of the
    entries of facts that went or lost a value.
    """
    gone = {entry.id for entry in doomed}.union(ids)
    documents = storage.documents(scope, FACTS)
    keys = [document.key for document in documents if entry_id(scope, document.key) in gone]
    storage.erase_documents(scope, FACTS, keys)
    for key in keys:
        close(storage, scope, key)
    quoting = [item.id for item in open_conflicts(storage, scope) if item.entry in gone]
    storage.erase_documents(scope, CONFLICTS, quoting)
    left = {document.key for document in documents}.difference(keys)
    lessened = [key for key in left if _take_back(storage, scope, key, gone, source)]
    return {entry_id(scope, key) for key in [*keys, *lessened]}


def _take_back(storage: Storage, scope: Scope, folded: str, gone: Collection[str], source: str | None) -> bool:
    """Whether the fact lost a value: in its place is that it had none."""
    stored = storage.documents(scope, FACTS, [folded], versions=True)
    versions = [Version(**document.value) for document in reversed(stored)]
    kept = [_emptied(v) if v.entry in gone or (source and v.source == source) else v for v in versions]
    if kept == versions:
        return False
    if kept[-1].ended:
        storage.erase(scope, [entry_id(scope, folded)])
        close(storage, scope, folded)
    storage.erase_documents(scope, FACTS, [folded])
    for version in [] if all(version.ended for version in kept) else kept:
        storage.write_document(scope, FACTS, folded, version.to_json(), keep=ALL)
    return True


def _emptied(version: Version) -> Version:
    return replace(version, value=None, source=None, entry=None, ended=True)


def _same(version: Version, later: Version | None) -> bool:
    """Whether ``later`` only says on whose word the value holds."""
    if later is None or later.ended or later.since != version.since:
        return False
    return to_json(later.value) == to_json(version.value)  # 1 is not True


def _standing(storage: Storage, scope: Scope, keys: Collection[str] | None) -> dict[str, Fact]:
    return {folded: version.fact() for folded, version in standing_versions(storage, scope, keys).items()}


def _mentioned(storage: Storage, scope: Scope, entries: Iterable[Entry]) -> set[str]:
    words = {_node(word) for entry in entries for word in terms(entry.text)}
    links = storage.links(scope, WhereLinks(sources=words, kinds=[MENTION]))
    return {str(link.metadata[KIND]) for link in links}


def _node(word: str) -> str:
    return f"word:{word}"
