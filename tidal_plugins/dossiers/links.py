"""What supersedes some entries: later statements, and what was said against facts that were set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from tidal_plugins.facts.conflicts import FACT_CHANNEL, open_conflicts
from tidal_plugins.facts.invalidation import SupersessionStore
from tidal_plugins.facts.versions import KEY
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.fact import FactConflict
from tidal_plugins.model.supersession import Replacement, Supersession
from tidal_plugins.scoring.text import normal
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.values import to_json
from tidal_plugins.tuning import Tuning


def links_of(
    storage: Storage, scope: Scope, entries: Iterable[Entry], settings: Tuning, now: datetime
) -> Sequence[Supersession]:
    """Return what supersedes some entries at a time. An open conflict counts: the fact waits for somebody to decide."""
    found = list(entries)
    facts = {str(entry.metadata.get(KEY)): entry.id for entry in found if entry.channel == FACT_CHANNEL}
    open_ = open_conflicts(storage, scope) if facts else ()
    against = [_against(one, facts[normal(one.key)]) for one in open_ if normal(one.key) in facts]
    if not settings.supersession.enabled:
        return against
    return [*against, *SupersessionStore(storage, scope).chains([entry.id for entry in found], now)]


def _against(said: FactConflict, fact: str) -> Supersession:
    old, new = (value if isinstance(value, str) else to_json(value) for value in (said.fact, said.claim))
    return Supersession(said.entry, fact, Replacement(old, new, reason="", confidence=1.0), said.at)
