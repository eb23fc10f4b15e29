"""Links between entries: associations, which come up together [Capsule], and supersessions."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass, field

from tidal_plugins.aio import in_thread
from tidal_plugins.associations.store import Association, AssociationStore, AssociationTuning, Reached
from tidal_plugins.facts.invalidation import SupersessionStore
from tidal_plugins.model.entry import Scope, bare_id
from tidal_plugins.model.fact import Supersession
from tidal_plugins.services import Services
from tidal_plugins.storage.capabilities import question
from tidal_plugins.validation import check_flag, check_page, items


@dataclass(frozen=True, slots=True)
class Associations:
    """The associations of one scope. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    @question
    def links(self, id: str, *, limit: int | None = None) -> list[Association]:
        """List the associations of an entry, the heaviest first, with their weights as they have faded to now.

        ``id`` may be a citation. An entry without associations has none; so has an unknown id.
        """
        return self._web.edges(self._scope, bare_id(id), self._services.now(), limit=limit)

    @question
    def spread(
        self,
        ids: str | Iterable[str],
        *,
        threshold: float | None = None,
        depth: int | None = None,
        limit: int | None = None,
    ) -> list[Reached]:
        """Return the entries that activation spreads to from ``ids``, the most activated first.

        An edge of weight w passes w / (w + 1); a path passes the product, and the best path counts. ``threshold`` is
        the activation in [0, 1] below which spreading stops, ``depth`` the number of hops, ``limit`` the number of
        entries returned. Raises ``InvalidInput``.
        """
        origins = [bare_id(ids)] if isinstance(ids, str) else [bare_id(id_) for id_ in items(ids, "ids")]
        return self._web.spread(
            self._scope, origins, self._services.now(), threshold=threshold, depth=depth, limit=limit
        )

    def link_pending(self) -> int:
        """Link the entries of the turns that wait for it, and return how many turns there were.

        Turns are linked in the background after ``record``. When this returns, everything recorded before is linked,
        what failed before included.
        """
        return sum(self._services.handlers.do(self._services.handlers.link, self._scope, failed=True).results)

    alinks = in_thread(links)
    alink_pending = in_thread(link_pending)
    aspread = in_thread(spread)

    @property
    def _web(self) -> AssociationStore:
        return AssociationStore(self._services.storage, self._services.settings[AssociationTuning])


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
        return sum(
            self._services.handlers.do(self._services.handlers.supersede, self._scope, failed=True, wait=True).results
        )

    alist = in_thread(list)
    aundo = in_thread(undo)
    afind = in_thread(find)

    @property
    def _store(self) -> SupersessionStore:
        return SupersessionStore(self._services.storage, self._scope)
