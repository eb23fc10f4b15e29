"""Columns as bytes: a piece of a scope's columns, packed so that it is read at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tidal_plugins.storage.columns.tables import ENTRY, NAMED, PASSAGE, Arrays

SIZE = 4096
"""Entries of a piece, some 1 MB: a forget drops one piece, and what is not in a full piece yet is read as rows."""

_OF_PASSAGES = [name for name in PASSAGE if name != "unit"]


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of a scope's columns.

    ``entries`` and ``passages`` are as in ``Arrays``, but names have their places in ``names``, and passages have the
    places of their entries in this piece. ``vectored`` says which passages have a vector. ``words`` are their codes
    about a ``centre``, which was the mean of ``centred`` vectors, if codes were held.
    """

    names: list[str]
    lengths: NDArray[np.int64]
    characters: NDArray[np.uint8]
    entries: dict[str, NDArray[Any]]
    passages: dict[str, NDArray[Any]]
    vectored: NDArray[np.bool_]
    centred: int
    centre: NDArray[np.float32]
    words: NDArray[np.uint64]


def packed(arrays: Arrays, first: int, end: int) -> bytes:
    """Return the columns of the entries from one row to another, and of their passages, as bytes."""
    entries = {name: getattr(arrays, name)[first:end] for name in ENTRY}
    numbers = np.unique(np.concatenate([entries[name] for name in NAMED]))
    numbers = numbers[numbers >= 0]
    for name in NAMED:
        entries[name] = np.where(entries[name] < 0, -1, np.searchsorted(numbers, entries[name])).astype(np.int32)
    held = arrays.passages
    rows = np.flatnonzero((held["entry"] >= first) & (held["entry"] < end))
    passages = {name: held[name][rows] for name in _OF_PASSAGES}
    passages["entry"] = passages["entry"] - np.int32(first)
    units = held["unit"][rows]
    codes, lengths_characters = arrays.codes, arrays.ids.part(first, end)
    parts: list[NDArray[Any]] = [*lengths_characters, *entries.values(), *passages.values(), units >= 0]
    if codes is not None:
        parts += [codes.centre, codes.words[:, units[units >= 0]]]
    head = {
        "entries": list(ENTRY),
        "passages": _OF_PASSAGES,
        "names": [arrays.names[number] for number in numbers.tolist()],
        "centred": 0 if codes is None else codes.centred,
        "parts": [(part.dtype.str, part.shape) for part in parts],
    }
    return b"\n".join([json.dumps(head).encode(), b"".join(np.ascontiguousarray(part).tobytes() for part in parts)])


def unpacked(data: bytes) -> Piece | None:
    """Return a piece, or ``None`` for one of other columns than these."""
    end = data.index(b"\n")
    head, at = json.loads(data[:end]), end + 1
    if (head["entries"], head["passages"]) != (list(ENTRY), _OF_PASSAGES):
        return None
    parts: list[NDArray[Any]] = []
    for kind, shape in head["parts"]:
        count = int(np.prod(shape))
        parts.append(np.frombuffer(data, kind, count, at).reshape(shape))
        at += parts[-1].nbytes
    lengths, characters, *rest = parts
    entries, rest = dict(zip(ENTRY, rest, strict=False)), rest[len(ENTRY) :]
    passages, rest = dict(zip(_OF_PASSAGES, rest, strict=False)), rest[len(_OF_PASSAGES) :]
    vectored, *codes = rest
    centre, words = codes or (np.empty(0, np.float32), np.empty((0, 0), np.uint64))
    return Piece(head["names"], lengths, characters, entries, passages, vectored, head["centred"], centre, words)


class SavedPiece(Protocol):
    """A row about a saved piece: the first and the last key of its entries, the change as of which they are, and the
    checksum of the centre of its codes."""

    @property
    def first(self) -> int: ...

    @property
    def last(self) -> int: ...

    @property
    def changes(self) -> int: ...

    @property
    def centre(self) -> int: ...


R = TypeVar("R", bound=SavedPiece)


def unsaved(arrays: Arrays, saved: Sequence[R], changed: Sequence[int]) -> tuple[list[R], list[tuple[int, int]]]:
    """Return the pieces that are still as they were saved, and from which row to which the others are to be saved.

    ``changed`` are the keys of entries that have changed, in order. What is left at the end and would fill no piece is
    left to be read as rows.
    """
    keys, centre = np.array(changed, np.int64), centre_of(arrays)
    kept, pieces, begin = list[R](), list[tuple[int, int]](), 0
    for piece in saved:
        low, high = np.searchsorted(keys, [piece.first, piece.last + 1])
        if low < high or piece.centre != centre:
            continue
        first, end = np.searchsorted(arrays.key, [piece.first, piece.last + 1]).tolist()
        pieces += _cut(begin, first)
        kept.append(piece)
        begin = end
    pieces += [(first, end) for first, end in _cut(begin, arrays.rows) if end - first == SIZE]
    return kept, pieces


def centre_of(arrays: Arrays) -> int:
    """Return a checksum of what codes are about, 0 without codes."""
    return 0 if arrays.codes is None else crc32(arrays.codes.centre.tobytes())


def _cut(begin: int, end: int) -> list[tuple[int, int]]:
    return [(first, min(first + SIZE, end)) for first in range(begin, end, SIZE)]
