"""Entries: what is stored, listed by a filter and without a question, and what comes back from the archive."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field, replace
from typing import Unpack

from tidal_plugins.aio import in_thread
from tidal_plugins.maintenance.tiers import list_archived, restore
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.filter import Filter
from tidal_plugins.retrieval.request import active, checked_filter, checked_limit
from tidal_plugins.services import Services
from tidal_plugins.storage.deadline import question
from tidal_plugins.validation import check_flag, check_int


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of one scope. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    @question
    def list(
        self,
        *,
        limit: int | None = None,
        after: int = 0,
        newest_first: bool = False,
        **filter: Unpack[Filter],
    ) -> builtins.list[Entry]:
        """List entries in order of time.

        Args:
            limit: at most this many.
            after: how many of the first to pass over.
            newest_first: whether the newest come first.
            filter: the fields of :class:`Filter`. Facts of the graph are listed too, and ``include_archived`` lists
                what holds no more as well.

        Raises ``InvalidInput``.
        """
        where = active(self._services.now(), **checked_filter(filter, "list"), graph=True)
        if where.include_archived:
            where = replace(where, active_at=None)
        return self._services.storage.find(
            self._scope,
            where,
            limit=None if limit is None else checked_limit(limit),
            after=check_int(after, "after", 0),
            newest_first=check_flag(newest_first, "newest_first"),
        )

    @question
    def archived(self, *, limit: int = 50, after: int = 0) -> builtins.list[Entry]:
        """List the entries that recall finds no more: archived ones and expired ones, those that left it last first.

        ``after`` is how many of the first to pass over. Episodes are left out: their entries are listed. Raises
        ``InvalidInput``.
        """
        most, passed = checked_limit(limit), check_int(after, "after", 0)
        return list_archived(self._services.storage, self._scope, self._services.now(), most, passed)

    def restore(self, id: str) -> Entry:
        """Bring an archived or expired entry back into recall, as warm as if it had just been used, and return it.

        An episode comes back with all its entries. What is in recall stays as it is. Fading goes on from then. Raises
        ``NotFound``, and ``Forgotten`` for what was forgotten, which nothing brings back.
        """
        entry = self._services.entry(self._scope, id)
        restore(self._services.writer, self._scope, entry, self._services.now())
        return self._services.entry(self._scope, entry.id)

    alist = in_thread(list)
    aarchived = in_thread(archived)
    arestore = in_thread(restore)
