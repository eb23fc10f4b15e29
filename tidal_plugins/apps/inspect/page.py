"""Page: a request as a view sees it, and what views have in common: lists, values, acts that are audited."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

from jinja2 import Environment
from starlette.responses import Response

from tidal_plugins import InvalidInput, Policy, TidalMemory
from tidal_plugins.model.session import Action
from tidal_plugins.shown import shown
from tidal_plugins.validation import check_depth

SIZE = 25
"""Rows of a list on one page."""

MAX_PAGE = 1_000_000

NAMES = {bool: "a yes or no", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}

AGENT = "inspect"
"""The agent that the sessions of the inspector name."""

MAX_SUBJECT = 200

T = TypeVar("T")


class View(NamedTuple):
    """A part of the inspector, with an entry in the menu.

    ``pages`` answer GET and ``hands`` answer POST, by path. A path such as ``/episode/{id}`` has its names in
    ``Page.given``. Hands exist only if writes are allowed.
    """

    path: str
    title: str
    pages: Mapping[str, Callable[[Page], Response]]
    hands: Mapping[str, Callable[[Page], Response]] = {}


class Listed(NamedTuple, Generic[T]):
    """One page of a list: its rows, its number from 1, and the row that begins the next page, if there is one."""

    rows: Sequence[T]
    number: int
    following: T | None = None

    @property
    def more(self) -> bool:
        return self.following is not None


@dataclass(frozen=True)
class Page:
    """A request, and the memory that answers it.

    Attributes:
        memory: the memory, in the one scope that is shown.
        path: the path of the request.
        given: the fields of its query or form, and the names in its path.
        pages: the templates.
        shared: what every template knows: the views, whether writes are allowed, the token of forms.
    """

    memory: TidalMemory
    path: str
    given: Mapping[str, str]
    pages: Environment = field(repr=False)
    shared: Mapping[str, Any] = field(repr=False)

    def text(self, name: str, default: str = "") -> str:
        """Return a field, or ``default`` if it is empty."""
        return self.given.get(name, "").strip() or default

    def choice(self, name: str, among: Sequence[str]) -> str:
        """Return a field that is one of several, the first by default. Raises ``InvalidInput``."""
        value = self.text(name, among[0])
        if value not in among:
            raise InvalidInput(f"{name} is one of {', '.join(among)}, got {shown(value)}")
        return value

    def number(self, name: str, default: int, least: int = 1, most: int = MAX_PAGE) -> int:
        """Return a field that is a whole number. Raises ``InvalidInput``."""
        value = self.text(name, str(default))
        if not (value.isascii() and value.isdigit() and least <= int(value[:9]) <= most and len(value) < 9):
            raise InvalidInput(f"{name} is a number from {least} to {most:,}, got {shown(value)}")
        return int(value)

    def time(self, name: str) -> datetime | None:
        """Return a field that is a date or a time, in the zone of the memory; ``None`` if it is empty."""
        if not (value := self.text(name)):
            return None
        try:
            at = datetime.fromisoformat(value)
            return (at if at.tzinfo else at.replace(tzinfo=self.memory.settings.zone)).astimezone()
        except (ValueError, OverflowError) as error:
            raise InvalidInput(f"{name} is a date such as 2026-05-01, got {shown(value)}") from error

    def listed(
        self, found: Sequence[T] | Callable[..., Sequence[T]], size: int = SIZE, name: str = "page", **asked: Any
    ) -> Listed[T]:
        """Return the page of a list that the field ``name`` asks for.

        ``found`` is the list, or a function that is called with what is ``asked``, with a ``limit`` and with how many
        to skip, ``after``.
        """
        number = self.number(name, 1)
        first = (number - 1) * size
        rows = found(**asked, limit=size + 1, after=first) if callable(found) else found[first : first + size + 1]
        return Listed(rows[:size], number, rows[size] if len(rows) > size else None)

    def fields(self, thing: object, *names: str) -> dict[str, str]:
        """Return some attributes of a thing by name, as text, without the empty ones."""
        found = {name.replace("_", " "): self.told(getattr(thing, name)) for name in names}
        return {name: value for name, value in found.items() if value}

    def rules(self, policy: Policy) -> dict[str, str]:
        """Return the rules of a policy in words."""
        rules = self.fields(policy, "allow", "deny", "max_duration", "max_signals")
        return {"allow": "everything that is not denied", **rules}

    def told(self, value: object) -> str:
        """Return a value as text: times in the zone of the memory, mappings as JSON, several with commas between."""
        if isinstance(value, datetime):
            return f"{value.astimezone(self.memory.settings.zone):%Y-%m-%d %H:%M}"
        if isinstance(value, Mapping):
            return json.dumps(value, ensure_ascii=False, default=str) if value else ""
        if isinstance(value, Collection) and not isinstance(value, str):
            return ", ".join(map(str, sorted(value) if isinstance(value, frozenset) else value))
        return "" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)

    def link(self, **changed: object) -> str:
        """Return the address of this page with some fields changed; ``None`` takes one away."""
        fields = {**self.given, **changed}
        return f"{self.path}?{urlencode({name: value for name, value in fields.items() if value not in (None, '')})}"

    def show(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return an answer made from a template."""
        text = self.pages.get_template(template).render({**self.shared, "page": self, **values})
        return Response(text.encode("utf-8", "replace"), status, media_type="text/html")

    def done(self, text: str, back: str) -> Response:
        """Return the answer of a hand that did something, with a link back."""
        return self.show("done.html", text=text, back=back)


def audited(page: Page, action: Action, subject: str) -> None:
    """Write down what is about to be done, in the session of the inspector. Raises ``PolicyViolation``.

    Call it once it is known that it can be done.
    """
    page.memory.sessions.open(agent=AGENT, thread=AGENT).permit(action, subject[:MAX_SUBJECT])


def digest(*texts: str) -> str:
    """Return a short text that differs where any of the texts does."""
    return sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:24]


def written(value: Any) -> str:
    """Return a value as :func:`parsed` reads it back: the text «5» has quotes, the number 5 has none."""
    plain = isinstance(value, str) and value == value.strip() and value.isprintable() and value
    return value if plain and parsed(value) == value else json.dumps(value, ensure_ascii=False)


def parsed(text: str) -> Any:
    """Return the JSON value of a text, or the text if it is none. Raises ``InvalidInput`` for too many levels."""
    try:
        value = json.loads(text, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError):
        return text
    check_depth(value, "a value")
    return value


def type_of(value: Any) -> str:
    """Return the type of a value in words."""
    return NAMES.get(type(value), "nothing")


def _finite(text: str) -> float:
    return value if math.isfinite(value := float(text)) else _refused(text)


def _refused(text: str) -> float:
    raise ValueError(text)
