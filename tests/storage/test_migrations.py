"""Files and exports of earlier schemas: each opens, whatever happens meanwhile, or stays as it was."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.files.make import FOLDER, QUIET
from tests.inside import raw
from tests.waiting import PATIENCE
from tidal_plugins import (
    Busy,
    Corrupt,
    DiskFull,
    HashingEmbedder,
    Settings,
    StorageError,
    TidalMemory,
    list_backups,
    restore,
)
from tidal_plugins.storage.postgres import schema
from tidal_plugins.storage.sqlite import migrations, opening
from tidal_plugins.storage.sqlite.schema import FIRST, SCHEMA_BITS, STATEMENTS, VERSION
from tidal_plugins.testing import FrozenClock

OpenMemory = Callable[..., TidalMemory]

ALL = range(FIRST, VERSION + 1)
HELD = Settings(graph=QUIET.graph, storage={"migrate": False})

OPEN = """
import sys
from pathlib import Path
from tests.waiting import meet
from tidal_plugins import HashingEmbedder, TidalMemory
meet(Path(sys.argv[2]), 2)
with TidalMemory(sys.argv[1], embedder=HashingEmbedder(16)) as memory:
    print(len(memory.episodes.list()))
"""


def unpack(version: int, path: Path) -> Path:
    path.write_bytes(gzip.decompress((FOLDER / f"schema-{version}.db.gz").read_bytes()))
    return path


def opened(path: Path | str, settings: Settings = QUIET, *, read_only: bool = False) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(16), settings=settings, clock=FrozenClock(), read_only=read_only)


def schema_of(path: Path) -> tuple[int, dict[str, str]]:
    connection = raw(path)
    try:
        version = int(connection.pragma("user_version")) & SCHEMA_BITS
        return version, {name: re.sub(r'"(\w+)"', r"\1", sql) for name, sql in connection.execute(STATEMENTS)}
    finally:
        connection.close()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a file of the first schema."""
    return unpack(FIRST, tmp_path / "agent.db")


def test_there_is_a_file_of_each_schema_and_a_step_from_each_before_the_last() -> None:
    assert sorted(migrations.STEPS) == list(ALL)[:-1]
    assert sorted(path.name for path in FOLDER.glob("schema-*")) == [f"schema-{version}.db.gz" for version in ALL]


