"""The application: every view behind the guard, with errors as pages."""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from tidal_plugins import Conflict, EmbedderMismatch, InvalidInput, NotFound, TidalError, TidalMemory
from tidal_plugins.apps.inspect.guard import Guard
from tidal_plugins.apps.inspect.page import Page, View, written
from tidal_plugins.apps.inspect.views import VIEWS
from tidal_plugins.apps.mcp.web import Limited
from tidal_plugins.model.entry import mark_of

HERE = Path(__file__).parent

MAX_FORM = 256 * 1024
"""Bytes of a form."""
MAX_FIELDS = 200

STATUS = {NotFound: 404, InvalidInput: 400, Conflict: 409, EmbedderMismatch: 409}
"""Status codes of the library's errors; others have 500."""

OTHER_EMBEDDER = "Here: name the embedder of this memory in TIDAL_EMBEDDER and start the inspector again."
"""What a page adds that needs the vectors of the memory, and has another embedder."""

FORM_TOKEN = "form_token"
"""Name of the hidden field that every form has which changes something."""

_log = logging.getLogger(__name__)


def application(
    memory: TidalMemory,
    *,
    token: str,
    hosts: Collection[str] = (),
    allow_writes: bool = False,
    views: Sequence[View] = VIEWS,
) -> ASGIApp:
    """Return the application. Nothing of the memory is read before the first request."""
    shared = {"views": views, "allow_writes": allow_writes, "form_token": secrets.token_urlsafe(24)}
    open_page = partial(Page, memory, pages=_templates(memory), shared=shared)
    routes: list[Route | Mount] = [Mount("/static", StaticFiles(directory=HERE / "static"))]
    for view in views:
        routes += [Route(path, _page(open_page, show), methods=["GET"]) for path, show in view.pages.items()]
        hands = view.hands if allow_writes else {}
        routes += [Route(path, _hand(open_page, act, shared), methods=["POST"]) for path, act in hands.items()]
    unknown = {HTTPException: _unknown(open_page)}
    pages = Starlette(routes=routes, exception_handlers=unknown)  # type: ignore[arg-type]
    return Guard(Limited(pages), token, hosts)


def _templates(memory: TidalMemory) -> Environment:
    """Return the templates. Everything that they show is escaped: what was recorded is text."""
    pages = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def local(time: datetime | None, form: str = "%Y-%m-%d %H:%M") -> str:
        return "" if time is None else time.astimezone(memory.settings.zone).strftime(form)

    def when(time: datetime | None, form: str = "%Y-%m-%d %H:%M") -> Markup:
        return Markup("<time>{}</time>").format(local(time, form))

    pages.filters |= {"local": local, "when": when, "day": partial(when, form="%Y-%m-%d")}
    pages.filters["ordinal"] = lambda day: date.fromisoformat(day).toordinal()
    pages.filters["value"] = written
    pages.tests["an_id"] = mark_of
    pages.filters["cut"] = lambda text, most=160: text if len(text) <= most else f"{text[: most - 1]}…"
    return pages


def _page(open_page: Callable[..., Page], show: Callable[[Page], Response]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        page = open_page(path=request.url.path, given={**request.query_params, **request.path_params})
        return await run_in_threadpool(_answered, show, page)

    return answer


def _hand(
    open_page: Callable[..., Page], act: Callable[[Page], Response], shared: Mapping[str, Any]
) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        page = open_page(path=request.url.path, given={**await _form(request), **request.path_params})
        if not hmac.compare_digest(page.given.get(FORM_TOKEN, "").encode(), shared["form_token"].encode()):
            return page.show("error.html", 403, told="This form is not from here. Open the page again and repeat it.")
        return await run_in_threadpool(_answered, act, page)

    return answer


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises ``HTTPException`` for one that is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM:
            raise HTTPException(413, "This form is too long.")
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        raise HTTPException(400, "This is no form.") from None


def _answered(answer: Callable[[Page], Response], page: Page) -> Response:
    """Return an answer, or a page that says what was wrong."""
    try:
        return answer(page)
    except TidalError as error:
        status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)
        told = f"{error}. {OTHER_EMBEDDER}" if isinstance(error, EmbedderMismatch) else str(error)
        return page.show("error.html", status, told=told)
    except Exception as error:
        _log.error("%s failed with %s", page.path, type(error).__name__)  # its message may hold what was recorded
        _log.debug("%s failed", page.path, exc_info=True)
        return page.show("error.html", 500, told=f"This view failed ({type(error).__name__}). The log has the reason.")


def _unknown(open_page: Callable[..., Page]) -> Callable[[Request, HTTPException], Any]:
    async def answer(request: Request, error: HTTPException) -> Response:
        page = open_page(path=request.url.path, given={})
        return page.show("error.html", error.status_code, told=f"{error.detail}.".replace("..", "."))

    return answer
