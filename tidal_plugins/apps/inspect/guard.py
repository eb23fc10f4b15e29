"""Guard: nobody is answered but a browser that has the token and calls the server by a name that it knows."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping
from hashlib import sha256
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidal_plugins.apps.mcp import LOOPBACK

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with «no-referrer» browsers send forms with the origin «null»
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every answer. No page has a script, and no browser would run one."""

ELSEWHERE = "This address is not known here. Call the server by the name that it printed.\n"
FOREIGN = "This request comes from another page.\n"
NO_TOKEN = "Open the address that the program printed: it carries a token.\n"


class Guard:
    """Lets through what calls a known host, comes from no other page, and has the token.

    The first visit brings the token in the address. It becomes a cookie, and the browser is sent to the address
    without it, so that it stands in no history and no screenshot.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Collection[str]) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset(host.strip().casefold() for host in hosts)
        self._kept = sha256(b"cookie of " + token.encode()).hexdigest()  # any token is a cookie then
        self._cookie = f"tidal-{sha256(token.encode()).hexdigest()[:8]}"  # two servers on one machine have two cookies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            answer = self._refusal(Headers(scope=scope), scope) or self._app
            await answer(scope, receive, _with_headers(send))
        else:
            await send({"type": "websocket.close"})

    def _refusal(self, headers: Headers, scope: Scope) -> Response | None:
        """Return the answer to a request that does not come to the application."""
        host = headers.get("host", "")
        if not self._knows(host):
            return PlainTextResponse(ELSEWHERE, 421)
        origin = headers.get("origin")
        foreign = origin not in (f"http://{host}", f"https://{host}")
        if foreign and (origin is not None or scope["method"] not in ("GET", "HEAD")):
            return PlainTextResponse(FOREIGN, 403)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if given and scope["method"] == "GET" and all(map(self._is_token, given)):
            return self._welcome(scope, [pair for pair in query if pair[0] != "token"])
        kept = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        if not hmac.compare_digest(kept.encode(), self._kept.encode()):
            return PlainTextResponse(NO_TOKEN, 401)
        return None

    def _knows(self, host: str) -> bool:
        """Return whether a browser may call the server so. A name that was allowed without a port may have any."""
        host = host.casefold()
        name, _, port = host.rpartition(":")
        bare = name if port.isascii() and port.isdecimal() else host
        return host in self._hosts or bare in self._hosts or bare in LOOPBACK

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    def _welcome(self, scope: Scope, query: list[tuple[str, str]]) -> Response:
        path = "/" + scope["path"].lstrip("/")
        answer = RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)
        secure = scope["scheme"] == "https"  # and «lax»: «strict» keeps it from a link that stands on another page
        answer.set_cookie(self._cookie, self._kept, httponly=True, samesite="lax", secure=secure)
        return answer


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return sending
