"""A process that forks while it has a memory on PostgreSQL open: parent and child share no connection."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.waiting import PATIENCE
from tidal_plugins import HashingEmbedder, Settings, TidalMemory

pytest.importorskip("psycopg")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

WORKER = Path(__file__).with_name("postgres_forker.py")
ROOT = Path(__file__).parents[2]
QUIET = Settings(graph={"background": False})


@pytest.fixture
def run(postgres_url: str) -> Iterator[Callable[[str], str]]:
    """Yield a function that lets a new process do one of the works of ``postgres_forker.py``, and returns its words."""

    def run(work: str) -> str:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        command = [sys.executable, str(WORKER), work, postgres_url]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=PATIENCE, check=False
        )
        assert not done.returncode, done.stderr
        return done.stdout

    return run


def threads(url: str, scope: str = "") -> dict[str, int]:
    """Return how many turns each thread of a memory has."""
    with TidalMemory(url, embedder=HashingEmbedder(), settings=QUIET) as memory:
        assert memory.check().ok
        episodes = (memory.scoped(scope) if scope else memory).episodes.list()
    found: dict[str, int] = {}
    for episode in episodes:
        found[str(episode.thread)] = found.get(str(episode.thread), 0) + 1
    return found


def test_parent_and_child_both_read_and_write(run: Callable[[str], str], postgres_url: str) -> None:
    assert run("both").split() == ["different"]
    assert threads(postgres_url) == {"before": 1, "parent": 20, "child": 20, "after": 1}


def test_a_child_does_not_end_the_transaction_of_its_parent(run: Callable[[str], str], postgres_url: str) -> None:
    said = run("inside").splitlines()
    assert said[0].startswith("StorageError: this process was forked inside a transaction")
    assert said[1:] == ["child wrote", "parent committed"]
    assert threads(postgres_url) == {"before": 1, "parent": 1}
    assert threads(postgres_url, "child") == {"child": 1}


def test_a_child_writes_while_threads_of_its_parent_are_in_the_midst_of_it(
    run: Callable[[str], str], postgres_url: str
) -> None:
    run("amidst")
    found = threads(postgres_url)
    assert found.pop("before") == 1
    assert found == {
        **{f"thread-{number}": 30 for number in range(3)},
        **{f"child-{number}": 1 for number in range(10)},
    }
