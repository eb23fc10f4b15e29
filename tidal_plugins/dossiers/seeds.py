"""Thought seeds: memories from different sources or threads that keep coming up together [Tidal §4]."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from tidal_plugins.associations.store import Association, AssociationStore, AssociationTuning
from tidal_plugins.dossiers.scorer import worth
from tidal_plugins.dossiers.sentences import Reader
from tidal_plugins.dossiers.sources import PRIMARY_KINDS
from tidal_plugins.embedding.identity import scale_of
from tidal_plugins.english.sentences import shortened
from tidal_plugins.ingestion.episodes import from_entry
from tidal_plugins.model.entry import CONVERSATION, SYNTHESIS, Entry, Scope, bare_id, derive_id
from tidal_plugins.model.reports import Seed
from tidal_plugins.retrieval.pipeline import without_secrets
from tidal_plugins.retrieval.understand import active
from tidal_plugins.scoring.text import terms
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Line, Storage
from tidal_plugins.storage.shorthands import passage_vectors
from tidal_plugins.tuning import Weights, tunable

POOL = 500
"""Associations, the strongest ones, among which seeds are looked for."""


@dataclass(frozen=True, kw_only=True)
class SeedTuning(Weights, group="seeds"):
    """Thought seeds."""

    most: int = tunable(3, ge=0, le=100)
    """Thought seeds that a run names."""
    weight: float = tunable(1.5, ge=0)
    """Weight of an association from which it may be a seed: coming up together once gives 1."""
    near: float = tunable(0.45, ge=-1, le=1)
    """Cosine from which on a memory of another conversation is associated with what is on the mind [Tidal §5]."""
    days: float = tunable(30.0, ge=0, le=36_500)
    """Days before the same seed may come again."""
    kept: float = tunable(7.0, ge=0, le=36_500)
    """Days for which a capsule shows a seed, and a whisper may."""


SEEDS = "thought-seeds"
"""Log of the pairs that were seeds, under their ids."""

_KEPT = 1000
"""Lines of that log which are kept."""

_RECENT = 100
"""Lines of it, the newest, among which recent seeds are looked for."""
ANSWERED = "assistant"
"""Role of the agent's answers, which bring nothing to the person's mind."""
_NEAREST = 20
"""Memories, the nearest, among which the associates of one are looked for."""
_LEAST_WORDS, _QUOTED = 3, 110
"""Words with a content that a statement needs, and characters that are quoted of it."""
_ALIKE = 0.75
"""Share of the words of two texts that both have, from which on they say the same."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Finds the seeds of one scope."""

    storage: Storage
    settings: Settings
    scope: Scope

    def take(self, now: datetime) -> list[Seed]:
        """Return the strongest pairs that were no seeds of late, and remember them. At the same time they are the
        same."""
        already = self._at(now)
        seeds = already or self._new(now)
        if seeds and not already:
            with self.storage.transaction():
                self.storage.append_log(self.scope, SEEDS, [self._line(seed, now) for seed in seeds])
                self.storage.trim_log(self.scope, SEEDS, keep=_KEPT)
        return seeds

    def recent(self, now: datetime, *, of: Collection[str] | None = None) -> list[Seed]:
        """Return the seeds of the last days, the newest first.

        With ``of`` those of which one memory is among them.
        """
        since = now - timedelta(days=self.settings[SeedTuning].kept)
        lines = self.storage.read_log(self.scope, SEEDS, since=since, limit=_RECENT, newest_first=True)
        pairs = [Association(*line.value) for line in lines if line.at <= now]
        return list(self._seeds([p for p in pairs if of is None or not {p.source, p.target}.isdisjoint(of)], now))

    def around(self, focus: Collection[str], now: datetime, *, without: Collection[str] = ()) -> list[tuple[str, str]]:
        """Return the ids of entries in focus, each with that of a near memory of another conversation [Tidal §5].

        They are as many as a run names seeds, the nearest first. Nothing is remembered of it.
        """
        near, where = self.settings[SeedTuning].near, active(now, kinds=PRIMARY_KINDS, exclude=without)
        pairs: dict[frozenset[str], Association] = {}
        scale = scale_of(self.storage)
        vectors = passage_vectors(self.storage, self.scope, [id_ for id_ in focus if id_ not in without])
        for span, unit in zip(vectors.spans, vectors.units, strict=True):
            for match in self.storage.nearest(self.scope, unit, _NEAREST, where):
                if (score := scale.of_texts(match.score)) >= near:
                    pairs.setdefault(frozenset((span.id, match.id)), Association(span.id, match.id, score))
        found = self._seeds(sorted(pairs.values(), key=lambda pair: -pair.weight), now, asked=True)
        own = (seed for seed in found if ANSWERED not in (seed.first.role, seed.second.role))
        return [(seed.first.id, seed.second.id) for seed in islice(own, self.settings[SeedTuning].most)]

    def stands(self, first: str, second: str, now: datetime) -> bool:
        """Return whether a pair is a seed still: both memories are active, and state something."""
        return any(self._seeds([Association(first, second, 0.0)], now, asked=True))

    def _new(self, now: datetime) -> list[Seed]:
        limits = self.settings[SeedTuning]
        web = AssociationStore(self.storage, self.settings[AssociationTuning])
        pairs = [p for p in web.strongest(self.scope, now, POOL) if p.weight >= limits.weight]
        known = self._known(pairs, now)
        fresh = [pair for pair in pairs if self._key(pair.source, pair.target) not in known]
        return list(self._seeds(fresh, now))[: limits.most]

    def _at(self, now: datetime) -> list[Seed]:
        lines = self.storage.read_log(self.scope, SEEDS, since=now)
        return list(self._seeds([Association(*line.value) for line in lines if line.at == now], now))

    def _known(self, pairs: Sequence[Association], now: datetime) -> set[str]:
        since = now - timedelta(days=self.settings[SeedTuning].days)
        keys = [self._key(pair.source, pair.target) for pair in pairs]
        return {line.key for line in self.storage.read_log(self.scope, SEEDS, keys=keys, since=since)}

    def _seeds(self, pairs: Sequence[Association], now: datetime, *, asked: bool = False) -> Iterator[Seed]:
        """Yield the pairs of which both are active, and which have nothing else in common than to come up together.

        Unless ``asked``, one of them is not of the exchange that the other one was recalled for.
        """
        ids = list(dict.fromkeys(id_ for pair in pairs for id_ in (pair.source, pair.target)))
        entries = self._entries(ids, now)
        shown, reader = {} if asked else self._shown(entries.values()), Reader(self.storage, self.scope)
        for pair in pairs:
            if {pair.source, pair.target} <= entries.keys():
                seed = _seed(reader, pair, entries)
                if seed and not _asked(seed.first, seed.second, shown) and not _asked(seed.second, seed.first, shown):
                    yield seed

    def _shown(self, entries: Iterable[Entry]) -> dict[str, set[str]]:
        """Return the ids of the entries that were shown before each of the episodes of these entries."""
        ids = dict.fromkeys(entry.episode for entry in entries if entry.episode)
        found = self.storage.get(self.scope, list(ids))
        return {id_: set(map(bare_id, from_entry(episode).surfaced)) for id_, episode in found.items()}

    def _entries(self, ids: Sequence[str], now: datetime) -> Mapping[str, Entry]:
        found = self.storage.find(self.scope, replace(active(now, kinds=PRIMARY_KINDS), ids=ids))
        return {entry.id: entry for entry in found if entry.channel != SYNTHESIS}

    def _line(self, seed: Seed, now: datetime) -> Line:
        first, second = seed.first.id, seed.second.id
        return Line(self._key(first, second), now, [first, second, seed.weight])

    def _key(self, first: str, second: str) -> str:
        return derive_id(self.scope, SEEDS, first, second)


