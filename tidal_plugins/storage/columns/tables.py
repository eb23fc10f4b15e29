"""The arrays of one scope, which grow as entries are stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EARLIEST, LATEST = -(2**63), 2**63 - 1
"""Stand for a time that is missing: it lies before, or after, all others."""

ENTRY = {
    "key": "i8", "kind": "i4", "channel": "i4", "role": "i4", "speaker": "i4", "thread": "i4", "importance": "f8",
    "occurred_at": "i8", "recorded_at": "i8", "valid_from": "i8", "valid_until": "i8", "valence": "f8",
    "weight": "f8", "anchored_at": "i8", "half_life": "f8", "cold_at": "i8", "archived_at": "i8", "expires_at": "i8",
}  # fmt: skip
"""The columns of an entry, by name, in the order of the rows that an engine gives. Times are in microseconds.

A time that is missing is ``LATEST``, of ``valid_from`` ``EARLIEST``. An entry without affect has the valence 0, and one
without a tier the weight −1."""

OF_PASSAGES = {"first_passage": "i4", "count": "i4", "words": "i4"}
"""What an entry's passages say of it: the row of the first of them, how many there are, and their analysed words."""

PASSAGE = {"key": "i8", "entry": "i4", "start": "i4", "end": "i4", "words": "i4", "unit": "i4"}
"""The columns of a passage: ``entry`` is the row of its entry, ``unit`` that of its vector, −1 without one."""

NAMED = ("kind", "channel", "role", "speaker", "thread")
"""The columns of an entry whose values are names, as numbers; −1 stands for none."""

CHANGING = ("weight", "anchored_at", "half_life", "cold_at", "archived_at", "expires_at")
"""The columns of an entry that change in place."""

EntryRow = tuple[Any, ...]
"""The id of an entry, followed by its columns."""


class PassageRow(NamedTuple):
    """A passage as an engine gives it: the key of its entry, and its vector as float32 of length 1, if it has one."""

    key: int
    entry: int
    start: int
    end: int
    words: int
    unit: bytes | None


class Names:
    """Numbers names, each once."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {None: -1}
        self._names: list[str] = []

    def number(self, name: str | None) -> int:
        """Return the number of a name, which it gets if it has none."""
        number = self._numbers.get(name)
        if number is None and name is not None:
            number = self._numbers[name] = len(self._names)
            self._names.append(name)
        return -1 if number is None else number

    def known(self, names: Iterable[str | None]) -> list[int]:
        """Return the numbers of those names that have one."""
        return [number for name in names if (number := self._numbers.get(name)) is not None]

    def __getitem__(self, number: int) -> str | None:
        return self._names[number] if number >= 0 else None


class Table:
    """Arrays of one length, by name.

    A row is written once, beyond the rows of earlier views, so that these need no lock; but those of ``CHANGING``
    columns change in place.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        import numpy as np

        self.rows = 0
        self._arrays = {name: np.empty(0, kind) for name, kind in fields.items()}

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def extend(self, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
        """Append rows: every column, all equally long."""
        import numpy as np

        end = self.rows + len(columns["key"])
        if end > len(self._arrays["key"]):
            grown = {}
            for name, array in self._arrays.items():
                grown[name] = np.empty(end + end // 4 + 64, array.dtype)
                grown[name][: self.rows] = array[: self.rows]
            self._arrays = grown  # at once: an exception of a signal handler must not leave some of them short
        for name, array in self._arrays.items():
            array[self.rows : end] = columns[name]
        self.rows = end

    def change(self, rows: NDArray[np.int64], columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
        """Write new values into rows."""
        for name, values in columns.items():
            self._arrays[name][rows] = values

    def view(self) -> dict[str, NDArray[Any]]:
        """Return the arrays, as long as they are now."""
        return {name: array[: self.rows] for name, array in self._arrays.items()}


class Units:
    """Vectors of length 1, row by row, that grow. Within a budget of bytes, or not at all."""

    def __init__(self, budget: int) -> None:
        import numpy as np

        self.budget = budget
        self.rows = 0
        self.dimensions = 0
        self.fit = True
        self._rows = np.empty((0, 0), np.float32)

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes

    def extend(self, vectors: Sequence[bytes]) -> None:
        """Append vectors. Once they are more than the budget allows, none are held."""
        import numpy as np

        if not vectors:
            return
        self.dimensions = len(vectors[0]) // 4
        end = self.rows + len(vectors)
        if not self.fit or end * len(vectors[0]) > self.budget:
            self.fit, self.rows, self._rows = False, end, np.empty((0, 0), np.float32)
            return
        if end > len(self._rows):
            grown = np.empty((min(end + end // 4 + 64, self.budget // len(vectors[0])), self.dimensions), np.float32)
            grown[: self.rows] = self._rows[: self.rows].reshape(self.rows, self.dimensions)
            self._rows = grown
        self._rows[self.rows : end] = np.frombuffer(b"".join(vectors), np.float32).reshape(-1, self.dimensions)
        self.rows = end

    def view(self) -> NDArray[np.float32] | None:
        """Return the vectors, or ``None`` if they do not fit into the budget."""
        return self._rows[: self.rows] if self.fit else None
