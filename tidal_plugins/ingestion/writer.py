"""The writer: every write takes from it stable ids, passages with their vectors, tiers, tombstones and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeGuard, TypeVar

from tidal_plugins.affect.state import AffectTuning
from tidal_plugins.embedding.identity import EMBEDDER
from tidal_plugins.encoding import json_encoder
from tidal_plugins.english.pasted import is_binary, without_binary
from tidal_plugins.english.words import MONTHS
from tidal_plugins.graph.handlers import AgentModel
from tidal_plugins.ingestion.redaction import Redaction
from tidal_plugins.ingestion.split import Span, split
from tidal_plugins.ingestion.tombstones import FORGOTTEN, tombstoned, tombstoned_both, tombstoned_texts, tombstones_of
from tidal_plugins.jobs.queue import WAITING, Jobs, waiting_key
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.delimiters import Delimiters
from tidal_plugins.model.entry import (
    CONVERSATION,
    EPISODE,
    KINDS,
    REPEAT,
    Entry,
    Link,
    Scope,
    Tier,
    derive_id,
    mark_of,
    marked_id,
)
from tidal_plugins.model.exchange import Message
from tidal_plugins.protocols import ClaimExtractor
from tidal_plugins.scoring.decay import DecayTuning, UseTuning, half_life, hours_until, reinforce, remaining
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.secrets.finding import untagged
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import META, STORE, Passage, Record, Storage, WhereLinks
from tidal_plugins.storage.capabilities import read_ahead
from tidal_plugins.storage.open import check_writable
from tidal_plugins.storage.shorthands import entry_id
from tidal_plugins.storage.transactions import retry
from tidal_plugins.tuning import Weights, tunable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.embedding.identity import StoreEmbedder
    from tidal_plugins.facts.conflicts import Said
    from tidal_plugins.model.exchange import Episode


BATCH_CHARS = 80_000
"""Characters after which a batch is closed sooner, so that long documents show progress too."""


@dataclass(frozen=True, kw_only=True)
class IngestionTuning(Weights, group="ingestion"):
    """Recording and remembering."""

    max_value_bytes: int = tunable(64 * 1024 * 1024, gt=0)
    """Bytes that the value of an item of a long-term store may have as JSON."""
    indexed_chars: int = tunable(8_000, gt=0)
    """Characters of such an item that a search reads, the first ones that are no binary data: some 1,400 words. To
    embed as many takes 0.2 s of one core, and all of a file of 280 kB took 8 s."""
    whole_words: int = tunable(180, ge=20)
    """Words up to which a text is one passage: about what the embedder reads (MiniLM: 256 word pieces)."""
    passage_words: int = tunable(120, ge=20)
    """Words of a passage of a longer text."""
    summary_chars: int = tunable(320, ge=40)
    """Characters of an episode's summary."""
    batch: int = tunable(256, gt=0)
    """Notes or turns that a bulk write embeds and commits together."""


DECAYING = CONVERSATION
"""The kind of entries that decay."""

_encode = json_encoder(default=str, sort_keys=True)

UNFADING = 1e9
"""Half-life in hours of what does not."""

T = TypeVar("T")

Progress = Callable[[int, int | None], None]
"""Called with how many are done and how many there are, or ``None`` where an iterator does not say."""


@dataclass(frozen=True, slots=True)
class EmbeddedRecord(Record):
    """A record with vectors, and the version of the store's identity that they belong to."""

    version: int = 0


