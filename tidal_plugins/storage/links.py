"""The contract of links: typed, weighted connections of two nodes, found from either end."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from tidal_plugins.model.entry import Scope
from tidal_plugins.model.link import Link


@dataclass(frozen=True, slots=True)
class WhereLinks:
    """A filter over links. ``None`` leaves a field unfiltered; an empty collection matches nothing.

    ``ends`` asks for either end among them, ``sources`` and ``targets`` for one. ``valid_at`` is when it was true,
    ``known_at`` when it was believed. ``lasting_at`` leaves out what has expired by then, ``expired_at`` all else.
    """

    ids: Collection[str] | None = None
    kinds: Collection[str] | None = None
    ends: Collection[str] | None = None
    sources: Collection[str] | None = None
    targets: Collection[str] | None = None
    metadata: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    valid_at: datetime | None = None
    known_at: datetime | None = None
    lasting_at: datetime | None = None
    expired_at: datetime | None = None


ALL_LINKS = WhereLinks()


class Step(NamedTuple):
    """A link as a walk sees it: from ``node`` to the ``other`` end, ``forward`` where ``node`` is its source."""

    node: str
    other: str
    forward: bool
    link: str
    kind: str
    weight: float
    anchored_at: datetime | None


class Links(Protocol):
    """Stores links and finds them by their ends, the strongest first."""

    @abstractmethod
    def put_links(self, scope: Scope, links: Iterable[Link]) -> None:
        """Store links, each in place of the one of the same id."""

    @abstractmethod
    def links(
        self, scope: Scope, where: WhereLinks, *, limit: int | None = None, strongest_first: bool = False
    ) -> list[Link]:
        """List links in the order in which they were first stored, or those that last longest first, then the
        heaviest."""

    @abstractmethod
    def frontier(
        self, scope: Scope, nodes: Collection[str], kinds: Collection[str], *, each: int, where: WhereLinks = ALL_LINKS
    ) -> list[Step]:
        """Return the ``each`` strongest links of every kind at either end of every node, in one query.

        They come by node, in the order given; what lasts longest first, then the heaviest. A link between two of the
        nodes is two steps, one from each; a link from a node to itself is one.
        """

    @abstractmethod
    def erase_links(self, scope: Scope, where: WhereLinks) -> int:
        """Remove the links that a filter lets through; return how many there were."""
