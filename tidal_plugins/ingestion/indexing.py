"""Entries that are stored at once and indexed later: before the next search that could find them, or in the
background."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tidal_plugins.english.pasted import without_binary
from tidal_plugins.errors import Closed, EmbeddingError, StorageError
from tidal_plugins.ingestion.writer import IngestionTuning, Writer, batches
from tidal_plugins.jobs.handler import Handler, run
from tidal_plugins.jobs.queue import Job, enqueue, note, waiting
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.storage.base import Passage, Record
from tidal_plugins.storage.transactions import retry

INDEX = "job:index"
"""Jobs by entry, with the parts of its text that are each found on their own."""

GLANCE = 10
"""Times the limit of characters that are looked at of one text for readable ones: a title may follow an image."""

SHORT = 100
"""Characters that a text counts as at least which has a vector of its own: vectors take time and room, too."""

Part = tuple[int, int]
"""``text[start:end]`` of an entry."""


def readable(texts: Iterable[str], most: int, *, least: int = 0) -> list[str]:
    """Return the beginning of texts, ``most`` characters in all, without binary data and without those that say
    nothing. Each counts as ``least`` characters at least, and no more texts are drawn than that takes."""
    kept: list[str] = []
    for text in texts:
        if most <= 0:
            break
        head = without_binary(text[: GLANCE * most])[:most]
        if head.strip():
            kept.append(head)
            most -= max(len(head), least)
    return kept


def parts_of(texts: Iterable[str]) -> list[Part]:
    """Return where texts stand that are joined by a line break each."""
    parts, start = list[Part](), 0
    for text in texts:
        parts.append((start, start + len(text)))
        start += len(text) + 1
    return parts


@dataclass(frozen=True)
class EntryIndexer(Handler[int]):
    """Embeds entries that are stored without passages, and returns how many it did."""

    writer: Writer

    kind = INDEX
    spares = (StorageError, Closed, EmbeddingError)

    @property
    def most(self) -> int:
        return self.writer.settings[IngestionTuning].batch

    def add(self, entry: Entry, parts: Sequence[Part], now: datetime) -> None:
        """Have an entry indexed, as it is now. Call it inside the transaction that stores it without passages."""
        storage = self.writer.storage
        enqueue(storage, entry.scope, INDEX, {entry.id: parts}, now, replacing=[entry.id])
        note(storage, entry.scope, now)

    def drop(self, entry: Entry) -> None:
        """Leave an entry unindexed. Call it inside a transaction."""
        self.writer.storage.trim_log(entry.scope, INDEX, keys=[entry.id])

    def index(self, prefix: Scope) -> None:
        """Index what waits in all scopes that begin with ``prefix``. Raises ``EmbeddingError``."""
        jobs = self.writer.jobs
        with jobs.throttle.held():
            for scope in waiting(self.writer.storage):
                if scope[: len(prefix)] == prefix:
                    run(jobs, self, scope)

    def parts(self, scope: Scope, jobs: Sequence[Job]) -> Iterable[Sequence[Job]]:
        return batches(jobs, lambda job: int(job.detail[-1][1]), self.writer.settings[IngestionTuning])

    @retry
    def do(self, scope: Scope, jobs: Sequence[Job]) -> int:
        """Embed entries, and store their passages unless they changed meanwhile."""
        storage, parts = self.writer.storage, {job.subject: job.detail for job in jobs}
        entries = storage.get(scope, list(parts))
        records = self._records([(entry, parts[id_]) for id_, entry in entries.items()])
        with storage.transaction():
            still = [job.subject for job in self.writer.jobs.finish(scope, INDEX, jobs)]
            now = storage.get(scope, still)  # with the tiers that they have by now
            there = [replace(one, entry=now[one.entry.id]) for one in records if one.entry.id in now]
            self.writer.put(scope, there, replace=True)
            self.writer.jobs.settle(scope)
        return len(there)

    def _records(self, entries: Sequence[tuple[Entry, Sequence[Part]]]) -> list[Record]:
        """Return the records of entries, all of whose parts are embedded in one go."""
        texts = [(entry, entry.text[start:end]) for entry, parts in entries for start, end in parts]
        drafts = [replace(entry, text=text, id=str(number)) for number, (entry, text) in enumerate(texts)]
        indexed = iter(self.writer.records(drafts) if drafts else ())
        return [_joined(entry, parts, indexed) for entry, parts in entries]


def _joined(entry: Entry, parts: Sequence[Part], indexed: Iterator[Record]) -> Record:
    """Return one record of the next ones, each of which is of a part of the entry."""
    passages, record = list[Passage](), Record(entry)
    for (start, _), record in zip(parts, indexed, strict=False):  # the parts first: it draws no record too many
        passages += (replace(one, start=one.start + start, end=one.end + start) for one in record.passages or ())
    return replace(record, entry=entry, passages=passages)
