"""What every write needs: ids that a retry repeats, passages with their vectors, a tier, the list of the forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from tidal_plugins.ingestion.split import split
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import EPISODE, Entry, Scope, Tier
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.scoring.decay import half_life, hours_until
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.settings import DecaySettings, IngestionSettings, Settings
from tidal_plugins.storage.base import Passage, Record, Storage

if TYPE_CHECKING:
    from tidal_plugins.embedding.identity import StoreEmbedder

FORGOTTEN = "forgotten"
"""Collection of tombstones: by id, and by a keyed hash of the text."""

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: read aloud without mistakes
_ID_LENGTH = 13  # of 5 bits each

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""Called with how many are done and how many there are."""


@dataclass(frozen=True, slots=True)
class Writer:
    """One store, seen from the write path."""

    storage: Storage
    embedder: StoreEmbedder
    settings: Settings
    key: bytes
    """The store's own secret for hashes of forgotten texts."""

    def records(self, entries: Sequence[Entry]) -> list[Record]:
        """Split and embed entries, all texts in one batch. Takes no lock."""
        drafts = [draft for entry in entries for draft in self._drafts(entry)]
        vectors = self.embedder.embed([text for _, _, text in drafts])
        if drafts:
            self.embedder.claim()  # only now that it has shown that it works
        passages: dict[str, list[Passage]] = {entry.id: [] for entry in entries}
        for (entry, span, text), vector in zip(drafts, vectors, strict=True):
            # An episode is found by meaning: its words are those of its entries, and would count twice.
            words = [] if entry.kind == EPISODE else [*terms(text), *_month(entry)]
            passages[entry.id].append(Passage(*span, terms=" ".join(words), vector=vector))
        return [Record(entry, passages[entry.id]) for entry in entries]

    def forgotten(self, scope: Scope, texts: Iterable[str]) -> set[str]:
        """Return those of ``texts`` that were forgotten on request."""
        marks = {text: self.mark(text) for text in texts}
        tombstones = self._tombstones(scope, marks.values())
        return {text for text, mark in marks.items() if mark in tombstones}

    def buried(self, scope: Scope, ids: Iterable[str]) -> set[str]:
        """Return those of ``ids`` whose entries and episodes were forgotten on request."""
        return {key.removeprefix("id:") for key in self._tombstones(scope, [f"id:{id_}" for id_ in ids])}

    def mark(self, text: str) -> str:
        """The key under which a forgotten text is known: a hash with the store's own key, so that it means nothing in
        another store, and no table of known hashes fits."""
        return "text:" + blake2b(normal(text).encode(), key=self.key, digest_size=16).hexdigest()

    def _tombstones(self, scope: Scope, keys: Iterable[str]) -> set[str]:
        return {document.key for document in self.storage.documents(scope, FORGOTTEN, list(keys))}

    def _drafts(self, entry: Entry) -> Iterable[tuple[Entry, tuple[int, int], str]]:
        limits = self.settings.ingestion
        spans = split(entry.text, max_words=limits.whole_words)
        if len(spans) > 1:
            spans = split(entry.text, max_words=limits.passage_words)
        for span in spans:
            context = [part for part in (entry.speaker, entry.source, span.heading) if part]
            body = entry.text[span.start : span.end]
            yield entry, (span.start, span.end), ": ".join([*context, body])


def _month(entry: Entry) -> list[str]:
    """When a turn was said, in words, so that «in May» or «2023» find it; a document is not asked for by its date."""
    time = entry.occurred_at
    return [MONTHS[time.month - 1], str(time.year)] if entry.kind == "conversation" else []


def derive_id(scope: Scope, *parts: object) -> str:
    """Return the id that ``parts`` have in ``scope``: 13 characters, 65 bits, the same on every retry."""
    digest = blake2b(json.dumps([scope, parts], default=str).encode(), digest_size=9).digest()
    number = int.from_bytes(digest)
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in range(_ID_LENGTH))


def batches(items: Sequence[T], length: Callable[[T], int], limits: IngestionSettings) -> Iterator[Sequence[T]]:
    """Cut ``items`` into batches of bounded number and length in characters, at least one item each."""
    batch: list[T] = []
    chars = 0
    for item in items:
        if batch and (len(batch) == limits.batch or chars + length(item) > limits.batch_chars):
            yield batch
            batch, chars = [], 0
        batch.append(item)
        chars += length(item)
    if batch:
        yield batch


def message_entry_id(episode: Episode, message: Message) -> str:
    """The id of the entry that makes a message of an episode findable."""
    return derive_id(episode.scope, episode.id, message.id)


def new_tier(affect: Affect | None, now: datetime, decay: DecaySettings, threshold: float) -> Tier:
    """The tier of an entry just stored: weight 1, anchored now [Tidal §2.4]."""
    intensity = affect.intensity if affect else 0.0
    life = half_life(
        used=False,
        intensity=intensity,
        warm=decay.warm,
        accessed=decay.accessed,
        emotional=decay.emotional,
        threshold=threshold,
    )
    cold_at = now + timedelta(hours=hours_until(1.0, decay.floor, life))
    return Tier(1.0, now, life, cold_at, cold_at + timedelta(hours=hours_until(1.0, decay.floor, decay.cold)))
