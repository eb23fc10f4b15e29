"""Sinks for engines that speak openCypher: the same statements for each, but for the few words of a dialect.

All values are parameters. No name and no text becomes part of a statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

from tidal_plugins import ComponentError, InvalidInput
from tidal_plugins.model.graph import SinkBatch, SinkEntity, SinkEpisode, SinkIds, SinkRelation
from tidal_plugins.shown import shown

if TYPE_CHECKING:
    from neo4j import Driver, ManagedTransaction


TEXT, TEXTS, NUMBER, FLAG, TIME = "STRING", "STRING[]", "DOUBLE", "BOOLEAN", "TIMESTAMP"
"""The types of properties, as an engine with a schema calls them."""

_PLACE = {"graph": TEXT, "scope": TEXT, "id": TEXT}

ENTITY = _PLACE | {
    "name": TEXT,
    "type": TEXT,
    "category": TEXT,
    "aliases": TEXTS,
    "first_seen": TIME,
    "last_seen": TIME,
}

EPISODE = _PLACE | {"citation": TEXT, "thread": TEXT, "at": TIME}

RELATES = _PLACE | {
    "relation": TEXT,
    "predicate": TEXT,
    "negated": FLAG,
    "status": TEXT,
    "fact": TEXT,
    "confidence": NUMBER,
    "confirmed_at": TIME,
    "valid_from": TIME,
    "valid_until": TIME,
    "recorded_at": TIME,
    "superseded_at": TIME,
    "episodes": TEXTS,
    "entries": TEXTS,
    "spans": TEXTS,
}
"""Properties of a relation. The n-th of ``episodes``, ``entries`` and ``spans`` are one piece of evidence."""

Step = tuple[str, dict[str, Any]]
"""A statement with its parameters."""

Row = dict[str, Any]


def server_name(uri: str, database: str | None) -> str:
    """Return a server and a database as one name.

    Raises ``InvalidInput`` for an address with a user or a password, which may hold any character, and for one without
    a host.
    """
    if "@" in uri:
        raise InvalidInput("leave user and password out of the address of a graph engine, and give them as auth")
    try:
        parts = urlsplit(uri)
        named = bool(parts.hostname and parts.port != 0)
    except ValueError:  # of brackets or a port
        named = False
    if not named:
        raise InvalidInput("a server of a graph engine has an address such as neo4j://host:7687")
    return f"{parts.scheme}://{parts.netloc}/{database or ''}"


class Dialect(NamedTuple):
    """The differences of an engine: a function that reads a time in ISO 8601, and statements that prepare it."""

    time: str
    schema: tuple[str, ...]


def _columns(properties: dict[str, str]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in properties.items())


NEO4J = Dialect(
    "datetime",
    (
        "CREATE CONSTRAINT tidal_entity_key IF NOT EXISTS FOR (n:Entity) REQUIRE n.key IS UNIQUE",
        "CREATE CONSTRAINT tidal_episode_key IF NOT EXISTS FOR (e:Episode) REQUIRE e.key IS UNIQUE",
        "CREATE INDEX tidal_entity_graph IF NOT EXISTS FOR (n:Entity) ON (n.graph)",
        "CREATE INDEX tidal_entity_name IF NOT EXISTS FOR (n:Entity) ON (n.name)",
        "CREATE INDEX tidal_episode_graph IF NOT EXISTS FOR (e:Episode) ON (e.graph)",
        "CREATE INDEX tidal_relates_key IF NOT EXISTS FOR ()-[r:RELATES]-() ON (r.key)",
        "CREATE INDEX tidal_relates_graph IF NOT EXISTS FOR ()-[r:RELATES]-() ON (r.graph)",
    ),
)
LADYBUG = Dialect(
    "timestamp",
    (
        f"CREATE NODE TABLE IF NOT EXISTS Entity (key STRING PRIMARY KEY, {_columns(ENTITY)})",
        f"CREATE NODE TABLE IF NOT EXISTS Episode (key STRING PRIMARY KEY, {_columns(EPISODE)})",
        f"CREATE REL TABLE IF NOT EXISTS RELATES (FROM Entity TO Entity, key STRING, {_columns(RELATES)})",
        "CREATE REL TABLE IF NOT EXISTS MENTIONED_IN (FROM Entity TO Episode)",
    ),
)


def _set(variable: str, properties: dict[str, str], dialect: Dialect) -> str:
    values = {
        name: f"{dialect.time}(row.{name})" if type_ == TIME else f"row.{name}" for name, type_ in properties.items()
    }
    return "SET " + ", ".join(f"{variable}.{name} = {value}" for name, value in values.items())


class Statements:
    """The statements in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.put_entities = f"UNWIND $rows AS row MERGE (n:Entity {{key: row.key}}) {_set('n', ENTITY, dialect)}"
        self.put_episodes = f"UNWIND $rows AS row MERGE (e:Episode {{key: row.key}}) {_set('e', EPISODE, dialect)}"
        self.put_relations = (
            "UNWIND $rows AS row MATCH (a:Entity {key: row.subject}) MATCH (b:Entity {key: row.object}) "
            f"MERGE (a)-[r:RELATES {{key: row.key}}]->(b) {_set('r', RELATES, dialect)}"
        )

    put_mentions = (
        "UNWIND $rows AS row MATCH (n:Entity {key: row.entity}) MATCH (e:Episode {key: row.episode}) "
        "MERGE (n)-[:MENTIONED_IN]->(e)"
    )
    drop_entities = "MATCH (n:Entity) WHERE n.key IN $keys DETACH DELETE n"
    drop_episodes = "MATCH (e:Episode) WHERE e.key IN $keys DETACH DELETE e"
    drop_relations = "MATCH (:Entity)-[r:RELATES]->(:Entity) WHERE r.key IN $keys DELETE r"
    drop_mentions = "MATCH (:Entity)-[m:MENTIONED_IN]->(e:Episode) WHERE e.key IN $keys DELETE m"
    held_entities = "MATCH (n:Entity) WHERE n.graph = $graph RETURN n.id AS id"
    held_episodes = "MATCH (e:Episode) WHERE e.graph = $graph RETURN e.id AS id"
    held_relations = "MATCH (:Entity)-[r:RELATES]->(:Entity) WHERE r.graph = $graph RETURN r.id AS id"


