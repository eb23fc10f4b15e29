"""A PostgreSQL server for the tests of a run, and a new database of it for each test.

The processes of a run share one server, which ends with the last of them. ``TIDAL_TEST_POSTGRES=url`` names another
one, whose user may create databases and roles. Where there is none, the tests that need one are skipped.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from tools.postgres import NoServer, Server, launch, programs, running, use

GIVEN = "TIDAL_TEST_POSTGRES"
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
        """Return the URL of a new database with pgvector, a copy of one that ``prepare`` was called with, if given."""
        template = self._template(prepare) if prepare else None
        name = self._create(template)
        if template is None:
            self.execute('CREATE EXTENSION IF NOT EXISTS "vector"', database=name)
        return self.named(name)

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
        for name in list(self._made):
            self.drop(self.named(name))

    def _template(self, prepare: Callable[[str], object]) -> str:
        key = f"{prepare.__module__}.{prepare.__qualname__}"
        if key not in self._templates:
            name = self._create(None)
            self.execute('CREATE EXTENSION IF NOT EXISTS "vector"', database=name)
            prepare(self.named(name))
            self._templates[key] = name
        return self._templates[key]

    def _create(self, template: str | None) -> str:
        name = f"tidal_test_{uuid.uuid4().hex[:16]}"
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template or "template0"}"')
        self._made.append(name)
        return name


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    """Yield the server of this run, which its processes share, or the one that ``TIDAL_TEST_POSTGRES`` names."""
    pytest.importorskip("psycopg", reason="PostgreSQL needs: pip install 'tidal-plugins[postgres]'")
    if url := os.environ.get(GIVEN):
        databases, held = Databases(url), None
    else:
        needs_programs()
        server, held = _shared(_folder_of_the_run(tmp_path_factory))
        databases = Databases(server.url())
    yield databases
    databases.close()
    if held is not None:
        os.close(held)


@pytest.fixture
def postgres_url(postgres: Databases) -> Iterator[str]:
    """Yield the URL of a new, empty database with pgvector."""
    url = postgres.new()
    yield url
    postgres.drop(url)


@pytest.fixture
def own_postgres() -> Iterator[Server]:
    """Yield a server of the test's own, to be stopped and started: it syncs what it commits."""
    pytest.importorskip("psycopg", reason="PostgreSQL needs: pip install 'tidal-plugins[postgres]'")
    needs_programs()
    with running(durable=True) as server:
        Databases(server.url()).execute('CREATE EXTENSION IF NOT EXISTS "vector"')
        yield server


def needs_programs() -> Path:
    """Return the folder of the server's programs, or skip the test."""
    try:
        return programs()
    except NoServer as error:
        pytest.skip(str(error))


def _folder_of_the_run(factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the processes of this run share."""
    base = factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


def _shared(folder: Path) -> tuple[Server, int]:
    """Return the server that the run has, or a new one, and what holds it in use."""
    state = folder / "postgres.json"
    with (folder / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if state.exists():
            known = Server(*map(Path, json.loads(state.read_text("utf-8"))))
            with suppress(FileNotFoundError):
                held = use(known.folder)
                if known.runs():
                    return known, held
                os.close(held)
        server, held = launch()
        state.write_text(json.dumps([str(server.folder), str(server.programs)]), "utf-8")
        return server, held
