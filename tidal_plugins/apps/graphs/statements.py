"""The Cypher that writes a graph: the same statements for every engine, but for the few words of a dialect.

All values are parameters. No name and no text becomes part of a statement.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
