"""Commands that show files: which lines of which file their output is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tidal_plugins.compaction.files.actions import Action, Read, normal
from tidal_plugins.compaction.files.lexer import Word

READERS = frozenset("cat bat batcat nl less more head tail sed open".split())
_SPAN = re.compile(r"(\d+)(?:,(\d+|\$))?p;?(?:q|\d+q)?")


def reading(program: str, given: Sequence[Word], shows: bool) -> Iterator[Action]:
    """Yield the reading of a file that a command shows, or that it read without showing it as it is."""
    options = [word.text for word in given if word.text.startswith("-") and word.text != "-"]
    values = [word.text for word in given if not word.text.startswith("-")]
    span = _spanned(program, options, values)
    if span is None or any(word.pattern for word in given):
        for value in values:
            if "." in value or "/" in value:
                yield Read(normal(value), shown=False)
        return
    path, read = span
    if normal(path):
        yield Read(normal(path), *read[:3], numbered=read[3], last=read[4], shown=shows)


def _spanned(
    program: str, options: Sequence[str], values: Sequence[str]
) -> tuple[str, tuple[int | None, int | None, int | None, bool | None, bool]] | None:
    """Return the path that a command shows, and from where, to where, how many, whether numbered, whether the last."""
    numbered = program == "nl" or "-n" in options if program in ("cat", "nl") else program == "open"
    if program == "sed":
        found = _SPAN.fullmatch(values[0]) if options == ["-n"] and len(values) == 2 else None
        if found is None:
            return None
        start = int(found[1])
        end = None if found[2] == "$" else int(found[2] or start)
        return values[1], (start, end, None, False, False)
    if program in ("head", "tail"):
        count = next((option.lstrip("-nc") for option in options if re.fullmatch(r"-n?\+?\d+", option)), None)
        if "-n" in options and len(values) == 2:
            count, values = values[0], values[1:]
        odd = any(not re.fullmatch(r"-n?\+?\d*", option) for option in options)
        if len(values) != 1 or odd or (count is not None and not re.fullmatch(r"\+?\d+", count)):
            return None
        if program == "tail":
            after = int(count[1:]) if count and count.startswith("+") else None
            return values[0], (after, None, None, False, after is None)
        return values[0], (1, None, int(count or 10), False, False)
    if program == "open":
        return (values[0], (None, None, None, True, False)) if values else None  # SWE-agent's own command
    if len(values) != 1 or not set(options) <= {"-n", "-ba", "-b", "-p", "-pp", "--plain", "a"}:
        return None
    if program == "nl" and "-ba" not in options:
        return None  # blank lines have no number then
    return values[0], (None, None, None, numbered, False)
