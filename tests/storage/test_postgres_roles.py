"""The roles of docs/postgres.md: its statements run as they stand there, and the memory as the role that they make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pytest

from tidal_plugins import HashingEmbedder, Message, ReadOnly, Settings, TidalError, TidalMemory
from tidal_plugins.storage.base import STORE
from tidal_plugins.storage.rows import number_of
from tools.databases import Databases

psycopg = pytest.importorskip("psycopg")

PAGE = Path(__file__).parents[2] / "docs" / "postgres.md"
QUIET = Settings(graph={"background": False})
FIRST_TO_MAINTAIN = 170_000
"""The version of the server that first has the right MAINTAIN."""


class Roles:
    """A database that was set up as the page says, with names of this test's own for its roles."""

    def __init__(self, postgres: Databases) -> None:
        self._postgres, mark = postgres, uuid4().hex[:8]
        self._names = {"tidal_owner": f"owner_{mark}", "tidal_app": f"app_{mark}", "memories": f"memories_{mark}"}
        self._set_up, self._grants = re.findall(r"```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[:2]
        for statement in _statements(self._set_up):
            postgres.execute(self._named(statement))

    def open(self, role: str) -> TidalMemory:
        """Open the memory as one of the page's roles."""
        return TidalMemory(self.url(role), embedder=HashingEmbedder(), settings=QUIET)

    def url(self, role: str) -> str:
        parts = urlsplit(self._postgres.named(self._names["memories"], user=self._names[role]))
        user, _, host = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{user}:%E2%80%A6@{host}"))

    def grant(self, *, without: str = "MAINTAIN ") -> None:
        """Run the page's second block as the owner, but for statements of a right."""
        for statement in _statements(self._grants):
            by = self._postgres.execute if "CREATE ROLE" in statement else self._by_owner
            if without not in statement:
                by(self._named(statement))

    def take(self, statement: str) -> None:
        """Run a statement as the owner."""
        self._by_owner(self._named(statement))

    def close(self) -> None:
        self._postgres.execute(f"DROP DATABASE {self._names['memories']} WITH (FORCE)")
        for role in ("tidal_app", "tidal_owner"):
            self._postgres.execute(f"DROP ROLE IF EXISTS {self._names[role]}")

    def _by_owner(self, statement: str) -> None:
        with psycopg.connect(self.url("tidal_owner"), autocommit=True) as connection:
            connection.execute(statement)

    def _named(self, statement: str) -> str:
        for name, own in self._names.items():
            statement = re.sub(rf"\b{name}\b", own, statement)
        return statement


def _statements(block: str) -> list[str]:
    return [one.strip() for one in re.sub(r"--.*", "", block).split(";") if one.strip()]


@pytest.fixture
def roles(postgres: Databases) -> Iterator[Roles]:
    roles = Roles(postgres)
    try:
        with roles.open("tidal_owner"):
            pass  # so that the tables are there
        yield roles
    finally:
        roles.close()


@pytest.fixture
def version(postgres: Databases) -> int:
    return int(postgres.execute("SHOW server_version_num")[0][0])


def use(memory: TidalMemory, path: Path) -> None:
    """Use a memory in every way that an application does, but for forgetting."""
    for number in range(4):
        memory.record(f"The ferry {number} leaves from berth nine.", "Noted.", thread="ferry")
    assert "berth nine" in memory.recall("Where does the ferry leave?")[0].text
    assert memory.whisper("Where does the ferry number 2 leave from?").text
    memory.facts["berth"] = "nine"
    memory.remember("The ticket costs ten euros.", source="prices.md")
    memory.maintenance.run()
    memory.dossiers.refresh("ferry")
    with memory.sessions.open(user="ada"):
        memory.signals.add("like", memory.recall("ticket").ids[0])
    history = [
        Message("user" if turn % 2 else "assistant", f"Berth {turn} is free. " * 40, str(turn)) for turn in range(40)
    ]
    assert memory.compactor(max_tokens=2_000).compact(history, thread="berths").messages
    memory.export(path)
    assert memory.check(repair=True).ok
    memory.reembed(HashingEmbedder(64))


def test_an_application_works_as_the_role_of_the_page(roles: Roles, version: int, tmp_path: Path) -> None:
    roles.grant(without="MAINTAIN " if version < FIRST_TO_MAINTAIN else "nothing")
    with roles.open("tidal_app") as memory:
        use(memory, tmp_path / "all.jsonl")
    with TidalMemory(roles.url("tidal_app"), embedder=HashingEmbedder(64), settings=QUIET) as memory:
        receipt = memory.forget(thread="ferry")
        assert receipt.count
        assert bool(receipt.remains) == (version < FIRST_TO_MAINTAIN)
        assert not any("ferry" in hit.text for hit in memory.recall("ferry berth nine"))


def test_the_role_owns_nothing_and_sees_no_row_by_itself(roles: Roles) -> None:
    roles.grant()
    with roles.open("tidal_app") as memory:
        memory.remember("The ticket costs ten euros.")
    with psycopg.connect(roles.url("tidal_app"), autocommit=True) as connection:
        for table in ("tidal_entries", "tidal_entries_3", "tidal_documents", "tidal_words", "tidal_scopes"):
            of_scopes = f"SELECT count(*) FROM {table} WHERE scope <> %s"  # the rows of the whole store are for all
            assert connection.execute(of_scopes, [number_of(STORE)]).fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("ALTER TABLE tidal_entries DISABLE ROW LEVEL SECURITY")


def test_a_role_without_grants_is_told_of_the_page(roles: Roles) -> None:
    roles.grant(without="GRANT ")
    with pytest.raises(ReadOnly, match=r"docs/postgres\.md"):
        roles.open("tidal_app")


def test_forgetting_without_the_right_to_vacuum_says_what_is_left(roles: Roles) -> None:
    roles.grant()
    with roles.open("tidal_app") as memory:
        memory.record("The ferry leaves from berth nine.", "Noted.", thread="ferry")
        receipt = memory.forget(thread="ferry")
        assert receipt.count
        assert len(receipt.remains) == 1
        assert "may not vacuum; grant it MAINTAIN" in receipt.remains[0]
        assert not memory.recall("ferry")
        assert memory.check().ok


RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "USAGE")


