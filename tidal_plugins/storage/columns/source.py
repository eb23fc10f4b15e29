"""The origin of columns: what an engine tells of one scope."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tidal_plugins.storage.columns.packing import Piece
from tidal_plugins.storage.columns.tables import EntryRow, PassageRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Mark(NamedTuple):
    """How far columns were read: up to which change, and how often entries had been erased or replaced by then."""

    changes: int
    erasures: int


Range = tuple[int, int]
"""The first and the last key of entries."""


class Source(Protocol):
    """The origin of columns: one scope of an open snapshot."""

    def mark(self) -> Mark:
        """Return how far the scope has come."""

    def gone_after(self, erasures: int) -> Collection[int] | None:
        """Return the keys of the entries that were erased or replaced since, or ``None`` if that is not known."""

    def saved(self) -> Iterable[tuple[Range, int, Piece]]:
        """Yield the pieces of columns that are saved, by their keys: of which entries, and as of which change."""

    def entries_after(self, changes: int, gaps: Sequence[Range]) -> Iterable[EntryRow]:
        """Yield by key the entries that were stored or changed after that change, and all whose keys lie in gaps."""

    def passages_after(self, changes: int, gaps: Sequence[Range], key: int) -> Iterable[PassageRow]:
        """Yield the passages of such entries after that key, by key, without the damaged ones, which are noted."""

    def units(self, keys: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of passages by key, as rows of an array; 0 for those that are damaged."""
