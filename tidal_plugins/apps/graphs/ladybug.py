"""LadybugDB, an embedded engine of openCypher: a graph in a file, without a server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import ladybug

from tidal_plugins import ComponentError
from tidal_plugins.apps.graphs.cypher import LADYBUG, CypherSink, Row, Step
from tidal_plugins.shown import shown


class LadybugSink(CypherSink):
    """Writes a graph to a file of LadybugDB, which goes on where Kùzu ended."""

    def __init__(self, path: str | PathLike[str]) -> None:
        """Open the file, or make it. One process at a time may have it open. Raises ``ComponentError``."""
        place = Path(fspath(path)).absolute()
        super().__init__(f"ladybug:{place}", _Ladybug(place), LADYBUG)


class _Ladybug:
    def __init__(self, path: Path) -> None:
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
