"""Entries that are stored at once and indexed later: before the next search that could find them, or in the background.

An entry waits in a durable queue of its scope, from the transaction that stores it to the one that indexes it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tidal_plugins.english.binary import without_binary
from tidal_plugins.errors import BadEmbedding
from tidal_plugins.ingestion.writer import batches
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.storage.base import Document, Passage, Record
from tidal_plugins.storage.repeating import repeated
from tidal_plugins.storage.shorthands import write_document

if TYPE_CHECKING:
    from tidal_plugins.ingestion.writer import Writer

logger = logging.getLogger(__name__)

UNINDEXED = "unindexed"
"""Collection, in each scope, of the queued entries: by id, the parts of the text that are each found on their own."""

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


@dataclass(frozen=True, slots=True)
class Unindexed:
    """The queue of the entries to index, and the step that works it off."""

    writer: Callable[[], Writer]

    def add(self, entry: Entry, parts: Sequence[Part], now: datetime) -> None:
        """Queue an entry that is stored without passages. Call it inside the transaction that stores it."""
        writer = self.writer()
        write_document(writer.storage, entry.scope, UNINDEXED, entry.id, parts)
        writer.later.note(entry.scope, now)

    def drop(self, scope: Scope, ids: Collection[str]) -> None:
        """Take entries off the queue. Call it inside a transaction."""
        self.writer().storage.erase_documents(scope, UNINDEXED, ids)

    def index(self, prefix: Scope) -> None:
        """Index the queued entries of all scopes that begin with ``prefix``. Raises ``EmbeddingError``."""
        later = self.writer().later
        with later.background.held():
            for scope in later.waiting():
                if scope[: len(prefix)] == prefix:
                    self.run(scope, lambda: True)

    def queue(self, scope: Scope, episodes: Sequence[str], grown: Collection[str], now: datetime) -> bool:
        """Queue nothing: recording indexes what it stores."""
        return False

    def run(self, scope: Scope, proceed: Callable[[], bool]) -> timedelta | None:
        """Index the queued entries of a scope, in small transactions."""
        writer = self.writer()
        queued = writer.storage.documents(scope, UNINDEXED)
        cut = list(batches(queued, lambda document: int(document.value[-1][1]), writer.settings.ingestion))
        for number, batch in enumerate(cut, 1):
            if not proceed():
                break
            self._index(scope, batch, last=number == len(cut))
        return None

    def is_done(self, scope: Scope) -> bool:
        """Return whether no entry is queued."""
        return not self.writer().storage.documents(scope, UNINDEXED)

    def forget(self, scope: Scope, entries: Collection[Entry], blanked: Collection[str], now: datetime) -> set[str]:
        """Take entries off the queue that are about to be erased."""
        self.drop(scope, [entry.id for entry in entries])
        return set()

    @repeated
    def _index(self, scope: Scope, queued: Sequence[Document], *, last: bool = False) -> None:
        """Embed entries, and store their passages unless they changed meanwhile. After the last ones of a scope, look
        whether it has any other work."""
        writer, ids = self.writer(), [document.key for document in queued]
        storage = writer.storage
        entries = storage.get(scope, ids)
        try:
            records = self._records([(entries[item.key], item.value) for item in queued if item.key in entries])
        except BadEmbedding as error:
            if len(queued) == 1:
                logger.warning("an entry stays out of the index, since it cannot be embedded: %s", error)
                return
            for item in queued:  # one text must not keep others from being found
                self._index(scope, [item])
            return
        with storage.transaction():
            now = storage.get(scope, ids)  # with the tiers that they have by now
            still = {item.key for item in storage.documents(scope, UNINDEXED, ids) if item in queued}
            texts = {id_: now[id_].text for id_ in still if id_ in now}
            fit = [record for record in records if texts.get(record.entry.id) == record.entry.text]
            writer.put(scope, [replace(record, entry=now[record.entry.id]) for record in fit], replace=True)
            self.drop(scope, [*(record.entry.id for record in fit), *(still - texts.keys())])
            if last:
                writer.later.settle(scope)

    def _records(self, entries: Sequence[tuple[Entry, Sequence[Part]]]) -> list[Record]:
        """Return the records of entries, all of whose parts are embedded in one go."""
        texts = [(entry, entry.text[start:end]) for entry, parts in entries for start, end in parts]
        drafts = [replace(entry, text=text, id=str(number)) for number, (entry, text) in enumerate(texts)]
        indexed = iter(self.writer().records(drafts) if drafts else ())
        return [_joined(entry, parts, indexed) for entry, parts in entries]


def _joined(entry: Entry, parts: Sequence[Part], indexed: Iterator[Record]) -> Record:
    """Return one record of the next ones, each of which is of a part of the entry."""
    passages, record = list[Passage](), Record(entry)
    for (start, _), record in zip(parts, indexed, strict=False):  # the parts first: it draws no record too many
        passages += (replace(one, start=one.start + start, end=one.end + start) for one in record.passages or ())
    return replace(record, entry=entry, passages=passages)
