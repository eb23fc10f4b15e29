"""HTTP: the server as an application that lets through what has the token, a known name and no more than its size."""

from __future__ import annotations

import hmac
import re
from itertools import accumulate

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidal_plugins.apps.mcp import LOOPBACK, Access
from tidal_plugins.apps.mcp.web import Limited

PATH = "/mcp"

MAX_BODY = 256 * 1024
"""Bytes of a request. The longest arguments that are accepted, those of a note, have some 50 thousand when escaped."""

MAX_DEPTH = 64
"""Lists and objects of a request that may lie in one another: those of the protocol and of arguments are some 6 deep.
The SDK takes 150, and fails at 1,000 as if the server did."""

STRINGS = rb'"(?:[^"\\]|\\.)*+"?'
NOT_BRACKETS = bytes({*range(256)} - {*b"[]{}"})


def application(server: Server[object, object], access: Access) -> Starlette:
    """Return the application that serves the protocol at ``/mcp``. No state is kept between requests.

    There is nothing to stream outside of an answer, so GET is refused: its connection would be held for nothing.
    """
    manager = StreamableHTTPSessionManager(
        app=server, json_response=True, stateless=True, security_settings=_security(access)
    )
    guarded = Guard(Limited(manager.handle_request), access.token)
    return Starlette(routes=[Route(PATH, endpoint=guarded, methods=["POST"])], lifespan=lambda app: manager.run())


def _security(access: Access) -> TransportSecuritySettings:
    """Return the names that a request may have as its host and its origin, against rebinding of DNS names."""
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*(f"{name}:*" for name in LOOPBACK), *LOOPBACK, *access.hosts],
        allowed_origins=[*(f"http://{name}:*" for name in LOOPBACK), *access.origins],
    )


class Guard:
    """Lets through what has the token and is not too long."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._knows(Headers(scope=scope).get("authorization", "")):
            headers = {"WWW-Authenticate": "Bearer"}
            await PlainTextResponse("A bearer token is needed", 401, headers)(scope, receive, send)
            return
        body = await _body(receive)
        if body is None:
            await Response("Request body too large", 413, {"Connection": "close"})(scope, receive, send)
            return
        if body[-1]["type"] == "http.disconnect":
            return  # the SDK would wait for the rest
        if _depth(b"".join(message.get("body", b"") for message in body)) > MAX_DEPTH:
            await PlainTextResponse("Request body nested too deeply", 400)(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)

    def _knows(self, authorization: str) -> bool:
        if self._token is None:
            return True
        kind, _, token = authorization.partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(token.encode(), self._token.encode())


async def _body(receive: Receive) -> list[Message] | None:
    """Return the messages with the body of a request, or ``None`` if it is too long."""
    messages: list[Message] = []
    size = 0
    while not messages or (messages[-1]["type"] == "http.request" and messages[-1].get("more_body")):
        messages.append(await receive())
        size += len(messages[-1].get("body", b""))
        if size > MAX_BODY:
            return None
    return messages


def _depth(body: bytes) -> int:
    """Return how many lists and objects of a JSON text lie in one another at most."""
    brackets = re.sub(STRINGS, b"", body, flags=re.S).translate(None, NOT_BRACKETS)
    return max(accumulate(1 if bracket in b"[{" else -1 for bracket in brackets), default=0)


def _replayed(messages: list[Message], receive: Receive) -> Receive:
    async def replay() -> Message:
        return messages.pop(0) if messages else await receive()

    return replay
