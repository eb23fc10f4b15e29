"""Content: the lines of a file that are known, all of them or some, and how edits and readings change them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidal_plugins.actions.action import Edit, Hunk


@dataclass(slots=True)
class Content:
    """What is known of a file. Changes return whether they are certain; what is not known stays out.

    Attributes:
        lines: the known lines by number, counted from 1.
        total: how many lines there are; ``None`` if that is not known.
        ends: whether the last line ends with a newline; ``None`` if the source did not tell.
        edited: the numbers of lines that were edited.
    """

    lines: dict[int, str] = field(default_factory=dict)
    total: int | None = None
    ends: bool | None = None
    edited: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, text: str, *, exact: bool = True) -> Content:
        """Return the content of a whole text. Unless it is ``exact``, its last newline may have been cut off."""
        lines = text.split("\n")
        ends = lines[-1] == "" if exact or lines[-1] == "" else None
        if lines[-1] == "":
            lines.pop()
        return cls(dict(enumerate(lines, 1)), len(lines), ends)

    @property
    def complete(self) -> bool:
        return self.total is not None and len(self.lines) == self.total

    @property
    def text(self) -> str:
        """Return the known lines; with the last newline, if there is one."""
        text = "\n".join(self.lines[number] for number in sorted(self.lines))
        return f"{text}\n" if self.ends and self.lines and self.total in self.lines else text

    def runs(self) -> Iterator[list[int]]:
        """Yield the numbers of known lines that follow each other without a gap."""
        order = sorted(self.lines)
        for _, group in itertools.groupby(enumerate(order), lambda pair: pair[1] - pair[0]):
            yield [number for _, number in group]

    def splice(self, start: int, end: int, new: Sequence[str]) -> None:
        """Replace the lines from ``start`` to before ``end`` by new ones, and number the later lines anew."""
        shift = len(new) - (end - start)
        kept = {n if n < start else n + shift: line for n, line in self.lines.items() if n < start or n >= end}
        marks = {n if n < start else n + shift for n in self.edited if n < start or n >= end}
        added = dict(enumerate(new, start))
        self.lines = kept | added
        self.edited = marks | set(added or {max(1, start - 1): ""})
        if self.total is not None:
            self.total += shift

    def append(self, text: str) -> bool:
        if self.total is None or self.ends is not True:
            self.total = self.ends = None  # how the last line ended is not known: what is known stays where it is
            return not self.lines
        added = Content.of(text)
        self.splice(self.total + 1, self.total + 1, [added.lines[n] for n in sorted(added.lines)])
        self.ends = added.ends
        return True

    def show(self, lines: Mapping[int, str], total: int | None) -> bool:
        """Take in lines that were read. Where they contradict what was known, only they are known now."""
        same = all(self.lines.get(number, line) == line for number, line in lines.items())
        fits = None in (total, self.total) or total == self.total
        if not same or not fits:
            self.lines, self.edited = {}, {number for number in self.edited if number in lines}
            self.ends = None
        self.lines |= lines
        self.total = total if total is not None or not (same and fits) else self.total
        return same and fits

    def agrees(self, other: Content) -> bool:
        """Return whether the lines of another content may stand in this one."""
        known = (self.lines.get(number, "" if self.complete else line) == line for number, line in other.lines.items())
        return all(known) and (not other.complete or not self.complete or self.total == other.total)

    def reshow(self, lines: Mapping[int, str], total: int | None) -> None:
        """Take in the lines around a change that were shown after it: all else stays, and later lines move with it."""
        shift = None if total is None or self.total is None else total - self.total
        first, last = min(lines), max(lines)
        kept = {number: line for number, line in self.lines.items() if number < first}
        if shift is not None:
            later = ((number + shift, line) for number, line in self.lines.items())
            kept |= {number: line for number, line in later if number > last}
        self.edited = {number for number in self.edited if number in kept}
        self.edited |= {number for number, line in lines.items() if self.lines.get(number, line) != line}
        self.lines, self.total = kept | dict(lines), total if total is not None else self.total

    def edit(self, edit: Edit) -> bool:
        """Replace a text. Return whether it is certain that this is what the tool did."""
        if not edit.old:
            return False
        found = [(run, text, at) for run in self.runs() for text in [self._run(run)] for at in _places(text, edit.old)]
        if not found or (len(found) > 1 and not edit.every):
            return False
        certain = self.complete or not edit.every or "\n" not in edit.old + edit.new
        for run, text, at in reversed(found):
            stop = at + len(edit.old)
            start, end = (run[0] + text.count("\n", 0, place) for place in (at, stop))
            before = text[text.rfind("\n", 0, at) + 1 : at]
            if end <= run[-1] and end in self.lines:
                after = self.lines[end][stop - text.rfind("\n", 0, stop) - 1 :]
                self.splice(start, end + 1, f"{before}{edit.new}{after}".split("\n"))
                self._close()
            else:  # the text ended with the newline of the last known line, or what came after it has just gone
                certain = self._replace_end(start, end - 1, before + edit.new) and certain
        return certain

    def edit_shown(self, edit: Edit, lines: Mapping[int, str]) -> bool:
        """Apply an edit at the place that a snippet of its result shows. Return whether it shows just one."""
        text = "\n".join(lines.values())
        if not edit.new or text.count(edit.new) != 1:
            return False
        start = min(lines) + text.count("\n", 0, text.index(edit.new))
        end = start + edit.old.count("\n") + 1
        if any(number in self.lines for number in range(start, end)):
            return False
        self.splice(start, end, edit.new.split("\n"))
        beside = {n: line for n, line in lines.items() if n < start or n > start + edit.new.count("\n")}
        fits = all(self.lines.get(n, line) == line for n, line in beside.items())
        self.lines |= lines
        return fits

    def edit_cell(self, cell: str, text: str | None) -> bool:
        """Replace the source of a notebook's cell, or take it away, where cells are shown between marks with their ids.

        What the cell printed, which is shown below its marks, may be another then.
        """
        mark = re.escape(cell)
        found = re.search(
            rf'(<cell id="{mark}">(?:<\w+>[^<\n]*</\w+>)*)(.*?)(</cell id="{mark}">)\n?', self.text, re.DOTALL
        )
        if found is None or not self.complete:
            return False
        return self.edit(
            Edit("", found[0], "")
            if text is None
            else Edit("", found[1] + found[2] + found[3], found[1] + text + found[3])
        )

    def patch(self, hunks: Sequence[Hunk]) -> bool:
        """Apply the hunks of a patch in order. Return whether it is certain that they did this."""
        shift, after = 0, 1
        for hunk in hunks:
            start = self._found(hunk.old, after) if hunk.at is None else self._told(hunk.old, hunk.at + shift, after)
            if start is None:
                return False
            self._change(start, hunk)
            after = start + len(hunk.new)
            shift += len(hunk.new) - len(hunk.old)
        return True

    def _change(self, start: int, hunk: Hunk) -> None:
        """Apply a hunk without marking the lines around its changes as edited."""
        same = _alike(hunk.old, hunk.new)
        tail = _alike(hunk.old[same:][::-1], hunk.new[same:][::-1])
        self.lines |= dict(enumerate(hunk.old, start))  # a patch that was applied tells what stood there
        end = start + len(hunk.old) - tail
        self.splice(start + same, end, hunk.new[same : len(hunk.new) - tail])

    def _told(self, old: Sequence[str], start: int, after: int) -> int | None:
        """Return the place that a patch tells, unless a line that is known speaks against it."""
        known = (self.lines.get(number) for number in range(start, start + len(old)))
        fits = all(line in (None, told) for line, told in zip(known, old, strict=True))
        inside = self.total is None or start + len(old) <= self.total + 1
        return start if fits and inside and start >= after else None

    def _found(self, old: Sequence[str], after: int) -> int | None:
        """Return the only place at which the lines of a patch stand."""
        if not old:
            return None if self.total is None else self.total + 1
        places = [start for run in self.runs() for start in run if start >= after and self._stands(old, start)]
        return places[0] if len(places) == 1 else None

    def _stands(self, old: Sequence[str], start: int) -> bool:
        return all(self.lines.get(start + place) == line for place, line in enumerate(old))

    def _run(self, run: Sequence[int]) -> str:
        text = "\n".join(self.lines[number] for number in run)
        last = self.total == run[-1]
        return text if last and self.ends is False else f"{text}\n"

    def _close(self) -> None:
        """Take an empty last line without a newline for what it is: the newline of the line before it."""
        if self.ends is False and self.total and self.lines.get(self.total) == "":
            del self.lines[self.total]
            self.edited.discard(self.total)
            self.total, self.ends = self.total - 1, True

    def _replace_end(self, start: int, last: int, text: str) -> bool:
        """Replace the lines from ``start`` to ``last``, of which the next one is not known, newline included."""
        tail, at_end = Content.of(text), self.total == last
        self.splice(start, last + 1, [tail.lines[number] for number in sorted(tail.lines)])
        if at_end:
            self.ends = tail.ends
        return at_end or tail.ends is True  # or else the next line goes on where this one ends


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return with how many lines two texts begin alike."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _places(text: str, wanted: str) -> list[int]:
    """Return where a text stands, without overlaps."""
    places, at = [], text.find(wanted)
    while at >= 0:
        places.append(at)
        at = text.find(wanted, at + len(wanted))
    return places
