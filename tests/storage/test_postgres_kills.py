"""The PostgreSQL engine when clients and servers die: nothing acknowledged is lost, and nothing is half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.storage.proxy import Proxy, between
from tests.waiting import PATIENCE, eventually
from tidal_plugins import HashingEmbedder, NotFound, Settings, StorageError, TidalMemory
from tools.databases import Databases
from tools.postgres import SHORT, Server

pytestmark = pytest.mark.slow

WORKER = Path(__file__).with_name("postgres_worker.py")
ROOT = Path(__file__).parents[2]
QUIET = Settings(graph={"background": False}, storage={"query_deadline": 3_600.0})
WRITERS = 8


class Writer:
    """A process of ``postgres_worker.py``, and the lines that it has said."""

    def __init__(self, work: str, url: str, name: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
        self.said: list[str] = []
        self._lines: Queue[str] = Queue()
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), work, url, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT,
        )  # fmt: skip
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def tell(self, line: str) -> None:
        assert self.process.stdin
        print(line, file=self.process.stdin, flush=True)

    def hear(self) -> str:
        """Return the next line that it says, after which it may wait for an answer."""
        try:
            return self._lines.get(timeout=PATIENCE)
        except Empty:
            raise AssertionError(f"the process said nothing more than {self.said[-3:]}") from None

    @property
    def stored(self) -> list[str]:
        return [line for line in self.said if not line.startswith(("!", "ready"))]

    def end(self) -> str:
        """Kill the process, and return what it complained about, the first time."""
        if self.process.returncode is not None:
            return ""
        self.process.kill()
        self._reader.join(PATIENCE)
        assert self.process.stderr
        complaints = self.process.stderr.read()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        self.process.wait(PATIENCE)
        return complaints

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.said.append(line.rstrip("\n"))
            self._lines.put(line.rstrip("\n"))


@pytest.fixture
def writer() -> Iterator[ExitStack]:
    """Yield a stack on which started processes are put, to be ended."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def proxy(postgres: Databases) -> Iterator[Proxy]:
    """Yield a proxy before the server of the run."""
    server = parse_qs(urlsplit(postgres.url).query).get("host")
    if not server or not server[0].startswith("/"):
        pytest.skip("the proxy stands before a server on a socket")
    with (
        tempfile.TemporaryDirectory(prefix="tidal-px-", dir=SHORT) as folder,
        between(Path(folder), Path(server[0])) as proxy,
    ):
        yield proxy


def through(proxy: Proxy, url: str) -> str:
    """Return the URL of a database as it is reached through a proxy."""
    return f"{url.partition('?')[0]}?host={quote(str(proxy.folder), safe='')}"


def opened(url: str) -> TidalMemory:
    return TidalMemory(url, embedder=HashingEmbedder(), settings=QUIET)


def is_whole(memory: TidalMemory, thread: str, word: str) -> bool:
    """Return whether a turn is stored, after checking that all of it is, or nothing of it."""
    try:
        episode = memory.episodes[memory.episodes.id_of(word, thread=thread)]
    except (KeyError, NotFound):
        assert not {f"seek {word}", f"seek it here: {word}"} & {hit.text for hit in memory.recall(word, limit=50)}
        return False
    assert (episode.query, episode.answer) == (f"seek {word}", f"seek it here: {word}")
    assert [memory.get(entry).text for entry in episode.entries] == [episode.query, episode.answer]
    found = {hit.id: hit.why for hit in memory.recall(word, threads=[thread], limit=50)}
    assert all(found[entry].keyword_rank and found[entry].vector_rank for entry in episode.entries)
    return True


def all_go_on(writers: Sequence[Writer]) -> bool:
    """Wait until each writer has stored more than it has now, for as long as eight processes may need for that."""
    before = [len(one.stored) for one in writers]

    def went_on() -> bool:
        return all(len(one.stored) > most for one, most in zip(writers, before, strict=True))

    return eventually(went_on) or eventually(went_on)


def test_a_client_killed_before_any_statement_of_a_record_leaves_all_of_it_or_nothing(
    proxy: Proxy, postgres_url: str, writer: ExitStack
) -> None:
    with opened(postgres_url) as memory:
        memory.record("seek something", "seek it here", thread="kills")
        forker, statement = Writer("forks", through(proxy, postgres_url), "-"), 0
        writer.callback(forker.end)
        assert forker.hear() == "ready"
        while True:
            word = f"w{statement}"
            forker.tell(word)
            child = int(forker.hear())
            proxy.arm(statement, partial(os.kill, child, signal.SIGKILL))
            forker.tell("go")
            if forker.hear() == word:
                break
            assert proxy.fired
            assert not is_whole(memory, "kills", word), "no statement follows the commit"
            again = memory.record(f"seek {word}", f"seek it here: {word}", thread="kills", id=word)
            assert memory.episodes.id_of(word, thread="kills") == again.id
            assert is_whole(memory, "kills", word)
            statement += 1
        assert statement > 3, "a record has some statements"
        assert len(memory.episodes.list(thread="kills")) == statement + 2
        assert memory.check().ok


