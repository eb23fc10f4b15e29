"""The SQL of PostgreSQL, its errors as errors of this library, and how texts, words and scopes are stored.

Lists are arrays, and rows have columns of their own for filters by tags and metadata. Words are
numbers, and are analysed as FTS5 does. A text of PostgreSQL cannot hold U+0000: it is written as two characters, and so
is U+0001. The order of texts stays the order of their characters.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.types.string import StrDumperUnknown
from snowballstemmer.porter_stemmer import PorterStemmer

from tidal_plugins.errors import Busy, DiskFull, InvalidInput, QueryTimeout, ReadOnly, StorageError
from tidal_plugins.patterns import lazy_re
from tidal_plugins.storage.base import HEAD, TAIL, WhereLinks
from tidal_plugins.storage.rows import check_storable, hashed, to_json
from tidal_plugins.storage.sql.dialect import ARRAY, Dialect, Insert, Part, Update
from tidal_plugins.storage.sql.schema import BYTES

LONGEST_WORD = 64
"""Bytes of the longest word that is stemmed."""

_MARK = f"s{0:019d}x"  # the SQLite engine marks every word so; it has part in the rules of stemming
_WORD = lazy_re(r"[^\W_]+")


@lru_cache(maxsize=1 << 14)
def tokens(word: str) -> tuple[str, ...]:
    """Return a word in the form in which it is compared: by its stem, without case and accents. One that punctuation
    divides is several tokens."""
    letters = unicodedata.normalize("NFD", _MARK + word.lower())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return tuple(_stem(token) for token in _WORD.findall(plain))


def _stem(token: str) -> str:
    if len(token.encode(errors="replace")) > LONGEST_WORD:
        return token
    if token.endswith("bly"):  # a rule that FTS5 has beyond Porter's first ones
        token = token[:-1] + "e"
    return str(PorterStemmer().stemWord(token))


ESCAPE = "\x01"


def escaped(text: str) -> str:
    """Return a text without U+0000."""
    if "\0" in text or ESCAPE in text:
        return text.replace(ESCAPE, "\x01\x02").replace("\0", "\x01\x01")
    return text


def unescaped(text: str) -> str:
    """Return the text that was escaped."""
    if ESCAPE not in text:
        return text
    parts, place = list[str](), 0
    while (found := text.find(ESCAPE, place)) >= 0:
        parts += [text[place:found], "\0" if text[found + 1 : found + 2] == ESCAPE else ESCAPE]
        place = found + 2
    return "".join([*parts, text[place:]])


def array_of(texts: Sequence[str]) -> str:
    """Return texts as PostgreSQL writes an array of them: rows may then have arrays of different lengths."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


def adapt(connection: psycopg.Connection[Any]) -> None:
    """Let a connection escape every text that it sends, and undo that in every text that it reads."""

    class Escaped(StrDumperUnknown):  # type: ignore[misc]
        def dump(self, obj: str) -> Any:
            return super().dump(escaped(obj))

    class Unescaped(Loader):  # type: ignore[misc]
        format = Format.BINARY

        def load(self, data: Any) -> str:
            return unescaped(bytes(data).decode())

    connection.adapters.register_dumper(str, Escaped)
    connection.adapters.register_loader("text", Unescaped)


@lru_cache(maxsize=1 << 16)
def token_number(token: tuple[str, ...]) -> int:
    """Return the number by which the keyword index knows a word."""
    return hashed(" ".join(token))


TOO_LONG = (
    "a question took longer than its deadline; ask for less, with fewer words, a smaller limit or depth, or raise "
    "Settings.storage.query_deadline"
)

_AUTHORITY = lazy_re(r"[^/?#]*")
_HOSTS = lazy_re(r"(\[[^\]]*\]|[^:,]*)(:\d*)?(,(\[[^\]]*\]|[^:,]*)(:\d*)?)*")

_SECRET = ("password", "sslpassword", "passfile", "sslkey")
"""Parameters of a URL that are not shown."""


def shown_url(url: str) -> str:
    """Return a URL without its secrets."""
    try:
        parts = urlsplit(url)
        if is_ambiguous(url):
            raise ValueError
        user, at, host = parts.netloc.rpartition("@")
        query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name not in _SECRET], safe="/")
        return urlunsplit((parts.scheme, f"{user.partition(':')[0]}{at}{host}", parts.path, query, ""))
    except ValueError:
        return url.partition("://")[0] + "://…"


def is_ambiguous(url: str) -> bool:
    """Return whether one cannot tell where the password of a URL ends: it has a character that divides a URL."""
    rest = url.partition("://")[2]
    place = _AUTHORITY.match(rest)
    user = place[0] if place else ""
    if "@" in user:
        return user.count("@") > 1
    return "@" in rest.partition("?")[0] or ("@" in rest and not _HOSTS.fullmatch(user))


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise PostgreSQL's errors as errors of this library, with a remedy each. ``path`` is a URL without secrets."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidInput(f"a text holds a lone surrogate ({error.reason}); replace it before storing") from error
    except psycopg.Error as error:
        raise translation(path, error) from error


