"""Results of tools: the lines of a file that they show, and whether they tell of a failure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal, NamedTuple

from tidal_plugins.actions.calls import Read
from tidal_plugins.actions.paths import joined, normal
from tidal_plugins.patterns import lazy_re

LONG_LINE = 2_000
"""Characters at which widespread reading tools cut a line (Claude Code's ``Read``, SWE-agent). A numbered line of this
length is not taken for whole."""

USUAL_LIMITS = frozenset({100, 200, 250, 400, 500, 1_000, 2_000, 5_000})
"""Numbers of lines after which reading tools stop by default: a reading of just as many may go on."""

SHORT = 600
"""Characters up to which a result may be a message of failure. Longer ones are only known as such by clear words."""

_NUMBERED = lazy_re(r"^(?: *(\d+)(?:[\t→]| \| )|(\d+):)(.*)$")
_FRAME = lazy_re(r"(?i)^\s*(?:[<(\[]|…|\.\.\.|note\b|here\b|showing\b|file\b|contents?\b|lines?\b|\Z)")

_ERROR = lazy_re(
    r"(?i)\A\W*(?:error\b|failed\b|failure\b|fatal:|invalid\b|cannot |could not |unable to |permission denied|"
    r"access denied|no replacement was performed|file not found)"
)
_REFUSED = lazy_re(r"(?i)\A\s*(?:<tool_use_error>|Traceback \(most recent call|Your proposed edit has introduced)")
_MAYBE = lazy_re(
    r"(?i)\A\W*(?:bash|sh|zsh|cat|head|tail|sed|nl|tee|cp|mv|rm|git|patch)\S*: \S|\bnot been read yet\b|\btimed out\b"
    r"|\bno such file\b|\bnot found\b|\bis a directory\b|\b(?:does|do|did) not (?:exist|match)\b"
)
_MISSING = lazy_re(r"(?i)\bno such file\b|\bnot found\b|\b(?:does|do) not exist\b|\bENOENT\b")
_TROUBLE = lazy_re(
    r"(?im)\bexit(?:ed)?(?: with)?(?: status| code)?[ :=]+(?:code )?-?[1-9]\d*\b"
    r"|\breturned non-zero\b|<exit_code>-?[1-9]"
    r"|^(?:bash|sh|zsh|/bin/\w+|cat|head|tail|sed|tee|cp|mv|rm|mkdir|git|fatal|error|patch|apply_patch|"
    r"\w+: line \d+)\b.{0,4}: |command not found"
)
_REWRITTEN = lazy_re(
    r"(?i)\b(?:reformatted|files? were modified by|would like to fix|[1-9]\d* (?:files? (?:re)?formatted|fixed))\b"
)
_TRUNCATED = lazy_re(
    r"(?im)^.{0,40}(?:\[|\(|<|…|\.\.\.).{0,80}"
    r"\b(?:truncated|omitted|clipped|left out|more lines|characters remaining|lines remaining)\b"
)
_TOTAL = lazy_re(
    r"(?i)\blines? \d+ ?(?:-|–|to) ?\d+ (?:of|/) (\d+)\b|\b(?:total )?of (\d+)(?: total)? lines?\b"
    r"|\b(\d+) lines total\b"
)
_WINDOW = lazy_re(r"(?m)^\[File: (.+?) \((\d+) lines total\)\]$")
_CURSOR = lazy_re(r"(?m)^<{5} (?:START|END) CURSOR >{5}\n")
_FOLDER = lazy_re(r"(?m)^\(Current directory: (/.*)\)$")
_TRAILER = lazy_re(
    r"(?i)(?:\n|\A)(?:\((?:Open file|Current directory): .*\)|bash-\$|<exit_code>0</exit_code>"
    r"|\[?(?:the )?(?:command )?(?:completed|finished|exited)?(?: with )?exit code:? 0\.?\]?"
    r"|\[(?:Current working directory|Python interpreter): .*\])\s*\Z"
)
_CLOSED = lazy_re(r"(?i)\n?(?:\n--- End of content ---|</(?:file|document|content)>|<file>|\n---|</files>|\s)*\Z")


class Shown(NamedTuple):
    """Lines of a file that a result shows, by number; ``total`` is how many there are, if the result tells."""

    lines: Mapping[int, str]
    total: int | None = None
    numbered: bool = True


def failed(text: str) -> Literal["surely", "maybe", ""]:
    """Return whether a result reads like a failure. Tools do not always mark theirs."""
    if _REFUSED.match(text) or (len(text) <= SHORT and _ERROR.match(text)):
        return "surely"
    return "maybe" if len(text) <= SHORT and _MAYBE.search(text) and not _NUMBERED.match(text) else ""


def missing(text: str) -> bool:
    """Return whether a failed reading says that there is no such file."""
    return len(text) <= SHORT and _MISSING.search(text) is not None


def troubled(text: str) -> bool:
    """Return whether a part of a command seems to have failed."""
    return _TROUBLE.search(text) is not None


def rewritten(text: str) -> bool:
    """Return whether a command says that it rewrote files."""
    return _REWRITTEN.search(text) is not None


def folder(text: str) -> str | None:
    """Return the working folder that a result tells."""
    found = _FOLDER.findall(text)
    return normal(found[-1]) or None if found else None


def window(text: str) -> tuple[str, Shown] | None:
    """Return the path and the lines of an editor's window, as SWE-agent shows one after each of its commands."""
    heads = list(_WINDOW.finditer(text))
    if not heads:
        return None
    lines = _lines(_CURSOR.sub("", text[heads[-1].end() :]))
    path = joined(folder(text) or "", normal(heads[-1][1]))
    return (path, Shown(lines, int(heads[-1][2]))) if lines or heads[-1][2] == "0" else None


def snippet(text: str) -> Shown:
    """Return the numbered lines that an edit shows after it was made."""
    return Shown(_lines(text))


def shown(read: Read, text: str) -> Shown | None:
    """Return the lines that a reading shows, or ``None`` for a result that is no content."""
    text = _part(text, read)
    if not text.strip():
        return None
    if read.numbered is not False and (lines := _lines(text)):
        first = max(read.start or 0, 1)
        if read.numbered or (min(lines) in (first, first + 1) and _framed(text, len(lines))):
            return _numbered(read, text, lines)
    return None if read.numbered or _TRUNCATED.search(text) else _plain(read, bare(text))


def bare(text: str) -> str:
    """Return a text without the lines that a shell's tool puts below it."""
    while found := _TRAILER.search(text, max(0, len(text) - SHORT)):
        text = text[: found.start()]
    return text


def _framed(text: str, count: int) -> bool:
    """Return whether numbered lines are all of a text, but for words of the tool around them."""
    lines = text.split("\n")
    first = next(place for place, line in enumerate(lines) if _NUMBERED.match(line))
    after = [line for line in lines[first + count :] if line.strip()]
    return all(map(_FRAME.match, [*lines[:first], *after[:1]]))


def _numbered(read: Read, text: str, lines: Mapping[int, str]) -> Shown:
    frame = "\n".join(line for line in text.split("\n") if not _NUMBERED.match(line))
    told = next((int(n) for found in _TOTAL.findall(frame) for n in found if n), None)
    last, asked, cut = max(lines), _asked(read), _TRUNCATED.search(frame) is not None
    if told is None and not cut and (asked is not None or read.end is None or read.end < 0):
        stopped = len(lines) >= asked if asked is not None else len(lines) in USUAL_LIMITS
        told = None if stopped else last
    whole = {number: line for number, line in lines.items() if len(line) < LONG_LINE and not (cut and number == last)}
    return Shown(whole, told if told is None or told >= last else None)


def _plain(read: Read, text: str) -> Shown | None:
    lines = text.removesuffix("\n").split("\n")
    start, asked = read.start or 1, _asked(read)
    if start < 1 or (asked is not None and len(lines) > asked):
        return None
    whole = read.start is None and asked is None
    return Shown(dict(enumerate(lines, start)), len(lines) if whole else None, numbered=False)


def _asked(read: Read) -> int | None:
    """Return how many lines were asked for."""
    if read.limit is not None or read.end is None or read.end < 0:
        return read.limit
    return read.end - (read.start or 1) + 1


def _lines(text: str) -> dict[int, str]:
    """Return the longest run of lines whose numbers follow each other."""
    best: dict[int, str] = {}
    run: dict[int, str] = {}
    for line in text.split("\n"):
        found = _NUMBERED.match(line)
        number = int(found[1] or found[2]) if found else 0
        if not (found and run and number == next(reversed(run)) + 1):
            run = {}
        if found and number:
            run[number] = found[3]
        best = run if len(run) > len(best) else best
    return best


def _part(text: str, read: Read) -> str:
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
    later = [found.start() for found in marks.values() if found and found.start() > mine.start()]
    part = text[mine.end() : min(later, default=len(text))]
    if mine["mcp"]:
        return part.removesuffix("\n---\n").removesuffix("\n") if later else part.removesuffix("\n")
    return "" if mine["missing"] else _CLOSED.sub("", part.lstrip("\n") if mine["gemini"] else part)


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
