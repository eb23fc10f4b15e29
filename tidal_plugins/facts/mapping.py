"""Facts: a mapping of keys to values with their history; what was set changes by explicit updates alone [Capsule].

A fact is a document whose versions are its history, and one entry of kind ``fact`` by which recall finds it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Literal, Protocol, overload

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.facts.claims import contradicts, number
from tidal_plugins.facts.conflicts import (
    CONFLICTS,
    FACT_CHANNEL,
    close,
    conflict,
    flag,
    open_conflicts,
    reject,
    without_secrets,
)
from tidal_plugins.facts.versions import (
    EVERY_VERSION,
    FACTS,
    KEY,
    Version,
    fact_entry_id,
    flag_earlier,
    history_of,
    mention,
    standing_page,
    standing_versions,
)
from tidal_plugins.model.clock import aware, from_micros, to_micros
from tidal_plugins.model.entry import FACT, Entry, Scope
from tidal_plugins.model.fact import SUPERSEDES, Claim, Fact, FactConflict
from tidal_plugins.scoring.text import normal
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import Record, Storage, WhereLinks
from tidal_plugins.storage.capabilities import question
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.rows import to_json
from tidal_plugins.storage.shorthands import read_document, write_document
from tidal_plugins.storage.transactions import retry
from tidal_plugins.validation import check_depth, check_page, label, page_of

MAX_BYTES = 16 * 1024
"""Bytes that a fact's value may have as JSON."""


IMPORTANCE = 7.0
"""Importance of the entry by which recall finds a fact."""


MAX_KEY = 200
"""Characters of a key."""

_UNSET: Any = object()


class RecordWriter(Protocol):
    """The part of the write path that makes entries findable."""

    def records(self, entries: Sequence[Entry]) -> Sequence[Record]: ...

    def put(self, scope: Scope, records: Sequence[Record], *, replace: bool = False) -> list[str]: ...