@pytest.mark.parametrize("version", ALL)
def test_a_file_of_each_schema_opens_with_all_that_it_holds(
    version: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = unpack(version, tmp_path / "agent.db")
    with opened(path) as memory:
        assert memory.check().ok
        assert memory.recall("Where is the mast?")[0].text == "Mira keeps the mast in the shed."
        assert memory.facts["harbour"] == "closed"
        assert [version.value for version in memory.facts.history("harbour")] == ["open", "closed"]
        assert "mast" in memory.dossiers
        assert [len(episode.messages) for episode in memory.episodes.list()] == [4, 2]
        assert [hit.text for hit in memory.scoped("user", "7").recall("cellar")] == ["Only seven knows of the cellar."]
        memory.record("The oars are ash.", "Ash.", thread="boats")
        assert "ash" in memory.recall("What are the oars made of?")[0].text
    with TidalMemory(tmp_path / "new.db", embedder=HashingEmbedder(16)):
        assert schema_of(path) == schema_of(tmp_path / "new.db")
    copies = sorted(one.name for one in tmp_path.iterdir() if one.name.startswith("agent.db."))
    assert copies == ([f"agent.db.schema-{version}"] if version < VERSION else [])
    for name in copies:
        assert str(tmp_path / name) in caplog.text
        was = unpack(version, tmp_path / "as-it-was.db")
        assert (tmp_path / name).read_bytes()[4096:] == was.read_bytes()[4096:]
        assert schema_of(tmp_path / name) == schema_of(was)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such permissions")
def test_the_copy_is_readable_for_nobody_who_may_not_read_the_file(old: Path) -> None:
    old.chmod(0o600)
    with opened(old):
        pass
    assert [path.stat().st_mode & 0o777 for path in old.parent.iterdir()] == [0o600, 0o600]


def test_it_is_refused_where_it_may_not_be_brought_up_to_date(old: Path) -> None:
    before = old.read_bytes()
    for settings, read_only in ((HELD, False), (QUIET, True)):
        with pytest.raises(StorageError, match=f"has schema version {FIRST}, this library reads {VERSION}"):
            opened(old, settings, read_only=read_only).recall("mast")
    assert old.read_bytes() == before
    assert [path.name for path in old.parent.iterdir()] == ["agent.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_process_that_is_killed_meanwhile_leaves_the_file_as_it_was(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last, step = max(migrations.STEPS.items())

    def killed(connection: object) -> None:
        step(connection)
        connection.execute("PRAGMA cache_spill = 1")
        os._exit(9)

    child = os.fork()
    if child == 0:
        monkeypatch.setitem(migrations.STEPS, last, killed)
        opened(old)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert schema_of(old)[0] == FIRST
    with opened(old) as memory:
        assert memory.check().ok
        assert memory.facts["harbour"] == "closed"


@pytest.mark.parametrize("told", [RuntimeError("wrong"), None])
def test_a_step_that_fails_leaves_the_file_as_it_was(
    old: Path, monkeypatch: pytest.MonkeyPatch, told: Exception | None
) -> None:
    last, step = max(migrations.STEPS.items())

    def fails(connection: object) -> None:
        step(connection)
        if told:
            raise told
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
        connection.execute("CREATE TABLE filled AS SELECT randomblob(1000000)")

    monkeypatch.setitem(migrations.STEPS, last, fails)
    with pytest.raises(RuntimeError if told else DiskFull):
        opened(old)
    monkeypatch.undo()
    assert schema_of(old)[0] == FIRST
    with opened(old) as memory:
        assert memory.check().ok
    assert [path.name for path in old.parent.glob("agent.db.schema*")] == [f"agent.db.schema-{FIRST}"]  # of both times


def test_a_copy_of_another_state_stays_beside_the_new_one(old: Path) -> None:
    with opened(old) as memory:
        memory.record("The oars are ash.", "Ash.", thread="boats")
    connection = raw(unpack(FIRST, old))
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    with opened(old):
        pass
    copies = {path.name for path in old.parent.glob("agent.db.schema*")}
    assert copies == {f"agent.db.schema-{FIRST}", f"agent.db.schema-{FIRST}.2"}


def test_a_damaged_file_is_left_as_it_is(old: Path) -> None:
    pages = bytearray(old.read_bytes())
    pages[20 * 4096 + 100] ^= 1
    old.write_bytes(pages)
    with pytest.raises(
        Corrupt, match=f"^{re.escape(str(old))} is damaged and was left as it is .* by the version that"
    ):
        opened(old)
    assert [path.name for path in old.parent.iterdir()] == ["agent.db"]


def test_an_apsw_that_writes_no_checksums_leaves_it_as_it_is(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = old.read_bytes()
    monkeypatch.setattr(opening, "_plain", lambda: opening.OS)
    with pytest.raises(StorageError, match="have checksums, which this apsw does not write"):
        opened(old)
    assert old.read_bytes() == before
    assert [path.name for path in old.parent.iterdir()] == ["agent.db"]


def test_a_file_that_a_later_version_takes_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = unpack(VERSION, tmp_path / "agent.db")

    def waits(*_: object) -> None:
        connection = raw(path)
        connection.pragma("user_version", VERSION + 1)
        connection.close()

    monkeypatch.setattr(opening, "_use_wal", waits)
    with pytest.raises(StorageError, match=f"has schema version {VERSION + 1}, this library reads {VERSION}"):
        opened(path)


def test_another_process_that_opens_the_file_just_before_is_noticed(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = []

    class Late(apsw.Connection):
        def pragma(self, name: str, *values: object) -> object:
            found = super().pragma(name, *values)
            if values == ("delete",) and not others:
                others.append(raw(old))
                others[0].pragma("journal_mode", "wal")
                others[0].execute("SELECT count(*) FROM entries").fetchall()
            return found

    monkeypatch.setattr(migrations.apsw, "Connection", Late)
    with pytest.raises(Busy, match="another process has it open"):
        opened(old, Settings(graph=QUIET.graph, storage={"busy_timeout": 0.2}))
    others[0].close()
    assert schema_of(old)[0] == FIRST


@pytest.mark.parametrize("version", ALL)
def test_a_backup_of_each_schema_is_listed_and_restored(version: int, tmp_path: Path) -> None:
    with TidalMemory(tmp_path / "new.db", embedder=HashingEmbedder(16)) as memory:
        new = memory.backup(tmp_path / "new.backup")
    marks, backup = raw(Path(new.path)), unpack(version, tmp_path / "old.backup")
    connection = raw(backup)
    for row in marks.execute("SELECT * FROM documents WHERE key = 'backup'"):
        connection.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", row)
    marks.close()
    connection.close()
    before, path = backup.read_bytes(), tmp_path / "memory" / "agent.db"
    path.parent.mkdir()
    found = {Path(one.path).name: one for one in list_backups(tmp_path)}
    assert set(found) == {"new.backup", "old.backup"}
    assert found["old.backup"].rows["entries"] == 14
    restore(found["old.backup"], path)
    assert [one.name for one in path.parent.iterdir()] == ["agent.db"]
    with opened(path) as memory:
        assert memory.check().ok
        assert memory.facts["harbour"] == "closed"
    assert backup.read_bytes() == before


def test_a_step_that_makes_another_schema_is_taken_back(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    last = max(migrations.STEPS)
    monkeypatch.setitem(migrations.STEPS, last, lambda connection: None)
    with pytest.raises(StorageError, match=f"could not be brought to schema {VERSION}"):
        opened(old)
    assert schema_of(old)[0] == FIRST


def test_it_waits_for_a_process_that_has_it_open(old: Path) -> None:
    other = raw(old)
    try:
        other.execute("BEGIN; SELECT count(*) FROM entries").fetchall()
        with pytest.raises(Busy, match="another process has it open"):
            opened(old, Settings(graph=QUIET.graph, storage={"busy_timeout": 0.2}))
    finally:
        other.close()
    assert schema_of(old)[0] == FIRST


@pytest.mark.slow
def test_two_processes_bring_it_up_to_date_once(old: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPEN, str(old), str(tmp_path / "meeting")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=PATIENCE)[0] for process in both] == ["2\n", "2\n"]
    assert len(list(old.parent.glob("agent.db.schema*"))) == 1
    with opened(old) as memory:
        assert memory.check().ok


@pytest.mark.parametrize("version", range(schema.FIRST, schema.VERSION + 1))
def test_a_database_of_each_schema_opens_with_all_that_it_holds(version: int, postgres_url: str) -> None:
    import psycopg

    sql = gzip.decompress((FOLDER / f"postgres-{version}.sql.gz").read_bytes())
    with psycopg.connect(postgres_url) as connection:
        connection.execute(sql)
    if version < schema.VERSION:
        with pytest.raises(StorageError, match=f"has schema version {version}, this library reads {schema.VERSION}"):
            opened(postgres_url, HELD)
    with opened(postgres_url) as memory:
        assert memory.check().ok
        assert memory.recall("Where is the mast?")[0].text == "Mira keeps the mast in the shed."
        assert [version.value for version in memory.facts.history("harbour")] == ["open", "closed"]
        memory.record("The oars are ash.", "Ash.", thread="boats")
        assert "ash" in memory.recall("What are the oars made of?")[0].text


@pytest.mark.parametrize("path", sorted(FOLDER.glob("export-*")), ids=lambda path: path.name)
def test_an_export_of_each_schema_loads(path: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(settings=QUIET, embedder=HashingEmbedder(16))
    memory.load(path)
    assert memory.check().ok
    assert memory.facts["harbour"] == "closed"
    assert "mast" in memory.dossiers
    assert len(memory.episodes.list()) == 2
