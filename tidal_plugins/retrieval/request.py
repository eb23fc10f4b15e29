"""What a caller may ask of recall, checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import EPISODE, KINDS, Scope, bare_id
from tidal_plugins.model.graph import CHANNEL
from tidal_plugins.settings import Profile
from tidal_plugins.storage.base import Where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST = 1000
"""Hits that one recall may return."""
MOST_WINDOW = 50
"""Turns before and after a hit that one recall may return with it."""
MOST_HOPS = 10
"""Hops that one recall may take."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of one store: up to ``limit`` entries for ``text`` that pass ``where``, in one scope.

    ``affect`` colours the order; where ``felt`` is given, what that reads off the text's vector does instead.
    ``unasked``: only what clears the bar of automatic recall. ``associative``: what comes up together with the hits is
    appended, beyond the limit. ``session``: the one whose signals this recall feels, beside those of the scope.
    ``window``: how many turns before and after each hit come with it. ``vector``: that of ``text``, where it is known.
    """

    scope: Scope
    text: str
    where: Where
    now: datetime
    limit: int
    affect: Affect = Affect()
    profile: str = "balanced"
    unasked: bool = False
    associative: bool = False
    session: int | None = None
    window: int = 0
    vector: NDArray[np.float32] | None = None
    felt: Callable[[NDArray[np.float32]], Affect] | None = None


def active(
    now: datetime,
    *,
    kinds: Collection[str] | None = None,
    threads: Collection[str] | None = None,
    speakers: Collection[str] | None = None,
    sources: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    metadata: Mapping[str, str | int | float | bool | None] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    as_of: datetime | None = None,
    exclude: Collection[str] = (),
    include_archived: bool = False,
    graph: bool = False,
) -> Where:
    """Return the filter of what is valid and not archived now, or raise ``InvalidInput``.

    ``as_of`` asks for what was known and valid then.
    ``graph`` lets through what the graph says, too: it was read out of what was said, and would take the places of
    that.
    """
    return Where(
        kinds=_kinds(kinds),
        threads=_names(threads, "threads"),
        speakers=_names(speakers, "speakers"),
        sources=_names(sources, "sources"),
        tags=_names(tags, "tags"),
        metadata=_metadata(metadata),
        since=None if since is None else aware(since, "since"),
        until=None if until is None else aware(until, "until"),
        known_at=as_of,
        active_at=as_of or now,
        include_archived=include_archived,
        exclude=[bare_id(id_) for id_ in _names(exclude, "exclude") or ()],
        not_channels=() if graph else (CHANNEL,),
    )


def checked_limit(limit: int) -> int:
    return _whole(limit, "limit", 1, MOST)


def visible(where: Where) -> Where:
    """What a filter says of what may be seen at all, without what the caller looks for."""
    return Where(
        known_at=where.known_at,
        active_at=where.active_at,
        include_archived=where.include_archived,
        exclude=where.exclude,
        not_channels=where.not_channels,
    )


def checked_window(window: int) -> int:
    return _whole(window, "window", 0, MOST_WINDOW)


def checked_hops(hops: int) -> int:
    return _whole(hops, "hops", 1, MOST_HOPS)


def checked_profile(profile: str) -> str:
    if profile not in (known := get_args(Profile)):
        raise InvalidInput(f"profile must be one of {', '.join(known)}, got {profile!r}")
    return profile


def _whole(value: int, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(f"{name} must be a whole number from {least} to {most}, got {value!r}")
    return value


def _kinds(kinds: Collection[str] | None) -> Collection[str]:
    if kinds is None:
        return KINDS
    known = [*KINDS, EPISODE]
    if isinstance(kinds, str) or not isinstance(kinds, Collection) or not all(kind in known for kind in kinds):
        raise InvalidInput(f"kinds must be a set of {', '.join(sorted(known))}, got {kinds!r}")
    return kinds


def _metadata(metadata: Mapping[str, str | int | float | bool | None] | None) -> Mapping[str, Any]:
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata must be a mapping of names to values, got {metadata!r}")
    return metadata or {}


def _names(values: Collection[str] | None, name: str) -> Collection[str] | None:
    if values is None:
        return None
    several = isinstance(values, Collection) and not isinstance(values, str)
    if not several or not all(isinstance(value, str) for value in values):
        raise InvalidInput(f"{name} must be a collection of strings, got {values!r}")
    return values
