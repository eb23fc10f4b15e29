"""Texts as PostgreSQL stores them, which cannot hold U+0000: it is written as two characters, and so is U+0001.

The order of texts stays the order of their characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection

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


def adapt(connection: Connection[Any]) -> None:
    """Let a connection escape every text that it sends, and undo that in every text that it reads."""
    from psycopg.adapt import Loader
    from psycopg.pq import Format
    from psycopg.types.string import StrDumperUnknown

    class Escaped(StrDumperUnknown):  # type: ignore[misc]
        def dump(self, obj: str) -> Any:
            return super().dump(escaped(obj))

    class Unescaped(Loader):  # type: ignore[misc]
        format = Format.BINARY

        def load(self, data: Any) -> str:
            return unescaped(bytes(data).decode())

    connection.adapters.register_dumper(str, Escaped)
    connection.adapters.register_loader("text", Unescaped)
