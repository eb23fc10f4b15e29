"""Dossiers: one current document for each topic, made of its most salient sources and updated in place [Capsule].

Sources are read and condensed first, without a lock: a summariser may take its time. Then one transaction writes the
new version and its entry in the unified index, unless somebody else was quicker or a source was forgotten meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from tidal_plugins.dossiers.current import contradictions
from tidal_plugins.dossiers.drafting import Draft, Drafter, InPlace
from tidal_plugins.dossiers.sources import DossierTuning, Material, Sources, chosen
from tidal_plugins.dossiers.stored import (
    Stored,
    checked_topic,
    compared,
    content_of,
    from_document,
    of_documents,
    passed_on,
    to_entry,
    to_value,
)
from tidal_plugins.errors import Conflict, NotFound
from tidal_plugins.ingestion.derived import purge, write_derived
from tidal_plugins.ingestion.tombstones import remove_tombstones
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.clock import local, to_micros
from tidal_plugins.model.dossier import Dossier
from tidal_plugins.model.entry import DOSSIER, Entry, Scope
from tidal_plugins.protocols import Summariser
from tidal_plugins.retrieval.pipeline import Recaller, without_secrets
from tidal_plugins.scoring.text import normal
from tidal_plugins.settings import Settings
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.scrubbing import mark_unscrubbed, scrub
from tidal_plugins.storage.shorthands import read_document, write_document
from tidal_plugins.storage.transactions import retry
from tidal_plugins.summarising.sizes import ApproximateCounter

DOSSIERS = "dossiers"
"""Collection of dossiers, derived documents by their topics."""

TOPICS = "topics"
"""Collection of the registered topics, with what came of their last refresh."""

_TRIES = 10
"""Attempts at one refresh. Each other call that began earlier can be quicker once."""


@dataclass(frozen=True, slots=True)
class Dossiers:
    """The dossiers of one scope.

    ``summariser`` writes the texts. They are quoted, which needs no model, if it is ``None``, or if it fails on a topic
    that has no text yet.
    """

    writer: Writer
    recaller: Recaller
    scope: Scope
    summariser: Summariser | None = None

    def current(self, topic: str, now: datetime, *, force: bool = False) -> Dossier:
        """Register a topic and return its dossier, refreshed if it is due or ``force`` asks for it.

        If nothing is known yet, sources are looked for every time. Raises ``InvalidInput`` for a topic that consists of
        stop words.
        """
        name = checked_topic(topic)
        asked = Stored(normal(name), Dossier(name))
        return self._current(asked, now, None if force else self.settings[DossierTuning].refresh)

    def standing(self, topic: str) -> Dossier:
        """Return the dossier on a registered topic as it stands. Raises ``NotFound`` for a topic that has none."""
        found = self._stored([normal(checked_topic(topic))])
        if not found:
            raise NotFound(
                f"no dossier on {shown(topic)} in scope {shown_scope(self.scope)}: "
                "memory.dossiers.refresh(topic) makes one"
            )
        return found[0].dossier

    def known(self, topic: str, now: datetime, max_tokens: int) -> Dossier:
        """Return the current dossier of a registered topic. Of another topic what its sources say, in ``max_tokens``
        and without a model; nothing is stored of it."""
        name = checked_topic(topic)
        if self._stored([normal(name)]):
            return self.current(name, now)
        dossier = Dossier(name)
        return self._drafted(dossier, self.sources.of(name, now), InPlace(dossier, {}), None, now, max_tokens)[0]

    @retry
    def drop(self, topic: str, now: datetime) -> bool:
        """Remove a topic with its dossier and all versions of it, bytes and all, and return whether it was registered.

        Who refreshes all that are due at that moment does not bring it back.
        """
        key = normal(checked_topic(topic))
        with self.storage.transaction():
            there = bool(read_document(self.storage, self.scope, TOPICS, key))
            self.storage.erase_documents(self.scope, DOSSIERS, [key])
            if self.storage.erase(self.scope, [self._entry_id(key)]) or there:
                mark_unscrubbed(self.storage)  # a topic without sources has no entry, and its name leaves bytes, too
            purge(self.storage, self.scope, [self._entry_id(key)], now)
            self.storage.erase_documents(self.scope, TOPICS, [key])
        scrub(self.storage)
        return there

    def refresh_due(self, now: datetime, begin: Callable[[], object] = lambda: None) -> list[Dossier]:
        """Refresh every dossier that is due by the longer interval, each by itself, and return them.

        Calls ``begin`` first if any is due. One that was forgotten is made anew only when it is asked for.
        """
        interval = self.settings[DossierTuning].refresh_all
        found = [stored for stored in self._stored() if stored.due(now, interval)]
        gone = self.writer.tombstoned(self.scope, [self._entry_id(stored.key) for stored in found])
        left = [stored for stored in found if self._entry_id(stored.key) not in gone]
        if left:
            begin()
        return [self._current(stored, now, interval) for stored in left]

    def all(self, limit: int | None = None, after: int = 0) -> list[Dossier]:
        """List the dossiers of all registered topics, or a page of them, as they stand, by topic."""
        return [stored.dossier for stored in self._stored(limit=limit, after=after)]

    @whole()
    def versions(self, topic: str) -> list[Dossier]:
        """List the versions of a dossier that are kept, the newest first. Forgetting a source of one ends them all."""
        name = checked_topic(topic)
        found = self.storage.documents(self.scope, DOSSIERS, [normal(name)], versions=True)
        return [from_document(document, name) for document in found if document.value]

    @property
    def storage(self) -> Storage:
        return self.writer.storage

    @property
    def settings(self) -> Settings:
        return self.writer.settings

    @property
    def sources(self) -> Sources:
        return Sources(self.recaller, self.settings, self.scope)

    def _stored(self, keys: Collection[str] | None = None, *, limit: int | None = None, after: int = 0) -> list[Stored]:
        """Return the dossiers of the registered topics, all or those of ``keys``, or a page of them."""
        with self.storage.snapshot():
            topics = self.storage.documents(self.scope, TOPICS, keys, limit=limit, after=after)
            chosen = keys if limit is None and not after else [topic.key for topic in topics]
            contents = {document.key: document for document in self.storage.documents(self.scope, DOSSIERS, chosen)}
        return [of_documents(topic, contents.get(topic.key)) for topic in topics]

    def _current(self, asked: Stored, now: datetime, interval: float | None) -> Dossier:
        """Refresh a dossier as it is stored by now. One that was registered is not made anew when it was dropped."""
        read: int | None = None
        for _ in range(_TRIES):
            stored = next(iter(self._stored([asked.key])), None)
            if stored is None and asked.registered:
                return Dossier(asked.dossier.topic)
            stored = stored or asked
            if interval is not None and not stored.due(now, interval):
                return stored.dossier
            checked = stored.dossier.checked_at
            if read not in (None, stored.registered) and checked and checked >= now:
                return stored.dossier  # another call began later and was quicker: its dossier is the newer one
            read = stored.registered
            try:
                return self._refreshed(stored, now)
            except Conflict:
                continue  # somebody else was quicker, or a source is gone: look again
        raise Conflict(
            f"the dossier on {shown(asked.dossier.topic)} changed {_TRIES} times while it was made; try again"
        )

    def _drafted(
        self,
        old: Dossier,
        found: Material,
        place: InPlace,
        summariser: Summariser | None,
        now: datetime,
        max_tokens: int,
    ) -> tuple[Dossier, Draft]:
        """Return the dossier as it should be now, and the draft that it was made from."""
        settings = self.settings
        said = chosen(
            found.standing(local(now, settings.zone).date()),
            old.topic,
            found,
            max_tokens=max_tokens,
            count=ApproximateCounter().count,
        )
        draft = Drafter(summariser, settings[DossierTuning], settings.models.timeout).draft(said, place)
        new = replace(
            old,
            findings=draft.findings,
            contradictions=tuple(contradictions([entry for entry in found.entries if found.is_about(entry)])),
            checked_at=now,
            made_by=draft.made_by,
            problem=draft.problem,
        )
        return new, draft

    def _refreshed(self, stored: Stored, now: datetime) -> Dossier:
        old = stored.dossier
        place = InPlace(old, self.storage.get(self.scope, old.sources))
        valid = [entry for entry in place.entries.values() if entry.valid_until is None or entry.valid_until > now]
        found = self.sources.of(old.topic, now, map(without_secrets, valid))
        new, draft = self._drafted(old, found, place, self.summariser, now, self.settings[DossierTuning].max_tokens)
        if not new.findings or content_of(new) == content_of(old):
            self._register(stored, new)
            return new
        known = {entry.id: entry for entry in [*place.entries.values(), *found.entries]}
        new = replace(new, updated_at=now, entry=self._entry_id(stored.key))
        return self._written(stored, new, known, draft.fed, now)

    def _written(
        self, stored: Stored, dossier: Dossier, known: Mapping[str, Entry], fed: Iterable[str], now: datetime
    ) -> Dossier:
        """Write a new version, its entry in the index, and the topic."""
        [record] = self.writer.records([to_entry(dossier, self.scope, self._entry_id(stored.key), known, now)])
        cited = dict.fromkeys([*dossier.sources, *compared(dossier.contradictions), *fed])
        keep = self.settings[DossierTuning].versions
        with self.storage.transaction():
            if self.storage.summaries(self.scope, list(cited)).keys() != cited.keys():
                raise Conflict("a source is gone")
            earlier = self.storage.documents(self.scope, DOSSIERS, [stored.key], versions=True)
            quoted = {id_ for document in earlier[:keep] if document.value for id_ in document.value["cited"]}
            handed_on = passed_on(earlier[0].value if earlier else None, dossier)
            version = write_derived(
                self.storage,
                self.scope,
                DOSSIERS,
                stored.key,
                to_value(dossier) | {"cited": list(cited), "passed_on": bool(handed_on)},
                sources={*cited, *quoted, *handed_on, record.entry.id},
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

    def _register(self, stored: Stored, dossier: Dossier) -> None:
        at = to_micros(dossier.checked_at) if dossier.checked_at else 0
        value = {"topic": dossier.topic, "at": at, "problem": dossier.problem}
        write_document(self.storage, self.scope, TOPICS, stored.key, value, expected=stored.registered)

    def _entry_id(self, key: str) -> str:
        return self.writer.id_of(self.scope, DOSSIER, key)
