"""The arrays of one scope, which grow as entries are stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EARLIEST, LATEST = -(2**63), 2**63 - 1
"""Stand for a time that is missing: it lies before, or after, all others."""

ENTRY = {
    "key": "i8", "kind": "i4", "channel": "i4", "role": "i4", "speaker": "i4", "thread": "i4", "source": "i4",
    "tags": "i4", "importance": "f8",
    "occurred_at": "i8", "recorded_at": "i8", "valid_from": "i8", "valid_until": "i8", "valence": "f8",
    "weight": "f8", "anchored_at": "i8", "half_life": "f8", "cold_at": "i8", "archived_at": "i8", "expires_at": "i8",
}  # fmt: skip
"""The columns of an entry, by name, in the order of the rows that an engine gives. Times are in microseconds.

A time that is missing is ``LATEST``, of ``valid_from`` ``EARLIEST``. An entry without affect has the valence 0, and one
without a tier the weight −1. ``tags`` is a JSON array as one name; no tags are none."""

OF_PASSAGES = {"first_passage": "i4", "count": "i4", "words": "i4"}
"""What an entry's passages say of it: the row of the first of them, how many there are, and their analysed words."""

PASSAGE = {"key": "i8", "entry": "i4", "start": "i4", "end": "i4", "words": "i4", "unit": "i4"}
"""The columns of a passage: ``entry`` is the row of its entry, ``unit`` that of its vector, −1 without one."""

NAMED = ("kind", "channel", "role", "speaker", "thread", "source", "tags")
"""The columns of an entry whose values are names, as numbers; −1 stands for none."""

CHANGING = ("weight", "anchored_at", "half_life", "cold_at", "archived_at", "expires_at")
"""The columns of an entry that change in place."""

FEW = 16
"""Ids up to which it is faster to read one after the other than all at once (measured)."""

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
                grown[name] = np.empty(room(end), array.dtype)
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

    def taken(self, rows: NDArray[np.int64]) -> Table:
        """Return a new table of some rows, in that order."""
        new = Table({name: array.dtype.str for name, array in self._arrays.items()})
        new.extend({name: array[rows] for name, array in self.view().items()})
        return new


class Ids(Sequence[str]):
    """The ids of entries by row, as bytes one behind the other: a ``str`` for each would take three times the room.

    What was appended later is not seen through an earlier ``view``.
    """

    def __init__(self) -> None:
        import numpy as np

        self._ends, self._bytes, self._rows = np.zeros(1, np.int64), np.empty(0, np.uint8), 0

    def extend(self, ids: Iterable[str]) -> None:
        """Append ids."""
        import numpy as np

        encoded = [id_.encode("utf-8", "surrogatepass") for id_ in ids]
        self.append(np.fromiter(map(len, encoded), np.int64, len(encoded)), np.frombuffer(b"".join(encoded), np.uint8))

    def append(self, lengths: NDArray[np.int64], characters: NDArray[np.uint8]) -> None:
        """Append ids that are given as the lengths of their UTF-8 and as its bytes."""
        import numpy as np

        begin, rows = int(self._ends[self._rows]), self._rows + len(lengths)
        end = begin + len(characters)
        if rows >= len(self._ends):
            self._ends = np.concatenate([self._ends, np.empty(room(rows + 1) - len(self._ends), np.int64)])
        if end > len(self._bytes):
            self._bytes = np.concatenate([self._bytes, np.empty(room(end) - len(self._bytes), np.uint8)])
        self._bytes[begin:end] = characters
        self._ends[self._rows + 1 : rows + 1] = begin + np.cumsum(lengths)
        self._rows = rows

    def view(self) -> Ids:
        """Return the ids, as many as there are now."""
        view = Ids()
        view._ends, view._bytes, view._rows = self._ends, self._bytes, self._rows
        return view

    def part(self, first: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the ids of some rows as :meth:`append` takes them."""
        import numpy as np

        ends = self._ends[first : end + 1]
        return np.diff(ends), self._bytes[ends[0] : ends[-1]]

    def taken(self, rows: NDArray[np.int64]) -> Ids:
        """Return the ids of some rows, in that order."""
        import numpy as np

        new = Ids()
        for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if len(rows) else ():
            new.append(*self.part(int(run[0]), int(run[-1]) + 1))
        return new

    def __len__(self) -> int:
        return self._rows

    @property
    def nbytes(self) -> int:
        return self._ends.nbytes + self._bytes.nbytes

    def at(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the ids of some rows."""
        import numpy as np

        if len(rows) <= FEW:
            return [self[row] for row in rows.tolist()]
        starts, lengths = self._ends[rows], self._ends[rows + 1] - self._ends[rows]
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1]) + np.repeat(starts - ends + lengths, lengths)
        joined = self._bytes[places].tobytes()
        if not joined.isascii():
            return [self[row] for row in rows.tolist()]
        text, cuts = joined.decode("ascii"), [0, *ends.tolist()]
        return [text[start:end] for start, end in pairwise(cuts)]

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(self._rows))]
        if row >= self._rows:
            raise IndexError(row)
        return self._bytes[self._ends[row] : self._ends[row + 1]].tobytes().decode("utf-8", "surrogatepass")


def room(rows: int) -> int:
    """Return for how many rows to make room when there are more than fit: an eighth beyond them."""
    return rows + rows // 8 + 64