@pytest.mark.parametrize("right", RIGHTS)
def test_what_a_role_may_not_do_is_an_error_of_the_library_and_writes_nothing(roles: Roles, right: str) -> None:
    roles.grant()
    with roles.open("tidal_owner") as memory:
        memory.record("The ferry leaves from berth nine.", "Noted.", thread="ferry")
    of = "SEQUENCES" if right == "USAGE" else "TABLES"
    roles.take(f"REVOKE {right} ON ALL {of} IN SCHEMA public FROM tidal_app")
    with pytest.raises(TidalError) as caught, roles.open("tidal_app") as memory:
        memory.record("The ferry leaves from berth ten.", "Noted.", thread="ferry", id="ten")
        memory.record("The ferry leaves from berth two.", "Noted.", thread="ferry", id="ten")
        memory.forget(thread="ferry")
        memory.check()
    assert "…" not in str(caught.value), "the password"
    with roles.open("tidal_owner") as memory:
        said = [episode.query for episode in memory.episodes.list()]
        assert "The ferry leaves from berth nine." in said
        assert len(said) == len(set(said))


def test_a_role_that_may_only_read_recalls_and_is_told_that_it_writes_nothing(roles: Roles) -> None:
    with roles.open("tidal_owner") as memory:
        memory.record("The ferry leaves from berth nine.", "Noted.", thread="ferry")
    roles.grant(without="GRANT ")
    roles.take("GRANT SELECT ON ALL TABLES IN SCHEMA public TO tidal_app")
    with TidalMemory(roles.url("tidal_app"), embedder=HashingEmbedder(), settings=QUIET, read_only=True) as memory:
        assert "berth nine" in memory.recall("Where does the ferry leave?")[0].text
        with pytest.raises(ReadOnly):
            memory.record("The ferry leaves from berth ten.")
