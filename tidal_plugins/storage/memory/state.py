"""The state of a store in memory: tables that are copied before they change, so that readers need no lock."""

from __future__ import annotations

import itertools
import os
import secrets
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tidal_plugins.errors import Busy, Closed, StorageError
from tidal_plugins.storage.columns.cache import ColumnCache

Name = tuple[Any, ...]
"""The name of a table: a scope and its use, with further names where a scope has several of that use."""


class State:
    """One state of a store: named tables. It never changes once it is published."""

    def __init__(self, tables: dict[Name, dict[Any, Any]]) -> None:
        self._tables = tables

    def table(self, *name: Any) -> Mapping[Any, Any]:
        """Return a table to read; an empty one where there is none."""
        return self._tables.get(name, {})

    def names(self, *beginning: Any) -> Iterable[Name]:
        """List the names of the tables that begin so."""
        return [name for name in self._tables if name[: len(beginning)] == beginning]


class Draft(State):
    """The state that a transaction is making: tables are copied when they first change."""

    def __init__(self, state: State, keys: Iterator[int]) -> None:
        super().__init__(dict(state._tables))
        self._own: set[Name] = set()
        self._keys = keys

    def change(self, *name: Any) -> dict[Any, Any]:
        """Return a table to write into."""
        if name not in self._own:
            self._tables[name] = dict(self._tables.get(name, {}))
            self._own.add(name)
        return self._tables[name]

    def next_key(self) -> int:
        """Return a number above all earlier ones of the store."""
        return next(self._keys)

    def finished(self) -> State:
        """Return the state to publish."""
        return State(self._tables)


class Contents:
    """The contents of a store, which live as long as an engine over them, or a reference to this object."""

    def __init__(self) -> None:
        self.state = State({})
        self.lock = threading.Lock()
        self.keys = itertools.count(1)
        """Numbers of entries, passages and links. None is used twice, not even after a rollback."""
        self.columns = ColumnCache(sys.maxsize, sys.maxsize)
        self.path = f"memory://{secrets.token_hex(4)}"
        _all_contents.add(self)


class MemoryBase:
    """Base of a part of the engine: transactions and snapshots, of each thread its own."""

    _contents: Contents | None
    _timeout: float
    _local: threading.local

    @contextmanager
    def transaction(self) -> Iterator[None]:
        current = self._current()
        if isinstance(current, Draft):
            yield
            return
        if current is not None:
            raise StorageError("a write cannot begin inside a snapshot; begin the transaction first")
        contents = self._opened()
        lock = contents.lock  # this one, whatever a child process puts in its place
        if not lock.acquire(timeout=self._timeout):
            raise Busy("another transaction kept the memory locked for too long; try again, or raise busy_timeout")
        try:
            draft = self._local.state = Draft(contents.state, contents.keys)
            yield
            self._opened()
            contents.state = draft.finished()
        finally:
            self._local.state = None
            lock.release()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._current() is not None:
            yield
            return
        self._local.state = self._opened().state
        try:
            yield
        finally:
            self._local.state = None

    def _state(self) -> State:
        """Return the state that this thread reads. Raises ``Closed``."""
        return self._current() or self._opened().state

    @contextmanager
    def _draft(self) -> Iterator[Draft]:
        """Give the state that this thread writes, inside a transaction."""
        with self.transaction():
            yield self._local.state

    def _current(self) -> State | None:
        """Return the state of an open transaction or snapshot of this thread. Raises ``Closed``."""
        self._opened()
        state: State | None = getattr(self._local, "state", None)
        return state

    def _opened(self) -> Contents:
        """Return the contents of the store. Raises ``Closed``."""
        contents = self._contents
        if contents is None:
            raise Closed("the memory was closed while in use, or before; open another one")
        return contents


_all_contents: weakref.WeakSet[Contents] = weakref.WeakSet()


def _forked() -> None:
    """Make locks anew in a child process: threads that are not here may hold them."""
    for contents in _all_contents:
        contents.lock = threading.Lock()
        contents.columns.forget()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forked)
