"""A sink for engines that speak openCypher."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from tidal_plugins import SinkBatch, SinkEntity, SinkEpisode, SinkIds, SinkRelation
from tidal_plugins.apps.graphs.statements import Dialect, Statements, Step

Row = dict[str, Any]


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
