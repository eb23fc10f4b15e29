"""The one gate for input: text and JSON are checked here, or refused with a reason, before anything is stored."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from itertools import islice
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tidal_plugins.errors import InvalidInput
from tidal_plugins.patterns import lazy_re
from tidal_plugins.shown import shown

MAX_METADATA_BYTES = 64 * 1024
"""Bytes that metadata may have as JSON."""


T = TypeVar("T")

MAX_ROWS = 10**9
"""Rows of a page, and rows that may be passed over."""

MAX_DEPTH = 32
"""Objects and arrays that JSON may nest."""

MAX_LABEL = 1_000
"""Characters of a name, an id, a tag, a source: more than a long path has. A file name has 255 at most."""

MAX_LABEL_BYTES = 1_800
"""Bytes of such a name in UTF-8: an index of PostgreSQL has values of 2,704 bytes at most."""

MAX_TAGS = 100
"""Tags of one note, and fields that one item of a store names. The tool by which models save a note admits 20."""

MAX_SURFACED = 1_000
"""Memories that were shown before one turn: as many as one recall returns."""

MAX_ID = 2**63 - 1
"""The largest number that names anything: an integer of SQLite."""

_MAX_INTEGER_BITS = 1024
_Place = tuple[str | int, ...]
_UNSTORABLE = lazy_re("[\0\ud800-\udfff]")  # SQLite ends a text at NUL, and UTF-8 has no surrogates
_TEXT = "a text"


def clean(text: object, *, max_chars: int, name: str = _TEXT) -> str:
    """Return ``text`` verbatim, except that each NUL and surrogate character becomes U+FFFD.

    ``name`` names the text in messages. Raises ``InvalidInput`` for anything that is no string, has only white space,
    or is longer than ``max_chars`` characters.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"{name} must be a str, got {type(text).__name__}")
    if not text.strip():
        raise InvalidInput(f"{name} must not be empty or only white space")
    if len(text) > max_chars:
        way_out = "split it, or raise Settings.recording.max_chars" if name == _TEXT else "shorten it"
        raise InvalidInput(f"{name} has {len(text):,} characters, and the limit is {max_chars:,}: {way_out}")
    return storable(text)


def clean_json(value: object, what: str, *, max_bytes: int, finite: bool = True) -> str:
    """Return ``value`` as canonical JSON: compact, keys sorted, not escaped; NUL and surrogates become U+FFFD.

    Mappings with string keys, lists, tuples, strings, finite numbers, booleans and ``None`` are JSON; without
    ``finite`` any number is. Raises ``InvalidInput``, which names the place of the bad value
    (``metadata.user.tags[2]``), for anything else, for more than 32 levels, and for more than ``max_bytes`` bytes of
    UTF-8.
    """
    return _Checker(what, max_bytes, finite).text(value)


