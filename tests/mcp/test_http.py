"""The server over HTTP: who may talk to it, and what reaches it."""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.mcp.talking import TOKEN, http_server, over_http

pytestmark = pytest.mark.slow

SCOPE = ("--scope", "user/42")
ASK = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "thread_history", "arguments": {}},
}


class Reply(NamedTuple):
    """The status and the text of a response."""

    status: int
    text: str


def post(url: str, body: bytes | None = None, **headers: str) -> Reply:
    """Return the response to a request that no client of the SDK makes."""
    place = urlsplit(url)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    accept = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with closing(http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)) as connection:
        connection.request("POST", place.path, json.dumps(ASK).encode() if body is None else body, {**accept, **given})
        response = connection.getresponse()
        return Reply(response.status, response.read().decode())


@pytest.fixture(scope="module")
def url(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of one server without a token, for the tests that only read."""
    db = shutil.copy(template, tmp_path_factory.mktemp("served") / "agent.db")
    with http_server(Path(db), *SCOPE) as url:
        yield url


async def test_clients_are_answered_at_one_time_and_one_that_goes_disturbs_nobody(url: str) -> None:
    async def ask(number: int) -> str:
        async with over_http(url) as talk:
            answer = await talk.data("memory_search", query=f"Who works in Lisbon? {number}", limit=1)
            return answer["results"][0]["summary"]

    place = urlsplit(url)
    for _ in range(5):  # these go away before their answer
        gone = socket.create_connection((place.hostname, place.port))
        said = json.dumps(ASK)
        head = f"POST /mcp HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        gone.sendall(f"{head}Accept: */*\r\nContent-Length: {len(said)}\r\n\r\n{said}".encode())
        gone.close()
    told = await asyncio.gather(*map(ask, range(5)))
    assert set(told) == {"My cousin Odile works at the harbour office in Lisbon."}


async def test_a_token_is_needed_once_one_is_set(db: Path) -> None:
    with http_server(db, *SCOPE, TIDAL_MCP_TOKEN=TOKEN) as url:
        assert post(url).status == 401
        for wrong in ("Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer", f"Bearer {TOKEN[:-1]}"):
            response = post(url, Authorization=wrong)
            assert response.status == 401
            assert TOKEN not in response.text
        async with over_http(url, TOKEN) as talk:
            assert (await talk.data("thread_history"))["scope"] == "user/42"


def test_names_that_are_not_the_servers_are_refused(url: str) -> None:
    port = urlsplit(url).port
    assert post(url).status == 200
    assert post(url, Host="evil.example.org").status == 421
    assert post(url, Host=f"evil.example.org:{port}").status == 421
    assert post(url, Host=f"127.0.0.1.evil.example.org:{port}").status == 421
    assert post(url, Origin="https://evil.example.org").status == 403
    assert post(url, Origin=f"http://localhost:{port}").status == 200


def test_no_connection_is_held_open_for_a_stream(url: str) -> None:
    place = urlsplit(url)
    with closing(http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)) as connection:
        connection.request("GET", place.path, headers={"Accept": "text/event-stream"})
        response = connection.getresponse()
        assert (response.status, response.getheader("Allow")) == (405, "POST")


def test_explicit_names_with_a_token_are_let_through(db: Path) -> None:
    options = ("--token", TOKEN, "--allow-host", "memory.example.org", "--allow-origin", "https://app.example.org")
    with http_server(db, *SCOPE, *options) as url:
        known = {"Authorization": f"Bearer {TOKEN}"}
        assert post(url, Host="memory.example.org", **known).status == 200
        assert post(url, Host="memory.example.org:99", **known).status == 421
        assert post(url, Host="memory.example.org", Origin="https://app.example.org", **known).status == 200
        assert post(url, Host="memory.example.org", Origin="https://app.example.com", **known).status == 403
        assert post(url, Host="memory.example.org").status == 401


def test_what_is_too_long_or_no_request_is_refused(url: str, template: Path) -> None:
    folder = str(template.parent.parent)  # that of all files of the tests
    assert post(url, b" " * 300_000).status == 413
    for broken in (b"{", b"[" * 100_000, b"\xff\xfe", b"7", b"{}", b'{"jsonrpc": "2.0", "id": 1, "method": "x"}'):
        status, told = post(url, broken)
        assert status in (200, 400, 404)
        assert ('"result":' in told, "Traceback" in told, folder in told) == (False, False, False)
    deep = json.dumps({**ASK, "x": "]" * 99}).encode().replace(b"{}", b'{"a":' * 1000 + b"{}" + b"}" * 1000)
    assert post(url, deep) == (400, "Request body nested too deeply")
    assert post(url, json.dumps({**ASK, "x": '[{"' * 99}).encode()).status == 200
    assert post(url, Content_Type="text/plain").status == 400
    assert post(url).status == 200
