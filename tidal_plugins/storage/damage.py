"""Damage: the checksums of rows, and the rows that reads leave out because theirs fail.

Every stored row has a checksum over all of its columns and the scope that it belongs to. It tells damage, not forgery:
whoever can write the file can also compute it. A row is damaged when its checksum fails or its bytes cannot be read. An
engine notes each one that it leaves out. It is logged, and told to whoever listens with :func:`noticed`; :func:`whole`
raises ``Corrupt`` where a read must have all.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, TypeVar, cast
from zlib import crc32

from tidal_plugins.errors import Corrupt, NotFound, TidalError
from tidal_plugins.model.entry import Scope
from tidal_plugins.shown import shown

SIZE = 8
"""Bytes of a row's checksum: one damaged row in 1.8e19 has the right one by chance."""

REMEMBERED = 16_384
"""Rows that were verified lately and need not be again: a recall reads a few hundred small rows, mostly the same ones
as the recall before. Computing a checksum takes 6 µs, remembering it 0.4 µs (measured)."""

NO_VECTOR = -1
"""The checksum of a vector that is none by damage: no row was written with it."""

_encode = json.JSONEncoder(default=repr).encode  # once: ``json.dumps`` makes an encoder at every such call


def checksum(scope: Scope, *columns: object) -> bytes:
    """Return the checksum of a row of a scope. Damaged values of any type have one too."""
    return blake2b(_encode([*scope, *columns]).encode(), digest_size=SIZE).digest()


@lru_cache(maxsize=REMEMBERED)
def is_intact(scope: Scope, row: tuple[object, ...]) -> bool:
    """Return whether a small row, whose last column is its checksum, is as it was written."""
    return checksum(scope, *row[:-1]) == row[-1]


def passage_checksum(scope: int, key: int, entry: str, start: int, end: int, words: int) -> int:
    """Return the checksum of a row of the passages, with the id of its entry: 32 bits, as that of a vector."""
    return crc32(f"{scope} {key} {start} {end} {words} {entry}".encode("utf-8", "surrogatepass"))


def vector_checksum(passage: int, scope: int, vector: bytes) -> int:
    """Return the checksum of a row of the vectors: 32 bits, since a first search verifies thousands of long rows.

    Damaged values of any type have one too.
    """
    if not isinstance(vector, bytes):
        return NO_VECTOR
    return crc32(vector, crc32(f"{passage} {scope} ".encode("utf-8", "surrogatepass")))


ENTRIES, PASSAGES, VECTORS, LINKS = "entries", "passages", "vectors", "links"
LOG, DOCUMENTS, SCOPES, VOLUMES, PAGES = "log", "documents", "scopes", "volumes", "pages"

UNKNOWN = "?"
"""Stands for the name of a row whose name cannot be read."""

SENSELESS = (AttributeError, LookupError, TypeError, ValueError)
"""Errors of code that finds values of another kind than any that are written, or that misses some."""

T = TypeVar("T")
R = TypeVar("R")

logger = logging.getLogger(__name__)


class Damaged(NamedTuple):
    """A damaged row: its table, and what names it there, such as the id of an entry or of a link."""

    table: str
    name: str

    def __str__(self) -> str:
        return f"{self.table}: {self.name}"


A_PAGE = Damaged(PAGES, UNKNOWN)
"""Stands for pages of a file that fail their checksums. What is found on them has checksums of its own, and what is not
found may have been there."""

_listening: ContextVar[tuple[dict[Damaged, None], ...]] = ContextVar("listening", default=())


def note(table: str, name: object, *, log: bool = True) -> None:
    """Report a damaged row that was left out. The log names it only by an id: other names tell what is stored."""
    damaged = Damaged(table, str(name))
    if not log:
        pass
    elif damaged == A_PAGE:
        logger.error("a page is damaged, or another program wrote it: what it holds is read as far as it is intact")
    elif table == ENTRIES:
        logger.error("an entry is damaged and was left out: %.40s", damaged.name)
    else:
        logger.error("a row of %s is damaged and was left out", table)
        logger.debug("it is %.200s", damaged.name)
    for heard in _listening.get():
        heard[damaged] = None


def intact(rows: Iterable[T], read: Callable[[T], R]) -> Iterator[R]:
    """Yield what ``read`` makes of the rows. Those for which it raises ``Corrupt`` are left out and noted."""
    for row in rows:
        try:
            yield read(row)
        except Corrupt as error:
            note(*(error.row or (UNKNOWN, UNKNOWN)))


@contextmanager
def noticed() -> Iterator[dict[Damaged, None]]:
    """Collect the damaged rows that reads inside leave out, each once, in order.

    Raises ``Corrupt`` where what is left makes no sense to what reads it.
    """
    heard: dict[Damaged, None] = {}
    token = _listening.set((*_listening.get(), heard))
    try:
        yield heard
    except SENSELESS as error:
        if heard and not isinstance(error, TidalError):
            raise corrupt(next(iter(heard))) from error
        raise
    finally:
        _listening.reset(token)


@contextmanager
def withheld() -> Iterator[dict[Damaged, None]]:
    """Collect the damaged rows that reads inside leave out. Others are told at the end, of those that are left."""
    heard: dict[Damaged, None] = {}
    around = _listening.get()
    token = _listening.set((heard,))
    try:
        yield heard
    finally:
        _listening.reset(token)
        for listener in around:
            listener.update(heard)


@contextmanager
def whole() -> Iterator[None]:
    """Raise ``Corrupt`` if a read inside left out a damaged row, also where it then found too little."""
    with noticed() as damaged:
        try:
            yield
        except NotFound as error:
            if damaged:
                raise corrupt(next(iter(damaged))) from error
            raise
    if damaged:
        raise corrupt(next(iter(damaged)))


class Degraded(list[T]):
    """A list that lacks what is damaged. It is a list like any other beside.

    Attributes:
        degraded: what is damaged, as that of a recall, such as ``damaged links``; ``damaged pages`` may have held more.
    """

    def __init__(self, found: Iterable[T], degraded: tuple[str, ...]) -> None:
        super().__init__(found)
        self.degraded = degraded


def named(damaged: Iterable[Damaged]) -> tuple[str, ...]:
    """Return the tables of damaged rows, as a result names them."""
    return tuple(dict.fromkeys(f"damaged {row.table}" for row in damaged))


def marked(found: T, damaged: Collection[Damaged]) -> T:
    """Return what was read without the damaged rows, with a mark. Only a list bears one: raises ``Corrupt`` else."""
    if not damaged:
        return found
    if isinstance(found, list):
        return cast(T, Degraded(found, named(damaged)))
    raise corrupt(next(iter(damaged)))


def corrupt(damaged: Damaged) -> Corrupt:
    """Return the error for a damaged row. It bears the entry's id if the row is an entry's."""
    row = "a page" if damaged == A_PAGE else f"{shown(damaged.name)} of {damaged.table}"
    message = f"{row} fails its checksum: the file was damaged; restore it from a backup"
    return Corrupt(message, damaged.name if damaged.table == ENTRIES else None, damaged)