def translation(path: str, error: psycopg.Error) -> Exception:
    """Return the error of this library that stands for one of PostgreSQL's."""
    state, message = error.sqlstate or "", str(error).strip().partition("\n")[0]
    match state[:2], state:
        case _, "57014":
            return QueryTimeout(TOO_LONG)
        case _, "55P03":
            return Busy(f"another process kept {path} locked for too long; try again, or raise busy_timeout")
        case "40", _:
            busy = Busy(
                f"{path} ended this transaction in favour of others ({message}); try again: nothing was written"
            )
            busy.overruled = True
            return busy
        case _, "53300":
            return Busy(f"{path} takes no more connections ({message}); nothing was written: try again")
        case ("53", _) | (_, "58030"):
            return DiskFull(f"the server of {path} has no room ({message}); nothing was written. Free some, try again")
        case _, "23502" if (error.diag.table_name or "").startswith("tidal_scopes"):
            return StorageError(
                "two scopes have the same number, which happens once in 2^63: name this one differently"
            )
        case _, "25006":
            return ReadOnly(f"{path} takes no writes ({message}); write to the primary server")
        case _, "42501":
            return ReadOnly(f"the role at {path} lacks a right ({message}); docs/postgres.md lists the grants it needs")
        case _, "54000":
            return InvalidInput(f"a name or an id is too long for an index of PostgreSQL: shorten it ({message})")
        case "22", "22003":
            return InvalidInput(f"a number is too large for PostgreSQL ({message})")
        case "22", _:
            return InvalidInput(f"PostgreSQL refused a value ({message})")
    if is_lost(error):
        return StorageError(
            f"the connection to {path} failed ({message or 'it was lost'}); the next call opens another"
        )
    return StorageError(f"PostgreSQL failed on {path}: {type(error).__name__}: {message}")


def is_lost(error: BaseException) -> bool:
    """Return whether an error means that the connection is gone."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    state = error.sqlstate or ""
    return not state or state[:2] in ("08", "57")


TEXTS, NUMBERS = "ANY (%s::text[])", "ANY (%s::bigint[])"


class Postgres(Dialect):
    """The SQL of PostgreSQL."""

    tokens: ClassVar = {
        "?": "%s",
        "IN ?texts": f"= {TEXTS}",
        "IN ?numbers": f"= {NUMBERS}",
        "@": "tidal_",
        "^": "",
        "INDEXED BY log_by_key": "",
    }
    by_id = f"tidal_entries {{0}} WHERE {{0}}.id = {TEXTS} AND {{0}}.scope = %s"
    by_key = f"tidal_entries {{0}} WHERE {{0}}.key = {NUMBERS} AND {{0}}.scope = %s"
    indexed = "(SELECT count(*) FROM tidal_passages p WHERE p.scope = e.scope AND p.entry = e.key)"
    # All of a text where some characters are written as two.
    ends = f"""
        CASE WHEN strpos(e.text, chr(1)) > 0 THEN e.text ELSE left(e.text, {HEAD}) END,
        CASE WHEN strpos(e.text, chr(1)) > 0 THEN e.text ELSE right(e.text, {TAIL}) END
    """
    tagged = "e.tagged && %s::text[]"

    def array(self, values: Collection[Any]) -> list[Any]:
        return list(values)

    def check(self, values: Iterable[Any]) -> None:
        check_storable(values)

    def metadata(self, table: str, items: Mapping[str, Any]) -> Sequence[Part]:
        return [(f"{table}.facets @> %s::text[]", (facets(items),))]

    def link_ends(self, scope: int, where: WhereLinks) -> Sequence[Part]:
        parts = list[Part]()
        if where.ids is not None:
            parts.append(("l.id IN ?texts", (sorted(where.ids),)))
        if where.ends is not None:
            parts.append(("(l.source IN ?texts OR l.target IN ?texts)", (sorted(where.ends),) * 2))
        return parts

    def _insert(self, insert: Insert) -> str:
        columns, rows, values = _unnested(insert)
        return f"""
            INSERT INTO tidal_{insert.table} ({", ".join([*insert.shared, *columns])})
            SELECT {"%s, " * len(insert.shared)}{", ".join(values.values())} FROM {rows}
            {insert.on_conflict(columns)}
        """

    def _update(self, update: Update) -> str:
        columns, rows, values = _unnested(update)
        key = list(update.columns)[-1]
        shared = [f"{column} = %s" for column in update.shared]
        own = [f"{column} = {values[column]}" for column in columns if column != key]
        return f"""
            UPDATE tidal_{update.table} e SET {", ".join(shared + own)}
            FROM {rows} WHERE e.{key} = u.{key} AND e.scope = %s
        """


POSTGRES = Postgres()


def facets(metadata: Mapping[str, Any]) -> list[str]:
    """Return the items of metadata as texts that are equal if the items are.

    As in JSON, 1 is 1.0, but neither true nor "1". Lists and objects are equal if they are written alike.
    """
    return [to_json([name, _plain(value)]) for name, value in metadata.items()]


def facets_of(stored: str) -> list[str]:
    """Return the facets of metadata that are stored as JSON."""
    found = {} if stored == "{}" else json.loads(stored)
    return facets(found) if isinstance(found, dict) else []


def _unnested(statement: Insert | Update) -> tuple[list[str], str, dict[str, str]]:
    """Return the columns of rows, the rows as a table ``u`` that arrays make, and the value of each column."""
    types = {**statement.columns, **dict.fromkeys(statement.filed, ARRAY)}
    given = {BYTES: "%b::bytea[]", ARRAY: "%s::text[]"}
    arrays = ", ".join(given.get(type_, f"%s::{type_}[]") for type_ in types.values())
    values = {column: f"u.{column}{'::text[]' if type_ == ARRAY else ''}" for column, type_ in types.items()}
    return list(types), f"unnest({arrays}) u ({', '.join(types)})", values


def _plain(value: Any) -> Any:
    """Return a value as it compares. SQL has integers of 64 bits; longer ones are compared as real numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else int(float(value))
    return int(value) if value == value and abs(value) != float("inf") and value.is_integer() else value