class _Checker:
    def __init__(self, what: str, max_bytes: int, finite: bool) -> None:
        self.what = what
        self.finite = finite
        self.max_bytes = max_bytes
        self.left = max_bytes

    def text(self, value: object) -> str:
        plain = self.plain(value, ())
        text = json.dumps(plain, allow_nan=not self.finite, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        if len(text.encode()) > self.max_bytes:
            raise self.too_large()
        return text

    def plain(self, value: object, place: _Place) -> object:
        """Copy ``value`` as plain JSON types. Size is counted on the way, so that shared parts cannot explode."""
        self.spend(1)
        if isinstance(value, str):
            self.spend(len(value))
            return storable(value)
        if value is None or isinstance(value, bool | int | float):
            return self.scalar(value, place)
        if not isinstance(value, Mapping | list | tuple):
            raise self.refused(place, f"must be JSON, got {type(value).__name__}: give its text or its numbers")
        if len(place) == MAX_DEPTH:
            raise self.refused(place, f"is nested deeper than {MAX_DEPTH} levels: flatten it")
        if isinstance(value, Mapping):
            return {self.key(key, place): self.plain(item, (*place, key)) for key, item in value.items()}
        return [self.plain(item, (*place, index)) for index, item in enumerate(value)]

    def scalar(self, value: bool | int | float | None, place: _Place) -> bool | int | float | None:
        if self.finite and isinstance(value, float) and not math.isfinite(value):
            raise self.refused(place, f"is {value}, and JSON has finite numbers only: leave it out or use None")
        if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
            raise self.refused(place, f"is an integer of {value.bit_length():,} bits: give it as a string")
        return value

    def key(self, key: object, place: _Place) -> str:
        if not isinstance(key, str):
            raise self.refused(place, f"has a key of type {type(key).__name__}: JSON keys are strings")
        self.spend(len(key))
        return storable(key)

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise self.too_large()

    def too_large(self) -> InvalidInput:
        return InvalidInput(f"{self.what} has more than {self.max_bytes:,} bytes as JSON: store less in it")

    def refused(self, place: _Place, reason: str) -> InvalidInput:
        steps = (f"[{step}]" if isinstance(step, int) else f".{storable(step)[:40]}" for step in place)
        return InvalidInput(f"{self.what}{''.join(steps)} {reason}")


def check_depth(value: object, name: str) -> None:
    """Raise ``InvalidInput`` for a JSON value of more levels than any may have. It must be one that can be written."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        nested = [each for each in level if isinstance(each, Mapping | list | tuple)]
        if not nested:
            return
        level = [item for each in nested for item in (each.values() if isinstance(each, Mapping) else each)]
    raise InvalidInput(f"{name} is nested deeper than {MAX_DEPTH} levels: flatten it")


def is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogates, so that it can be stored as it is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def storable(text: str) -> str:
    """Return ``text`` with NUL and surrogate characters replaced by U+FFFD."""
    return text if text.isascii() and "\0" not in text else _UNSTORABLE.sub("\ufffd", text)


def check_number(value: float, name: str, low: float, high: float) -> float:
    """Return a number of a range as a float, or raise ``InvalidInput``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InvalidInput(f"{name} must be a number from {low} to {high}, got {shown(value)}")
    return float(value)


def check_int(value: int, name: str, low: int, high: int | None = None) -> int:
    """Return a whole number from ``low``, up to ``high`` if given, as it is, or raise ``InvalidInput``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
        limits = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise InvalidInput(f"{name} must be a whole number {limits}, got {shown(value)}")
    return value


def check_flag(value: bool, name: str) -> bool:
    """Return ``True`` or ``False`` as it is, or raise ``InvalidInput``."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} must be True or False, got {shown(value)}")
    return value


def check_page(limit: int | None, after: int) -> tuple[int | None, int]:
    """Return how many items to list, ``None`` for all, and how many of the first to pass over, or raise
    ``InvalidInput``."""
    passed = check_int(after, "after", 0, MAX_ROWS)
    return None if limit is None else check_int(limit, "limit", 1, MAX_ROWS), passed


def page_of(found: Sequence[T], limit: int | None, after: int) -> list[T]:
    """Return a page of what was found."""
    return list(found[after : None if limit is None else after + limit])


def check_choice(value: T, name: str, choices: Collection[T]) -> T:
    """Return one of a few texts as it is, or raise ``InvalidInput``, which names them all."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInput(f"{name} must be one of {', '.join(map(str, choices))}, got {shown(value)}")
    return value


def check_path(path: object, name: str) -> str:
    """Return a path as text, or raise ``InvalidInput`` for one that no file can have. Nothing is looked up."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise InvalidInput(f"{name} must be a non-empty path as a text, got {shown(path)}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} must be valid Unicode, got {shown(text)}") from None
    return text


def check_progress(progress: Callable[[int, int | None], None] | None) -> None:
    """Raise ``InvalidInput`` for a ``progress=`` that cannot be called, before anything is written."""
    if progress is not None and (isinstance(progress, type) or not callable(progress)):
        raise InvalidInput(f"progress is a function of two numbers, got {shown(progress)}")


def label(value: str | None, name: str) -> str | None:
    """Return a short name as it is (``None`` stays), or raise ``InvalidInput``."""
    return None if value is None else _short(value, name)


def labels(values: Iterable[str], name: str, most: int | None = None) -> tuple[str, ...]:
    """Return short names as a tuple, or raise ``InvalidInput``, also for more than ``most``; one string is not a
    sequence of names."""
    given = items(values if most is None else _first(values, name, most + 1), name)
    if most is not None and len(given) > most:
        raise InvalidInput(f"{name} are {most:,} at most, and there are more: give fewer")
    return tuple(_short(value, f"each of {name}") for value in given)


