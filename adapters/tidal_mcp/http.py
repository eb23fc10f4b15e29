"""HTTP: who may talk to the server, and how much. Off loopback nobody may without a token and a known name."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidal_plugins import InvalidInput
from tidal_plugins.shown import shown
from tidal_plugins.validation import check_int

PATH = "/mcp"

MIN_TOKEN = 16
"""Characters of a token: those of 96 random bits in base 64. Shorter ones can be guessed."""

MAX_BODY = 256 * 1024
"""Bytes of a request. The longest arguments that are accepted, those of a note, have some 50 thousand when escaped."""

MAX_CONNECTIONS = 64
"""Connections at once; further ones are answered with 503."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Access:
    """Where a server listens, and who may talk to it.

    Attributes:
        host: the address to listen at.
        port: the port; 0 for any that is free.
        token: what clients must send as ``Authorization: Bearer …``; ``None`` for nothing, on loopback only.
        hosts: the names, with ports if they have one, by which clients may call the server besides loopback's.
        origins: the origins of web pages that may call it besides loopback's, such as ``https://app.example.org``.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = field(default=None, repr=False)
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_int(self.port, "port", 0, 65_535)
        if self.token is not None and (len(self.token) < MIN_TOKEN or not self.token.isascii()):
            raise InvalidInput(
                f"a token has at least {MIN_TOKEN} ASCII characters: make one with secrets.token_urlsafe()"
            )
        if any("*" in name or not name.strip() for name in (*self.hosts, *self.origins)):
            raise InvalidInput("hosts and origins are names such as notes.example.org:8765, without a *")
        if is_loopback(self.host) and not self.hosts:
            return
        if self.token is None:
            raise InvalidInput(f"{shown(self.host)} is open to others: give a token that clients must send")
        if not self.hosts:
            raise InvalidInput(f"{shown(self.host)} is open to others: give the hosts by which clients call it")

    @property
    def security(self) -> TransportSecuritySettings:
        """Return the names that a request may have as its host and its origin, against rebinding of DNS names."""
        return TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[*(f"{name}:*" for name in LOOPBACK), *LOOPBACK, *self.hosts],
            allowed_origins=[*(f"http://{name}:*" for name in LOOPBACK), *self.origins],
        )


def is_loopback(host: str) -> bool:
    """Return whether nobody but programs on this machine reaches an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def application(server: Server[object, object], access: Access) -> Starlette:
    """Return the application that serves the protocol at ``/mcp``. No state is kept between requests."""
    manager = StreamableHTTPSessionManager(
        app=server, json_response=True, stateless=True, security_settings=access.security
    )
    guarded = Guard(manager.handle_request, access.token)
    return Starlette(routes=[Route(PATH, endpoint=guarded)], lifespan=lambda app: manager.run())


def listen(access: Access) -> socket.socket:
    """Return a socket that is bound. Raises ``InvalidInput`` for an address that cannot be had."""
    try:
        family = socket.getaddrinfo(access.host, access.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((access.host, access.port), family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "there is no such address"
        raise InvalidInput(f"cannot listen at {shown(access.host)}, port {access.port}: {reason}") from None


async def run(app: Starlette, bound: socket.socket) -> None:
    """Serve an application on a socket until the process is told to end."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, limit_concurrency=MAX_CONNECTIONS
    )
    await uvicorn.Server(config).serve(sockets=[bound])


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


def _replayed(messages: list[Message], receive: Receive) -> Receive:
    async def replay() -> Message:
        return messages.pop(0) if messages else await receive()

    return replay
