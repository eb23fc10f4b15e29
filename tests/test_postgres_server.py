"""The server of the tests: it is there for all processes of a run, and gone with the last of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.postgres_server import needs_programs
from tests.waiting import eventually
from tools.databases import Databases
from tools.postgres import Server, running

ROOT = Path(__file__).parent.parent
HOLD = """
import sys
from tools.postgres import launch
server, held = launch()
print(server.folder, flush=True)
sys.stdin.read()
"""


def name_of(url: str) -> str:
    return urlsplit(url).path.lstrip("/")


def test_each_database_is_new_and_a_template_is_copied(postgres: Databases) -> None:
    def prepare(url: str) -> None:
        postgres.execute("CREATE TABLE prepared (x int)", database=name_of(url))

    urls = [postgres.new(prepare), postgres.new(prepare), postgres.new()]
    names = [name_of(url) for url in urls]
    assert len(set(names)) == 3
    postgres.execute("INSERT INTO prepared VALUES (1)", database=names[0])
    assert postgres.execute("SELECT * FROM prepared", database=names[1]) == []
    assert postgres.execute("SELECT to_regclass('prepared')::text", database=names[2]) == [(None,)]
    for url in urls:
        postgres.drop(url)


def test_the_plain_role_owns_nothing_and_passes_no_policy(postgres: Databases, postgres_url: str) -> None:
    role = postgres.role()
    assert postgres.role() == role
    rights = f"SELECT rolsuper, rolbypassrls, rolcreatedb FROM pg_roles WHERE rolname = '{role}'"
    assert postgres.execute(rights) == [(False, False, False)]


@pytest.mark.slow
def test_a_server_that_crashed_starts_with_what_it_had_committed(own_postgres: Server) -> None:
    databases = Databases(own_postgres.url())
    databases.execute("CREATE TABLE kept (x int)")
    own_postgres.stop("immediate")
    assert not own_postgres.runs()
    own_postgres.start()
    assert databases.execute("SELECT count(*) FROM kept") == [(0,)]


@pytest.mark.slow
def test_a_server_ends_with_a_process_that_is_killed() -> None:
    programs = needs_programs()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=pipe, stdout=pipe, text=True, env=environment) as holder:
        assert holder.stdout
        folder = Path(holder.stdout.readline().strip())
        assert Server(folder, programs).runs()
        holder.send_signal(signal.SIGKILL)
    assert eventually(lambda: not folder.exists())
    search = ["pgrep", "-f", f"{folder}/data"]
    assert eventually(lambda: not subprocess.run(search, capture_output=True, check=False).stdout)


@pytest.mark.slow
def test_a_command_is_given_the_url_of_a_server() -> None:
    needs_programs()
    code = "import psycopg, sys; print(psycopg.connect(sys.argv[1]).execute('SELECT 6 * 7').fetchone())"
    command = [sys.executable, str(ROOT / "tools" / "postgres.py"), sys.executable, "-c", code, "{url}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "(42,)\n"


@pytest.mark.slow
def test_nothing_is_left_of_a_server() -> None:
    needs_programs()
    with running() as server:
        assert server.runs()
    assert not server.folder.exists()
