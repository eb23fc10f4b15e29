"""Persistent facts: a mapping of keys to values that only an explicit update changes, with its history [Capsule].

A fact is a document whose versions are its history, and one entry of kind ``fact`` by which recall finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, overload

from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.graph.conflicts import CONFLICTS, close, conflict, open_conflicts
from tidal_plugins.model.clock import aware, from_micros, to_micros
from tidal_plugins.model.entry import Entry, Scope, derive_id
from tidal_plugins.model.fact import Fact, FactConflict
from tidal_plugins.scoring.text import normal
from tidal_plugins.settings import FactSettings
from tidal_plugins.storage.base import Document, Record, Storage
from tidal_plugins.storage.sql import to_json

FACTS = "facts"
"""Collection of facts, by key with case and space folded."""

KIND = "fact"
CHANNEL = "facts"
MAX_KEY = 200
"""Characters of a key."""

_ALL = 10**9  # versions that are kept
_UNSET: Any = object()


@dataclass(frozen=True, slots=True)
class _Version:
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


class PersistentFacts(MutableMapping[str, Any]):
    """The facts of one scope: ``facts["bridge"] = "up"``.

    Keys are texts of up to 200 characters, found whatever their case and spaces, and listed as they were last given;
    values are JSON. Nothing but an assignment, ``set``, ``del`` or ``resolve`` changes a fact, and what it was before
    stays in its ``history``. A text that contradicts a fact when it is stored opens a conflict.
    """

    def __init__(
        self,
        storage: Storage,
        scope: Scope,
        clock: Callable[[], datetime],
        records: Callable[[Sequence[Entry]], list[Record]],
        settings: FactSettings,
    ) -> None:
        """``records`` makes entries findable: it splits and embeds their texts."""
        self._storage = storage
        self._scope = scope
        self._clock = clock
        self._records = records
        self._settings = settings

    # the mapping

    def __getitem__(self, key: str) -> Any:
        return self.fact(key).value

    def __setitem__(self, key: str, value: Any) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        """End a fact now. Its history stays, and its open conflicts are closed. Raises ``NotFound``."""
        folded = _folded(key)
        with self._storage.transaction():
            current = self._current(key)
            now = to_micros(self._clock())
            end = replace(current, value=None, source=None, entry=None, ended=True, recorded_at=now)
            self._write(folded, replace(end, since=max(now, current.since)))
            self._storage.erase(self._scope, [entry_id(self._scope, folded)])
            close(self._storage, self._scope, folded)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and bool(key.strip()) and normal(key) in self._all([normal(key)])

    def __iter__(self) -> Iterator[str]:
        return iter([version.key for version in self._all().values()])

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"PersistentFacts({dict(self)!r})"

    # more than a mapping

    def fact(self, key: str) -> Fact:
        """Return a key's value with when it holds since and where it comes from. Raises ``NotFound``."""
        return self._current(key).fact()

    def set(self, key: str, value: Any, *, source: str | None = None, at: datetime | None = None) -> Fact:
        """Set a fact, or update it, and return it.

        ``source`` says where the value comes from; ``at`` since when it holds (default: now), at the earliest since
        when the value before it does. The same value again changes nothing. Either way the fact's open conflicts are
        closed: somebody has looked. Raises ``InvalidInput``.
        """
        return self._set(key, value, source, at, None)

    def history(self, key: str) -> list[Fact]:
        """Return every value that a key had, oldest first; none for a key that was never set."""
        return _history(self._storage.versions(self._scope, FACTS, _folded(key)))

    def as_of(self, time: datetime) -> Mapping[str, Any]:
        """Return the values that held at ``time``, by key."""
        moment, found = aware(time), {}
        with self._storage.snapshot():
            for document in self._storage.documents(self._scope, FACTS):
                for fact in self.history(document.key):
                    if fact.since <= moment and (fact.until is None or moment < fact.until):
                        found[fact.key] = fact.value
        return found

    # conflicts

    def conflicts(self) -> list[FactConflict]:
        """Return what contradicts a fact and was not resolved, in the order in which it was said."""
        return open_conflicts(self._storage, self._scope)

    @overload
    def resolve(self, id: str, keep: Literal["fact", "claim"]) -> Any: ...

    @overload
    def resolve(self, id: str, *, value: Any) -> Any: ...

    def resolve(self, id: str, keep: Literal["fact", "claim"] | None = None, *, value: Any = _UNSET) -> Any:
        """Close a conflict and return the value that the fact then has.

        ``keep="fact"`` leaves the fact and closes every conflict that claims the same; ``keep="claim"`` updates it to
        what was claimed, with the text as its source; ``value`` updates it to something else. Raises ``NotFound``, and
        ``InvalidInput`` where what was said is only what the fact is not.
        """
        if (keep not in ("fact", "claim")) if value is _UNSET else (keep is not None):
            raise InvalidInput('say what to keep: "fact" or "claim", or give another value=')
        found = conflict(self._storage, self._scope, id)
        if keep == "fact":
            close(self._storage, self._scope, normal(found.key), like=found)
            return self[found.key]
        if keep == "claim" and found.negated and not isinstance(found.fact, bool):
            raise InvalidInput(f"it was only said that {found.key!r} is not {found.claim!r}: give the value= it has")
        source, entry = (found.citation, found.entry) if keep == "claim" else (None, None)
        return self._set(found.key, _claimed(found) if keep == "claim" else value, source, None, entry).value

    # documents

    def _set(self, key: str, value: Any, source: str | None, at: datetime | None, entry: str | None) -> Fact:
        folded, now = _folded(key), self._clock()
        text = self._checked(key, value)
        if source is not None and (not isinstance(source, str) or not source.strip()):
            raise InvalidInput(f"a fact's source must be a text or None, got {source!r}")
        if at is not None and aware(at, "at") > now:
            raise InvalidInput(f"a fact holds at the latest since now, not since {at!r}")
        [record] = self._records([self._entry(folded, key.strip(), value, source, now)])
        with self._storage.transaction():
            close(self._storage, self._scope, folded)
            last = self._last(folded)
            if last and not last.ended and to_json(last.value) == text:
                return last.fact()
            since = to_micros(aware(at) if at else now)
            if last and since < last.since:
                if at is not None:
                    raise InvalidInput(f"{key!r} has a value since {from_micros(last.since)}: history is not rewritten")
                since = last.since  # the clock went back
            version = _Version(key.strip(), value, since, to_micros(now), source, entry)
            self._write(folded, version)
            self._index(replace(record, entry=replace(record.entry, occurred_at=from_micros(since))))
            return version.fact()

    def _checked(self, key: str, value: Any) -> str:
        text = to_json(value)
        if len(text.encode("utf-8", "replace")) > self._settings.max_bytes:
            raise InvalidInput(f"the value of {key!r} has more than {self._settings.max_bytes:,} bytes: store less")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidInput(f"the value of {key!r} is not valid Unicode: it has half of a surrogate pair")
        return text

    def _entry(self, folded: str, key: str, value: Any, source: str | None, now: datetime) -> Entry:
        said = value if isinstance(value, str) else to_json(value)
        return Entry(
            id=entry_id(self._scope, folded),
            kind=KIND,
            text=f"{key}: {said}",
            scope=self._scope,
            occurred_at=now,
            recorded_at=now,
            source=source,
            channel=CHANNEL,
            importance=self._settings.importance,
            metadata={KIND: folded},
        )

    def _index(self, record: Record) -> None:
        if record.entry.id in self._storage.sketch(self._scope, [record.entry.id]):
            self._storage.replace(self._scope, record)
        else:
            self._storage.put(self._scope, [record])

    def _write(self, folded: str, version: _Version) -> None:
        self._storage.write_document(self._scope, FACTS, folded, version.to_json(), keep=_ALL)

    def _current(self, key: str) -> _Version:
        version = self._last(_folded(key))
        if version is None or version.ended:
            raise NotFound(f"no fact {key!r} in scope {self._scope}")
        return version

    def _last(self, folded: str) -> _Version | None:
        document = self._storage.read_document(self._scope, FACTS, folded)
        return _Version(**document.value) if document else None

    def _all(self, keys: Collection[str] | None = None) -> dict[str, _Version]:
        return _standing(self._storage, self._scope, keys)


