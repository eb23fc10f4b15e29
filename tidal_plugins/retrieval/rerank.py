"""Route A: a reranker reads query and candidates together, and its order wins over route B's [Anamnesis]."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from itertools import islice

from tidal_plugins.aio import in_time
from tidal_plugins.errors import RerankError
from tidal_plugins.protocols import Reranker
from tidal_plugins.retrieval.rank import Ranked
from tidal_plugins.scoring.fusion import stretched
from tidal_plugins.sessions.boost import GAINS

RERANKER = "reranker"
"""Name of the reranker's score among a hit's factors, and of the reranker where it could not answer in time."""

LEFT_BEHIND = 4
"""Calls of one reranker that run past their time, at which it is not called again until one of them ends."""

logger = logging.getLogger(__name__)

_running: dict[object, tuple[tuple[int, int], float]] = {}
"""Of each call under way whose it is, by process and reranker, and when its time is over."""

_end: ContextVar[float] = ContextVar("end", default=math.inf)


def reranked(
    reranker: Reranker, query: str, ranked: Sequence[Ranked], texts: Mapping[str, str], seconds: float
) -> tuple[list[Ranked], bool]:
    """Return the candidates that have ``texts`` in the reranker's order and after them the others, and whether it
    answered; where it fails or is not done in ``seconds``, the order stays as it is.

    Its scores are stretched to [0, 1], whatever their scale, so that what signals add to a score counts as in route B;
    where two are equal, route B decides.
    """
    read = [item for item in ranked if item.id in texts]
    if not read:
        return list(ranked), True
    try:
        scores = _scores(reranker, query, [texts[item.id] for item in read], seconds)
    except TimeoutError:
        logger.warning("the reranker did not answer within %g s; the ranking stays without it", seconds)
        return list(ranked), False
    except Exception as error:
        logger.warning("the reranker failed, and the ranking stays without it: %s: %s", type(error).__name__, error)
        return list(ranked), False
    places = {item.id: place for place, item in enumerate(read)}
    judged = [_judged(item, share, score) for item, share, score in zip(read, stretched(scores), scores, strict=True)]
    others = [item for item in ranked if item.id not in places]
    return [*sorted(judged, key=lambda item: (-item.score, places[item.id])), *others], True


def still_wanted() -> None:
    """Raise ``TimeoutError`` where the time is over that recall gave this reranker, and nobody waits for it."""
    if time.monotonic() > _end.get():
        raise TimeoutError("the time for reranking is over")


def _scores(reranker: Reranker, query: str, texts: Sequence[str], seconds: float) -> list[float]:
    call, owner, end = object(), (os.getpid(), id(reranker)), time.monotonic() + seconds
    late = sum(1 for other, until in list(_running.values()) if other == owner and until < time.monotonic())
    if late >= LEFT_BEHIND:
        raise RerankError(f"{late} calls that nobody waits for any more are still under way")

    def ask() -> list[float]:
        _running[call] = owner, end
        try:
            answer = reranker.rerank(query, list(texts))
            return [float(score) for score in islice(answer, len(texts) + 1)]  # here, since it may be a generator
        finally:
            del _running[call]

    before = _end.set(end)
    try:
        scores = in_time(ask, seconds)
    finally:
        _end.reset(before)
    if len(scores) != len(texts) or not all(map(math.isfinite, (*scores, max(scores) - min(scores)))):
        raise RerankError(f"a reranker gives one finite score per text: {len(texts)} texts gave {scores[:5]} …")
    return scores


def _judged(item: Ranked, share: float, score: float) -> Ranked:
    gains = {name: value for name, value in item.parts.items() if name in GAINS}
    return item._replace(score=share + sum(gains.values()), relevance=share, parts={RERANKER: score, **gains})
