"""Points as the lines of a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tidal_plugins.dossiers.points import AGENT_NAME, LONGEST, Point
from tidal_plugins.model.dossier import Finding
from tidal_plugins.model.fence import inert


def findings(chosen: Iterable[Point]) -> Iterator[Finding]:
    """Yield points as lines of a document. Points of one entry and part that follow each other share a line."""
    for _, group in groupby(chosen, lambda point: (point.entry.id, point.part)):
        lines: list[list[Point]] = []
        for point in group:
            if lines and sum(len(other.text) for other in lines[-1]) + len(point.text) < LONGEST:
                lines[-1].append(point)
            else:
                lines.append([point])
        yield from map(_finding, lines)


def _finding(line: Sequence[Point]) -> Finding:
    entry, part = line[0].entry, line[0].part
    said = " ".join(_with_history(point) for point in line)
    place = None if entry.source and entry.source.startswith(("ep:", "mem:")) else entry.source
    name = entry.speaker or (AGENT_NAME if line[0].by_agent else None if entry.role else place)
    at = None if part == "documents" else entry.occurred_at
    return Finding(f"{inert(name)}: {said}" if name else said, (entry.id,), (entry.citation,), part, at)


def _with_history(point: Point) -> str:
    """Return a point with the value that it replaces."""
    return (
        f"{point.text} (was {inert(point.was)})"
        if point.was and point.was.lower() not in point.text.lower()
        else point.text
    )
