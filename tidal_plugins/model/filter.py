"""The filter of a recall, written down once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TypedDict


class Filter(TypedDict, total=False):
    """The entries that a recall may return. All fields apply inside each search channel, before its best are cut.

    A field that is not given leaves entries unfiltered; an empty collection matches nothing.
    """

    kinds: Collection[str] | None
    """``conversation``, ``skill``, ``kb``, ``fact``, ``dossier``; also ``episode``, to search episode summaries. Facts
    read into the graph are found only where ``fact`` is named."""
    threads: Collection[str] | None
    """Conversations, by the names that ``record(thread=…)`` gave them."""
    speakers: Collection[str] | None
    """Names of speakers."""
    sources: Collection[str] | None
    """Sources, such as the names of documents."""
    tags: Collection[str] | None
    """Tags of which an entry needs at least one."""
    metadata: Mapping[str, str | int | float | bool | None] | None
    """Metadata items that an entry needs, all of them."""
    since: datetime | None
    """The earliest time of the event."""
    until: datetime | None
    """The time before which the event was."""
    exclude: Collection[str]
    """Ids of entries or episodes to leave out."""
    include_archived: bool
    """Whether archived entries are searched too."""