class Engine(Protocol):
    """An engine: a connection that runs statements."""

    def define(self, statements: Iterable[str]) -> None:
        """Run statements that make constraints, indexes or tables."""

    def write(self, steps: Sequence[Step]) -> None:
        """Run statements in one transaction, and return when it is committed."""

    def read(self, statement: str, parameters: Row) -> list[Row]:
        """Return the rows that a question gives."""

    def close(self) -> None:
        """Release the connection."""


class CypherSink:
    """Writes entities, episodes and relations as nodes and relationships of an engine.

    Nodes are ``(:Entity)-[:RELATES]->(:Entity)`` and ``(:Entity)-[:MENTIONED_IN]->(:Episode)``. Each has the ``graph``
    and the ``scope`` that it belongs to, and a ``key`` of the graph and its id, so that several memories may share an
    engine.
    """

    with_texts = False

    def __init__(self, name: str, engine: Engine, dialect: Dialect) -> None:
        self.name = name
        self._engine = engine
        self._dialect = dialect
        self._statements = Statements(dialect)
        self._prepared = False

    def apply(self, batch: SinkBatch) -> None:
        """Write a batch in one transaction."""
        self._prepare()
        self._engine.write(list(self._steps(batch)))

    def held(self, graph: str) -> SinkIds:
        """Return the ids of everything that the engine has of a graph."""
        self._prepare()
        said = self._statements
        held = (said.held_entities, said.held_episodes, said.held_relations)
        return SinkIds(*(frozenset(str(row["id"]) for row in self.ask(one, graph=graph)) for one in held))

    def ask(self, statement: str, **parameters: Any) -> list[Row]:
        """Return the rows that a question in Cypher gives, as dictionaries."""
        return self._engine.read(statement, parameters)

    def close(self) -> None:
        """Release the connection."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _prepare(self) -> None:
        if not self._prepared:
            self._engine.define(self._dialect.schema)
            self._prepared = True

    def _steps(self, batch: SinkBatch) -> Iterable[Step]:
        """Yield the statements for a batch. A relation whose ends changed is not found by them, so it goes first."""
        said, graph = self._statements, batch.graph
        drops = (
            (said.drop_relations, [*batch.removed.relations, *(one.id for one in batch.relations)]),
            (said.drop_mentions, [one.id for one in batch.episodes]),
            (said.drop_episodes, batch.removed.episodes),
            (said.drop_entities, batch.removed.entities),
        )
        yield from ((drop, {"keys": sorted(_key(graph, id_) for id_ in ids)}) for drop, ids in drops if ids)
        puts = (
            (said.put_entities, [_entity(batch, one) for one in batch.entities]),
            (said.put_episodes, [_episode(batch, one) for one in batch.episodes]),
            (said.put_mentions, [row for one in batch.episodes for row in _mentions(graph, one)]),
            (said.put_relations, [_relation(batch, one) for one in batch.relations]),
        )
        yield from ((put, {"rows": rows}) for put, rows in puts if rows)


def _key(graph: str, id_: str) -> str:
    return f"{graph}:{id_}"


def _row(batch: SinkBatch, one: SinkEntity | SinkEpisode | SinkRelation, names: Iterable[str]) -> Row:
    """Return the named properties of an item as an engine takes them, with those that say where it belongs."""
    place = {"key": _key(batch.graph, one.id), "graph": batch.graph, "scope": batch.scope, "id": one.id}
    return place | {name: _plain(getattr(one, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


def _entity(batch: SinkBatch, one: SinkEntity) -> Row:
    return _row(batch, one, ("name", "type", "category", "aliases", "first_seen", "last_seen"))


def _episode(batch: SinkBatch, one: SinkEpisode) -> Row:
    return _row(batch, one, ("citation", "thread", "at"))


def _mentions(graph: str, one: SinkEpisode) -> Iterable[Row]:
    return ({"episode": _key(graph, one.id), "entity": _key(graph, entity)} for entity in one.mentions)


def _relation(batch: SinkBatch, one: SinkRelation) -> Row:
    times = ("confirmed_at", "valid_from", "valid_until", "recorded_at", "superseded_at")
    row = _row(batch, one, ("relation", "predicate", "negated", "status", "fact", "confidence", *times))
    ends = {"subject": _key(batch.graph, one.subject), "object": _key(batch.graph, one.object)}
    return (
        row
        | ends
        | {
            "episodes": [piece.citation for piece in one.evidence],
            "entries": [piece.entry or "" for piece in one.evidence],
            "spans": [f"{piece.start}-{piece.end}" for piece in one.evidence],
        }
    )


class Neo4jSink(CypherSink):
    """Writes a graph to Neo4j 5 or later, or to another server of the Bolt protocol that knows its Cypher.

    Constraints and indexes are made at the first use. A transaction that fails for the moment is tried again, as the
    driver does it.
    """

    def __init__(self, uri: str, *, auth: tuple[str, str] | None = None, database: str | None = None) -> None:
        """Initialise the sink. Nothing is connected before the first use.

        Args:
            uri: such as ``neo4j://localhost:7687``, without a password.
            auth: user and password.
            database: the name of a database of the server; without it the user's own.
        """
        name = server_name(uri, database)
        driver = _driver("neo4j", "Neo4jSink").GraphDatabase.driver(uri, auth=auth, user_agent="tidal-plugins")
        super().__init__(name, _Neo4j(driver, database), NEO4J)


class _Neo4j:
    def __init__(self, driver: Driver, database: str | None) -> None:
        self._driver = driver
        self._database = database

    def define(self, statements: Iterable[str]) -> None:
        with self._driver.session(database=self._database) as session:
            for statement in statements:
                session.run(statement).consume()

    def write(self, steps: Sequence[Step]) -> None:
        def run(transaction: ManagedTransaction) -> None:
            for statement, parameters in steps:
                transaction.run(statement, parameters).consume()

        with self._driver.session(database=self._database) as session:
            session.execute_write(run)

    def read(self, statement: str, parameters: Row) -> list[Row]:
        def run(transaction: ManagedTransaction) -> list[dict[str, Any]]:
            return list(map(dict, transaction.run(statement, parameters)))

        with self._driver.session(database=self._database) as session:
            rows: list[Row] = session.execute_read(run)
        return rows

    def close(self) -> None:
        self._driver.close()


class LadybugSink(CypherSink):
    """Writes a graph to a file of LadybugDB, which goes on where Kùzu ended."""

    def __init__(self, path: str | PathLike[str]) -> None:
        """Open the file, or make it. One process at a time may have it open. Raises ``ComponentError``."""
        place = Path(fspath(path)).absolute()
        super().__init__(f"ladybug:{place}", _Ladybug(place), LADYBUG)


def _driver(name: str, sink: str) -> Any:
    """Return the package of an engine's driver. Raises ``ImportError``, which says how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        way_out = f"pip install 'tidal-plugins[{name}]'"
        raise ImportError(f"{sink} needs {name}, which is not installed: {way_out}") from error


class _Ladybug:
    def __init__(self, path: Path) -> None:
        ladybug = _driver("ladybug", "LadybugSink")
        try:
            self._database = ladybug.Database(str(path))
        except RuntimeError as error:
            raise ComponentError(f"{shown(str(path))} cannot be opened: {error!s:.300}") from error
        self._connection = ladybug.Connection(self._database)

    def define(self, statements: Iterable[str]) -> None:
        for statement in statements:
            self.read(statement, {})

    def write(self, steps: Sequence[Step]) -> None:
        self.read("BEGIN TRANSACTION", {})
        try:
            for statement, parameters in steps:
                self.read(statement, parameters)
        except BaseException:
            with suppress(RuntimeError):  # the engine rolls back by itself after some errors
                self.read("ROLLBACK", {})
            raise
        self.read("COMMIT", {})

    def read(self, statement: str, parameters: Row) -> list[Row]:
        result: Any = self._connection.execute(statement, parameters)
        names = result.get_column_names()
        rows = []
        while result.has_next():
            rows.append(dict(zip(names, result.get_next(), strict=True)))
        result.close()
        return rows

    def close(self) -> None:
        self._connection.close()
        self._database.close()