def _seed(reader: Reader, pair: Association, entries: Mapping[str, Entry]) -> Seed | None:
    """Return the seed of a pair, or ``None`` if it is no thought: two documents, or nothing stated by one of them."""
    first, second = (without_secrets(entries[id_]) for id_ in (pair.source, pair.target))
    if _thread(first) == _thread(second) or _alike(first.text, second.text):
        return None
    if CONVERSATION not in (first.kind, second.kind):
        return None
    said = [_statement(reader, first), _statement(reader, second)]
    if not all(said):
        return None
    text = f"“{said[0]}” and “{said[1]}” keep coming up together."
    why = f"they keep coming up together ({pair.weight:.1f}), from {_named(first)} and {_named(second)}"
    return Seed(first, second, pair.weight, why, text)


def _statement(reader: Reader, entry: Entry) -> str:
    """Return the statement of an entry that matters most, or nothing if it only asks, thanks or agrees."""
    stated = [said for said in reader.stated_by(entry) if len(said.stems) >= _LEAST_WORDS]
    best = max(stated, key=worth, default=None)
    return shortened(best.text, _QUOTED).rstrip(" .;,") if best else ""


def _alike(text: str, other: str) -> bool:
    """Return whether two texts have nearly the same words. An association of these says nothing new."""
    words, others = set(terms(text)), set(terms(other))
    return len(words & others) >= _ALIKE * len(words | others)


def _asked(entry: Entry, other: Entry, shown: Mapping[str, Collection[str]]) -> bool:
    """Return whether an entry is of the exchange that the other one was recalled for."""
    return not {other.id, other.episode}.isdisjoint(shown.get(entry.episode or "", ()))


def _thread(entry: Entry) -> str:
    return entry.thread or entry.source or entry.episode or entry.id


def _named(entry: Entry) -> str:
    if entry.thread:
        return f"thread {entry.thread}"
    return entry.source or f"[{entry.citation}]"
