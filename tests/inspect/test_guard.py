"""Who is answered: a browser that has the token, calls a known name, and comes from no other page."""

from __future__ import annotations

import html
import itertools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.responses import Response

from tests.conftest import OpenMemory
from tests.inspect.conftest import HOST, TOKEN, Visit, fill
from tests.waiting import PATIENCE, eventually
from tidal_plugins import HashingEmbedder, TidalMemory
from tidal_plugins.apps.inspect import serve
from tidal_plugins.apps.inspect.page import Page, View


def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address(visit: Visit, filled: TidalMemory) -> None:
    client = visit(filled, token=False)
    assert client.get("/").status_code == 401
    assert client.get("/?token=another-token-of-tests").status_code == 401
    assert client.get(f"/?token={TOKEN}&token=x", follow_redirects=False).status_code == 401
    welcome = client.get(f"/timeline?thread=kiln&token={TOKEN}", follow_redirects=False)
    assert (welcome.status_code, welcome.headers["location"]) == (303, "/timeline?thread=kiln")
    cookie = welcome.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "kiln" in client.get("/timeline?thread=kiln").text


def test_a_path_with_two_slashes_leads_nowhere_else(visit: Visit, filled: TidalMemory) -> None:
    answer = visit(filled, token=False).get(f"{HOST}//evil.example/?token={TOKEN}", follow_redirects=False)
    assert answer.headers["location"] == "/evil.example/"


def test_names_that_were_allowed_and_loopback_are_known(visit: Visit, filled: TidalMemory) -> None:
    client = visit(filled, token=False, hosts=("desk.local:8766",))
    for host in ("desk.local:8766", "localhost:9000", "[::1]:8766"):
        assert client.get("/", headers={"host": host}).status_code == 401
    assert client.get("/", headers={"host": "desk.local:1"}).status_code == 421
    for allowed in ("desk.local", "Desk.Local:8766"):  # in any case, and without a port at any
        client = visit(filled, token=False, hosts=(allowed,))
        for host in ("desk.local:8766", "DESK.local:8766", "LOCALHOST:8766"):
            assert client.get("/", headers={"host": host}).status_code == 401
    client = visit(filled)
    for host in ("evil.example", "evil.example:8766", "127.0.0.1.evil.example", "localhost:x", ""):
        assert client.get("/", headers={"host": host}).status_code == 421
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9999"):
        assert client.get("/", headers={"origin": origin}).status_code == 403


def test_any_token_in_the_printed_address_opens_the_pages(filled: TidalMemory) -> None:
    token, told = "aaaa&bbb+ccc#ddd%41;eee", list[str]()
    with _serving(filled, told, token=token), httpx.Client(follow_redirects=True, timeout=PATIENCE) as client:
        assert client.get(told[0]).status_code == 200
        assert client.get(told[0].partition("?")[0] + "timeline").status_code == 200


def test_the_printed_address_is_one_that_is_answered(filled: TidalMemory) -> None:
    told = list[str]()
    with _serving(filled, told, host="127.0.0.2"):
        assert httpx.get(told[0], follow_redirects=False, timeout=PATIENCE).status_code == 303
    with _serving(filled, told, host="0.0.0.0", token=TOKEN, hosts=("desk.local",)):
        assert re.fullmatch(rf"http://desk\.local:\d+/\?token={TOKEN}", told[1])


@contextmanager
def _serving(memory: TidalMemory, told: list[str], **options: Any) -> Iterator[None]:
    """Serve a memory in a thread until the block ends. ``told`` gets the address."""
    servers, known = list[uvicorn.Server](), uvicorn.Server.run

    def run(self: uvicorn.Server, **kwargs: Any) -> None:
        servers.append(self)
        known(self, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.Server, "run", run)
        thread = threading.Thread(
            target=serve, args=(memory,), kwargs={"port": 0, "say": told.append, **options}, daemon=True
        )
        thread.start()
        try:
            assert eventually(lambda: bool(servers and servers[0].started))
            yield
        finally:
            for server in servers:
                server.should_exit = True
            thread.join(PATIENCE)


PATHS = ("/", "/timeline", "/nowhere", "/static/style.css", "/episode/nothing")


def test_every_answer_has_the_headers_and_no_page_a_script(visit: Visit, filled: TidalMemory) -> None:
    for client, path in itertools.product((visit(filled), visit(filled, token=False)), PATHS):
        answer = client.get(path)
        assert not re.search(r"<script|javascript:|\son\w+=", answer.text, re.I)
        headers = answer.headers
        assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'")
        assert "script" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"


def act(page: Page) -> Response:
    return page.done(f"did {page.text('what')}", "/")


HANDS = (View("/", "Hands", {"/": lambda page: page.show("done.html", text="here", back="/")}, {"/do": act}),)


def test_hands_need_writes_an_origin_and_the_token_of_the_form(visit: Visit, filled: TidalMemory) -> None:
    origin = {"origin": HOST}
    assert visit(filled, views=HANDS).post("/do", headers=origin).status_code == 404
    client = visit(filled, views=HANDS, allow_writes=True)
    assert client.get("/do").status_code == 405
    assert client.post("/do").status_code == 403
    assert client.post("/do", headers={"origin": "https://evil.example"}).status_code == 403
    refused = client.post("/do", headers=origin, data={"form_token": "guessed"})
    assert (refused.status_code, "not from here" in refused.text) == (403, True)
    assert client.post("/do", headers=origin, content=b"a" * 300_000).status_code == 413


def test_a_view_that_fails_is_a_page_without_a_traceback(visit: Visit, filled: TidalMemory) -> None:
    def fails(page: Page) -> None:
        raise RuntimeError("the secret of the house")

    answer = visit(filled, views=(View("/", "Fails", {"/": fails}),)).get("/")  # type: ignore[dict-item]
    assert answer.status_code == 500
    assert "RuntimeError" in answer.text
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text


def test_another_embedder_is_told_on_the_pages_that_need_vectors(visit: Visit, open_memory: OpenMemory) -> None:
    fill(open_memory()).close()
    client = visit(open_memory(embedder=HashingEmbedder(dimensions=128)))
    pages = [
        "/",
        "/?turn=clocks",
        "/knowledge",
        "/capsule",
        "/graph",
        "/health",
        "/health/check",
        "/timeline",
        "/sessions",
    ]
    answers = {page: client.get(page) for page in pages}
    assert {answer.status_code for answer in answers.values()} == {200, 409}
    told = answers["/?turn=clocks"]
    assert told.status_code == 409
    assert "cannot be read with" in html.unescape(told.text)
    assert "TIDAL_EMBEDDER" in told.text
