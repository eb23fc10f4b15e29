"""What a change touches: the functions and classes by name, or the words that differ."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath

from tidal_plugins.patterns import lazy_re

_PYTHON = r"(?:async\s+)?(?:def|class)\s+(\w+)"
_SCRIPT = (
    r"(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\b\s*\*?|class|interface|enum|type)\s+(\w+)"
    r"|(?:export\s+)?(?:const|let|var)\s+(\w+)\s*=\s*(?:async\b\s*)?(?:\(|function\b|\w+\s*=>)"
)
_GO = r"func\s+(?:\([^)]*\)\s*)?(\w+)|type\s+(\w+)"
_RUST = r"(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?(?:fn|struct|enum|trait|mod)\s+(\w+)"
_CLASSES = r"(?:[\w@]+\s+)*(?:class|interface|enum|record|object|fun)\s+(\w+)"
_METHODS = r"(?:public|private|protected|internal|static|final|override|virtual|async)\s[\w<>\[\],.?\s]*?(\w+)\s*\("
_C = r"(?:[\w:*&<>~]+\s+)+[*&]*([\w:~]+)\s*\([^;]*$|(?:struct|class|enum|namespace)\s+(\w+)"
_RUBY = r"(?:def|class|module)\s+([\w.:?!]+)"
_PHP = r"(?:[\w]+\s+)*(?:function|class|interface|trait)\s+(\w+)"
_SHELL = r"(?:function\s+)?([\w-]+)\s*\(\)"
_SQL = (
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:UNIQUE\s+)?(?:TABLE|INDEX|VIEW|FUNCTION|TRIGGER)\s+(?:CONCURRENTLY\s+)?"
    r"(?:IF\s+NOT\s+EXISTS\s+)?([\w.\"]+)|ALTER\s+TABLE\s+([\w.\"]+)"
)
LANGUAGES: dict[str, re.Pattern[str]] = {
    ending: lazy_re(rf"(?P<indent>\s*)(?:{pattern})", re.IGNORECASE if pattern == _SQL else 0)
    for pattern, endings in {
        _PYTHON: "py pyi",
        _SCRIPT: "js jsx mjs cjs ts tsx vue svelte",
        _GO: "go",
        _RUST: "rs",
        f"{_CLASSES}|{_METHODS}": "java kt cs scala swift",
        _C: "c h cc cpp hpp",
        _RUBY: "rb",
        _PHP: "php",
        _SHELL: "sh bash",
        _SQL: "sql",
    }.items()
    for ending in endings.split()
}
"""Pattern of a line that defines something, by the ending of the file."""

_MAX_NAMES = 6
_MAX_FRAGMENT, _MAX_OLD = 140, 45  # characters
_BLANKS = lazy_re(r"\s+")
IMPORT = lazy_re(r"`?(?:import|from|use|using|require|package|#include|export \* from|include)\b")
"""Beginning of a changed line that says nothing of what changed."""


def touched(path: str, old: str, new: str) -> list[str]:
    """Return the names of the functions and classes that a change defines, removes or changes inside, in order."""
    pattern = LANGUAGES.get(PurePosixPath(path).suffix.lstrip(".").lower())
    if pattern is None:
        return []
    before, after = old.splitlines(), new.splitlines()
    names: dict[str, None] = {}
    for lines, others in ((after, Counter(before)), (before, Counter(after))):
        enclosing: list[tuple[int, str]] = []
        for line in lines:
            if not line.strip():
                continue
            indent = len(line) - len(line.lstrip())
            found = pattern.match(line)
            while enclosing and enclosing[-1][0] >= indent and (found or line.strip() not in "{}()[];"):
                enclosing.pop()
            if found:
                name = next(group for group in found.groups()[1:] if group)
                enclosing.append((indent, name.strip('"')))
            if others[line] > 0:
                others[line] -= 1
            elif enclosing:
                names[enclosing[-1][1]] = None
    return [name for name in names if name != "__init__"] or list(names)


def fragment(old: str, new: str) -> str:
    """Return the words that a change brings, with those that they replace if these are few."""
    before, after = _differing(old, new)
    if not after:
        return f"removed `{_cut(before)}`" if before else ""
    if before and len(before) <= _MAX_OLD:
        return f"`{_cut(after)}` (was `{before}`)"
    return f"`{_cut(after)}`"


def listed(names: list[str]) -> str:
    """Return names in marks, at most :data:`_MAX_NAMES`, and how many more there are."""
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(f"`{name}`" for name in names[:_MAX_NAMES]) + more


def _differing(old: str, new: str) -> tuple[str, str]:
    """Return the first line that goes, without the words that stay, and the lines that come."""
    before, after = old.splitlines(), new.splitlines()
    gone, come = Counter(before), Counter(after)
    old_line = next((line for line in before if line.strip() and not come[line]), "")
    new_lines = [line for line in after if line.strip() and not gone[line]]
    new_lines = [line for line in new_lines if not IMPORT.match(line.strip())] or new_lines
    new_line = " / ".join(map(str.strip, new_lines))
    was, now = old_line.split(), new_line.split()
    same = 0
    while same < min(len(was), len(now)) and was[same] == now[same]:
        same += 1
    return " ".join(was[same:] or was[-1:]), " ".join(now)


def _cut(text: str) -> str:
    text = _BLANKS.sub(" ", text).replace("`", "'").strip()
    return text if len(text) <= _MAX_FRAGMENT else text[: _MAX_FRAGMENT - 1].rstrip() + "…"
