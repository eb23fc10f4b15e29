"""Co-activation: memories that one exchange was about come up together from then on [Capsule].

A turn is queued in the transaction that stores it, and linked later: a turn that was shown ten memories has some
seventy links, which no answer should wait for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tidal_plugins.associations.store import Activation, AssociationStore
from tidal_plugins.errors import Corrupt
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.storage.base import Line

if TYPE_CHECKING:
    from tidal_plugins.ingestion.plan import TurnPlan, Writing
    from tidal_plugins.ingestion.writer import Writer

QUEUE = "coactivation"
"""Log of the turns that wait to be linked, by the ids of their episodes. Erasing an episode removes its line."""

BATCH = 64
"""Turns that are linked in one transaction: some thousand links, written in less than a tenth of a second."""

_USED = 2.0
"""Activation of what an answer used beside 1 of all else: where a context is too large, this stays in it."""

logger = logging.getLogger(__name__)


def queue(writing: Writing, plans: Sequence[TurnPlan]) -> None:
    """Queue turns for every step for later. Call it inside the transaction, once they are stored."""
    writer, scope = writing.writer, writing.scope
    grown = {plan.episode.id for plan in plans if plan.known}
    before = {line.key: line.value for line in writer.storage.read_log(scope, QUEUE, keys=grown)} if grown else {}
    linked = [plan for plan in plans if len(plan.episode.entries) + len(plan.shown) > 1]  # else there is no pair
    lines = [Line(plan.episode.id, writing.now, _waiting(writer, scope, plan, before)) for plan in linked]
    if before:
        writer.storage.trim_log(scope, QUEUE, keys=before.keys())
    if lines:
        writer.storage.append_log(scope, QUEUE, lines)
    writer.later.queue(scope, [plan.episode.id for plan in plans], grown, writing.now, queued=bool(lines))


def _waiting(writer: Writer, scope: Scope, plan: TurnPlan, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the memories that were shown before a turn, with how it used them, and the ids that are linked already,
    with each other, because the turn goes on. Nothing stands for none."""
    from tidal_plugins.ingestion.repeats import firsts
    from tidal_plugins.ingestion.uses import shown_as

    known, queued = plan.known, before.get(plan.episode.id)
    counted: Collection[str] = ()
    if queued is not None:
        counted = queued.get("counted", ())
    elif known is not None:
        said = _said(known.entries, firsts(writer, scope, known.entries))
        counted = sorted({*said, *shown_as(writer, scope, known.surfaced)})
    return {name: value for name, value in (("shown", list(plan.shown.items())), ("counted", list(counted))) if value}


@dataclass(frozen=True, slots=True)
class Coactivation:
    """Links the memories that were shown before a turn and the entries of the turn, as one context.

    If a turn continues, links that it has made are not made again.
    """

    writer: Callable[[], Writer]
    step: Callable[[], AbstractContextManager[None]]
    """Enters one step of the background work."""

    def queue(self, scope: Scope, episodes: Sequence[str], grown: Collection[str], now: datetime) -> bool:
        """Queue nothing: recording does, with what only it knows of the turns."""
        return False

    def run(self, scope: Scope, proceed: Callable[[], bool]) -> timedelta | None:
        """Link the turns that wait, in small transactions. Safe to interrupt and to run concurrently."""
        self.link(scope, proceed)
        return None

    def link(self, scope: Scope, proceed: Callable[[], bool] = lambda: True) -> int:
        """Link the turns that wait, and return how many there were."""
        storage, linked = self.writer().storage, 0
        while proceed() and storage.read_log(scope, QUEUE, limit=1):
            with self.step(), storage.transaction():
                lines = storage.read_log(scope, QUEUE, limit=BATCH)
                self._link(scope, lines)
            linked += len(lines)
        return linked

    def is_done(self, scope: Scope) -> bool:
        """Return whether no turn waits."""
        return not self.writer().storage.read_log(scope, QUEUE, limit=1)

    def forget(self, scope: Scope, entries: Collection[Entry], blanked: Collection[str], now: datetime) -> set[str]:
        """Do nothing: erasing an entry removes its links, and what is not there is not linked."""
        return set()

    def _link(self, scope: Scope, lines: Sequence[Line]) -> None:
        """Link turns, and take them out of the queue."""
        writer = self.writer()
        web = AssociationStore(writer.storage, writer.settings.associations)
        try:
            web.commit_contexts(scope, list(_contexts(writer, web, scope, lines)))
        except Corrupt:
            logger.error("what came up together in %d turns is not linked: a row is damaged", len(lines))
        writer.storage.trim_log(scope, QUEUE, keys=[line.key for line in lines])


def _contexts(writer: Writer, web: AssociationStore, scope: Scope, lines: Sequence[Line]) -> Iterator[Activation]:
    from tidal_plugins.ingestion.episodes import read_episodes
    from tidal_plugins.ingestion.repeats import firsts

    episodes = read_episodes(writer.storage, scope, [line.key for line in lines])
    first = firsts(writer, scope, [id_ for episode in episodes.values() for id_ in episode.entries])
    for line in lines:
        if (episode := episodes.get(line.key)) is not None:
            shown = line.value.get("shown", ())
            context = web.activate((id_ for id_, how in shown if how), strength=_USED)
            context = web.activate((id_ for id_, how in shown if not how), context)
            context = web.activate(_said(episode.entries, first), context)
            yield Activation(context, line.at, frozenset(line.value.get("counted", ())))


def _said(entries: Iterable[str], first: Mapping[str, str]) -> Iterable[str]:
    """Return the entries of an episode; a repetition counts as the entry that it repeats."""
    return dict.fromkeys(first.get(id_, id_) for id_ in entries)
