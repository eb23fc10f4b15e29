"""Dossiers: one current document for each topic, made of its most salient sources and updated in place [Capsule].

Sources are read and condensed first, without a lock: a summariser may take its time. Then one transaction writes the
new version and its entry in the unified index, unless somebody else was quicker or a source was forgotten meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tidal_plugins.dossiers.contradictions import contradictions
from tidal_plugins.dossiers.drafting import Draft, Drafter, InPlace
from tidal_plugins.dossiers.sources import Sources
from tidal_plugins.dossiers.stored import from_document, to_value
from tidal_plugins.english.importance import importance
from tidal_plugins.english.tags import tags
from tidal_plugins.errors import Conflict, InvalidInput, NotFound
from tidal_plugins.ingestion.derived import purge, write_derived
from tidal_plugins.ingestion.tombstones import remove_tombstones
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.clock import from_micros, hours_between, to_micros
from tidal_plugins.model.dossier import Contradiction, Dossier
from tidal_plugins.model.entry import DOSSIER, SYNTHESIS, Entry, Scope
from tidal_plugins.protocols import Summariser
from tidal_plugins.retrieval.pipeline import Recaller
from tidal_plugins.scoring.dossier import is_due
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.storage.base import Document, Storage
from tidal_plugins.storage.shorthands import read_document
from tidal_plugins.tuning import Tuning
from tidal_plugins.validation import clean

DOSSIERS = "dossiers"
"""Collection of dossiers, derived documents by their topics."""

TOPICS = "topics"
"""Collection of the registered topics, with what came of their last refresh."""

MAX_TOPIC = 200
"""Characters of a topic."""

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Dossiers:
    """The dossiers of one scope.

    ``summariser`` writes the texts. ``extractive``, which needs no model, writes them if ``summariser`` is ``None``, or
    if it fails on a topic that has no text yet.
    """

    writer: Writer
    recaller: Recaller
    scope: Scope
    extractive: Summariser
    summariser: Summariser | None = None

    def current(self, topic: str, now: datetime, *, force: bool = False) -> Dossier:
        """Register a topic and return its dossier, refreshed if it is due or ``force`` asks for it.

        If nothing is known yet, sources are looked for every time. Raises ``InvalidInput`` for a topic that consists of
        stop words.
        """
        name = _checked_topic(topic)
        asked = _Stored(normal(name), Dossier(name))
        return self._current(asked, now, None if force else self.settings.dossier.refresh)

    def standing(self, topic: str) -> Dossier:
        """Return the dossier on a registered topic as it stands. Raises ``NotFound`` for a topic that has none."""
        found = self._stored([normal(_checked_topic(topic))])
        if not found:
            raise NotFound(f"no dossier on {topic!r} in scope {self.scope}: memory.dossiers.refresh(topic) makes one")
        return found[0].dossier

    def known(self, topic: str, now: datetime) -> Dossier:
        """Return the current dossier of a registered topic. Of another topic what its sources say, without a model;
        nothing is stored of it."""
        name = _checked_topic(topic)
        if self._stored([normal(name)]):
            return self.current(name, now)
        dossier = Dossier(name)
        return self._drafted(dossier, self.sources.of(name, now), InPlace(dossier, {}), None, now)[0]

    def drop(self, topic: str, now: datetime) -> bool:
        """Remove a topic with its dossier and all versions of it, and return whether it was registered.

        Who refreshes all that are due at that moment does not bring it back.
        """
        key = normal(_checked_topic(topic))
        with self.storage.transaction():
            self.storage.erase_documents(self.scope, DOSSIERS, [key])
            self.storage.erase(self.scope, [self._entry_id(key)])
            purge(self.storage, self.scope, [self._entry_id(key)], now)
            there = bool(read_document(self.storage, self.scope, TOPICS, key))
            self.storage.erase_documents(self.scope, TOPICS, [key])
        return there

    def refresh_due(self, now: datetime) -> list[Dossier]:
        """Refresh every dossier that is due by the longer interval, each by itself, and return them.

        One that was forgotten is made anew only when it is asked for.
        """
        interval = self.settings.dossier.refresh_all
        found = [stored for stored in self._stored() if stored.due(now, interval)]
        gone = self.writer.tombstoned(self.scope, [self._entry_id(stored.key) for stored in found])
        left = [stored for stored in found if self._entry_id(stored.key) not in gone]
        return [self._current(stored, now, interval) for stored in left]

    def all(self) -> list[Dossier]:
        """List the dossiers of all registered topics as they stand, by topic."""
        return [stored.dossier for stored in self._stored()]

    def versions(self, topic: str) -> list[Dossier]:
        """List the versions of a dossier that are kept, the newest first. Forgetting a source of one ends them all."""
        name = _checked_topic(topic)
        found = self.storage.documents(self.scope, DOSSIERS, [normal(name)], versions=True)
        return [from_document(document, name) for document in found if document.value]

    @property
    def storage(self) -> Storage:
        return self.writer.storage

    @property
    def settings(self) -> Tuning:
        return self.writer.settings

    @property
    def sources(self) -> Sources:
        return Sources(self.recaller, self.settings, self.scope)

    def _stored(self, keys: Collection[str] | None = None) -> list[_Stored]:
        """Return the dossiers of the registered topics, all or those of ``keys``."""
        with self.storage.snapshot():
            topics = self.storage.documents(self.scope, TOPICS, keys)
            contents = {document.key: document for document in self.storage.documents(self.scope, DOSSIERS, keys)}
        return [_of_documents(topic, contents.get(topic.key)) for topic in topics]

    def _current(self, asked: _Stored, now: datetime, interval: float | None) -> Dossier:
        """Refresh a dossier as it is stored by now. One that was registered is not made anew when it was dropped."""
        for _ in range(_TRIES):
            stored = next(iter(self._stored([asked.key])), None)
            if stored is None and asked.registered:
                return Dossier(asked.dossier.topic)
            stored = stored or asked
            if interval is not None and not stored.due(now, interval):
                return stored.dossier
            try:
                return self._refreshed(stored, now)
            except Conflict:
                continue  # somebody else was quicker, or a source is gone: look again
        raise Conflict(f"the dossier on {asked.dossier.topic!r} changed {_TRIES} times while it was made; try again")

    def _drafted(
        self, old: Dossier, sources: Sequence[Entry], place: InPlace, summariser: Summariser | None, now: datetime
    ) -> tuple[Dossier, Draft]:
        """Return the dossier as it should be now, and the draft that it was made from."""
        settings = self.settings
        draft = Drafter(self.extractive, summariser, settings.dossier, settings.models.timeout).draft(sources, place)
        new = replace(
            old,
            findings=draft.findings,
            contradictions=tuple(contradictions(sources)),
            checked_at=now,
            made_by=draft.made_by,
            problem=draft.problem,
        )
        return new, draft

    def _refreshed(self, stored: _Stored, now: datetime) -> Dossier:
        old = stored.dossier
        sources = self.sources.of(old.topic, now)
        place = InPlace(old, self.storage.get(self.scope, old.sources))
        new, draft = self._drafted(old, sources, place, self.summariser, now)
        if not new.findings or _content(new) == _content(old):
            self._register(stored, new)
            return new
        known = {entry.id: entry for entry in [*place.entries.values(), *sources]}
        new = replace(new, updated_at=now, entry=self._entry_id(stored.key))
        return self._written(stored, new, known, draft.fed, now)

    def _written(
        self, stored: _Stored, dossier: Dossier, known: Mapping[str, Entry], fed: Iterable[str], now: datetime
    ) -> Dossier:
        """Write a new version, its entry in the index, and the topic."""
        [record] = self.writer.records([self._entry(stored.key, dossier, known, now)])
        cited = dict.fromkeys([*dossier.sources, *_compared(dossier.contradictions), *fed])
        keep = self.settings.dossier.versions
        with self.storage.transaction():
            if self.storage.summaries(self.scope, list(cited)).keys() != cited.keys():
                raise Conflict("a source is gone")
            earlier = self.storage.documents(self.scope, DOSSIERS, [stored.key], versions=True)
            quoted = {id_ for document in earlier[:keep] if document.value for id_ in document.value["cited"]}
            passed_on = _passed_on(earlier[0].value if earlier else None, dossier)
            version = write_derived(
                self.storage,
                self.scope,
                DOSSIERS,
                stored.key,
                to_value(dossier) | {"cited": list(cited), "passed_on": bool(passed_on)},
                sources={*cited, *quoted, *passed_on, record.entry.id},
                entry=record.entry.id,
                expected=stored.version,
                keep=keep,
            )
            if not self.writer.put(self.scope, [record]):
                self.writer.put(self.scope, [record], replace=True)
            # It was asked for again: from now on it is kept current like any other.
            remove_tombstones(self.storage, self.scope, [record.entry.id])
            self._register(stored, dossier)
        return replace(dossier, version=version)

    def _entry(self, key: str, dossier: Dossier, known: Mapping[str, Entry], now: datetime) -> Entry:
        """Return the dossier as an entry that recall finds.

        It is trusted as much as the least trusted of its sources, and does not decay.
        """
        text = "\n".join(finding.text for finding in dossier.findings)
        return Entry(
            id=self._entry_id(key),
            kind=DOSSIER,
            text=text,
            scope=self.scope,
            occurred_at=max(known[id_].occurred_at for id_ in dossier.sources),
            recorded_at=now,
            source=dossier.topic,
            channel=SYNTHESIS,
            trust=min(known[id_].trust for id_ in dossier.sources),
            importance=importance(text),
            tags=tags(text),
            metadata={"topic": dossier.topic, "sources": list(dossier.sources)},
        )

    def _register(self, stored: _Stored, dossier: Dossier) -> None:
        at = to_micros(dossier.checked_at) if dossier.checked_at else 0
        value = {"topic": dossier.topic, "at": at, "problem": dossier.problem}
        self.storage.write_document(self.scope, TOPICS, stored.key, value, expected=stored.registered)

    def _entry_id(self, key: str) -> str:
        return self.writer.id_of(self.scope, DOSSIER, key)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A dossier as it stands, and the versions, of it and of its topic, that the next write must name."""

    key: str
    dossier: Dossier
    version: int = 0
    registered: int = 0

    def due(self, now: datetime, interval: float) -> bool:
        checked = self.dossier.checked_at
        return is_due(hours_between(checked, now) if checked and self.dossier.findings else None, interval)