def entry_id(scope: Scope, folded: str) -> str:
    """The id of the entry by which recall finds a fact."""
    return derive_id(scope, KIND, folded)


def standing(storage: Storage, scope: Scope, keys: Collection[str] | None = None) -> dict[str, Fact]:
    """Return the facts that have a value now, by folded key."""
    return {folded: version.fact() for folded, version in _standing(storage, scope, keys).items()}


def forget_facts(storage: Storage, scope: Scope, doomed: Collection[Entry]) -> None:
    """Remove what facts have of forgotten entries: the facts that they are, the values that were taken from what they
    claimed, and the conflicts that quote them. Call it inside the transaction that erases them.

    A fact that loses its current value so has none from then on; what it was before stays.
    """
    gone = {entry.id for entry in doomed}
    named = {str(entry.metadata[KIND]): entry.id for entry in doomed if entry.kind == KIND and KIND in entry.metadata}
    keys = [key for key, id_ in named.items() if id_ == entry_id(scope, key)]  # not what a note only says it is
    storage.erase_documents(scope, FACTS, keys)
    for key in keys:
        close(storage, scope, key)
    quoting = [item.id for item in open_conflicts(storage, scope) if item.entry in gone]
    storage.erase_documents(scope, CONFLICTS, quoting)
    for document in storage.documents(scope, FACTS):
        _take_back(storage, scope, document.key, gone)


