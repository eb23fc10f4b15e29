"""Stage ``rerank``: a reranker reads query and candidates together, and its order wins [Anamnesis]."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Sequence
from contextvars import ContextVar
from itertools import islice

from tidal_plugins.aio import in_time
from tidal_plugins.errors import RerankError
from tidal_plugins.protocols import Reranker
from tidal_plugins.retrieval.boost import GAINS
from tidal_plugins.retrieval.state import Ranked, State
from tidal_plugins.scoring.fusion import stretched

RERANKER = "reranker"
"""The name of the reranker's score among a hit's factors, and of the reranker among what is degraded."""

MAX_LATE = 4
"""Calls of one reranker that run past their time. At so many it is not called again until one of them ends."""

logger = logging.getLogger(__name__)

_running: dict[object, tuple[tuple[int, int], float]] = {}
"""The calls under way: the process and the reranker that each belongs to, and when its time is over."""

_end: ContextVar[float] = ContextVar("end", default=math.inf)


def rerank(state: State) -> None:
    """Put the entries that were read in the reranker's order, where there is one that gives it in time."""
    reranker, seconds = state.store.reranker, state.settings.rerank.seconds
    read = [item for item in state.ranked if item.id in state.entries]
    if reranker is None or not read:
        return
    texts = [item.found.passage(state.entries[item.id].text) for item in read]
    try:
        scores = _scores(reranker, state.query.text, texts, seconds)
    except TimeoutError:
        logger.warning("the reranker did not answer within %g s; the ranking stays without it", seconds)
        state.channels.degraded.append(RERANKER)
    except Exception as error:
        reason = error if isinstance(error, RerankError) else type(error).__name__  # others may tell what was read
        logger.warning("the reranker failed, and the ranking stays without it: %s", reason)
        logger.debug("the reranker failed", exc_info=True)
        state.channels.degraded.append(RERANKER)
    else:
        others = [item for item in state.ranked if item.id not in state.entries]
        state.ranked = [*reranked(read, scores), *others]


def reranked(read: Sequence[Ranked], scores: Sequence[float]) -> list[Ranked]:
    """Return candidates in the order of a reranker's scores. Equal scores keep the order of the ranking so far.

    Scores are stretched from any scale to [0, 1], so that the additions of signals count as much as without a reranker.
    """
    judged = [_judged(item, share, score) for item, share, score in zip(read, stretched(scores), scores, strict=True)]
    return sorted(judged, key=lambda item: -item.score)  # stable


def still_wanted() -> None:
    """Raise ``TimeoutError`` if the time that recall gave this reranker is over, and nobody waits for it."""
    if time.monotonic() > _end.get():
        raise TimeoutError("the time for reranking is over")


def _scores(reranker: Reranker, query: str, texts: Sequence[str], seconds: float) -> list[float]:
    call, owner, end = object(), (os.getpid(), id(reranker)), time.monotonic() + seconds
    late = sum(1 for other, until in list(_running.values()) if other == owner and until < time.monotonic())
    if late >= MAX_LATE:
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
