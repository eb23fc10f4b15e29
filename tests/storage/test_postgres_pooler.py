"""A memory behind PgBouncer in transaction mode, where each transaction may run on another connection of the server."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.waiting import PATIENCE, eventually
from tidal_plugins import Busy, HashingEmbedder, Settings, TidalMemory
from tidal_plugins.storage.postgres import PostgresStorage
from tidal_plugins.testing import HERE, record
from tools.databases import Databases
from tools.postgres import SERVANT, SHORT

psycopg = pytest.importorskip("psycopg")

POOLER = shutil.which("pgbouncer", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
pytestmark = pytest.mark.skipif(POOLER is None, reason="PgBouncer is not installed; run: apt-get install pgbouncer")

PORT = 6432
CONFIGURATION = """
[databases]
* = host={server}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {port}
auth_type = any
pool_mode = transaction
default_pool_size = 3
logfile = {folder}/log
"""


@pytest.fixture
def pooled_url(postgres: Databases, postgres_url: str) -> Iterator[str]:
    """Yield the URL of a new database as PgBouncer has it, with three connections for all who come."""
    server = parse_qs(urlsplit(postgres.url).query).get("host")
    if not server or not server[0].startswith("/"):
        pytest.skip("the pooler stands before a server on a socket")
    name, user = urlsplit(postgres_url).path.lstrip("/"), urlsplit(postgres_url).username
    assert POOLER
    with tempfile.TemporaryDirectory(prefix="tidal-pb-", dir=SHORT) as path:
        folder = Path(path)
        configuration = folder / "pgbouncer.ini"
        configuration.write_text(
            CONFIGURATION.format(server=server[0], folder=folder, port=PORT).replace("* =", f"{name} =")
            .replace(f"host={server[0]}", f"host={server[0]} user={user}"), "utf-8",
        )  # fmt: skip
        folder.chmod(0o777)
        servant = {"user": SERVANT} if not os.geteuid() else {}
        process = subprocess.Popen(
            [POOLER, str(configuration)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, **servant,
        )  # fmt: skip
        try:
            assert eventually(lambda: (folder / f".s.PGSQL.{PORT}").exists() or process.poll() is not None)
            assert process.poll() is None, (folder / "log").read_text("utf-8")
            yield f"postgresql://{user}@/{name}?host={quote(path, safe='')}&port={PORT}"
        finally:
            process.terminate()
            process.wait(PATIENCE)


def test_a_memory_works_behind_a_pooler(pooled_url: str, tmp_path: Path) -> None:
    settings = Settings(graph={"background": False})
    with TidalMemory(pooled_url, embedder=HashingEmbedder(), settings=settings) as memory:
        views = [memory.scoped("user", str(number)) for number in range(6)]

        def use(number: int) -> None:
            view = views[number]
            for turn in range(10):
                view.record(f"Locker {number} has the code {turn}.", f"Locker {number}, noted.", thread="t")
                assert all(f"Locker {number}" in hit.text for hit in view.recall("Which code has the locker?"))
            view.facts["locker"] = str(number)
            assert view.whisper("Which code has my locker?").text

        with ThreadPoolExecutor(len(views)) as pool:
            list(pool.map(use, range(len(views))))
        memory.maintenance.run()
        memory.export(tmp_path / "all.jsonl")
        assert views[0].forget(thread="t").count
        memory.reembed(HashingEmbedder(64))
        assert memory.check().ok
    with TidalMemory(pooled_url, embedder=HashingEmbedder(64), settings=settings) as memory:
        assert [memory.scoped("user", str(number)).facts["locker"] for number in range(6)] == list("012345")


def test_what_a_connection_is_set_to_reaches_its_own_transactions_alone(pooled_url: str) -> None:
    patient = PostgresStorage(pooled_url, busy_timeout=PATIENCE)
    hasty = PostgresStorage(pooled_url, busy_timeout=0.2, durability="fast")
    patient.put(HERE, [record("a")])
    with patient.transaction():
        patient.put(HERE, [record("b")])
        with pytest.raises(Busy, match="busy_timeout"):
            hasty.put(HERE, [record("c")])
        with hasty.transaction():
            hasty.put(("there",), [record("c", scope=("there",))])
            assert hasty._db.one(("there",), "SHOW synchronous_commit") == "off"
        assert patient._db.one(HERE, "SHOW synchronous_commit") == "on"
    with psycopg.connect(pooled_url, autocommit=True, prepare_threshold=None) as other:
        for _ in range(6):
            assert other.execute("SHOW lock_timeout").fetchone() == ("0",)
            assert other.execute("SELECT current_setting('tidal.scope', true)").fetchone()[0] in (None, "")
    for store in (patient, hasty):
        store.close()