def _take_back(storage: Storage, scope: Scope, folded: str, gone: Collection[str]) -> None:
    versions = [_Version(**document.value) for document in reversed(storage.versions(scope, FACTS, folded))]
    kept = [version for version in versions if version.entry not in gone]
    if len(kept) == len(versions):
        return
    last = versions[-1]
    if last.entry in gone:
        kept.append(replace(last, value=None, source=None, entry=None, ended=True))
        storage.erase(scope, [entry_id(scope, folded)])
        close(storage, scope, folded)
    storage.erase_documents(scope, FACTS, [folded])
    for version in kept:
        storage.write_document(scope, FACTS, folded, version.to_json(), keep=_ALL)


def _standing(storage: Storage, scope: Scope, keys: Collection[str] | None) -> dict[str, _Version]:
    versions = {document.key: _Version(**document.value) for document in storage.documents(scope, FACTS, keys)}
    return {folded: version for folded, version in versions.items() if not version.ended}


def _history(documents: Sequence[Document]) -> list[Fact]:
    versions = [_Version(**document.value) for document in reversed(documents)]
    ends = [*(version.since for version in versions[1:]), None]
    return [version.fact(end) for version, end in zip(versions, ends, strict=False) if not version.ended]


def _claimed(found: FactConflict) -> Any:
    """The value that a claim gives a fact; of the kind that the fact has, where it can be read so."""
    if isinstance(found.fact, bool):
        return not found.fact  # nothing else contradicts a boolean
    if isinstance(found.fact, int | float) and isinstance(found.claim, str):
        try:
            number = float(found.claim.replace(",", ""))
        except ValueError:
            return found.claim
        return int(number) if number.is_integer() else number
    return found.claim


def _folded(key: str) -> str:
    if not isinstance(key, str) or not key.strip() or len(key) > MAX_KEY or not key.isprintable():
        raise InvalidInput(f"a fact's key is a printable text of at most {MAX_KEY} characters, got {key!r:.80}")
    return normal(key)
