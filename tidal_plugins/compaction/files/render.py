"""Render: the text in which a file is shown again, whole or around the lines that matter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime

from tidal_plugins.actions.content import Content

CUT = "[… the rest of this file is left out; read it again for it]"
GAP = "…"

Fits = Callable[[str], bool]


def fitted(
    content: Content, head: str, wanted: Collection[int], fits: Fits, *, numbered: bool
) -> tuple[str, bool] | None:
    """Return a file as it fits, below its header, and whether lines are missing; ``None`` if nothing would be left.

    A file that does not fit is shown around the ``wanted`` lines, or from its beginning.
    """
    whole = _text(content, set(content.lines), head, numbered=numbered or not content.complete)
    if fits(whole):
        return whole, not content.complete
    if not content.lines:
        return None
    known = sorted(content.lines)
    centres = sorted(number for number in wanted if number in content.lines)

    def around(radius: int) -> str:
        shown = {n for centre in centres for n in range(centre - radius, centre + radius + 1) if n in content.lines}
        return _text(content, shown, head, numbered=True, cut=True)

    def first(count: int) -> str:
        plain = not numbered and known[:count] == list(range(1, count + 1))
        return _text(content, set(known[:count]), head, numbered=not plain, cut=True)

    if centres and fits(around(0)):
        return around(_most(len(known), lambda radius: fits(around(radius)))), True
    if centres:
        known = centres  # not even the lines that matter fit
        numbered = True
    count = _most(len(known), lambda count: fits(first(count)))
    return (first(count), True) if count else None


def header(
    known: datetime | None, *, edited: bool = False, later: bool = False, doubt: str | None = None, disk: bool = False
) -> str:
    """Return the line above a file that may not be current: of when it is, and why it may be another by now.

    ``later`` says that steps that follow in the context have changed it, ``disk`` that the file on disk was asked for
    and could not be read.
    """
    told = f"[as of {_when(known)}" + (", with its edits" if edited else "")
    told += " and those of the steps that follow" if later else ""
    if doubt:
        return f"{told}; may be out of date: {doubt}]"
    return f"{told}; {'the file on disk could not be read and ' if disk else ''}may have changed since]"


def changed_header(known: datetime | None) -> str:
    """Return the line above a file whose content on disk, which is shown, is not what was last known of it."""
    return f"[as it is on disk now; it has changed since {_when(known)}, when it was last seen or edited here]"


def _when(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else "its last reading"


def _text(content: Content, shown: Collection[int], head: str, *, numbered: bool, cut: bool = False) -> str:
    if not numbered and len(shown) == len(content.lines):
        body = content.text
        return f"{head}\n{body}" if head else body
    lines = [head] if head else []
    lines += _numbered(content, shown) if numbered else [content.lines[number] for number in sorted(shown)]
    return "\n".join([*lines, CUT] if cut else lines)


def _numbered(content: Content, shown: Collection[int]) -> Iterator[str]:
    before = 0
    for number in sorted(shown):
        if number > before + 1:
            yield GAP
        yield f"{number:6}\t{content.lines[number]}"
        before = number
    if content.total is None or before < content.total:
        yield GAP


def _most(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to ``most`` that fits. 0 is taken to fit."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
