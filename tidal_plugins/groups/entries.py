"""Entries: what is stored, listed by a filter and without a question, and what comes back from the archive."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Unpack

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput
from tidal_plugins.maintenance.tiers import count_days, list_archived, pin, restore, unpin
from tidal_plugins.model.entry import Entry, Filter, Scope
from tidal_plugins.retrieval.understand import active, checked_filter, checked_limit
from tidal_plugins.services import Services
from tidal_plugins.storage.capabilities import question
from tidal_plugins.validation import check_flag, check_int

MAX_DAYS = 3_660
"""Days of growth."""


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

    @question
    def growth(self, days: int = 30) -> dict[date, int]:
        """Return how many entries were stored on each of the last ``days``, at most 3,660, the oldest first.

        Days are those of ``Settings.time_zone``; episodes are left out. Raises ``InvalidInput``.
        """
        services, most = self._services, check_int(days, "days", 1, MAX_DAYS)
        now = services.now().astimezone(services.settings.zone)
        return count_days(services.storage, self._scope, now, most)

    def restore(self, id: str) -> Entry:
        """Bring an archived or expired entry back into recall, as warm as if it had just been used, and return it.

        An episode comes back with all its entries. What is in recall stays as it is. Fading goes on from then. Raises
        ``NotFound``, and ``Forgotten`` for what was forgotten, which nothing brings back.
        """
        entry = self._services.entry(self._scope, id)
        restore(self._services.writer, self._scope, entry, self._services.now())
        return self._services.entry(self._scope, entry.id)

    def pin(self, id: str) -> Entry:
        """Let an entry fade no more, bring it back into recall if it had left, and return it.

        Of an episode all entries are pinned. Raises ``NotFound``, and ``Forgotten``.
        """
        entry = self._services.entry(self._scope, id)
        pin(self._services.writer, self._scope, entry, self._services.now())
        return self._services.entry(self._scope, entry.id)

    def unpin(self, id: str) -> Entry:
        """Let an entry that does not fade fade from now on, and return it: pinned, or important for good.

        Only what was said in conversations fades; other kinds stay as they are. Raises ``NotFound``, ``Forgotten``.
        """
        entry = self._services.entry(self._scope, id)
        unpin(self._services.writer, self._scope, entry, self._services.now())
        return self._services.entry(self._scope, entry.id)

    def correct(self, id: str, text: str, *, expected: str | None = None) -> Entry:
        """Give an entry another text, and return it. One transaction: it is corrected whole, or stays as it is.

        The entry keeps its id, labels, importance, pin, signals and associations. What was read from the earlier text
        (relations, contradictions, what it supersedes, dossiers that quote it) goes, and the new text is read for it in
        the background. A turn keeps the words that were said in it. The earlier text leaves recall: it is marked as
        superseded, ``as_of`` finds it for the time before, and it is forgotten with the entry. The same words
        elsewhere stay as they are, and so does a fact whose value somebody took from them.

        Args:
            id: an entry that was said, or remembered; not one that was made of others, such as a dossier.
            text: the text that stands from now on.
            expected: the text that it is thought to have; ``None`` for any.

        Raises ``NotFound``, ``Forgotten`` also for a text that was forgotten, ``InvalidInput``, and
        ``Conflict`` if the entry does not say ``expected`` or is changed meanwhile.
        """
        from tidal_plugins.ingestion.correct import correct

        if expected is not None and not isinstance(expected, str):
            raise InvalidInput(f"expected is a text or None, got {type(expected).__name__}")
        services = self._services
        entry = services.entry(self._scope, id)
        with services.worker.recording(self._scope):
            return correct(services.writer, self._scope, entry, text, services.now(), expected=expected)

    alist = in_thread(list)
    acorrect = in_thread(correct)
    agrowth = in_thread(growth)
    apin = in_thread(pin)
    aunpin = in_thread(unpin)
    aarchived = in_thread(archived)
    arestore = in_thread(restore)
