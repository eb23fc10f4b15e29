"""The answers of several stores as one recall [Anamnesis G5]."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidal_plugins.model.entry import Scope
from tidal_plugins.model.recall import OWN, Dropped, Hit, PeerReport, Recall
from tidal_plugins.retrieval.deduplicate import said_again
from tidal_plugins.retrieval.lasting import LASTING
from tidal_plugins.retrieval.recency import RECENCY
from tidal_plugins.retrieval.rerank import RERANKER
from tidal_plugins.scoring.fusion import sharp_relevance, stretched
from tidal_plugins.scoring.text import normal
from tidal_plugins.tuning import Tuning

Forgotten = Callable[[Scope, Sequence[str]], set[str]]
"""A function that returns which of some texts were forgotten in a scope on request."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The recall of a peer, or the error that kept it from answering."""

    name: str
    trust: float
    recall: Recall | None = None
    error: str = ""


@dataclass(slots=True)
class Merger:
    """Merges the answers of several stores into one. Of two equal scores the own store's comes first."""

    settings: Tuning
    limit: int
    scope: Scope
    forgotten: Forgotten
    threshold: float | None = None
    """The confidence below which a peer's hits of a whisper fall out; ``None`` for a recall, which has no threshold."""
    dropped: list[Dropped] = field(default_factory=list)

    def merged(self, own: Recall, answers: Sequence[Answer]) -> Recall:
        """Return the own recall with the hits of peers among its hits."""
        answered = [(answer, answer.recall) for answer in answers if answer.recall is not None]
        trust = {answer.name: answer.trust for answer in answers}
        theirs = [hit for answer, recall in answered for hit in self._hits(answer, recall)]
        pool = self._once([*own, *theirs], own)
        appended = [hit for hit in pool if hit.why.path]
        ranked = _comparable([hit for hit in pool if not hit.why.path], self.settings)
        ranked = sorted((_trusted(hit, trust) for hit in ranked), key=lambda hit: -hit.score)  # stable: the own first
        ranked = self._news(ranked)
        kept, rest = ranked[: self.limit], ranked[self.limit :]
        sure = [own.confidence, *(recall.confidence * answer.trust for answer, recall in answered)]
        return replace(
            own,
            hits=(*kept, *appended),
            dropped=(*_trimmed(rest, self.limit), *own.dropped, *self.dropped),
            degraded=(*own.degraded, *(f"peer {name}" for name in _silent(answers))),
            confidence=max(sure),
            peers=tuple(_reported(answer, kept) for answer in answers),
        )

    def _hits(self, answer: Answer, recall: Recall) -> Iterator[Hit]:
        """Yield the hits of a peer, with their origin, unless its confidence times its trust is too low."""
        self.dropped += (item._replace(origin=answer.name) for item in recall.dropped)
        sure, least = recall.confidence * answer.trust, self.threshold or 0.0
        for hit in recall:
            if sure < least:
                reason = f"confidence {sure:.3f}, at a trust of {answer.trust:.2f}, under the threshold of {least:.3f}"
                self.dropped.append(Dropped(hit.id, "threshold", reason, answer.name))
            else:
                yield replace(hit, origin=answer.name)

    def _once(self, hits: Sequence[Hit], own: Recall) -> list[Hit]:
        """Return each text of several stores once, the own one where there is one.

        A peer brings nothing that fell out here or was forgotten here.
        """
        left = {item.id: item.stage for item in own.dropped}
        forgotten = self.forgotten(self.scope, [hit.text for hit in hits if hit.origin != OWN])
        first: dict[str, Hit] = {}
        kept = []
        for hit in hits:
            before = first.setdefault(normal(hit.text), hit)
            if hit.origin != before.origin:
                self._drop(hit, f"the same as {before.id}, {before.origin}")
            elif hit.origin != OWN and (stage := left.get(hit.id)):
                self._drop(hit, f"stands in the own store too, and fell out there at the stage {stage}")
            elif hit.origin != OWN and hit.text in forgotten:
                self._drop(hit, "was forgotten here on request")
            else:
                kept.append(hit)
        return kept

    def _news(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits of a whisper that do not say again what one before them says. A recall keeps all hits."""
        again = {} if self.threshold is None else said_again(hits)
        self.dropped += (Dropped(hit.id, "diversity", again[hit.id], hit.origin) for hit in hits if hit.id in again)
        return [hit for hit in hits if hit.id not in again]

    def _drop(self, hit: Hit, reason: str) -> None:
        self.dropped.append(Dropped(hit.id, "federation", reason, hit.origin))


def _trusted(hit: Hit, trust: Mapping[str, float]) -> Hit:
    """Return a hit whose score and confidence count as far as its store is trusted."""
    share = trust.get(hit.origin, 1.0)
    if share == 1:
        return hit
    why = replace(hit.why, factors={**hit.why.factors, "trust": share})
    score, confidence = hit.score - (1 - share) * abs(hit.score), hit.confidence * share
    entry = replace(hit.entry, trust=min(hit.entry.trust, share))
    return replace(hit, entry=entry, score=score, confidence=confidence, why=why)


def _trimmed(rest: Sequence[Hit], limit: int) -> list[Dropped]:
    return [
        Dropped(hit.id, "trim", f"score {hit.score:.3f} at place {place} of all stores", hit.origin)
        for place, hit in enumerate(rest, limit + 1)
    ]


def _comparable(hits: Sequence[Hit], settings: Tuning) -> list[Hit]:
    """Return hits of several stores with relevances against the best of all stores, not of each."""
    if hits and all(RERANKER in hit.why.factors for hit in hits):
        shares = stretched([hit.why.factors[RERANKER] for hit in hits])
        return [
            _moved(hit, share, hit.score - hit.why.relevance + share) for hit, share in zip(hits, shares, strict=True)
        ]
    best = max((hit.why.fused for hit in hits if _sharp(hit)), default=0.0)
    return [_against(hit, best, settings.recall.sharpness) if _sharp(hit) else hit for hit in hits]


def _sharp(hit: Hit) -> bool:
    """Return whether the profile ``balanced`` made the relevance of its fused score."""
    return hit.why.profile == "balanced" and RERANKER not in hit.why.factors


def _against(hit: Hit, best: float, sharpness: float) -> Hit:
    """Return a hit of the profile ``balanced`` with its relevance against the best of all stores."""
    relevance, factors = float(sharp_relevance(hit.why.fused, best, sharpness=sharpness)), hit.why.factors
    times = math.prod(factors.get(name, 1.0) for name in ("importance", "strength", RECENCY, LASTING))
    return _moved(hit, relevance, hit.score + (relevance - hit.why.relevance) * times)


def _moved(hit: Hit, relevance: float, score: float) -> Hit:
    return replace(hit, score=score, why=replace(hit.why, relevance=relevance))


def _silent(answers: Sequence[Answer]) -> list[str]:
    return [answer.name for answer in answers if answer.recall is None or answer.recall.degraded]


def _reported(answer: Answer, kept: Sequence[Hit]) -> PeerReport:
    degraded = answer.recall.degraded if answer.recall else ()
    hits = sum(hit.origin == answer.name for hit in kept)
    return PeerReport(answer.name, answer.trust, hits, answer.error, degraded)
