"""Results of tools: the lines of a file that they show, and whether they tell of a failure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tidal_plugins.actions.action import Read
from tidal_plugins.actions.paths import normal
from tidal_plugins.patterns import lazy_re

LONG_LINE = 2_000
"""Characters at which widespread reading tools cut a line (Claude Code's ``Read``, SWE-agent). A numbered line of this
length is not taken for whole."""

USUAL_LIMITS = frozenset({100, 200, 250, 400, 500, 1_000, 2_000, 5_000})
"""Numbers of lines after which reading tools stop by default: a reading of just as many may go on."""

SHORT = 600
"""Characters up to which a result may be a message of failure. Longer ones are only known as such by clear words."""

_COLONS = lazy_re(r"^(\d+):(.*)$")
_TABBED = lazy_re(r"^ *(\d+)[\t→](.*)$")
_BARRED = lazy_re(r"^ *(\d+) \| (.*)$")
_NUMBERED = lazy_re(f"{_COLONS.pattern}|{_TABBED.pattern}|{_BARRED.pattern}")
_FRAME = lazy_re(r"^\s*(?:[<(\[]|…|\.\.\.|note\b|here\b|showing\b|file\b|contents?\b|lines?\b|\Z)", re.IGNORECASE)

_REFUSED = lazy_re(
    r"\A\s*(?:<tool_use_error>|Traceback \(most recent call last\)|Your proposed edit has introduced)", re.IGNORECASE
)
_ERROR = lazy_re(
    r"\A\W*(?:error\b|failed\b|failure\b|fatal:|invalid\b|cannot |could not |unable to |permission denied|"
    r"access denied|no replacement was performed|file not found)",
    re.IGNORECASE,
)
_MAYBE = lazy_re(
    r"\A\W*(?:bash|sh|zsh|cat|head|tail|sed|nl|tee|cp|mv|rm|git|patch)\S*: \S"
    r"|\bno such file or directory\b|\bnot found\b|\bno replacement was performed\b|\bnot been read yet\b"
    r"|\bis a directory\b|\b(?:does|do|did) not (?:exist|match)\b|\btimed out\b",
    re.IGNORECASE,
)
_MISSING = lazy_re(r"\bno such file\b|\bnot found\b|\b(?:does|do) not exist\b|\bENOENT\b", re.IGNORECASE)
_EXIT = lazy_re(
    r"\bexit(?:ed)?(?: with)?(?: status| code)?[ :=]+(?:code )?-?[1-9]\d*\b|\breturned non-zero\b|<exit_code>-?[1-9]",
    re.IGNORECASE,
)
_TROUBLE = lazy_re(
    r"^(?:bash|sh|zsh|/bin/\w+|cat|head|tail|sed|tee|cp|mv|rm|mkdir|git|fatal|error|patch|apply_patch|"
    r"\w+: line \d+)\b.{0,4}: |command not found",
    re.MULTILINE | re.IGNORECASE,
)
_ASTRAY = lazy_re(
    r"\b(?:cd|pushd|popd): .{0,300}?"
    r"(?:no such file|not a directory|permission denied|not set|can't cd|directory stack)",
    re.IGNORECASE,
)
_REWRITTEN = lazy_re(
    r"\b(?:reformatted|files? were modified by|would like to fix|[1-9]\d* (?:files? (?:re)?formatted|fixed))\b", re.I
)
_TRUNCATED = lazy_re(
    r"^.{0,40}(?:\[|\(|<|…|\.\.\.).{0,80}"
    r"\b(?:truncated|omitted|clipped|left out|more lines|characters remaining|lines remaining)\b",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD = lazy_re(r"^\[File: (.+?) \((\d+) lines total\)\]$", re.MULTILINE)
_TOTAL = lazy_re(r"\b(?:lines \d+ ?[-–to]+ ?\d+ of|total of|of) (\d+)(?: total)? lines?\b|\b(\d+) lines total\b", re.I)
_OF = lazy_re(r"\blines? \d+ ?(?:-|–|to) ?\d+ (?:of|/) (\d+)\b", re.I)
_MORE = lazy_re(r"\((\d+) more lines (above|below)\)")
_CURSOR = lazy_re(r"^<{5} (?:START|END) CURSOR >{5}\n", re.MULTILINE)
_FOLDER = lazy_re(r"^\(Current directory: (/.*)\)$", re.MULTILINE)
_TRAILER = lazy_re(
    r"(?:\n|\A)(?:\((?:Open file|Current directory): .*\)|bash-\$|<exit_code>0</exit_code>"
    r"|\[?(?:the )?(?:command )?(?:completed|finished|exited)?(?: with )?exit code:? 0\.?\]?"
    r"|\[(?:Current working directory|Python interpreter): .*\])\s*\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Shown:
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
    return _EXIT.search(text) is not None or _TROUBLE.search(text) is not None


def astray(text: str) -> bool:
    """Return whether a shell says that it could not go to a folder, so that what follows ran in another."""
    return _ASTRAY.search(text) is not None


def rewritten(text: str) -> bool:
    """Return whether a command says that it rewrote files."""
    return _REWRITTEN.search(text) is not None


def folder(text: str) -> str | None:
    """Return the working folder that a result tells."""
    found = _FOLDER.findall(text)
    return normal(found[-1]) or None if found else None


def opened(text: str) -> str:
    """Return the path of the file in an editor's window, or an empty text."""
    found = _HEAD.findall(text)
    return normal(found[-1][0]) if found else ""


def window(text: str) -> tuple[str, Shown] | None:
    """Return the path and the lines of an editor's window, as SWE-agent shows one after each of its commands."""
    heads = list(_HEAD.finditer(text))
    if not heads:
        return None
    head = heads[-1]
    body = _CURSOR.sub("", text[head.end() :])
    lines = _lines(body, _COLONS)
    return (normal(head[1]), Shown(lines, int(head[2]))) if lines or head[2] == "0" else None


def snippet(text: str) -> Mapping[int, str]:
    """Return the numbered lines that an edit shows after it was made."""
    return _lines(text, _TABBED)


def shown(read: Read, text: str) -> Shown | None:
    """Return the lines that a reading shows, or ``None`` for a result that is no content."""
    if not text.strip() or not read.shown:
        return None
    if read.numbered is not False:
        for form in (_TABBED, _BARRED, _COLONS):
            lines = _lines(text, form)
            first = max(read.start or 0, 1)
            if lines and (read.numbered or (min(lines) in (first, first + 1) and _framed(text, form, len(lines)))):
                return _numbered(read, text, lines)
    return None if read.numbered or _TRUNCATED.search(text) else _plain(read, bare(text))


def _framed(text: str, form: re.Pattern[str], count: int) -> bool:
    """Return whether numbered lines are all of a text, but for words of the tool around them."""
    lines = text.split("\n")
    first = next(place for place, line in enumerate(lines) if form.match(line))
    before, after = lines[:first], [line for line in lines[first + count :] if line.strip()]
    return all(_FRAME.match(line) for line in [*before, *after[:1]])


def bare(text: str) -> str:
    """Return a text without the lines that a shell's tool puts below it."""
    while found := _TRAILER.search(text, max(0, len(text) - SHORT)):
        text = text[: found.start()]
    return text


def _numbered(read: Read, text: str, lines: Mapping[int, str]) -> Shown:
    frame = "\n".join(line for line in text.splitlines() if not _NUMBERED.match(line))
    total = next((int(n) for found in (*_OF.findall(frame), *_TOTAL.findall(frame)) for n in _flat(found) if n), None)
    more = {where: int(count) for count, where in _MORE.findall(frame)}
    last, asked = max(lines), _asked(read)
    if total is None and not _TRUNCATED.search(frame) and not more:
        stopped = len(lines) >= asked if asked is not None else len(lines) in USUAL_LIMITS
        open_ = read.end is None or read.end < 0
        total = None if stopped or not (open_ or asked is not None) else last
    elif total is None and "below" in more:
        total = last + more["below"]
    if total is not None and total < last:
        total = None
    whole = {number: line for number, line in lines.items() if len(line) < LONG_LINE}
    if _TRUNCATED.search(frame):
        whole.pop(last, None)
    return Shown(whole, total)


def _plain(read: Read, text: str) -> Shown | None:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    asked = _asked(read)
    if read.last:
        return None
    if read.start is None and asked is None:
        return Shown(dict(enumerate(lines, 1)), len(lines), numbered=False)
    start = read.start or 1
    if start < 1:
        return None
    if asked is not None and len(lines) > asked:
        return None
    return Shown(dict(enumerate(lines, start)), None, numbered=False)


def _asked(read: Read) -> int | None:
    """Return how many lines were asked for."""
    if read.limit is not None:
        return read.limit
    if read.end is None or read.end < 0:
        return None
    return read.end - (read.start or 1) + 1


def _lines(text: str, form: re.Pattern[str]) -> dict[int, str]:
    """Return the longest run of lines whose numbers follow each other."""
    best: dict[int, str] = {}
    run: dict[int, str] = {}
    for line in text.split("\n"):
        found = form.match(line)
        number = int(found[1]) if found else 0
        if found and run and number == next(reversed(run)) + 1:
            run[number] = found[2]
        else:
            run = {number: found[2]} if found and number else {}
        if len(run) > len(best):
            best = run
    return best


def _flat(found: str | tuple[str, ...]) -> tuple[str, ...]:
    return (found,) if isinstance(found, str) else found
