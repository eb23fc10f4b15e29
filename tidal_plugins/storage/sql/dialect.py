"""What SQL engines say differently, and the statements and filters that they have in common.

Statements are written once, in the text of :class:`Dialect`, and each engine runs them in its own. Every value of a
filter is a parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol

from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.patterns import lazy_re
from tidal_plugins.storage.base import Where, WhereLinks
from tidal_plugins.storage.rows import Row


@dataclass(frozen=True, slots=True)
class Condition:
    """The SQL that follows ``WHERE``, and its values in order."""

    sql: str
    parameters: tuple[Any, ...]


def condition(dialect: Dialect, scope: int | None, where: Where) -> Condition:
    """Translate a filter of entries, in one scope or in any, over a table ``e`` of entries."""
    parts: list[Part] = [] if scope is None else [("e.scope = ?", (scope,))]
    parts += _members(dialect, where)
    if where.tags is not None:
        parts.append(("$tagged", (dialect.array(sorted(where.tags)),)))
    if where.exclude:
        excluded = (dialect.array(sorted(where.exclude)),)
        parts += [("NOT e.id IN ?texts", excluded), ("NOT coalesce(e.episode, '') IN ?texts", excluded)]
    if where.not_channels:
        parts.append(("NOT e.channel IN ?texts", (dialect.array(sorted(where.not_channels)),)))
    times = {
        "e.occurred_at >= ?": where.since,
        "e.occurred_at < ?": where.until,
        "e.recorded_at <= ?": where.known_at,
        "e.anchored_at < e.cold_at AND e.cold_at <= ?": where.due_by,
        "(e.valid_from IS NULL OR e.valid_from <= ?) AND (e.valid_until IS NULL OR e.valid_until > ?)": where.active_at,
        "(e.archived_at IS NULL OR e.archived_at > ?) AND (e.expires_at IS NULL OR e.expires_at > ?)": (
            None if where.include_archived else where.active_at
        ),
    }
    parts += [(sql, (to_micros(at),) * sql.count("?")) for sql, at in times.items() if at is not None]
    if where.least_importance is not None:
        parts.append(("e.importance >= ?", (where.least_importance,)))
    if where.metadata:
        parts += dialect.metadata("e", where.metadata)
    return _joined(parts)


def link_condition(dialect: Dialect, scope: int, where: WhereLinks) -> Condition:
    """Translate a filter of links in one scope, over a table ``l`` of links."""
    parts = list(dialect.link_ends(scope, where))
    link = "^l" if parts else "l"  # where keys are looked up, SQLite should not walk a whole kind
    parts.append((f"{link}.scope = ?", (scope,)))
    for column, values in {"kind": where.kinds, "source": where.sources, "target": where.targets}.items():
        if values is not None and len(values) == 1:  # an index then gives the order too
            parts.append((f"{link}.{column} = ?", tuple(values)))
        elif values is not None:
            parts.append((f"{link}.{column} IN ?texts", (dialect.array(sorted(values)),)))
    if where.metadata:
        parts += dialect.metadata("l", where.metadata)
    times = {
        "coalesce(l.valid_from <= ?, TRUE) AND coalesce(l.valid_until > ?, TRUE)": where.valid_at,
        "l.recorded_at <= ? AND coalesce(l.superseded_at > ?, TRUE)": where.known_at,
        f"{link}.expires_at > ?": where.lasting_at,
        f"{link}.expires_at <= ?": where.expired_at,
    }
    parts += [(sql, (to_micros(at),) * sql.count("?")) for sql, at in times.items() if at is not None]
    return _joined(parts)


def _members(dialect: Dialect, where: Where) -> Iterable[Part]:
    columns: dict[str, Collection[str] | None] = {
        "id": where.ids,
        "kind": where.kinds,
        "thread": where.threads,
        "episode": where.episodes,
        "speaker": where.speakers,
        "source": where.sources,
    }
    for column, values in columns.items():
        if values is not None:
            yield f"e.{column} IN ?texts", (dialect.array(sorted(values)),)
    if where.positions is not None:
        yield "e.position IN ?numbers", (dialect.array(sorted(where.positions)),)


def _joined(parts: Iterable[Part]) -> Condition:
    sql, values = zip(*parts, strict=True) if parts else ((), ())
    return Condition(" AND ".join(sql) or "TRUE", tuple(value for some in values for value in some))


MOST = 2**62
"""Stands for no limit of rows."""

ARRAY = "array"
"""The type of a column beside those of the schema. Its value is the text that an engine has for an array."""

Part = tuple[str, tuple[Any, ...]]
"""A condition in the text of a dialect, with its values."""

_TOKEN = lazy_re(r"IN \?texts|IN \?numbers|\?|@(?=\w)|\^|\$\w+|FOR UPDATE SKIP LOCKED|INDEXED BY log_by_key")


@dataclass(frozen=True, eq=False)
class Insert:
    """A statement that stores rows: columns that all of them share, then their own, each with its type.

    A row takes the place of the one that has the same ``key``, if that is given. ``filed`` are the columns that only
    some engines have, for filters.
    """

    table: str
    shared: Sequence[str]
    columns: Mapping[str, str]
    key: Sequence[str] = ()
    filed: Sequence[str] = ()

    def on_conflict(self, columns: Iterable[str]) -> str:
        """Return the clause that replaces the row of the same key."""
        if not self.key:
            return ""
        replaced = (f"{column} = excluded.{column}" for column in columns if column not in self.key)
        return f"ON CONFLICT ({', '.join(self.key)}) DO UPDATE SET {', '.join(replaced)}"


@dataclass(frozen=True, eq=False)
class Update:
    """A statement that changes rows of a scope by their number ``key``, the last of their own columns.

    The other arguments are those of :class:`Insert`.
    """

    table: str
    shared: Sequence[str]
    columns: Mapping[str, str]
    filed: Sequence[str] = ()


class Dialect(ABC):
    """The SQL of an engine.

    In the common text ``@name`` is a table, ``?`` a value, and ``IN ?texts`` or ``IN ?numbers`` a list that is one
    value. ``$name`` stands for the attribute of the dialect of this name. ``^`` stands before a column that SQLite is
    not to look up by an index: it has no statistics to see that another one is better.
    """

    tokens: ClassVar[Mapping[str, str]]
    """The engine's text for the marks of the common text that it writes differently."""

    by_id: ClassVar[str]
    """Follows ``FROM``: entries by a list of ids and the number of a scope, in this order. ``{0}`` is their alias."""

    by_key: ClassVar[str]
    """The same by a list of keys."""

    indexed: ClassVar[str]
    """The number of passages of an entry ``e``."""

    ends: ClassVar[str]
    """The two ends of the text of an entry ``e``. They may be longer than they should."""

    tagged: ClassVar[str]
    """The condition that an entry ``e`` has any tag of a list."""

    def __init__(self) -> None:
        self.sql: Callable[[str], str] = lru_cache(maxsize=2048)(self._sql)
        """Return the common text in the text of this engine."""
        self.insert: Callable[[Insert], str] = lru_cache(maxsize=64)(self._insert)
        """Return the statement that stores rows."""
        self.update: Callable[[Update], str] = lru_cache(maxsize=64)(self._update)
        """Return the statement that changes rows. The number of the scope is its last value."""

    @abstractmethod
    def array(self, values: Collection[Any]) -> Any:
        """Return a list as one value."""

    @abstractmethod
    def check(self, values: Iterable[Any]) -> None:
        """Raise ``InvalidInput`` for values that the engine cannot store, if it would not raise it by itself."""

    @abstractmethod
    def metadata(self, table: str, items: Mapping[str, Any]) -> Sequence[Part]:
        """Return the conditions that the metadata of a row has all items."""

    @abstractmethod
    def link_ends(self, scope: int, where: WhereLinks) -> Sequence[Part]:
        """Return the conditions of a filter of links ``l`` on their ids, and on either end."""

    @abstractmethod
    def _insert(self, insert: Insert) -> str: ...

    @abstractmethod
    def _update(self, update: Update) -> str: ...

    def _sql(self, text: str) -> str:
        return _TOKEN.sub(lambda mark: self._said(mark[0]), text)

    def _said(self, mark: str) -> str:
        if mark.startswith("$"):
            found: str = getattr(self, mark[1:])
            return found.format("e")
        return self.tokens.get(mark, mark)


