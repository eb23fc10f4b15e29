"""The state of one recall or whisper, which every stage reads and adds to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING

from tidal_plugins.embedding.identity import QueryVector, StoreEmbedder
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.recall import Dropped, Recall
from tidal_plugins.model.supersession import Supersession
from tidal_plugins.protocols import Reranker
from tidal_plugins.retrieval.candidates import Candidates, Links
from tidal_plugins.storage.base import Statistics, Storage
from tidal_plugins.tuning import Tuning

if TYPE_CHECKING:
    from tidal_plugins.english.times import Period
    from tidal_plugins.retrieval.boost import Boosts, SessionSignals
    from tidal_plugins.retrieval.context import Context
    from tidal_plugins.retrieval.request import Request
    from tidal_plugins.retrieval.search import Channels
    from tidal_plugins.retrieval.understand import Query


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
    statistics: Statistics = field(init=False)  # understand
    embedded: QueryVector = field(init=False)  # embed
    times: Sequence[Period] = ()  # read_times
    signals: SessionSignals = field(init=False)  # read_signals
    channels: Channels = field(init=False)  # search
    near: Candidates = field(init=False)  # search: ranked in full
    far: Candidates = field(init=False)  # search: too far down to be
    context: Context | None = None  # add_neighbours
    ranked: Candidates = field(init=False)  # rank
    confidence: float = 0.0  # estimate_confidence
    threshold: float = 0.0  # apply_threshold
    supersessions: Sequence[Supersession] = ()  # read_supersessions
    links: Mapping[str, Links] = field(default_factory=dict)  # newest_first
    entries: Mapping[str, Entry] = field(default_factory=dict)  # read
    dropped: dict[str, Dropped] = field(default_factory=dict)
    recall: Recall = field(init=False)  # trim, or the stage that ends the run early
    done: bool = False
    """Whether the stages that follow are skipped."""

    @property
    def settings(self) -> Tuning:
        return self.store.settings

    def drop(self, stage: str, ids: Sequence[str], reasons: Iterable[str]) -> None:
        """Note by id at which stage entries fall out, and why each does."""
        self.dropped.update(zip(ids, map(Dropped, ids, repeat(stage), reasons), strict=False))


Stage = Callable[[State], None]
"""One step of a recall or whisper: it reads the state and adds to it."""
