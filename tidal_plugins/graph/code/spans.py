"""Spans: where in a result, or in the arguments of a call, the line stands that states a relation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

MAX_LINE = 200
"""Characters of a line that is evidence as a whole."""


class Evidence(NamedTuple):
    """A part of a text: of the message at ``position``, or of the arguments of its ``call``."""

    position: int
    call: int | None
    start: int
    end: int

    @property
    def place(self) -> tuple[int, int | None]:
        return self.position, self.call


@dataclass(slots=True)
class Locator:
    """Finds lines in a text. Searches on from the last line that was found, because relations come in order."""

    text: str
    position: int
    call: int | None
    path: str
    olds: Sequence[str] = ()
    last: int = 0

    def find(self, number: int, line: str, name: str) -> Evidence:
        """Return where a line stands, or else a name, or else the path of the file."""
        wanted = line.strip()
        start = self._search(wanted) if number >= 0 and wanted else -1
        if start < 0:
            return self.named(name)
        self.last = start
        return self._at(start, wanted)

    def old(self, *names: str) -> Evidence:
        """Return the line of what an edit replaced that names something that is no more, or else the path."""
        for old in self.olds:
            for line in old.split("\n"):
                if line.strip() and any(name.rpartition(".")[2] in line for name in names):
                    return self.find(0, line, names[0])
        return self.named()

    def _search(self, wanted: str) -> int:
        found = self.text.find(wanted, self.last)
        return found if found >= 0 or not self.last else self.text.find(wanted)

    def named(self, *names: str) -> Evidence:
        """Return where the first of the names stands, or else the path of the file, or else the beginning."""
        for wanted in (*names, self.path, self.path.rpartition("/")[2]):
            start = self.text.find(wanted) if wanted else -1
            if start >= 0:
                return self._line(start, start + len(wanted))
        body = self.text.strip()
        return self._at(self.text.find(body), body[:80]) if body else Evidence(self.position, self.call, 0, 1)

    def _line(self, start: int, end: int) -> Evidence:
        """Return the line around a name, or the name alone in a long one."""
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", end)
        line = self.text[first : len(self.text) if last < 0 else last]
        first += len(line) - len(line.lstrip())
        short = len(line) <= MAX_LINE
        return Evidence(
            self.position, self.call, first if short else start, first + len(line.strip()) if short else end
        )

    def _at(self, start: int, wanted: str) -> Evidence:
        return Evidence(self.position, self.call, start, start + len(wanted))
