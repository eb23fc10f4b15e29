"""Content: the lines of a file that are known, all of them or some, and how edits and readings change them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidal_plugins.actions.action import Edit


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
    def of(cls, text: str) -> Content:
        """Return the content of a whole text."""
        lines = _split(text)
        return cls(dict(enumerate(lines, 1)), len(lines), text.endswith("\n"))

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
        for _, group in itertools.groupby(enumerate(sorted(self.lines)), lambda pair: pair[1] - pair[0]):
            yield [number for _, number in group]

    def edit(self, edit: Edit) -> bool:
        """Replace a text. Return whether it is certain that this is what the tool did."""
        if edit.old is None:
            return False
        if edit.line is not None:
            return self._edit_at(edit.line, _split(edit.old), _split(edit.new))
        texts = [(run, self._run(run)) for run in self.runs()]
        count = sum(text.count(edit.old) for _, text in texts)
        if not edit.old or not count or (count > 1 and not edit.every):
            return False
        certain = self.complete or not edit.every or "\n" not in edit.old + edit.new
        for run, text in reversed(texts):
            if edit.old in text:
                after, at_end = text.replace(edit.old, edit.new), run[-1] == self.total
                if not after.endswith("\n") and not at_end:
                    return False  # what follows in this line is not known
                self._splice(run[0], run[-1] + 1, _split(after))
                if at_end and (self.ends is not None or not after.endswith("\n")):
                    self.ends = after.endswith("\n")
        return certain

    def append(self, text: str) -> bool:
        """Add a text at the end. What is known stays where it is if the end is not known."""
        if not self.complete or self.ends is None:
            self.total = self.ends = None
            return not self.lines
        after = Content.of(self.text + text)
        self._splice(1, (self.total or 0) + 1, [after.lines[number] for number in sorted(after.lines)])
        self.ends = after.ends
        return True

    def show(self, lines: Mapping[int, str], total: int | None) -> bool:
        """Take in lines that were read. Where they contradict what was known, only they are known now."""
        fits = None in (total, self.total) or total == self.total
        fits = fits and all(self.lines.get(number, line) == line for number, line in lines.items())
        if not fits:
            self.lines, self.edited, self.ends, self.total = {}, self.edited & lines.keys(), None, None
        self.lines |= lines
        self.total = total if total is not None else self.total
        return fits

    def show_change(self, lines: Mapping[int, str], shift: int | None, total: int | None) -> bool:
        """Take in the lines around a change that were shown after it. Later lines move by ``shift``.

        Where that is not known, only the lines before them stay. Return whether it was.
        """
        certain, shift = not self.lines or shift is not None, 0 if shift is None else shift
        first, last = min(lines), max(lines)
        moved = {n + shift: line for n, line in self.lines.items() if n + shift > last} if certain else {}
        kept = {n: line for n, line in self.lines.items() if n < first} | moved
        above = [n for n, line in lines.items() if self.lines.get(n, line) != line]
        below = [n for n, line in lines.items() if self.lines.get(n - shift, line) != line]
        changed = set(range(above[0], below[-1] + 1)) if above and below else set() if self.lines else set(lines)
        self.edited = {n if n < first else n + shift for n in self.edited} & (kept.keys() | lines.keys()) | changed
        self.lines, self.total = kept | dict(lines), total
        return certain

    def _edit_at(self, start: int, old: Sequence[str], new: Sequence[str]) -> bool:
        """Replace the lines that a patch tells at a place, unless a line that is known speaks against it."""
        fits = all(self.lines.get(number, line) == line for number, line in enumerate(old, start))
        if not fits or start < 1 or (self.total is not None and start + len(old) > self.total + 1):
            return False
        self.lines |= dict(enumerate(old, start))  # a patch that was applied tells what stood there
        self._splice(start, start + len(old), new)
        return True

    def _splice(self, start: int, end: int, new: Sequence[str]) -> None:
        """Replace the lines from ``start`` to before ``end``, and number the later ones anew. Those that differ are
        marked as edited."""
        old = [self.lines.get(number) for number in range(start, end)]
        head = _alike(old, new)
        tail = _alike(old[head:][::-1], new[head:][::-1])
        shift, first, last = len(new) - len(old), start + head, end - tail
        marks = {n if n < first else n + shift for n in self.edited if n < first or n >= last}
        kept = {n if n < start else n + shift: line for n, line in self.lines.items() if n < start or n >= end}
        self.lines = kept | dict(enumerate(new, start))
        self.edited = marks | set(range(first, max(last + shift, first + 1)))
        self.edited &= self.lines.keys() | {max(1, first - 1)}
        if self.total is not None:
            self.total += shift

    def _run(self, run: Sequence[int]) -> str:
        text = "\n".join(self.lines[number] for number in run)
        return text if self.ends is False and self.total == run[-1] else f"{text}\n"


def _split(text: str) -> list[str]:
    """Return the lines of a text; none for an empty one."""
    return text.removesuffix("\n").split("\n") if text else []


def _alike(one: Sequence[str | None], other: Sequence[str | None]) -> int:
    """Return with how many lines two texts begin alike."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