def test_a_connection_cut_before_any_statement_is_an_error_that_says_so_and_the_next_call_works(
    proxy: Proxy, postgres_url: str
) -> None:
    with opened(through(proxy, postgres_url)) as memory, opened(postgres_url) as direct:
        memory.record("seek something", "seek it here", thread="kills")
        refused = list[str]()
        for statement in range(1_000):
            word = f"w{statement}"
            proxy.arm(statement)
            try:
                memory.record(f"seek {word}", f"seek it here: {word}", thread="kills", id=word)
            except StorageError as error:
                refused.append(str(error))
                assert not is_whole(direct, "kills", word)
            if not proxy.fired:
                break
            memory.record(f"seek {word}", f"seek it here: {word}", thread="kills", id=word)
            assert is_whole(direct, "kills", word)
        proxy.arm(10**9)
        assert refused
        assert all("next call" in message for message in refused), "each says what to do"
        assert len(direct.episodes.list(thread="kills")) == statement + 2
        assert direct.check().ok


def test_a_server_that_crashes_under_eight_writers_loses_nothing_that_was_acknowledged(
    own_postgres: Server, writer: ExitStack
) -> None:
    url = own_postgres.url()
    opened(url).close()
    writers = [Writer("on", url, f"writer{number}") for number in range(WRITERS)]
    for one in writers:
        writer.callback(one.end)
    for one in writers:
        assert one.hear() == "ready"
    for one in writers:
        one.tell("go")
    for _ in range(2):
        assert all_go_on(writers)
        own_postgres.stop("immediate")
        failures = [one.said.count("! StorageError") for one in writers]
        assert eventually(
            lambda: all(one.said.count("! StorageError") > some for one, some in zip(writers, failures, strict=True))  # noqa: B023
        )
        own_postgres.start()
    assert all_go_on(writers)
    for one in writers:
        assert "Traceback" not in one.end()
    with opened(url) as memory:
        for number, one in enumerate(writers):
            name = f"writer{number}"
            assert one.stored == [f"{name}q{turn}" for turn in range(len(one.stored))]
            for word in one.stored[-5:]:
                assert is_whole(memory, name, word)
            episodes = memory.episodes.list(thread=name, limit=None)
            assert len(episodes) - len(one.stored) in (0, 1), "at most the one that was not yet said"
            assert {episode.query for episode in episodes} >= {f"seek {word}" for word in one.stored}
        assert memory.check().ok


def test_two_agents_in_two_processes_share_one_memory(postgres_url: str, writer: ExitStack) -> None:
    opened(postgres_url).close()
    one, other = (Writer("answer", postgres_url, name) for name in ("one", "other"))
    for agent in (one, other):
        writer.callback(agent.end)
        assert agent.hear() == "ready"
    for teller, listener, text in [
        (one, other, "The ferry to Utsira leaves from berth nine."),
        (other, one, "The kiln is fired on Thursdays."),
        (one, other, "The gauge at the pier reads ninety."),
    ]:
        teller.tell(f"+{text}")
        assert teller.hear()
        listener.tell(text.replace("The", "Which").replace(".", "?"))
        assert text in listener.hear()


def test_what_is_loaded_into_postgresql_and_back_is_the_same_to_the_byte(postgres_url: str, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("first.jsonl", "second.jsonl", "third.jsonl")]
    with TidalMemory(tmp_path / "first.db", embedder=HashingEmbedder(), settings=QUIET) as memory:
        for number in range(60):
            memory.record(f"Berth {number} is free. 🙂", f"Berth {number}: «free».", thread=f"t{number % 3}")
        memory.remember("# Varnish\n\n" + "Sand the hull, then varnish it twice.\n\n" * 200, source="varnish.md")
        memory.facts["harbour"] = "open"
        memory.facts["harbour"] = "closed"
        memory.scoped("user", "7").remember("Only seven knows of the cellar.")
        memory.forget(memory.record("The plan stands behind the calendar.", "So it does.", thread="t9").citation)
        memory.graph.index_pending()
        lines = memory.export(paths[0])
        answer = memory.recall("varnish the hull").explain()
    with opened(postgres_url) as shared:
        assert shared.load(paths[0]) is not None
        assert shared.export(paths[1]) == lines
        assert shared.recall("varnish the hull").explain() == answer
        assert shared.check().ok
    with TidalMemory(tmp_path / "again.db", embedder=HashingEmbedder(), settings=QUIET) as memory:
        memory.load(paths[1])
        assert memory.export(paths[2]) == lines
    assert paths[0].read_bytes() == paths[1].read_bytes() == paths[2].read_bytes()