def is_short(text: str) -> bool:
    """Return whether a text is short enough for a name, an id or a key of anything."""
    return len(text) <= MAX_LABEL and (text.isascii() or len(text.encode(errors="replace")) <= MAX_LABEL_BYTES)


def _short(value: str, name: str) -> str:
    text = clean(value, max_chars=MAX_LABEL, name=name)
    if not is_short(text):
        raise InvalidInput(f"{name} has more than {MAX_LABEL_BYTES:,} bytes in UTF-8: shorten it")
    return text


def _first(values: Iterable[T], name: str, count: int) -> Iterable[T]:
    """Return the first elements of a collection that may be endless, or what is none as it is."""
    is_collection = isinstance(values, Iterable) and not isinstance(values, str | bytes)
    return tuple(islice(values, count)) if is_collection else values


def items(values: Iterable[T], name: str) -> tuple[T, ...]:
    """Return the elements of a collection as a tuple, or raise ``InvalidInput``; a text is not one."""
    return tuple(iterable(values, name))


def iterable(values: Iterable[T], name: str) -> Iterable[T]:
    """Return a collection or an iterator as it is, or raise ``InvalidInput``; a text is not one."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} must be a collection, such as a list, got {shown(values)}")
    return values


def shaped(value: T, kind: Any, name: str) -> T:
    """Return a ``Message``, an ``Exchange`` or another dataclass as it is if each of its fields has the declared type,
    however deep, or raise ``InvalidInput``. A list may stand for a tuple. What the values say is not looked at."""
    if not isinstance(value, kind):
        raise InvalidInput(f"{name} must be a {kind.__name__}, got {shown(value)}")
    if (field := _first_unfit(value, kind)) is not None:
        hint = str(get_type_hints(kind)[field])
        expected = re.sub(r"<class '|'>|\b(?:\w+\.)+", "", hint)  # ``str | None``, without names of modules
        given = shown(getattr(value, field))
        raise InvalidInput(f"{field} of {name} must be {expected}, got {given}: see {kind.__name__}")
    return value


_FIELDS = "__dataclass_fields__"


@cache
def _fields(kind: Any) -> dict[str, Callable[[Any], bool]]:
    """Return for each field of a dataclass a function that tells whether a value has the declared type."""
    return {field: _check(hint) for field, hint in get_type_hints(kind).items() if field in getattr(kind, _FIELDS)}


@cache
def _check(hint: Any) -> Callable[[Any], bool]:
    outer, inner = get_origin(hint), get_args(hint)
    if outer in (Union, UnionType):
        if all(isinstance(one, type) and not is_dataclass(one) for one in inner):
            return lambda value: isinstance(value, inner)
        checks = [_check(one) for one in inner]
        return lambda value: any(check(value) for check in checks)
    if outer is Literal:
        return lambda value: isinstance(value, str)  # which text it may be is checked where it is used
    if outer is None and isinstance(hint, type) and is_dataclass(hint):
        return lambda value: isinstance(value, hint) and _first_unfit(value, hint) is None
    if outer is None:
        return lambda value: hint is Any or isinstance(value, hint)
    if issubclass(outer, Mapping):
        return lambda value: isinstance(value, (dict, Mapping))  # the usual one first: to ask a protocol takes longer
    each = _check(inner[0])
    return lambda value: (
        not isinstance(value, str | bytes) and isinstance(value, (tuple, list, Sequence)) and all(map(each, value))
    )


def _first_unfit(value: Any, kind: Any) -> str | None:
    """Return the first field of a dataclass whose value has not the declared type. It runs for every message."""
    for field, fits in _fields(kind).items():
        if not fits(getattr(value, field)):
            return field
    return None


def mapping(value: Mapping[str, Any], name: str, max_bytes: int, *, finite: bool = True) -> dict[str, Any]:
    """Return a mapping as plain JSON, as it will be read back, or raise ``InvalidInput``.

    Without ``finite`` infinite numbers are let through: what is compared with, not stored, may be one.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} must be a mapping, got {type(value).__name__}")
    if not value:
        return {}
    plain: dict[str, Any] = json.loads(clean_json(value, name, max_bytes=max_bytes, finite=finite))
    return plain
