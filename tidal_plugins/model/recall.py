"""What recall returns: hits with the reasons for them, and the whisper made from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, overload

from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Entry


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an entry came up, and how far.

    Ranks count from 1 in each channel and are ``None`` where the channel did not find the entry. ``keyword_score``
    is BM25, ``keyword_strength`` the same made comparable across queries, ``cosine`` that of the best passage,
    ``fused`` what both give together, ``relevance`` where that stands against the best of this recall, in [0, 1].
    ``factors`` are what relevance was multiplied by or what was added, ``feeling`` the strongest emotions of the
    entry's text, in words; empty where it shows none. What associations brought up has a ``path``,
    from a hit to the entry itself, and the ``activation`` in (0, 1) that arrived on it; no channel ranked it.
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

    def __str__(self) -> str:
        if self.path:
            way = " → ".join(self.path)
            return f"associated with a hit ({way}), activation {self.activation:.2f}, meaning ({self.cosine:.2f})"
        keyword = f"keywords #{self.keyword_rank} ({self.keyword_score:.1f})" if self.keyword_rank else "no keyword"
        vector = f"#{self.vector_rank} " if self.vector_rank else ""
        factors = "".join(f", {name} {value:.2f}" for name, value in self.factors.items())
        felt = f" ({self.feeling})" if self.feeling else ""
        return f"{keyword}, meaning {vector}({self.cosine:.2f}), relevance {self.relevance:.2f}{factors}{felt}"


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that came up. ``passage`` is the part of its text that matched best."""

    entry: Entry
    score: float
    passage: str
    why: Explanation
    origin: str = "own"

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


@dataclass(frozen=True, slots=True)
class Recall(Sequence[Hit]):
    """The hits of one recall, best first and then what they are associated with: a sequence. ``affect`` is the state
    that shaped the order.

    ``words`` are the query's words that the keyword channel looked for, without the names of those who speak.
    ``degraded`` names channels that could not answer in time.
    """

    query: str
    words: tuple[str, ...]
    hits: tuple[Hit, ...]
    dropped: tuple[Dropped, ...] = ()
    affect: Affect = Affect()
    profile: str = "balanced"
    at: datetime | None = None
    degraded: tuple[str, ...] = ()

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
        """Return a line per hit, and per dropped candidate up to that many: what it is and why it stands there.

        Where the state that shaped the order has emotions, a line before them names it.
        """
        words, state = self.affect.in_words(), self.affect
        mood = [f"felt: {words} (valence {state.valence:+.2f}, arousal {state.arousal:.2f})"] if words else []
        kept = [f"{n}. {hit.score:.3f} {hit.entry.kind} {hit.id}: {hit.why}" for n, hit in enumerate(self.hits, 1)]
        rest = [f"-  {item.id}: {item.stage}: {item.reason}" for item in self.dropped[:dropped]]
        return "\n".join(mood + kept + rest)


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
