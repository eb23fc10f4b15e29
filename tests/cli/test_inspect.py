"""``tidal inspect`` serves the pages of one memory, in one scope, at the address that it prints, until it is ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from tests.cli.conftest import Tidal
from tidal_plugins import HashingEmbedder, TidalMemory


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with TidalMemory(path, scope=("user", "42"), embedder=HashingEmbedder()) as memory:
        memory.record("The kiln in the shed reaches 1,240 degrees.", "Enough for stoneware.", thread="kiln")
    return path


@pytest.mark.slow
def test_the_printed_address_opens_the_pages_of_the_scope(db: Path) -> None:
    command = [sys.executable, "-m", "tidal_plugins", "inspect", str(db), "--scope", "user/42", "--port", "0"]
    environment = {**os.environ, "TIDAL_EMBEDDER": "hashing"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as server:
        try:
            assert server.stdout
            address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", server.stdout.readline())
            assert address
            browser = build_opener(HTTPCookieProcessor())
            assert b"user/42" in browser.open(address[0]).read()
            timeline = browser.open(re.sub(r"\?.*", "timeline", address[0])).read()
            assert b"1,240 degrees" in timeline
            assert b"read only" in timeline
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait() in (0, 130)


def test_a_file_that_is_not_there_and_an_open_address_are_refused(tidal: Tidal, db: Path) -> None:
    assert tidal("inspect", "nowhere.db").code == 3
    done = tidal("inspect", str(db), "--host", "0.0.0.0")
    assert (done.code, "token" in done.err) == (2, True)
    done = tidal("inspect", str(db), "--token", "short")
    assert (done.code, "16" in done.err) == (2, True)


def test_no_password_of_a_url_is_shown(tidal: Tidal, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://u:s3cr3tword@127.0.0.1:1/x?password=an0ther"
    for command in (["init"], ["load", "x"]):
        done = tidal(*command, "--db", url)
        assert (done.code, "needs the file" in done.err, "s3cr3tword" in done.err) == (2, True, False)
    for given in ([url], ["--db", url], []):
        if not given:
            monkeypatch.setenv("TIDAL_DB", url)
        done = tidal("inspect", *given)
        assert done.code != 0
        assert "Traceback" not in done.err
        assert not {"s3cr3tword", "an0ther"} & set(re.findall(r"\w+", done.err + done.out))
        assert "tidal init" not in done.err
