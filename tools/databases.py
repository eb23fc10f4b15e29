"""Make databases on a PostgreSQL server, for tests and benchmarks, and remove them again."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tools.postgres import running

PLAIN = "tidal_plain"
"""A role that may log in, and owns nothing."""


class Databases:
    """The databases of a server. Each is removed at the end, with the connections that are left."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._made: list[str] = []
        self._templates: dict[str, str] = {}

    def named(self, database: str, *, user: str | None = None) -> str:
        """Return the URL of a database, as the server's own user or as another."""
        parts = urlsplit(self.url)
        place = parts.netloc if user is None else f"{user}@{parts.netloc.rpartition('@')[2]}"
        return urlunsplit((parts.scheme, place, f"/{database}", parts.query, ""))

    def new(self, prepare: Callable[[str], object] | None = None) -> str:
        """Return the URL of a new database, a copy of one that ``prepare`` was called with, if given."""
        template = self._template(prepare) if prepare else None
        return self.named(self._create(template))

    def drop(self, url: str) -> None:
        """Remove a database, and end what is connected to it."""
        name = urlsplit(url).path.lstrip("/")
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        with suppress(ValueError):
            self._made.remove(name)

    def role(self, name: str = PLAIN) -> str:
        """Return the name of a role that may log in and owns nothing, made if it is not there."""
        exists = f"SELECT 1 FROM pg_roles WHERE rolname = '{name}'"
        if not self.execute(exists):
            self.execute(
                f"DO $$ BEGIN CREATE ROLE \"{name}\" LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD 'open sesame'; "
                "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
            )
        return name

    def execute(self, sql: str, *, database: str | None = None) -> list[tuple[Any, ...]]:
        """Execute a statement as the server's own user, and return its rows."""
        import psycopg

        with psycopg.connect(self.named(database) if database else self.url, autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """Remove all databases that were made."""
        for name in list(self._made):
            self.drop(self.named(name))

    def _template(self, prepare: Callable[[str], object]) -> str:
        key = f"{prepare.__module__}.{prepare.__qualname__}"
        if key not in self._templates:
            name = self._create(None)
            prepare(self.named(name))
            self._templates[key] = name
        return self._templates[key]

    def _create(self, template: str | None) -> str:
        name = f"tidal_{uuid.uuid4().hex[:16]}"
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template or "template0"}"')
        self._made.append(name)
        return name


@contextmanager
def served(url: str | None) -> Iterator[Databases]:
    """Yield the databases of the server at ``url``, or of a new one that syncs what it commits."""
    if url is None:
        with running(durable=True) as server:
            yield Databases(server.url())
        return
    databases = Databases(url)
    try:
        yield databases
    finally:
        databases.close()