class Facts(MutableMapping[str, Any]):
    """The facts of one scope: ``facts["bridge"] = "up"``.

    Keys are texts of up to 200 characters. Case and spaces do not distinguish them, and they are listed as last given.
    Values are JSON. Only an assignment, ``set``, ``del``, ``end`` or ``resolve`` changes a fact that somebody set; a
    model that reads along adds others by ``learn`` and updates these. Earlier values stay in the ``history`` until
    ``forget`` is called. A stored text that contradicts a fact opens a conflict, and so
    does a new fact that the last text on it contradicts.

    Every method has an async twin: ``await memory.facts.aset("bridge", "up")``.
    """

    def __init__(
        self,
        storage: Storage,
        scope: Scope,
        clock: Callable[[], datetime],
        writer: RecordWriter,
        forget: Callable[[Collection[str]], int],
        redact: Callable[[Any, str], Any],
    ) -> None:
        """Initialise the mapping.

        ``writer`` splits and embeds entries, so that recall finds them. ``forget`` removes them by id for good.
        ``redact`` returns a value, given its name, as it may be stored.
        """
        self._storage = storage
        self._scope = scope
        self._clock = clock
        self._writer = writer
        self._forget = forget
        self._redact = redact

    # the mapping

    @question
    def __getitem__(self, key: str) -> Any:
        """Return the current value of a key. Raises ``NotFound``."""
        return self.fact(key).value

    def __setitem__(self, key: str, value: Any) -> None:
        """Set a fact, or update it, as ``set`` does."""
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        """End a fact now; its history stays. Raises ``NotFound``."""
        self.end(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and bool(key.strip()) and normal(key) in self._all([normal(key)])

    @question
    def __iter__(self) -> Iterator[str]:
        return iter([version.key for version in self._all().values()])

    @question
    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"Facts({dict(self)!r})"

    # more than a mapping

    def get(self, key: str, default: Any = None) -> Any:
        """Return the current value of a key, or ``default`` if it has none."""
        try:
            return self[key]
        except NotFound:
            return default

    @question
    def fact(self, key: str) -> Fact:
        """Return the current value of a key, with its source and since when it holds. Raises ``NotFound``."""
        return self._current(key).fact()

    def set(self, key: str, value: Any, *, source: str | None = None, at: datetime | None = None) -> Fact:
        """Set a fact, or update it, and return it.

        ``source`` names where the value comes from. ``at`` is the time from which it holds (default: now); it cannot
        lie in the future, or before the current value began. Setting the current value again keeps its time and
        replaces its source. Setting a fact closes its open conflicts. Raises ``InvalidInput``.
        """
        return self._set(key, value, source, at)

    @retry
    def end(self, key: str) -> None:
        """End a fact now, as ``del`` does. Keeps its history and closes its open conflicts. Raises ``NotFound``."""
        folded = _folded(key)
        with self._storage.transaction():
            current = self._current(key)
            now = to_micros(self._clock())
            end = replace(current, value=None, source=None, entry=None, ended=True, recorded_at=now)
            self._write(folded, replace(end, since=max(now, current.since)))
            self._storage.erase(self._scope, [fact_entry_id(self._storage, self._scope, folded)])
            close(self._storage, self._scope, folded)

    @question
    def list(self, *, limit: int | None = None, after: int = 0) -> builtins.list[Fact]:
        """List the facts as they stand, by key: at most ``limit``, and ``after`` passes over so many of the first.

        Raises ``InvalidInput``.
        """
        return standing_page(self._storage, self._scope, *check_page(limit, after))

    @question
    @whole()
    def history(self, key: str) -> builtins.list[Fact]:
        """Return every value that a key had, oldest first; an empty list for a key that was never set."""
        return history_of(self._storage.documents(self._scope, FACTS, [_folded(key)], versions=True))

    def forget(self, key: str) -> bool:
        """Remove a fact for good: all its values, its conflicts, its entry, and the texts derived from it.

        Returns whether there was one. A fact that was ended can still be forgotten, with its history.
        """
        return self._forget({fact_entry_id(self._storage, self._scope, _folded(key))}) > 0

    @question
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

    @question
    def conflicts(self, *, limit: int | None = None, after: int = 0) -> builtins.list[FactConflict]:
        """Return the open conflicts, in the order in which they were said, without secrets.

        At most ``limit`` are returned, and ``after`` passes over so many of the first. Raises ``InvalidInput``.
        """
        page = page_of(open_conflicts(self._storage, self._scope), *check_page(limit, after))
        return [without_secrets(found) for found in page]

    @overload
    def resolve(self, id: str, keep: Literal["fact", "claim"]) -> Any: ...

    @overload
    def resolve(self, id: str, *, value: Any) -> Any: ...

    def resolve(self, id: str, keep: Literal["fact", "claim"] | None = None, *, value: Any = _UNSET) -> Any:
        """Close a conflict and return the value that the fact then has.

        ``keep="fact"`` leaves the fact and closes every conflict that claims the same; recall does not take these
        texts to supersede the fact any more. ``keep="claim"`` updates the fact to the claimed value, with the text as
        its source. ``value`` updates it to another value. Raises ``NotFound``, and ``InvalidInput`` for
        ``keep="claim"`` if the claim only denies the value. A conflict between two texts is closed, and the statement
        to keep is returned; both texts stay.
        """
        kept = isinstance(keep, str) and keep in ("fact", "claim")
        if not kept if value is _UNSET else (keep is not None):
            raise InvalidInput('say what to keep: "fact" or "claim", or give another value=')
        found = conflict(self._storage, self._scope, id)
        if found.against is not None:
            return self._close_observed(found, keep)
        if keep == "fact":
            self._keep_fact(found)
            return self[found.key]
        if keep == "claim" and found.negated and not isinstance(found.fact, bool):
            raise InvalidInput(
                f"it was only said that {shown(found.key)} is not {shown(found.claim)}: give the value= it has"
            )
        if keep == "claim":
            return self._set(found.key, _claimed(found), found.citation, claim=self._claimant(found), of=found).value
        return self._set(found.key, value, of=found).value

    # what a model reads

    def learn(self, entry: Entry, claim: Claim) -> bool:
        """Take what a model read in an entry of a person's words, and return whether it says anything of now.

        A new key becomes a fact, with the entry's citation as its source. A value that a model read before is updated
        or ended, as any fact is. One that somebody set stays as it is: what contradicts it opens a conflict. Raises
        ``InvalidInput`` for anything but an entry and a claim.
        """
        if not isinstance(entry, Entry) or not isinstance(claim, Claim):
            raise InvalidInput(f"learn takes an Entry and a Claim, got {shown(entry)} and {shown(claim)}")
        try:
            folded, at = _folded(claim.key), min(entry.occurred_at, self._clock())
            last = self._last(folded)
            if last is not None and to_micros(at) < last.since:
                return False
            if last is None or last.ended:
                if claim.negated:
                    return False
                self._set(claim.key, claim.value, entry.citation, at, claim=entry, read=claim)
            elif not (last.read and contradicts(last.value, claim)):
                self._dispute(folded, entry, claim)
            elif not claim.negated:
                self._set(last.key, claim.value, entry.citation, at, claim=entry, read=claim)
            else:
                with self._storage.transaction():
                    if self._last(folded) == last:
                        self.end(last.key)
        except (InvalidInput, NotFound):  # no key, not of now, or forgotten meanwhile
            return False
        return True

    # async twins

    aget = in_thread(get)
    afact = in_thread(fact)
    aset = in_thread(set)
    alist = in_thread(list)
    aend = in_thread(end)
    ahistory = in_thread(history)
    aforget = in_thread(forget)
    aas_of = in_thread(as_of)
    aconflicts = in_thread(conflicts)
    aresolve = in_thread(resolve)
    alearn = in_thread(learn)

    # documents

    @retry
    def _set(
        self,
        key: str,
        value: Any,
        source: str | None = None,
        at: datetime | None = None,
        *,
        claim: Entry | None = None,
        of: FactConflict | None = None,
        read: Claim | None = None,
    ) -> Fact:
        """Set a fact. ``claim`` is the entry that the value is taken from, ``of`` the conflict that this resolves, and
        ``read`` what a model read in the entry: it takes the place of no value that somebody set."""
        folded, now = _folded(key), self._clock()
        self._checked(key, value)
        value = self._redact(value, key)
        text = self._checked(key, value)
        if source is not None and (not isinstance(source, str) or not source.strip()):
            raise InvalidInput(f"a fact's source must be a text or None, got {shown(source)}")
        source = self._redact(label(source, "a fact's source"), "")
        if at is not None and aware(at, "at") > now:
            raise InvalidInput(f"a fact holds at the latest since now, not since {shown(at)}")
        [record] = self._writer.records([self._entry(folded, key.strip(), value, source, now, claim)])
        with self._storage.transaction():
            if of:
                conflict(self._storage, self._scope, of.id)  # again: somebody may have resolved or forgotten it
            if claim:
                self._check_exists(claim.id)
            last, by = self._last(folded), claim.id if claim else None
            if claim and read and last and not last.ended and not last.read:  # somebody set it meanwhile
                self._dispute(folded, claim, read)
                return last.fact()
            close(self._storage, self._scope, folded)
            same = last is not None and not last.ended and to_json(last.value) == text
            if last and same and not _has_other_source(last, source, by):
                return last.fact()
            since = last.since if last and same else self._since(key, last, aware(at) if at else None, now)
            version = Version(key.strip(), value, since, to_micros(now), source, by, read=read is not None)
            self._write(folded, version)
            self._index(replace(record, entry=replace(record.entry, occurred_at=from_micros(since))))
            mention(self._storage, self._scope, version.key, value, folded, now)
            if last is None and claim is None:
                flag_earlier(self._storage, self._scope, version.fact())
            return version.fact()

    def _dispute(self, folded: str, entry: Entry, claim: Claim) -> None:
        """Open a conflict if what a model read contradicts a fact."""
        with self._storage.transaction():
            facts = {key: version.fact() for key, version in self._all([folded]).items()}
            flag(self._storage, self._scope, facts, [(entry, claim)])

    def _keep_fact(self, found: FactConflict) -> None:
        """Close every conflict that claims the same; the texts that claim it do not supersede the fact."""
        entry = fact_entry_id(self._storage, self._scope, normal(found.key))
        with self._storage.transaction():
            conflict(self._storage, self._scope, found.id)  # again: somebody may have resolved or forgotten it
            for one in close(self._storage, self._scope, normal(found.key), like=found):
                reject(self._storage, self._scope, one, entry, self._clock())

    def _close_observed(self, found: FactConflict, keep: str | None) -> Any:
        if keep is None:
            raise InvalidInput('these are two texts, and no fact: say which to keep, "fact" (the earlier) or "claim"')
        with self._storage.transaction():
            conflict(self._storage, self._scope, found.id)  # again: somebody may have resolved or forgotten it
            self._storage.erase_documents(self._scope, CONFLICTS, [found.id])
            if keep == "fact" and found.against:
                reject(self._storage, self._scope, found, found.against, self._clock())
        shown = without_secrets(found)
        return shown.fact if keep == "fact" else shown.claim

    def _since(self, key: str, last: Version | None, at: datetime | None, now: datetime) -> int:
        since = to_micros(at or now)
        if last is None or since >= last.since:
            return since
        if at is not None:
            raise InvalidInput(f"{shown(key)} has a value since {from_micros(last.since)}: history is not rewritten")
        return last.since  # the clock went back

    def _claimant(self, found: FactConflict) -> Entry:
        self._check_exists(found.entry)
        return self._storage.get(self._scope, [found.entry])[found.entry]

    def _check_exists(self, id_: str) -> None:
        if not self._storage.summaries(self._scope, [id_]):
            raise NotFound(f"the text that claims this is gone from scope {self._scope}: give the value= it has")

    def _checked(self, key: str, value: Any) -> str:
        text = to_json(value)
        if len(text.encode("utf-8", "replace")) > MAX_BYTES:
            raise InvalidInput(f"the value of {shown(key)} has more than {MAX_BYTES:,} bytes: store less")
        check_depth(value, f"the value of {shown(key)}")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidInput(f"the value of {shown(key)} is not valid Unicode: it has half of a surrogate pair")
        return text

    def _entry(
        self, folded: str, key: str, value: Any, source: str | None, now: datetime, claim: Entry | None
    ) -> Entry:
        """Return the entry of a fact, trusted as much as the claim that its value is taken from."""
        said = value if isinstance(value, str) else to_json(value)
        return Entry(
            id=fact_entry_id(self._storage, self._scope, folded),
            kind=FACT,
            text=f"{key}: {said}",
            scope=self._scope,
            occurred_at=now,
            recorded_at=now,
            source=source,
            channel=FACT_CHANNEL,
            trust=claim.trust if claim else 1.0,
            importance=IMPORTANCE,
            metadata={KEY: folded},
        )

    def _index(self, record: Record) -> None:
        if record.entry.id in self._storage.summaries(self._scope, [record.entry.id]):
            older = WhereLinks(targets=[record.entry.id], kinds=[SUPERSEDES])
            self._storage.erase_links(self._scope, older)  # what superseded the value before says nothing of this one
            self._writer.put(self._scope, [record], replace=True)
        else:
            self._writer.put(self._scope, [record])

    def _write(self, folded: str, version: Version) -> None:
        write_document(self._storage, self._scope, FACTS, folded, asdict(version), keep=EVERY_VERSION)

    def _current(self, key: str) -> Version:
        version = self._last(_folded(key))
        if version is None or version.ended:
            raise NotFound(f"no fact {shown(key)} in scope {shown_scope(self._scope)}")
        return version

    @whole()
    def _last(self, folded: str) -> Version | None:
        document = read_document(self._storage, self._scope, FACTS, folded)
        return Version(**document.value) if document else None

    def _all(self, keys: Collection[str] | None = None) -> dict[str, Version]:
        return standing_versions(self._storage, self._scope, keys)


def _has_other_source(last: Version, source: str | None, entry: str | None) -> bool:
    """Return whether setting the same value again gives it another source."""
    if source is None:
        return last.entry is not None
    return (source, entry) != (last.source, last.entry)


def _claimed(found: FactConflict) -> Any:
    """Return the claimed value, as the type that the fact has if it can be read so."""
    if isinstance(found.fact, bool):
        return not found.fact  # nothing else contradicts a boolean
    if isinstance(found.fact, int | float) and isinstance(found.claim, str):
        said = number(found.claim)
        return found.claim if said is None else said
    return found.claim


def _folded(key: str) -> str:
    if not isinstance(key, str) or not key.strip() or len(key) > MAX_KEY or not key.isprintable():
        raise InvalidInput(f"a fact's key is a printable text of at most {MAX_KEY} characters, got {shown(key)}")
    return normal(key)
