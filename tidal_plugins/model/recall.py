"""What recall returns: hits with the reasons for them, and the whisper made from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, overload

from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.explain import RecallExplanation, explained, table

if TYPE_CHECKING:
    from rich.table import Table


OWN = "own"
"""Origin of what comes from the memory itself."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an entry came up, and how far.

    Ranks count from 1 in each channel and are ``None`` where the channel did not find the entry. ``keyword_score``
    is BM25, ``keyword_strength`` the same made comparable across queries, ``cosine`` that of the best passage,
    ``fused`` what both give together, ``relevance`` where that stands against the best of this recall, in [0, 1].
    ``factors`` are what relevance was multiplied by or what was added, ``feeling`` the strongest emotions of the
    entry's text, in words; empty where it shows none. What associations brought up has a ``path``, from a hit to the
    entry itself, shared labels between them behind a #, and the ``activation`` in (0, 1) that arrived on it; no channel
    ranked it.
    What a later ``hop`` brought up has the query that was ``asked`` then; ranks and the rest are those of that query.
    """

    keyword_rank: int | None
    keyword_score: float
    vector_rank: int | None
    cosine: float
    keyword_strength: float
    fused: float
    relevance: float
    factors: Mapping[str, float] = field(default_factory=dict)
    profile: str = "balanced"
    activation: float = 0.0
    path: tuple[str, ...] = ()
    feeling: str = ""
    hop: int = 1
    asked: str = ""

    def __str__(self) -> str:
        hop = f"hop {self.hop} («{self.asked}»): " if self.hop > 1 else ""
        if self.path:
            way = " → ".join(self.path)
            return f"{hop}associated with a hit ({way}), activation {self.activation:.2f}, meaning ({self.cosine:.2f})"
        keyword = f"keywords #{self.keyword_rank} ({self.keyword_score:.1f})" if self.keyword_rank else "no keyword"
        vector = f"#{self.vector_rank} " if self.vector_rank else ""
        factors = "".join(f", {name} {value:.2f}" for name, value in self.factors.items())
        felt = f" ({self.feeling})" if self.feeling else ""
        return f"{hop}{keyword}, meaning {vector}({self.cosine:.2f}), relevance {self.relevance:.2f}{factors}{felt}"


@dataclass(frozen=True, slots=True)
class Window:
    """What was said ``before`` a hit and ``after`` it in its thread, each in order."""

    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that came up. ``passage`` is the part of its text that matched best, ``origin`` the peer it is
    from."""

    entry: Entry
    score: float
    passage: str
    why: Explanation
    origin: str = OWN
    window: Window = Window()

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def text(self) -> str:
        return self.entry.text


class Dropped(NamedTuple):
    """A candidate that recall did not return: at which stage it fell out, and why."""

    id: str
    stage: str
    reason: str
    origin: str = OWN

    def __str__(self) -> str:
        return f"{self.id}{_from(self.origin)}: {self.stage}: {self.reason}"


@dataclass(frozen=True, slots=True)
class PeerReport:
    """What became of a peer in a recall: how many ``hits`` of it are shown, how far it is trusted, what it had to do
    without, and the ``error`` where it could not be asked at all."""

    name: str
    trust: float
    hits: int = 0
    error: str = ""
    degraded: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.error:
            return f"peer {self.name} was not asked: {self.error}"
        without = f", without {', '.join(self.degraded)}" if self.degraded else ""
        return f"peer {self.name}: {self.hits} hit{'' if self.hits == 1 else 's'}{without}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """What texts leave open of a query: the words or names that are ``uncovered``, and the ``queries`` to ask next, the
    most telling first. With neither the query is covered.
    """

    uncovered: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()

    @property
    def covered(self) -> bool:
        return not (self.uncovered or self.queries)


class Hop(NamedTuple):
    """One query of a recall over several hops: which hop asked it, and the ids of the hits that it brought."""

    number: int
    query: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recall(Sequence[Hit]):
    """The hits of one recall, best first and then what they are associated with: a sequence. ``affect`` is the state
    that shaped the order.

    ``words`` are the query's words that the keyword channel looked for, without the names of those who speak.
    ``degraded`` names channels, and ``reranker``, that could not answer in time. ``confidence`` is how sure a whisper
    is that the first candidate was meant, in units of cosine; ``None`` for an explicit recall. ``hops`` are the
    queries that were asked beside, in order, and ``stopped`` says why no more were: «covered», «no new query», «no new
    hit», «hops», «queries», «time» or «assessor», which failed; empty where one hop was asked for.
    ``times`` are those that the query speaks of, as they were understood.
    ``peers`` says of each other memory what became of it; one that could not be asked is among the ``degraded``, too.
    """

    query: str
    words: tuple[str, ...]
    hits: tuple[Hit, ...]
    dropped: tuple[Dropped, ...] = ()
    affect: Affect = Affect()
    profile: str = "balanced"
    at: datetime | None = None
    degraded: tuple[str, ...] = ()
    confidence: float | None = None
    hops: tuple[Hop, ...] = ()
    stopped: str = ""
    peers: tuple[PeerReport, ...] = ()
    times: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Hit: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...

    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(hit.id for hit in self.hits)

    def explain(self, dropped: int = 10) -> str:
        """Return a line per hit, and per dropped candidate up to that many: what it is and why it stands there; and
        what times the query speaks of, what became of each peer, what could not answer in time, and why no further hop
        was taken.

        Where the state that shaped the order has emotions, a line before them names it.
        """
        words, state = self.affect.in_words(), self.affect
        mood = [f"felt: {words} (valence {state.valence:+.2f}, arousal {state.arousal:.2f})"] if words else []
        kept = [
            f"{n}. {hit.score:.3f} {hit.entry.kind} {hit.id}{_from(hit.origin)}: {hit.why}"
            for n, hit in enumerate(self.hits, 1)
        ]
        last = [f"degraded: {', '.join(self.degraded)}"] if self.degraded else []
        times = [f"time: {time}" for time in self.times]
        last += [f"stopped: {self.stopped}"] if self.stopped else []
        return "\n".join(
            [*mood, *times, *kept, *(f"-  {item}" for item in self.dropped[:dropped]), *map(str, self.peers), *last]
        )

    def explanation(self) -> RecallExplanation:
        """Return all of it as plain data, which ``json`` takes."""
        return explained(self)

    def table(self, dropped: int = 10) -> Table:
        """Return a table for rich, of the hits and of up to so many dropped candidates: ``rich.print`` shows it.

        Raises ``ImportError`` where rich is not installed.
        """
        return table(self, dropped)


@dataclass(frozen=True, slots=True)
class Whisper:
    """What surfaces before a model call: a framed text within its budget, or the empty text.

    ``hits`` are the memories it shows; pass their ids to ``record`` as ``surfaced`` with the exchange they served.
    """

    text: str
    hits: tuple[Hit, ...] = ()
    recall: Recall | None = None

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(hit.id for hit in self.hits)


def counted(peers: Sequence[PeerReport], hits: Sequence[Hit]) -> tuple[PeerReport, ...]:
    """Reports of peers with how many of these hits are theirs."""
    return tuple(replace(report, hits=sum(hit.origin == report.name for hit in hits)) for report in peers)


def _from(origin: str) -> str:
    return "" if origin == OWN else f" from {origin}"
