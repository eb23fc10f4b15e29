"""Supersessions: which statements hold no more because later ones gave another value."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field

from tidal_plugins.aio import in_thread
from tidal_plugins.facts.invalidation import SupersessionStore
from tidal_plugins.model.entry import Scope, bare_id
from tidal_plugins.model.fact import Supersession
from tidal_plugins.services import Services
from tidal_plugins.storage.capabilities import question
from tidal_plugins.validation import check_flag, check_page


@dataclass(frozen=True, slots=True)
class Supersessions:
    """The supersessions of one scope. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    @question
    def list(
        self, id: str | None = None, *, limit: int | None = None, after: int = 0, newest_first: bool = False
    ) -> builtins.list[Supersession]:
        """List the links that stand, of one entry or all, in the order in which they were found.

        Args:
            id: an entry, or ``None`` for all.
            limit: at most this many.
            after: how many of the first to pass over.
            newest_first: whether those of the newest later statements come first.

        Raises ``InvalidInput``.
        """
        newest = check_flag(newest_first, "newest_first")
        ids = None if id is None else [bare_id(id)]
        return self._store.standing(ids, *check_page(limit, after), newest_first=newest)

    def undo(self, later: str, earlier: str) -> Supersession:
        """Take a wrong link back for good, and return it. It is not found again. Raises ``NotFound``."""
        return self._store.undo(bare_id(later), bare_id(earlier), self._services.now())

    def find(self) -> int:
        """Look through the turns that wait for it, and return how many links were made.

        The background does this after every ``record``. When it returns, everything recorded before was looked
        through, what failed before included.
        """
        return sum(self._services.do(self._services.handlers.supersede, self._scope, failed=True, wait=True).results)

    alist = in_thread(list)
    aundo = in_thread(undo)
    afind = in_thread(find)

    @property
    def _store(self) -> SupersessionStore:
        return SupersessionStore(self._services.storage, self._scope)
