"""The figures of one scope and its file, put together from the rooms that have them."""

from __future__ import annotations

from collections import Counter

from tidal_plugins.errors import Corrupt
from tidal_plugins.facts.invalidation import SUPERSEDE
from tidal_plugins.graph.handlers import READ
from tidal_plugins.graph.reader.budget import MODEL
from tidal_plugins.ingestion.tombstones import UNSCRUBBED
from tidal_plugins.maintenance.tiers import count_tiers
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.reports import Stats
from tidal_plugins.services import Services
from tidal_plugins.storage.capabilities import count_keys, measures, within_deadline
from tidal_plugins.storage.shorthands import read_meta


def stats(services: Services, scope: Scope) -> Stats:
    """Return the figures of a scope, as of one state of the store."""
    storage = services.storage
    with within_deadline(storage), storage.snapshot():
        kinds = Counter[str]()
        for (kind, _), volume in storage.statistics(scope).volumes.items():
            kinds[kind] += volume.entries
        tiers = count_tiers(storage, scope, services.now())
        waiting = count_keys(storage, scope, [READ, SUPERSEDE, MODEL])
        try:
            unscrubbed = bool(read_meta(storage, UNSCRUBBED))
        except Corrupt:  # it stands on a damaged page, if it is there
            unscrubbed = True
        figures = measures(storage)
        used = services.handlers.model.budget.usage(scope, services.now())
    left = figures.file_bytes + figures.log_bytes if unscrubbed else 0
    return Stats(
        entries=kinds.total(),
        waiting=waiting,
        file_bytes=figures.file_bytes,
        log_bytes=figures.log_bytes,
        unscrubbed_bytes=left,
        slow=figures.slow,
        timeouts=figures.timeouts,
        log_lost=figures.log_lost,
        reader=used,
        kinds=dict(+kinds),
        tiers=tiers,
    )
