"""A PostgreSQL server for the tests of a run, and a new database of it for each test.

The processes of a run share one server, which ends with the last of them. ``TIDAL_TEST_POSTGRES=url`` names another
one, whose user may create databases and roles. Where there is none, the tests that need one are skipped.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tools.databases import Databases
from tools.postgres import NoServer, Server, launch, programs, running, use

GIVEN = "TIDAL_TEST_POSTGRES"


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
    """Yield the URL of a new, empty database."""
    url = postgres.new()
    yield url
    postgres.drop(url)


@pytest.fixture
def own_postgres() -> Iterator[Server]:
    """Yield a server of the test's own, to be stopped and started: it syncs what it commits."""
    pytest.importorskip("psycopg", reason="PostgreSQL needs: pip install 'tidal-plugins[postgres]'")
    needs_programs()
    with running(durable=True) as server:
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
