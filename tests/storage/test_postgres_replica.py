"""Recalls that a read replica answers: a streaming replica of a server of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.waiting import eventually
from tidal_plugins import HashingEmbedder, InvalidInput, Settings, TidalMemory
from tidal_plugins.storage.postgres import replica as reads
from tools.databases import Databases
from tools.postgres import Server

pytestmark = pytest.mark.slow


def opened(url: str, read_url: str | None = None) -> TidalMemory:
    storage = {"query_deadline": 3_600.0, "read_url": read_url}
    return TidalMemory(url, embedder=HashingEmbedder(), settings=Settings(graph={"background": False}, storage=storage))


@pytest.fixture
def replica(own_postgres: Server) -> Iterator[Server]:
    """Yield a server that follows ``own_postgres``."""
    follower = own_postgres.replicate(own_postgres.folder / "replica")
    follower.start()
    yield follower
    follower.stop("immediate")


@pytest.fixture
def memory(own_postgres: Server, replica: Server) -> Iterator[TidalMemory]:
    """Yield a memory that recalls from the replica."""
    with opened(own_postgres.url(), replica.url()) as memory:
        yield memory


def found(memory: TidalMemory, query: str) -> list[str]:
    return [hit.text for hit in memory.recall(query)]


def test_a_process_reads_what_it_wrote_though_the_replica_is_behind(
    memory: TidalMemory, own_postgres: Server, replica: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "RETRY_SECONDS", 0.0)
    follower = Databases(replica.url())
    memory.remember("The anchor is heavy.")
    with opened(own_postgres.url()) as other:
        numbers = count()

        def replica_answers() -> bool:
            """Pause the replica, and return whether it answers: it has nothing of what is written then."""
            follower.execute("SELECT pg_wal_replay_resume()")
            assert _replayed(own_postgres, replica)
            _pause(follower)
            number = next(numbers)
            other.remember(f"Mast {number} is spruce.")
            assert f"Mast {number} is spruce." in found(other, f"mast {number}")
            return f"Mast {number} is spruce." not in found(memory, f"mast {number}")

        assert eventually(replica_answers), "once all is there that the process wrote, in the background, too"
        last = f"Mast {next(numbers) - 1} is spruce."
        memory.remember("The sail is red.")
        assert "The sail is red." in found(memory, "sail"), "the primary answers, since the replica is behind"
        assert last in found(memory, last)
        follower.execute("SELECT pg_wal_replay_resume()")
        assert eventually(lambda: _replayed(own_postgres, replica))
        assert "The sail is red." in found(memory, "sail")


def test_recalls_go_on_when_the_replica_is_down_and_return_to_it(
    memory: TidalMemory, own_postgres: Server, replica: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "RETRY_SECONDS", 0.0)
    memory.remember("The anchor is heavy.")
    assert eventually(lambda: _replayed(own_postgres, replica))
    assert found(memory, "anchor") == ["The anchor is heavy."]
    replica.stop("immediate")
    assert found(memory, "anchor") == ["The anchor is heavy."]
    replica.start()
    assert _replayed(own_postgres, replica)
    _pause(Databases(replica.url()))
    with opened(own_postgres.url()) as other:
        other.remember("The mast is spruce.")
    assert "The mast is spruce." not in found(memory, "mast"), "the replica answers again"


def test_a_replica_that_is_down_keeps_no_memory_from_opening(own_postgres: Server, replica: Server) -> None:
    replica.stop("immediate")
    with opened(own_postgres.url(), replica.url()) as memory:
        memory.remember("The anchor is heavy.")
        assert found(memory, "anchor") == ["The anchor is heavy."]


def test_a_url_of_another_memory_is_refused_and_shows_no_password(own_postgres: Server) -> None:
    databases = Databases(own_postgres.url())
    url = databases.new()
    with opened(url) as other:
        other.remember("The anchor is heavy.")
    secret = url.replace("postgres@", "postgres:hush@")
    with opened(own_postgres.url(), secret) as memory, pytest.raises(InvalidInput, match="another memory") as refused:
        memory.recall("anchor")
    assert "hush" not in str(refused.value)
    assert "hush" not in repr(Settings(storage={"read_url": secret}))


def test_only_a_memory_on_postgresql_has_a_replica(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="read_url"):
        opened(str(tmp_path / "agent.db"), "postgresql://nobody@/nothing")


def _pause(follower: Databases) -> None:
    """Let a replica take in nothing more. It goes on for a while after it was asked to pause."""
    follower.execute("SELECT pg_wal_replay_pause()")
    assert eventually(lambda: follower.execute("SELECT pg_get_wal_replay_pause_state()") == [("paused",)])


def _replayed(primary: Server, replica: Server) -> bool:
    """Return whether the replica has all that the primary has written by now."""
    [(written,)] = Databases(primary.url()).execute("SELECT pg_current_wal_flush_lsn()::text")
    sql = f"SELECT pg_last_wal_replay_lsn() >= '{written}'::pg_lsn"
    return eventually(lambda: Databases(replica.url()).execute(sql) == [(True,)])
