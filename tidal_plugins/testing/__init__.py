"""Test doubles: a clock that stands still, and entries, links and records to store.

The suite that every storage engine must pass is in :mod:`tidal_plugins.testing.store`, which needs pytest.
"""

from tidal_plugins.testing.clock import NOON, FrozenClock
from tidal_plugins.testing.samples import ALL, FULL, HERE, HOSTILE, entry, ids, link, record

__all__ = ["ALL", "FULL", "FrozenClock", "HERE", "HOSTILE", "NOON", "entry", "ids", "link", "record"]
