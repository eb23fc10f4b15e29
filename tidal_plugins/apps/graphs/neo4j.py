"""Neo4j, through its official driver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from neo4j import GraphDatabase

from tidal_plugins.apps.graphs.cypher import NEO4J, CypherSink, Row, Step, server_name

if TYPE_CHECKING:
    from neo4j import Driver, ManagedTransaction


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
        driver = GraphDatabase.driver(uri, auth=auth, user_agent="tidal-plugins")
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
