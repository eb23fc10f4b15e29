"""The server over HTTP: who may talk to it, and what reaches it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from tests.mcp.talking import TOKEN, http_server, over_http
from tidal_plugins import HashingEmbedder, TidalMemory
from tidal_plugins.apps.mcp import Access
from tidal_plugins.apps.mcp.http import application
from tidal_plugins.apps.mcp.sdk import build
from tidal_plugins.apps.mcp.server import MemoryServer

SCOPE = ("--scope", "user/42")
ASK = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "thread_history", "arguments": {}},
}


Post = Callable[..., Any]


@contextmanager
def served(db: Path, **access: Any) -> Iterator[Post]:
    """Serve a memory over HTTP in this process; yield a function that sends what no client of the SDK sends."""
    with TidalMemory(db, scope=("user", "42"), embedder=HashingEmbedder(), read_only=True) as memory:
        answers = MemoryServer(memory)
        server = build("tidal-memory", answers.version, answers.instructions, answers.handlers)
        app = application(server, Access("127.0.0.1", 8765, **{"token": None, "hosts": (), "origins": (), **access}))
        with TestClient(app, base_url="http://127.0.0.1:8765", raise_server_exceptions=False) as client:

            def post(body: bytes | None = None, **headers: str) -> Any:
                given = {name.replace("_", "-"): value for name, value in headers.items()}
                accept = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
                content = json.dumps(ASK).encode() if body is None else body
                return client.post("/mcp", content=content, headers={**accept, **given})

            post.client = client  # type: ignore[attr-defined]
            yield post


@pytest.mark.slow
async def test_clients_are_answered_at_one_time_and_one_that_goes_disturbs_nobody(default_db: Path) -> None:
    async def ask(url: str, number: int) -> str:
        async with over_http(url, TOKEN) as talk:
            answer = await talk.data("memory_search", query=f"Who works in Lisbon? {number}", limit=1)
            return answer["results"][0]["summary"]

    with http_server(default_db, *SCOPE, TIDAL_MCP_TOKEN=TOKEN) as url:
        place = urlsplit(url)
        for _ in range(5):  # these go away before their answer
            gone = socket.create_connection((place.hostname, place.port))
            said = json.dumps(ASK)
            head = f"POST /mcp HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
            gone.sendall(f"{head}Accept: */*\r\nContent-Length: {len(said)}\r\n\r\n{said}".encode())
            gone.close()
        told = await asyncio.gather(*(ask(url, number) for number in range(5)))
    assert set(told) == {"My cousin Odile works at the harbour office in Lisbon."}


def test_a_token_is_needed_once_one_is_set(db: Path) -> None:
    with served(db, token=TOKEN) as post:
        assert post().status_code == 401
        for wrong in ("Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer", f"Bearer {TOKEN[:-1]}"):
            response = post(Authorization=wrong)
            assert response.status_code == 401
            assert response.headers["WWW-Authenticate"] == "Bearer"
            assert TOKEN not in response.text
        for right in (f"Bearer {TOKEN}", f"bearer {TOKEN}"):
            answer = post(Authorization=right).json()["result"]
            assert answer["structuredContent"]["scope"] == "user/42"


def test_names_that_are_not_the_servers_are_refused(db: Path) -> None:
    with served(db) as post:
        assert post().status_code == 200
        for host in ("evil.example.org", "evil.example.org:8765", "127.0.0.1.evil.example.org:8765"):
            assert post(Host=host).status_code == 421
        assert post(Origin="https://evil.example.org").status_code == 403
        assert post(Origin="http://localhost:8765").status_code == 200
        refused = post.client.get("/mcp", headers={"Accept": "text/event-stream"})
        assert (refused.status_code, refused.headers["Allow"]) == (405, "POST")
    known = {"Authorization": f"Bearer {TOKEN}"}
    named = {"hosts": ("memory.example.org",), "origins": ("https://app.example.org",)}
    with served(db, token=TOKEN, **named) as post:
        assert post(Host="memory.example.org", **known).status_code == 200
        assert post(Host="memory.example.org:99", **known).status_code == 421
        assert post(Host="memory.example.org", Origin="https://app.example.org", **known).status_code == 200
        assert post(Host="memory.example.org", Origin="https://app.example.com", **known).status_code == 403
        assert post(Host="memory.example.org").status_code == 401


def test_what_is_too_long_or_no_request_is_refused(db: Path, template: Path) -> None:
    folder = str(template.parent.parent)  # that of all files of the tests
    with served(db) as post:
        assert post(b" " * 300_000).status_code == 413
        for broken in (b"{", b"[" * 100_000, b"\xff\xfe", b"7", b"{}", b'{"jsonrpc": "2.0", "id": 1, "method": "x"}'):
            answer = post(broken)
            assert answer.status_code in (200, 400, 404)
            told = answer.text
            assert ('"result":' in told, "Traceback" in told, folder in told) == (False, False, False)
        deep = json.dumps({**ASK, "x": "]" * 99}).encode().replace(b"{}", b'{"a":' * 1000 + b"{}" + b"}" * 1000)
        answer = post(deep)
        assert (answer.status_code, answer.text) == (400, "Request body nested too deeply")
        assert post(json.dumps({**ASK, "x": '[{"' * 99}).encode()).status_code == 200
        assert post(Content_Type="text/plain").status_code == 400
        assert post().status_code == 200