class Blocks(Protocol):
    """The connections of an engine, with the transactions, snapshots and deadlines of each thread."""

    @property
    def writing(self) -> bool:
        """Return whether this thread is inside a transaction."""

    @property
    def bounded(self) -> bool:
        """Return whether this thread's queries have a deadline."""

    def transaction(self) -> AbstractContextManager[None]: ...

    def snapshot(self) -> AbstractContextManager[None]: ...

    def deadline(self, seconds: float) -> AbstractContextManager[None]: ...

    def close(self) -> None: ...

    def forked(self) -> None: ...


class SQLStore(ABC):
    """Base of a part of an engine. What it runs is in the common text, inside a block of the thread."""

    dialect: ClassVar[Dialect]

    _db: Blocks

    def transaction(self) -> AbstractContextManager[None]:
        return self._db.transaction()

    def snapshot(self) -> AbstractContextManager[None]:
        return self._db.snapshot()

    def question(self) -> AbstractContextManager[None]:
        """Let one statement read, in the block that is open, or in one of its own."""
        return self.snapshot()

    @abstractmethod
    def _key(self, scope: Scope) -> int:
        """Return the number of a scope."""

    def _writable_scope(self, scope: Scope) -> int:
        """Return the number of a scope, which is added if it is new."""
        return self._key(scope)

    @abstractmethod
    def _query(self, table: str, place: Scope | str, sql: str, *values: Any) -> list[Any]:
        """Return the rows of a statement about one scope, or about what else stands for a place in the engine.

        Those that cannot be read are left out, and noted as of a table.
        """

    def _kept(self, table: str, place: Scope | str, sql: str, *values: Any) -> list[Any]:
        """Return rows as :meth:`_query` does. They are few and small, and kept as long as nobody can change them."""
        return self._query(table, place, sql, *values)

    @abstractmethod
    def _run(self, place: Scope | str, sql: str, *values: Any) -> int:
        """Run a statement that writes, and return how many rows it touched."""

    @abstractmethod
    def _later(self, place: Scope | str, sql: str, *values: Any) -> None:
        """Run a statement before the next one whose result matters."""

    @abstractmethod
    def _insert(self, place: Scope | str, insert: Insert, shared: Row, rows: Iterable[Row]) -> None:
        """Store rows, each with the values that all share before its own, later as :meth:`_later` does."""

    @abstractmethod
    def _update(self, scope: Scope, update: Update, shared: Row, rows: Iterable[Row]) -> None:
        """Change rows of a scope, later as :meth:`_later` does."""
