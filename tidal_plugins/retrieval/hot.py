"""A retrieve without a query [tidalDB]: what is hot now, by recency, importance and signals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tidal_plugins.embedding.identity import QueryVector, scale_of
from tidal_plugins.protocols import Embedder
from tidal_plugins.retrieval.boost import SessionSignals
from tidal_plugins.retrieval.candidates import Candidates, candidates
from tidal_plugins.retrieval.rank import halved
from tidal_plugins.retrieval.search import Channels
from tidal_plugins.retrieval.understand import Request, to_query
from tidal_plugins.retrieval.weights import RecallTuning
from tidal_plugins.scoring.ranking import importance_factor
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage


def hot(
    storage: Storage, embedder: Embedder, request: Request, signals: SessionSignals, settings: Settings
) -> tuple[Channels, Candidates]:
    """Return the entries of a scope that may be hot, by recency times importance; signals are added later.

    They are the first by that, what has signals, and what has words of the session's annotations. Call it inside a
    snapshot.
    """
    columns, weights, where = storage.columns(request.scope), settings[RecallTuning], request.where
    corpus = storage.statistics(request.scope).corpus
    nothing = QueryVector(np.zeros(0, np.float32), embedder, scale_of(storage))
    channels = Channels(storage, request.scope, to_query("", ()), nothing, where, columns, corpus)
    rows = np.flatnonzero(columns.passes(np.arange(columns.arrays.rows), where))
    size = max(2 * request.limit, weights.pool)
    found = _scored(candidates(columns, rows), request, weights)
    first = found.take(np.argsort(-found.score, kind="stable")[:size])
    more = columns.rows(signals.signalled(size))
    more = np.concatenate([more[more >= 0], channels.matching(sorted(signals.notes), size, where).entries])
    more = np.setdiff1d(more[columns.passes(more, where)], first.rows)
    return channels, first.followed(_scored(candidates(columns, more), request, weights))


def _scored(found: Candidates, request: Request, weights: RecallTuning) -> Candidates:
    recent = halved(found, request.now, weights.hot)
    factor = importance_factor(found.columns.arrays.importance[found.rows])
    return replace(found, relevance=recent, score=recent).weighed("importance", factor)
