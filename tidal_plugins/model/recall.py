"""Results of recall: hits with the reasons for them, the whisper made from them, and a recall laid open as data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from tidal_plugins.cached import cached_property
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.fact import Supersession

if TYPE_CHECKING:
    from rich.table import Table

OWN = "own"
"""Origin of what comes from the memory itself."""

SHOWN = 120
"""Characters of a passage that a table shows."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons for a hit.

    Attributes:
        keyword_rank: its rank in the keyword channel, from 1; ``None`` if that channel did not find it.
        keyword_score: BM25.
        vector_rank: its rank in the vector channel, from 1; ``None`` if that channel did not find it.
        cosine: the cosine of its best passage, in units of the default embedder, whatever the store's embedder is.
        keyword_strength: the keyword score made comparable across queries.
        fused: the score of both channels and the context together, in units of cosine.
        relevance: the fused score relative to the best of this recall, in [0, 1].
        factors: the terms that were added to the relevance or multiplied it, by name.
        profile: the name of the formula that ranked it.
        activation: the activation in (0, 1) that reached it by associations; 0 for a hit that a channel found.
        path: the ids from a hit to this entry, if associations found it. Labels in the path begin with a #.
        feeling: the strongest emotions of its text, in words; empty if it shows none.
        hop: the hop that found it, from 1. Ranks and scores are those of that hop's query.
        asked: the query of that hop; empty for the first.
        replaces: the earlier entries that it supersedes, with both values, of those that the recall was about.
        superseded_by: the later entries that supersede it.
        features: what the hit's confidence was made of, by name: the ``margin`` by which the first of the recall stands
            out; how far this hit is ``behind`` that one, and ``short`` of being near at all, both at most 0; how far
            the first is ``ahead`` of the next, 0 for other hits. All are in units of cosine.
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
    replaces: tuple[Supersession, ...] = ()
    superseded_by: tuple[Supersession, ...] = ()
    features: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return "".join(
            [
                self._found(),
                *(f", supersedes {link.earlier}: {link.replacement}" for link in self.replaces),
                *(f", superseded by {link.later}: {link.replacement}" for link in self.superseded_by),
            ]
        )

    def _found(self) -> str:
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
    """The turns around a hit in its thread, ``before`` and ``after``, each in order."""

    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that came up.

    Attributes:
        entry: the entry.
        score: the score by which hits are ordered, higher is better.
        passage: the part of its text that matched best.
        why: the reasons.
        origin: the name of the peer that it comes from, or ``own``.
        window: the turns around it, if the recall asked for them.
        unit: the offsets in the entry's text of the sentence, list item, table row or line of code that answers; a
            whisper looks for it.
        hidden: the kinds of secrets in its text that are not shown, such as ``password``. ``memory.get(hit.id)`` has
            them.
        confidence: the chance that it helps, in [0, 1]. It does not order the hits: what the ranking knows beyond it,
            such as what is newer, does.
    """

    entry: Entry
    score: float
    passage: str
    why: Explanation
    origin: str = OWN
    window: Window = Window()
    unit: tuple[int, int] | None = None
    hidden: tuple[str, ...] = ()
    confidence: float = 0.0

    @property
    def answer(self) -> str:
        """Return the unit of the text that answers, or the passage if no whisper looked for one."""
        return self.passage if self.unit is None else self.text[self.unit[0] : self.unit[1]]

    @property
    def chance(self) -> str:
        """Return its confidence in words, with what it was made of."""
        features = ", ".join(f"{name} {value:.2f}" for name, value in self.why.features.items())
        return f"confidence {self.confidence:.2f}" + (f" ({features})" if features else "")

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def text(self) -> str:
        return self.entry.text

    def older_value(self, confidence: float = 0.0) -> str | None:
        """Return the value that this hit replaces, such as «Thursday 10:00», if it is at least so sure.

        Of several it is the newest, ``None`` if there is none.
        """
        sure = [link for link in self.why.replaces if link.replacement.confidence >= confidence]
        return sure[-1].replacement.old if sure else None


class Dropped(NamedTuple):
    """A candidate that recall did not return, with the ``stage`` at which it was dropped and the ``reason``."""

    id: str
    stage: str
    reason: str
    origin: str = OWN

    def __str__(self) -> str:
        return f"{self.id}{_from(self.origin)}: {self.stage}: {self.reason}"


class LeftOut(Sequence[Dropped]):
    """What a recall dropped, in order, made when somebody reads it: a recall drops hundreds, and few ask for them."""

    def __init__(self, make: Callable[[], Iterable[Dropped]]) -> None:
        self._make = make

    @cached_property
    def _all(self) -> tuple[Dropped, ...]:
        return tuple(self._make())

    @overload
    def __getitem__(self, index: int) -> Dropped: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Dropped, ...]: ...

    def __getitem__(self, index: int | slice) -> Dropped | tuple[Dropped, ...]:
        return self._all[index]

    def __iter__(self) -> Iterator[Dropped]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __eq__(self, other: object) -> bool:
        return self._all == (other._all if isinstance(other, LeftOut) else other)

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return repr(self._all)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all,)


@dataclass(frozen=True, slots=True)
class PeerReport:
    """The part that a peer had in a recall.

    Attributes:
        name: the peer.
        trust: the factor that its scores were multiplied by, in (0, 1].
        hits: how many hits of the recall come from it.
        error: why it could not be asked; empty if it was.
        degraded: the parts of its recall that could not answer in time.
    """

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
    """The parts of a query that texts leave open. The query is covered if there are none.

    Attributes:
        uncovered: the words or names that the texts do not cover.
        queries: the queries to ask next, the most specific first.
    """

    uncovered: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()

    @property
    def covered(self) -> bool:
        return not (self.uncovered or self.queries)


class Hop(NamedTuple):
    """A further query of a recall: the ``number`` of its hop, its text, and the ``ids`` of the hits that it found."""

    number: int
    query: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recall(Sequence[Hit]):
    """The hits of one recall: a sequence, best first, followed by associated entries if the caller asked for them.

    Attributes:
        query: the text that was asked.
        words: the words that the keyword channel searched, without the names of speakers.
        hits: the hits.
        dropped: the candidates that were not returned, with the reasons.
        affect: the mood that influenced the order.
        profile: the name of the formula that ranked.
        at: the time of which the recall asked.
        degraded: the channels, peers and models that could not answer in time, and what is damaged: «damaged links»
            are rows of links that were left out, «damaged pages» may have held more.
        confidence: the chance that the recall holds something that helps, in [0, 1].
        hops: the further queries, in order.
        stopped: why there were no more hops: «covered», «no new query», «no new hit», «hops», «queries», «time», or
            «assessor» for one that failed. Empty if one hop was asked for.
        peers: a report for each other memory that was asked.
        times: the times that the query names, as they were understood.
        threshold: the confidence from which on a whisper shows anything for the turn; 0 for a recall, which has none.
    """

    query: str
    words: tuple[str, ...]
    hits: tuple[Hit, ...]
    dropped: Sequence[Dropped] = ()
    affect: Affect = Affect()
    profile: str = "balanced"
    at: datetime | None = None
    degraded: tuple[str, ...] = ()
    confidence: float = 0.0
    hops: tuple[Hop, ...] = ()
    stopped: str = ""
    peers: tuple[PeerReport, ...] = ()
    times: tuple[str, ...] = ()
    threshold: float = 0.0

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

    def __str__(self) -> str:
        return "\n".join(f"{n}. {hit.passage}" for n, hit in enumerate(self.hits, 1))

    def explain(self, dropped: int = 10) -> str:
        """Return a line for each hit, and for up to ``dropped`` candidates that fell out.

        Further lines name the mood that shaped the order, the times that the query names, the report of each peer, the
        channels that could not answer in time, and the reason why no further hop was taken.
        """
        words, state = self.affect.in_words(), self.affect
        mood = [f"felt: {words} (valence {state.valence:+.2f}, arousal {state.arousal:.2f})"] if words else []
        kept = [
            f"{n}. {hit.score:.3f} {hit.entry.kind} {hit.id}{_from(hit.origin)}: {hit.why}, {hit.chance}"
            for n, hit in enumerate(self.hits, 1)
        ]
        last = [f"degraded: {', '.join(self.degraded)}"] if self.degraded else []
        times = [f"time: {time}" for time in self.times]
        last += [f"stopped: {self.stopped}"] if self.stopped else []
        return "\n".join(
            [*mood, *times, *kept, *(f"-  {item}" for item in self.dropped[:dropped]), *map(str, self.peers), *last]
        )

    def explanation(self) -> RecallExplanation:
        """Return the whole explanation as plain data, which ``json`` takes."""
        return _explained(self)

    def table(self, dropped: int = 10) -> Table:
        """Return a table for rich, of the hits and of up to ``dropped`` candidates that fell out.

        Raises ``ImportError`` if rich is not installed.
        """
        return _table(self, dropped)


@dataclass(frozen=True, slots=True)
class Whisper:
    """The few memories to show a model: a framed text within its budget, or the empty text. An empty whisper is false.

    Attributes:
        text: the text to put ahead of the user's words; ``str`` returns it too.
        hits: the memories that it shows. Pass their ``ids`` to ``record`` as ``surfaced``, with the exchange they
            served.
        recall: the recall behind it, with the reasons.
    """

    text: str
    hits: tuple[Hit, ...] = ()
    recall: Recall | None = None

    @property
    def degraded(self) -> tuple[str, ...]:
        """Return what could not answer in time, and what is damaged, as that of a recall: it may lack memories then."""
        return self.recall.degraded if self.recall is not None else ()

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(hit.id for hit in self.hits)


def counted(peers: Sequence[PeerReport], hits: Sequence[Hit]) -> tuple[PeerReport, ...]:
    """Return the reports of peers, each with the number of these hits that come from it."""
    return tuple(replace(report, hits=sum(hit.origin == report.name for hit in hits)) for report in peers)


def _from(origin: str) -> str:
    return "" if origin == OWN else f" from {origin}"


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """A hit as plain data: its ``place``, its entry, its score and its confidence, and the fields of
    :class:`Explanation` in ``why``."""

    place: int
    id: str
    citation: str
    kind: str
    origin: str
    score: float
    confidence: float
    passage: str
    why: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecallExplanation:
    """A recall as plain data: strings, numbers, lists and dictionaries.

    ``at`` is ISO 8601. ``stages`` counts the ``dropped`` candidates by stage; each of those has its id, stage, reason
    and origin. ``peers`` are the other memories that were asked, ``times`` the times that the query names.
    ``threshold`` is that of a whisper.
    """

    query: str
    words: list[str]
    profile: str
    at: str | None
    affect: Mapping[str, Any]
    confidence: float
    degraded: list[str]
    hits: list[ExplainedHit]
    dropped: list[Mapping[str, str]]
    stages: Mapping[str, int]
    peers: list[Mapping[str, Any]]
    hops: list[Mapping[str, Any]]
    stopped: str
    times: list[str]
    threshold: float

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary that ``json`` takes."""
        return asdict(self)

    def as_json(self, indent: int | None = None) -> str:
        """Return a text in JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=indent)


def _explained(recall: Recall) -> RecallExplanation:
    """Lay a recall open."""
    affect = recall.affect
    return RecallExplanation(
        query=recall.query,
        words=list(recall.words),
        profile=recall.profile,
        at=recall.at.isoformat() if recall.at else None,
        affect={
            "valence": affect.valence,
            "arousal": affect.arousal,
            "emotions": {name: float(strength) for name, strength in (affect.emotions or {}).items()},
        },
        confidence=recall.confidence,
        degraded=list(recall.degraded),
        hits=[_hit(hit, place) for place, hit in enumerate(recall.hits, 1)],
        dropped=[item._asdict() for item in recall.dropped],
        stages=dict(Counter(item.stage for item in recall.dropped)),
        peers=[_peer(peer) for peer in recall.peers],
        hops=[{"number": hop.number, "query": hop.query, "ids": list(hop.ids)} for hop in recall.hops],
        stopped=recall.stopped,
        times=list(recall.times),
        threshold=recall.threshold,
    )


def _table(recall: Recall, dropped: int) -> Table:
    """Return a table of the hits, and below them of as many dropped candidates."""
    try:
        from rich.table import Table
        from rich.text import Text
    except ImportError as error:
        raise ImportError("Recall.table needs rich: pip install rich; Recall.explain() is plain text") from error
    # What was said is data: as Text, brackets in it are no markup.
    rows = Table("", "score", "from", "memory", "why", title=Text(recall.query), caption=Text(_caption(recall)))
    for place, hit in enumerate(recall.hits, 1):
        memory = Text(f"{hit.entry.citation} {hit.entry.kind}\n{_cut(hit.passage)}")
        rows.add_row(
            str(place), f"{hit.score:.3f}", Text(hit.origin), memory, Text(f"{_reasons(hit.why)}\n{hit.chance}")
        )
    rows.add_section()
    for item in recall.dropped[:dropped]:
        rows.add_row("–", "", Text(item.origin), Text(item.id), Text(_reason(item)), style="dim")
    if len(recall.dropped) > dropped:
        rows.add_row("–", "", "", Text(f"{len(recall.dropped) - dropped} more"), "", style="dim")
    return rows


def _hit(hit: Hit, place: int) -> ExplainedHit:
    entry, why = hit.entry, hit.why
    fields = {name: getattr(why, name) for name in type(why).__dataclass_fields__}
    fields |= {"factors": dict(why.factors), "path": list(why.path), "features": dict(why.features)}
    fields |= {name: [link.as_dict() for link in getattr(why, name)] for name in ("replaces", "superseded_by")}
    numbers = hit.score, hit.confidence
    return ExplainedHit(place, entry.id, entry.citation, entry.kind, hit.origin, *numbers, hit.passage, fields)


def _peer(peer: PeerReport) -> dict[str, Any]:
    return {**asdict(peer), "degraded": list(peer.degraded)}


def _reasons(why: Explanation) -> str:
    return str(why).replace(", relevance", "\nrelevance")


def _reason(item: Dropped) -> str:
    return f"{item.stage}: {item.reason}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _caption(recall: Recall) -> str:
    """Return the line about the recall as a whole."""
    sure = f"confidence {recall.confidence:.2f}"
    degraded = [f"without {', '.join(recall.degraded)}"] if recall.degraded else []
    stopped = [f"hops stopped: {recall.stopped}"] if recall.stopped else []
    times = [f"time: {', '.join(recall.times)}"] if recall.times else []
    return " · ".join([f"profile {recall.profile}", *times, sure, *degraded, *map(str, recall.peers), *stopped])
