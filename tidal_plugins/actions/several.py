"""Results that show several files one after another, and what they show of each."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from tidal_plugins.actions.action import Read
from tidal_plugins.patterns import lazy_re


def part(text: str, read: Read) -> str:
    """Return what a result that shows several files shows of one of them; all of a text that shows no other.

    Known are the marks of the MCP server «filesystem» (``path:``, between ``---``), of Gemini (``--- path ---``), of
    ``head`` (``==> path <==``), elements with the path as an attribute or an element, and objects with a text by path.
    """
    if not read.together:
        return text
    with suppress(ValueError):
        value = json.loads(text)
        if isinstance(value, dict) and not value.keys().isdisjoint(read.together):
            return str(value.get(read.path, ""))
    marks = {path: _mark(path).search(text) for path in read.together}
    mine = marks[read.path]
    if mine is None:
        return text if len(read.together) == 1 and not any(marks.values()) else ""
    if mine["missing"]:
        return ""
    later = [found.start() for found in marks.values() if found and found.start() > mine.start()]
    shown_ = text[mine.end() : min(later, default=len(text))]
    if mine["mcp"]:
        return shown_.removesuffix("\n---\n").removesuffix("\n") if later else shown_.removesuffix("\n")
    return _CLOSED.sub("", shown_.lstrip("\n") if mine["gemini"] else shown_)


def _mark(path: str) -> re.Pattern[str]:
    """Return the pattern of the line that stands above a file of several: the path as it was given, or a longer one."""
    name = rf"(?:[^\s<>\"']*/)?{re.escape(path)}"
    marks = (
        rf"(?:\A|(?<=\n---\n))(?:(?P<mcp>{name}:\n)|(?P<missing>{name}: Error\b))",
        rf"^(?P<gemini>--- {name} ---\n)",
        rf"^==+> {name} <==+\n|^==+ (?:File: )?{name} ==+\n",
        rf"^<\w+ (?:path|name|file)=[\"']{name}[\"'][^>\n]*>\n?",
        rf"^(?:<file>\s*)?<path>{name}</path>\n(?:<content[^>\n]*>\n?)?",
    )
    return re.compile("|".join(marks), re.MULTILINE)


_CLOSED = lazy_re(
    r"\n?(?:\n--- End of content ---|</(?:file|document|content)>|<file>|\n---|</files>|\s)*\Z", re.IGNORECASE
)