@dataclass(frozen=True, slots=True)
class Writer:
    """One store, seen from the write path."""

    storage: Storage
    embedder: StoreEmbedder
    settings: Settings
    key: bytes
    """The store's own secret for hashes of forgotten texts."""
    jobs: Jobs
    """What follows a write."""
    model: AgentModel
    """The model that reads what is recorded."""
    redaction: Redaction
    """What becomes of secrets before anything is stored."""
    extractor: ClaimExtractor | None = None
    """Reads what texts say of facts. Default: rules."""

    @property
    def delimiters(self) -> Delimiters:
        """Return the delimiters that this store puts around recalled text."""
        return Delimiters(self.key)

    def id_of(self, scope: Scope, *parts: object) -> str:
        """Return the id that ``parts`` have in a scope of this store, the same on every retry."""
        return entry_id(self.storage, scope, *parts)

    def episode_id(self, scope: Scope, thread: str | None, key: str) -> str:
        """Return the id of the episode that holds the turn ``key`` of a thread."""
        return self.id_of(scope, EPISODE, thread, key)

    def records(self, entries: Sequence[Entry]) -> list[Record]:
        """Split and embed entries, all texts in one batch. Takes no lock. Raises ``ReadOnly`` before it embeds."""
        check_writable(self.storage)
        limits = self.settings[IngestionTuning]
        drafts = [
            (entry, (span.start, span.end), _in_context(entry, span))
            for entry in entries
            for span in _spans(entry, limits)
        ]
        vectors, version = self._embedded([text for _, _, text in drafts], checked=False)  # put compares the version
        # An episode is found by meaning: its words are those of its entries, and would count twice.
        spoken = [[] if entry.kind == EPISODE else terms(text) for entry, _, text in drafts]
        said: dict[str, set[str]] = {entry.id: set() for entry in entries}
        for (entry, _, _), words in zip(drafts, spoken, strict=True):
            said[entry.id].update(words)
        more = {entry.id: [] if entry.kind == EPISODE else _unsaid(entry, said[entry.id]) for entry in entries}
        passages: dict[str, list[Passage]] = {entry.id: [] for entry in entries}
        for (entry, span, _), words, vector in zip(drafts, spoken, vectors, strict=True):
            passages[entry.id].append(Passage(*span, terms=" ".join([*words, *more[entry.id]]), vector=vector))
        return [EmbeddedRecord(entry, passages[entry.id], version) for entry in entries]

    def put(self, scope: Scope, records: Sequence[Record], *, replace: bool = False) -> list[str]:
        """Store records of :meth:`records`, as the storage's ``put`` does."""
        with self.storage.transaction():
            return self.storage.put(scope, self.current(records), replace=replace)

    def current(self, records: Sequence[Record]) -> list[Record]:
        """Return records with vectors that fit those of the store, as the open transaction or snapshot sees it.

        Vectors are made anew where the store was re-embedded since.
        """
        if not any(record.passages for record in records):
            return list(records)
        version = self.embedder.version()
        return [self._renewed(item) if _embedded_before(item, version) else item for item in records]

    def claims(self, scope: Scope, entries: Sequence[Entry]) -> list[Said]:
        """Return what entries claim of facts. It may wait for a model, and takes no lock."""
        from tidal_plugins.facts.versions import read_claims

        return read_claims(self.storage, scope, entries, self.extractor, self.settings.models.timeout)

    def forgotten(self, scope: Scope, texts: Iterable[str]) -> set[str]:
        """Return those of ``texts`` that were forgotten on request."""
        marks = {text: self.mark(text) for text in texts}
        tombstones = tombstoned_texts(self.storage, scope, marks.values())
        return {text for text, mark in marks.items() if mark in tombstones}

    def tombstoned(self, scope: Scope, ids: Iterable[str]) -> set[str]:
        """Return those of ``ids`` whose entries and episodes were forgotten on request."""
        return tombstoned(self.storage, scope, ids)

    def gone(
        self, scope: Scope, ids: Collection[str], texts: Iterable[str], ahead: Mapping[str, Collection[str]]
    ) -> tuple[set[str], set[str]]:
        """Return those of ``ids``, and those of ``texts``, that were forgotten on request. ``ahead`` are the keys of
        other documents, by collection, that the open transaction reads."""
        marks = {text: self.mark(text) for text in texts}
        if ahead:
            about = {META: [EMBEDDER], WAITING: [waiting_key(scope)]}
            read_ahead(self.storage, {scope: {**ahead, FORGOTTEN: tombstones_of(ids, marks.values())}, STORE: about})
        found, tombstones = tombstoned_both(self.storage, scope, ids, marks.values())
        return found, {text for text, mark in marks.items() if mark in tombstones}

    def mark(self, text: str) -> str:
        """Return the key under which a forgotten text is known.

        It is a hash with the store's own key, so that it means nothing in another store and no table of known hashes
        fits.
        """
        return "text:" + blake2b(normal(text).encode(), key=self.key, digest_size=16).hexdigest()

    def passage_text(self, entry: Entry, start: int, end: int) -> str:
        """Return what is embedded of ``entry.text[start:end]``, a stored passage."""
        spans = _spans(entry, self.settings[IngestionTuning])
        heading = next((span.heading for span in spans if span.start == start), "")
        return _in_context(entry, Span(start, end, heading))

    def terms_of(self, entry: Entry, spans: Sequence[tuple[int, int]]) -> list[str]:
        """Return the words that stored passages of an entry are found by, as :meth:`records` analyses them."""
        headings = {span.start: span.heading for span in _spans(entry, self.settings[IngestionTuning])}
        spoken = [terms(_in_context(entry, Span(*span, headings.get(span[0], "")))) for span in spans]
        more = _unsaid(entry, {word for words in spoken for word in words})
        return [" ".join([*words, *more]) for words in spoken]

    def _embedded(self, texts: Sequence[str], *, checked: bool = True) -> tuple[Iterable[NDArray[np.float32]], int]:
        return self.embedder.embed_passages(texts, checked=checked) if texts else ((), 0)

    def _renewed(self, record: EmbeddedRecord) -> EmbeddedRecord:
        passages = list(record.passages or ())
        vectors, version = self._embedded([self.passage_text(record.entry, item.start, item.end) for item in passages])
        passages = [replace(item, vector=vector) for item, vector in zip(passages, vectors, strict=True)]
        return replace(record, passages=passages, version=version)


