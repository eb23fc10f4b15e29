"""The in-memory engine: pure Python and numpy, for tests and for memories that end with their process."""

from tidal_plugins.storage.memory.engine import MemoryStorage
from tidal_plugins.storage.memory.state import Contents

__all__ = ["Contents", "MemoryStorage"]
