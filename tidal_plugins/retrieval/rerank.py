"""Stage ``rerank``: a reranker reads query and candidates together, and its order wins [Anamnesis]."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from tidal_plugins.aio import in_time
from tidal_plugins.errors import RerankError
from tidal_plugins.protocols import Reranker
from tidal_plugins.retrieval.boost import GAINS
from tidal_plugins.retrieval.candidates import Candidates, total
from tidal_plugins.retrieval.state import State
from tidal_plugins.scoring.fusion import stretched

if TYPE_CHECKING:
    from tidal_plugins.retrieval.candidates import Rows

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
    import numpy as np

    reranker, seconds, found = state.store.reranker, state.settings.rerank.seconds, state.ranked
    if reranker is None:
        return
    ids = found.ids
    read = np.flatnonzero([id_ in state.entries for id_ in ids])
    if not len(read):
        return
    texts = [found.passage(place, state.entries[ids[place]].text) for place in read.tolist()]
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
        state.ranked = reranked(found, read, scores)


def reranked(found: Candidates, read: Rows, scores: Sequence[float]) -> Candidates:
    """Return candidates with those that were ``read`` first, in the order of a reranker's scores. Equal scores keep the
    order of the ranking so far.

    Scores are stretched from any scale to [0, 1], so that the additions of signals count as much as without a reranker.
    """
    import numpy as np

    shares = np.array(stretched(scores))
    given = np.full(len(found), np.nan)
    given[read] = scores
    parts = {name: part.copy() for name, part in found.parts.items()}
    for name in parts.keys() - GAINS:
        parts[name][read] = np.nan
    gains = {name: part[read] for name, part in parts.items() if name in GAINS}
    relevance, score = found.relevance.copy(), found.score.copy()
    relevance[read], score[read] = shares, shares + total(gains, len(read))
    order = read[np.argsort(-score[read], kind="stable")]
    others = np.setdiff1d(np.arange(len(found)), read)
    judged = replace(found, score=score, relevance=relevance, parts={RERANKER: given, **parts})
    return judged.take(np.concatenate([order, others]))


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