def _spans(entry: Entry, limits: IngestionTuning) -> Sequence[Span]:
    """Return the passages of an entry's text."""
    spans = split(entry.text, max_words=limits.whole_words)
    if len(spans) < 2:
        return spans
    spans = split(entry.text, max_words=limits.passage_words)
    return [span for span in spans if not is_binary(entry.text[span.start : span.end])] or spans[:1]


def _in_context(entry: Entry, span: Span) -> str:
    """Return a passage as it is embedded: after its speaker, its source and its headings, without binary data."""
    # An entry of another kind is an adapter's own, and its source a key that says nothing.
    source = entry.source if entry.kind in (*KINDS, EPISODE) else None
    context = [part for part in (entry.speaker, source, span.heading) if part]
    text = untagged(entry.text[span.start : span.end])
    readable = without_binary(text)
    return ": ".join([*context, text if readable is not text and is_binary(text) else readable])


def _embedded_before(record: Record, version: int) -> TypeGuard[EmbeddedRecord]:
    return isinstance(record, EmbeddedRecord) and bool(record.passages) and record.version != version


def _month(entry: Entry) -> list[str]:
    """Return the month of a turn in words, so that «in May» or «2023» find it.

    A document is not asked for by its date.
    """
    time = entry.occurred_at
    return [MONTHS[time.month - 1], str(time.year)] if entry.kind == CONVERSATION else []


def _unsaid(entry: Entry, said: Collection[str]) -> list[str]:
    """Return words that an entry is found by although its text lacks them: of its month and of its labels.

    Users search with the labels that they gave.
    """
    labels = dict.fromkeys(word for label in entry.tags if label not in said for word in terms(label))
    return [*_month(entry), *(word for word in labels if word not in said)]


