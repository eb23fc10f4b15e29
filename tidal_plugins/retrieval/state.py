"""The state of one recall or whisper, which every stage reads and adds to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tidal_plugins.embedding.identity import QueryVector, StoreEmbedder
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.recall import Dropped, Explanation, Hit, Recall
from tidal_plugins.model.supersession import Supersession
from tidal_plugins.protocols import Reranker
from tidal_plugins.storage.base import EntrySummary, Match, Storage
from tidal_plugins.tuning import Tuning

if TYPE_CHECKING:
    from tidal_plugins.english.times import Period
    from tidal_plugins.retrieval.boost import Boosts, SessionSignals
    from tidal_plugins.retrieval.context import ContextScores
    from tidal_plugins.retrieval.request import Request
    from tidal_plugins.retrieval.search import Channels
    from tidal_plugins.retrieval.understand import Query

NEARNESS_PARTS = frozenset({"assistant", "passages", "speaker", "time", "thread", "neighbours", "time_mention"})
"""Names of the parts of a score that belong to how near an entry is, in units of cosine."""

LEAST_REASON = 0.005
"""A part of nearness that is smaller than this is left out of explanations."""


class Found(NamedTuple):
    """An entry that takes part, with the match of each channel that found it. Ranks count from 1.

    ``cosine`` is that of the best passage, whether the vector channel ranked it or not; ``keyword_strength`` is BM25
    made comparable across queries, 0 when keywords did not find the entry.
    """

    id: str
    cosine: float
    keyword_strength: float
    keyword: Match | None
    keyword_rank: int | None
    vector: Match | None
    vector_rank: int | None

    def passage(self, text: str) -> str:
        """Return the part of the entry's text that matched, by the channel that ranks the entry higher."""
        by_keyword = self.keyword_rank is not None and (
            self.vector_rank is None or self.keyword_rank < self.vector_rank
        )
        match = self.keyword if by_keyword else self.vector or self.keyword
        return text[match.start : match.end] if match else text


class Ranked(NamedTuple):
    """An entry with its score and the parts of the score.

    ``parts`` has by name the additions to the two channels, the factors of the relevance, and the last additions.
    ``confidence`` is the chance that the entry helps, and ``features`` what that was made of.
    """

    found: Found
    summary: EntrySummary
    score: float
    fused: float
    relevance: float
    parts: Mapping[str, float]
    replaces: tuple[Supersession, ...] = ()
    superseded_by: tuple[Supersession, ...] = ()
    confidence: float = 0.0
    features: Mapping[str, float] = MappingProxyType({})

    @property
    def id(self) -> str:
        return self.summary.id

    def plus(self, gains: Mapping[str, float]) -> Ranked:
        """Return the same entry with gains added to its score, by name."""
        return self._replace(score=self.score + sum(gains.values()), parts={**self.parts, **gains})

    def hit(self, entry: Entry, profile: str) -> Hit:
        """Return the hit that shows this entry."""
        passage, why = self.found.passage(entry.text), self._explanation(profile)
        return Hit(entry, self.score, passage, why, confidence=self.confidence)

    def _explanation(self, profile: str) -> Explanation:
        found, parts = self.found, self.parts.items()
        return Explanation(
            keyword_rank=found.keyword_rank,
            keyword_score=found.keyword.score if found.keyword else 0.0,
            vector_rank=found.vector_rank,
            cosine=found.cosine,
            keyword_strength=found.keyword_strength,
            fused=self.fused,
            relevance=self.relevance,
            factors={name: part for name, part in parts if name not in NEARNESS_PARTS or abs(part) >= LEAST_REASON},
            profile=profile,
            feeling=self.summary.affect.in_words() if self.summary.affect else "",
            replaces=self.replaces,
            superseded_by=self.superseded_by,
            features=dict(self.features),
        )


@dataclass(frozen=True, slots=True)
class Store:
    """One store with the services that its stages need."""

    storage: Storage
    embedder: StoreEmbedder
    settings: Tuning
    boosts: Boosts
    reranker: Reranker | None = None


@dataclass(slots=True)
class State:
    """The results so far of one recall or whisper. The comments say which stage sets a field."""

    store: Store
    request: Request
    affect: Affect
    query: Query = field(init=False)  # understand
    embedded: QueryVector = field(init=False)  # embed
    times: Sequence[Period] = ()  # read_times
    signals: SessionSignals = field(init=False)  # read_signals
    channels: Channels = field(init=False)  # search
    near: list[Found] = field(default_factory=list)  # search: ranked in full
    far: list[Found] = field(default_factory=list)  # search: too far down to be
    context: ContextScores | None = None  # add_neighbours
    ranked: list[Ranked] = field(default_factory=list)  # rank
    leaders: Mapping[str, str] = field(default_factory=dict)  # estimate_confidence
    confidence: float = 0.0  # estimate_confidence
    supersessions: Sequence[Supersession] = ()  # read_supersessions
    entries: Mapping[str, Entry] = field(default_factory=dict)  # read
    dropped: dict[str, Dropped] = field(default_factory=dict)
    recall: Recall = field(init=False)  # trim, or the stage that ends the run early
    done: bool = False
    """Whether the stages that follow are skipped."""

    @property
    def settings(self) -> Tuning:
        return self.store.settings

    def drop(self, stage: str, reasons: Iterable[tuple[str, str]]) -> None:
        """Note by id at which stage entries fall out, and why."""
        self.dropped |= {id_: Dropped(id_, stage, reason) for id_, reason in reasons}


Stage = Callable[[State], None]
"""One step of a recall or whisper: it reads the state and adds to it."""


def by_score(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Return entries best first. Ties are broken by how the texts begin, so that the order never depends on chance."""
    return sorted(ranked, key=lambda item: (-item.score, item.summary.head, item.id))
