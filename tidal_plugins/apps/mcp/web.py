"""The web server of the MCP server and of the inspector: who does not end a request makes way for others."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 512
"""Connections at once. For one more the oldest one goes whose request is not whole."""

MAX_ANSWERS = 64
"""Requests that are answered at once; further ones get 503."""

PATIENCE = 20.0
"""Seconds within which a request must be whole, with its body."""


def web_server(app: ASGIApp) -> uvicorn.Server:
    """Return a server of pages or requests, which serves nobody yet."""
    config = uvicorn.Config(app, http=Impatient, ws="none", log_level="warning", access_log=False, server_header=False)
    return uvicorn.Server(config)


class Limited:
    """Lets at most so many requests at once through to an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._running >= MAX_ANSWERS:
            await PlainTextResponse("Too many requests at once", 503)(scope, receive, send)
            return
        self._running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1


class Impatient(H11Protocol):
    """A connection that is closed if a request on it does not become whole in time, or where there are too many.

    uvicorn waits for ever for the rest of a request, and refuses all others while it does.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        waiting = [one for one in self.connections if isinstance(one, Impatient) and one._late is not None]
        if len(self.connections) > MAX_CONNECTIONS and waiting:
            min(waiting, key=lambda one: one._late.when())._close()  # type: ignore[union-attr]

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop()

    def on_response_complete(self) -> None:
        self._wait()  # before the next request is read, which may be there as a whole
        super().on_response_complete()

    def _wait(self) -> None:
        self._stop()
        self._late = self.loop.call_later(PATIENCE, self._close)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close(self) -> None:
        self._stop()
        self.transport.abort()
