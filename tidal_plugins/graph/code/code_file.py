"""Code files: what is known of one file of a project, and how it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tidal_plugins.actions.files.content import Content

MAX_KEPT = 200_000
"""Characters of a file's content that are kept: as many as are parsed."""

FactKey = tuple[str, str, str, str, str]
"""A relation as it is kept: subject and its type, predicate, object and its type."""


@dataclass(slots=True)
class CodeFile:
    """A file as the episodes so far know it. ``at`` is the time of the last of them, in microseconds."""

    path: str
    at: int = 0
    confirmed: int = 0
    facts: list[FactKey] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    episodes: list[str] = field(default_factory=list)
    lines: dict[int, str] = field(default_factory=dict)
    total: int | None = None
    ends: bool | None = None
    runs: list[FactKey] = field(default_factory=list)
    """What the last run of the tests in it said."""

    @property
    def content(self) -> Content:
        return Content(dict(self.lines), self.total, self.ends)

    def keep(self, content: Content | None) -> None:
        """Keep a content, or none if it is too long."""
        small = content is not None and sum(map(len, content.lines.values())) <= MAX_KEPT
        self.lines, self.total, self.ends = {}, None, None
        if content is not None and small:
            self.lines, self.total, self.ends = dict(content.lines), content.total, content.ends

    def value(self) -> dict[str, Any]:
        value = asdict(self)
        numbers = sorted(self.lines)
        return {
            **value,
            "facts": [list(fact) for fact in self.facts],
            "runs": [list(fact) for fact in self.runs],
            "numbers": [[run[0], len(run)] for run in Content(self.lines).runs()],
            "lines": [self.lines[number] for number in numbers],
        }

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> CodeFile:
        given = dict(value)
        numbers = [number for start, count in given.pop("numbers") for number in range(start, start + count)]
        given["lines"] = dict(zip(numbers, given["lines"], strict=True))
        given["facts"] = [tuple(fact) for fact in given["facts"]]
        given["runs"] = [tuple(fact) for fact in given["runs"]]
        return cls(**given)