def _of_documents(topic: Document, content: Document | None) -> _Stored:
    name, at = topic.value["topic"], from_micros(topic.value["at"])
    dossier = from_document(content, name) if content and content.value else Dossier(name)
    dossier = replace(dossier, checked_at=at, problem=topic.value["problem"])
    return _Stored(topic.key, dossier, content.version if content else 0, topic.version)


def _checked_topic(topic: str) -> str:
    name = " ".join(clean(topic, max_chars=MAX_TOPIC, name="a topic").split())
    if not terms(name):
        raise InvalidInput(f"the topic {name!r} has only stop words or symbols: name what it is about")
    return name


def _content(dossier: Dossier) -> tuple[object, ...]:
    return dossier.findings, dossier.contradictions, dossier.made_by


def _passed_on(before: Mapping[str, Any] | None, dossier: Dossier) -> Collection[str]:
    """Return the ids that a text may rest on without citing them.

    A model that wrote the text, or an earlier one, has read them.
    """
    if not before or not before["findings"]:
        return ()
    by_model = "model" in (before["made_by"], dossier.made_by) or before["passed_on"]
    return before["sources"] if by_model else ()


def _compared(found: Iterable[Contradiction]) -> Iterator[str]:
    """Yield the ids of the entries that are compared with each other."""
    return (id_ for item in found for id_ in (*item.newer.sources, *item.older.sources))
