"""Transcript: the messages of a turn as text to read, whole or by the page [SIYA §2.4]."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.compaction import RestoredFile
from tidal_plugins.model.delimiters import inert, mark_of
from tidal_plugins.model.exchange import Episode, Message, ToolCall
from tidal_plugins.patterns import lazy_re

_BREAK = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_UNSEEN = rf"[^\w\[\]\x21-\x7e{_BREAK}]*"
_ROLES = ("system", "user", "assistant", "tool", "call", "result", "error")
_IMITATED = lazy_re(
    rf"((?:\A|[{_BREAK}]){_UNSEEN})"
    rf"(?=[\[\uff3b\u3010\u3014]{_UNSEEN}(?:{'|'.join(_UNSEEN.join(role) for role in _ROLES)})(?![a-z]))",
    re.IGNORECASE,
)
"""The beginning of a line that reads as the author's line of a message, with white space and characters in it that
nobody sees, after any character that ends a line."""
_AUTHOR = 200
"""Characters in which an author's line is looked for where a long line is cut."""
_BREAKS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}
"""The characters that end a line which JSON does not escape."""


def transcript(messages: Sequence[Message]) -> str:
    """Return the messages, each under a line with its author; calls of tools have their arguments as JSON.

    A result stands under the name of the tool and the id of its call, and is marked if it is an error. A line within a
    message that reads as the author's line of another begins with a backslash: ``\\[user]``. All else is verbatim.
    """
    names: dict[str | None, str] = {}
    lines: list[str] = []
    for message in messages:
        names |= {call.id: call.name for call in message.tool_calls if call.id}
        lines += _lines(message, names)
    return "\n".join(lines)


def page(
    episode: Episode, number: int, max_chars: int = 4_000, *, previous: str | None = None, following: str | None = None
) -> str:
    """Return page ``number``, from 1, of an episode's transcript, between marks that its content cannot forge.

    The marks name the episode, and the ``previous`` and the ``following`` one if these ids are given. A page has at
    most ``max_chars`` characters of the transcript and ends with a line if possible. The texts between the marks' lines
    of all pages are the whole transcript. Raises ``InvalidInput`` for a page that does not exist.
    """
    if max_chars < 1:
        raise InvalidInput(f"max_chars must be at least 1, got {max_chars}")
    pages = _paged(episode, max_chars)
    if not 1 <= number <= len(pages):
        have = "1 page" if len(pages) == 1 else f"{len(pages)} pages"
        raise InvalidInput(f"episode {episode.id} has {have}, counted from 1: there is no page {number}")
    names = {"id": episode.id, "page": f"{number}/{len(pages)}", "previous": previous, "next": following}
    return marked(pages[number - 1], " ".join(f'{name}="{value}"' for name, value in names.items() if value))


def page_count(episode: Episode, max_chars: int = 4_000) -> int:
    """Return how many pages of ``max_chars`` characters an episode has."""
    return len(_paged(episode, max_chars))


def _paged(episode: Episode, max_chars: int) -> list[str]:
    return list(_pages(unmarked(transcript(episode.messages)), max_chars))


def marked(text: str, attributes: str) -> str:
    """Put text between the marks of an episode. Remove anything that resembles a mark first: see ``unmarked``."""
    return f"<tidal-episode {attributes}>\n{text}\n</tidal-episode>"


def file_text(file: RestoredFile) -> str:
    """Return a restored file between marks that neither its content nor its path can forge: for a provider that refuses
    calls of tools which its own model did not make."""
    path = inert(file.path).replace('"', "'")
    opening = f'<tidal-file path="{path}" seen="{file.seen.isoformat(timespec="seconds")}" reads="{file.reads}">'
    return f"{opening}\n{mark_of('file').sub('‹', file.content)}\n</tidal-file>"


def unmarked(text: str) -> str:
    """Return ``text`` without what reads as the mark of an episode; all else stays as it is."""
    return mark_of("episode").sub("‹", text)


def _lines(message: Message, names: Mapping[str | None, str]) -> Iterator[str]:
    if not message.text and not message.tool_calls and message.role != "tool":
        return  # there is nothing but reasoning
    if message.role == "tool":
        kind = "error" if message.error else "result"
        yield _head(kind, names.get(message.tool_call_id), message.tool_call_id)
    else:
        yield _head(message.role, message.speaker)
    if message.text:
        yield _IMITATED.sub(r"\1\\", message.text)
    for call in message.tool_calls:
        yield f"{_head('call', call.name, call.id)} {_arguments(call)}"


def _head(*parts: str | None) -> str:
    names = (inert(part).replace("[", "(").replace("]", ")") for part in parts if part)
    return f"[{' '.join(names)}]"


def _arguments(call: ToolCall) -> str:
    return json.dumps(dict(call.arguments), ensure_ascii=False, default=str).translate(_BREAKS)


def _pages(text: str, max_chars: int) -> Iterator[str]:
    start = 0
    while len(text) - start > max_chars:
        end = text.rfind("\n", start, start + max_chars) + 1 or _within(text, start, start + max_chars)
        yield text[start:end]
        start = end
    yield text[start:]


def _within(text: str, start: int, end: int) -> int:
    """Return where to cut a long line, at ``end`` or before, so that no page begins with what reads as an author."""
    place = end
    while place > start + 1 and _IMITATED.match(text[place : place + _AUTHOR]):
        place -= 1
    return place