def batches(items: Iterable[T], length: Callable[[T], int], limits: IngestionTuning) -> Iterator[Sequence[T]]:
    """Cut ``items`` into batches of bounded number and length in characters, at least one item each.

    Of an iterator no more is taken than a batch and the item that begins the next.
    """
    batch: list[T] = []
    chars = 0
    for item in items:
        if batch and (len(batch) == limits.batch or chars + length(item) > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(item)
        chars += length(item)
    if batch:
        yield batch


def message_entry_id(episode: Episode, message: Message) -> str:
    """Return the id of the entry that makes a message of an episode findable."""
    return marked_id(mark_of(episode.id), episode.scope, episode.id, message.id)


def new_tier(
    importance: float, affect: Affect | None, now: datetime, decay: DecayTuning, threshold: float
) -> Tier | None:
    """Return the tier of a turn just stored: weight 1, anchored now [Tidal §2.4]. What matters for good has none."""
    if importance >= decay.important:
        return None
    return fading(affect, now, decay, threshold)


def fading(affect: Affect | None, now: datetime, decay: DecayTuning, threshold: float) -> Tier:
    """Return the tier of a turn that fades from now on, with the weight 1."""
    return _warm(1.0, _life(affect, decay, threshold, used=False), now, decay)


def unfading(now: datetime) -> Tier:
    """Return the tier of an entry that does not decay, but may expire."""
    return Tier(1.0, now, UNFADING)


def reinforced(entry: Entry, amount: float, now: datetime, settings: Settings, *, used: bool) -> Tier | None:
    """Return the tier of an entry that was used or surfaced: warm again, however cold it was, and ``amount`` heavier.

    Use lengthens the half-life for good and lifts the expiry that the gate set [Tidal §2.4]. An entry that does not
    decay keeps its weight. ``None`` is returned if there is no tier to set.
    """
    tier, decay = entry.tier, settings[DecayTuning]
    if tier is None:
        return None
    expires_at = None if used else tier.expires_at
    if entry.kind != DECAYING or tier.cold_at is None:
        return replace(tier, expires_at=expires_at)
    life = _life(entry.affect, decay, settings[AffectTuning].threshold, used=used)
    if max(now, tier.anchored_at) < tier.cold_at:  # what it had while warm ends with that
        life = max(life, tier.half_life)
    weight = reinforce(remaining(tier, now, cold=decay.cold), amount, settings[UseTuning].cap)
    at = max(now, tier.anchored_at)  # a clock that went back for a while must not age it
    return replace(_warm(weight, life, at, decay), expires_at=expires_at)


def _life(affect: Affect | None, decay: DecayTuning, threshold: float, *, used: bool) -> float:
    return half_life(
        used=used,
        intensity=affect.intensity if affect else 0.0,
        warm=decay.warm,
        accessed=decay.accessed,
        emotional=decay.emotional,
        threshold=threshold,
    )


def _warm(weight: float, life: float, now: datetime, decay: DecayTuning) -> Tier:
    cold_at = _later(now, hours_until(weight, decay.floor, life))
    return Tier(weight, now, life, cold_at, _later(cold_at, hours_until(1.0, decay.floor, decay.cold)))


def _later(time: datetime, hours: float) -> datetime:
    """Return ``time`` plus that many hours, or the end of time."""
    try:
        return time + timedelta(hours=hours)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


# Repetitions. An exact repetition strengthens what was said first; nothing is merged. It says the same words (case and
# space folded) in the same voice: of the same kind, speaker, role, source and channel, valid alike, with the same
# metadata. Its entry is stored like any other, so that its episode stays whole and forgetting stays exact; but only the
# first one is indexed for search.


FIRST = "first"
"""Kind of the link from a hash of words and voice to the entry that said them first."""


def firsts(writer: Writer, scope: Scope, ids: Collection[str]) -> dict[str, str]:
    """Return, for those of ``ids`` that are repetitions, the ids of the entries that they repeat."""
    return {link.source: link.target for link in writer.storage.links(scope, WhereLinks(sources=ids, kinds=[REPEAT]))}


@retry
def stand_alone(writer: Writer, scope: Scope, ids: Collection[str]) -> None:
    """Index those of ``ids`` that are repetitions: something else held since, so that they say something new again.

    Takes no lock while it embeds. What is said again from now on repeats them.
    """
    entries = writer.storage.get(scope, firsts(writer, scope, ids))
    if not entries:
        return
    records = writer.records(list(entries.values()))
    with writer.storage.transaction():
        standing = firsts(writer, scope, entries)
        for record in (record for record in records if record.entry.id in standing):
            writer.put(scope, [record], replace=True)
            writer.storage.erase_links(scope, WhereLinks(sources=[record.entry.id], kinds=[REPEAT]))
            _mark_first(writer, scope, record.entry, record.entry.recorded_at)


def duplicates(writer: Writer, scope: Scope, to_delete: Collection[str]) -> set[str]:
    """Return, for each entry that is about to be erased and that others repeat, the id of its first repetition."""
    links = writer.storage.links(scope, WhereLinks(targets=to_delete, kinds=[REPEAT]))
    return set({link.target: link.source for link in reversed(links) if link.source not in to_delete}.values())


def promote(
    writer: Writer, scope: Scope, to_delete: Collection[str], duplicates: Iterable[Record], now: datetime
) -> None:
    """Index duplicates in place of the entries that they repeat, with the tiers of those, which they strengthened.

    Call it inside the transaction, before ``to_delete`` are erased.
    """
    links = writer.storage.links(scope, WhereLinks(targets=to_delete, kinds=[REPEAT]))
    first = {link.source: link.target for link in links}
    known = writer.storage.summaries(scope, set(first.values()))
    for record in duplicates:
        id_ = record.entry.id
        old = first.get(id_)
        others = [link.source for link in links if link.target == old and link.source not in (id_, *to_delete)]
        tier = known[old].tier if old in known else record.entry.tier
        writer.put(scope, [replace(record, entry=replace(record.entry, tier=tier))], replace=True)
        writer.storage.erase_links(scope, WhereLinks(sources=[id_], kinds=[REPEAT]))
        writer.storage.put_links(scope, [repeat_link(scope, other, id_, now) for other in others])
        _mark_first(writer, scope, record.entry, now)


def reword(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> None:
    """Note that an entry says other words than before: it repeats none, and others repeat it if it is the first.

    Call it inside the transaction, after those that repeat the earlier words were promoted.
    """
    storage, own = writer.storage, mark(writer, entry)
    storage.erase_links(scope, WhereLinks(kinds=[FIRST], targets=[entry.id]))
    storage.erase_links(scope, WhereLinks(kinds=[REPEAT], sources=[entry.id]))
    if not storage.links(scope, WhereLinks(kinds=[FIRST], sources=[own])):
        storage.put_links(scope, [first_link(own, entry, now)])


def _mark_first(writer: Writer, scope: Scope, entry: Entry, now: datetime) -> None:
    writer.storage.put_links(scope, [first_link(mark(writer, entry), entry, now)])


def first_link(mark: str, entry: Entry, now: datetime) -> Link:
    """Return the link from a mark to the entry that said it first."""
    return Link(f"{FIRST}:{mark}", FIRST, mark, entry.id, now)


def mark(writer: Writer, entry: Entry) -> str:
    """Return a keyed hash of the words and their speaker, which means nothing without the store's own key."""
    metadata = {name: value for name, value in entry.metadata.items() if name != "message"}
    voice = (entry.kind, entry.speaker, entry.role, entry.source, entry.channel, entry.trust)
    said = [normal(entry.text), *voice, entry.valid_from, entry.valid_until, metadata]
    data = _encode(said).encode()
    return "said:" + blake2b(data, key=writer.key, digest_size=12).hexdigest()


def repeat_link(scope: Scope, repetition: str, first: str, now: datetime) -> Link:
    """Return the link from a repetition to the entry that it repeats."""
    return Link(derive_id(scope, REPEAT, repetition), REPEAT, repetition, first, now)
