"""The columns of one scope as arrays, which all readers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidal_plugins.storage.columns.codes import Codes
from tidal_plugins.storage.columns.tables import Ids, Names
from tidal_plugins.storage.columns.threads import ThreadOrder
from tidal_plugins.storage.damage import Damaged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Arrays:
    """The columns of a scope. They are shared: read only.

    Those of ``ENTRY`` and ``OF_PASSAGES`` have one row for each entry, by key; ``passages`` has those of ``PASSAGE``,
    by key. ``units`` are vectors of length 1, by the row that ``passages`` gives them; ``None`` if only their ``codes``
    are held. ``damaged`` are rows that were left out.
    """

    names: Names
    ids: Ids
    key: NDArray[np.int64]
    kind: NDArray[np.int32]
    channel: NDArray[np.int32]
    role: NDArray[np.int32]
    speaker: NDArray[np.int32]
    thread: NDArray[np.int32]
    source: NDArray[np.int32]
    tags: NDArray[np.int32]
    importance: NDArray[np.float64]
    occurred_at: NDArray[np.int64]
    recorded_at: NDArray[np.int64]
    valid_from: NDArray[np.int64]
    valid_until: NDArray[np.int64]
    valence: NDArray[np.float64]
    weight: NDArray[np.float64]
    anchored_at: NDArray[np.int64]
    half_life: NDArray[np.float64]
    cold_at: NDArray[np.int64]
    archived_at: NDArray[np.int64]
    expires_at: NDArray[np.int64]
    first_passage: NDArray[np.int32]
    count: NDArray[np.int32]
    words: NDArray[np.int32]
    passages: Mapping[str, NDArray[Any]]
    units: NDArray[np.float32] | None
    codes: Codes | None
    dimensions: int
    damaged: Sequence[Damaged]
    order: ThreadOrder
    notes: dict[str, Any]
    """What readers know of the entries, by name: it is shared, and lasts as long as no entry goes or is replaced."""

    @property
    def rows(self) -> int:
        """Return how many entries there are."""
        return len(self.key)

    @cached_property
    def vectored(self) -> Rows:
        """Return the rows of the passages that have a vector, by its row."""
        import numpy as np

        return np.flatnonzero(self.passages["unit"] >= 0)
