"""A task: a thing that somebody means to do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidal_plugins.dossiers.points import Point


@dataclass(frozen=True, slots=True)
class Task:
    """A thing to do: the verb and its objects, without their endings. ``kind`` is the form in which it was set.

    ``main`` is the object that the verb is about: of «send Bob the report by post» the report. It may be empty.
    ``done`` is the report that closed it, or ``None`` while it is open.
    """

    verb: str
    objects: frozenset[str]
    main: str
    point: Point
    kind: str
    done: Point | None = None

    @property
    def key(self) -> frozenset[str]:
        return self.objects | {self.verb}

    def closed(self, report: Point) -> Task:
        return replace(self, done=report)
