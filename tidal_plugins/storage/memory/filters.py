"""Filters as functions that say whether an entry or a link passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from tidal_plugins.model.entry import Entry
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import Where, WhereLinks

T = TypeVar("T")


def entry_filter(where: Where) -> Callable[[Entry], bool]:
    """Return whether an entry passes, as a function."""
    return _all([*_of_fields(where), *_of_entry_times(where)])


def link_filter(where: WhereLinks) -> Callable[[Link], bool]:
    """Return whether a link passes, as a function."""
    return _all([*_of_ends(where), *_of_link_times(where)])


def _all(tests: list[Callable[[T], bool]]) -> Callable[[T], bool]:
    return lambda item: all(test(item) for test in tests)


def _of_fields(where: Where) -> Iterator[Callable[[Entry], bool]]:
    if where.ids is not None:
        ids = set(where.ids)
        yield lambda entry: entry.id in ids
    if where.kinds is not None:
        kinds = set(where.kinds)
        yield lambda entry: entry.kind in kinds
    if where.threads is not None:
        threads = set(where.threads)
        yield lambda entry: entry.thread in threads
    if where.episodes is not None:
        episodes = set(where.episodes)
        yield lambda entry: entry.episode in episodes
    if where.positions is not None:
        positions = set(where.positions)
        yield lambda entry: entry.position in positions
    if where.speakers is not None:
        speakers = set(where.speakers)
        yield lambda entry: entry.speaker in speakers
    if where.sources is not None:
        sources = set(where.sources)
        yield lambda entry: entry.source in sources
    if where.tags is not None:
        tags = set(where.tags)
        yield lambda entry: not tags.isdisjoint(entry.tags)
    if where.metadata:
        yield lambda entry: _holds(entry.metadata, where.metadata)
    if where.exclude:
        excluded = set(where.exclude)
        yield lambda entry: entry.id not in excluded and (entry.episode or "") not in excluded
    if where.not_channels:
        channels = set(where.not_channels)
        yield lambda entry: entry.channel not in channels


def _of_entry_times(where: Where) -> Iterator[Callable[[Entry], bool]]:
    if (since := where.since) is not None:
        yield lambda entry: entry.occurred_at >= since
    if (until := where.until) is not None:
        yield lambda entry: entry.occurred_at < until
    if (known_at := where.known_at) is not None:
        yield lambda entry: entry.recorded_at <= known_at
    if (least := where.least_importance) is not None:
        yield lambda entry: entry.importance >= least
    if (due_by := where.due_by) is not None:
        yield lambda entry: _is_due(entry, due_by)
    if (now := where.active_at) is not None:
        yield lambda entry: _holds_at(entry.valid_from, entry.valid_until, now)
        if not where.include_archived:
            yield lambda entry: _is_current(entry, now)


def _of_ends(where: WhereLinks) -> Iterator[Callable[[Link], bool]]:
    if where.ids is not None:
        ids = set(where.ids)
        yield lambda link: link.id in ids
    if where.kinds is not None:
        kinds = set(where.kinds)
        yield lambda link: link.kind in kinds
    if where.ends is not None:
        ends = set(where.ends)
        yield lambda link: link.source in ends or link.target in ends
    if where.sources is not None:
        sources = set(where.sources)
        yield lambda link: link.source in sources
    if where.targets is not None:
        targets = set(where.targets)
        yield lambda link: link.target in targets
    if where.metadata:
        yield lambda link: _holds(link.metadata, where.metadata)


def _of_link_times(where: WhereLinks) -> Iterator[Callable[[Link], bool]]:
    if (valid_at := where.valid_at) is not None:
        yield lambda link: _holds_at(link.valid_from, link.valid_until, valid_at)
    if (known_at := where.known_at) is not None:
        yield lambda link: _holds_at(link.recorded_at, link.superseded_at, known_at)
    if (lasting_at := where.lasting_at) is not None:
        yield lambda link: link.expires_at is None or link.expires_at > lasting_at
    if (expired_at := where.expired_at) is not None:
        yield lambda link: link.expires_at is not None and link.expires_at <= expired_at


def _holds(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(name in metadata and _is_equal(metadata[name], value) for name, value in wanted.items())


def _is_equal(one: Any, other: Any) -> bool:
    """Return whether JSON values are equal: 1 is 1.0, but neither true nor "1"."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _holds_at(start: datetime | None, end: datetime | None, time: datetime) -> bool:
    return (start is None or start <= time) and (end is None or end > time)


def _is_due(entry: Entry, time: datetime) -> bool:
    tier = entry.tier
    return tier is not None and tier.cold_at is not None and tier.anchored_at < tier.cold_at <= time


def _is_current(entry: Entry, time: datetime) -> bool:
    tier = entry.tier
    return tier is None or (_holds_at(None, tier.archived_at, time) and _holds_at(None, tier.expires_at, time))
