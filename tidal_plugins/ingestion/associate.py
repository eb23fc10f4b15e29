"""Co-activation: memories that one exchange was about come up together from then on [Capsule].

A turn is linked after it was stored: one that was shown ten memories has some seventy links, which no answer should
wait for.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidal_plugins.associations.store import Activation, AssociationStore
from tidal_plugins.errors import Corrupt
from tidal_plugins.jobs.handler import Handler
from tidal_plugins.jobs.queue import Job, enqueue
from tidal_plugins.model.entry import Scope

if TYPE_CHECKING:
    from tidal_plugins.ingestion.plan import TurnPlan
    from tidal_plugins.ingestion.writer import Writer

LINK = "job:link"
"""Jobs by episode, with the memories that were shown before it and how it used them (``shown``), and with the ids that
are linked already, with each other, because the turn goes on (``counted``)."""

_USED = 2.0
"""Activation of what an answer used beside 1 of all else: where a context is too large, this stays in it."""

logger = logging.getLogger(__name__)


def enqueue_links(
    writer: Writer, scope: Scope, plans: Sequence[TurnPlan], grown: Collection[str], now: datetime
) -> bool:
    """Have turns linked, of which ``grown`` were stored before, and return whether any has a pair to link.

    Call it inside the transaction, once they are stored.
    """
    before = {line.key: line.value for line in writer.storage.read_log(scope, LINK, keys=grown)} if grown else {}
    linked = [plan for plan in plans if len(plan.episode.entries) + len(plan.shown) > 1]  # else there is no pair
    details = {plan.episode.id: _detail(writer, scope, plan, before) for plan in linked}
    enqueue(writer.storage, scope, LINK, details, now, replacing=before)
    return bool(details)


def _detail(writer: Writer, scope: Scope, plan: TurnPlan, before: Mapping[str, Any]) -> dict[str, Any] | None:
    from tidal_plugins.ingestion.repeats import firsts
    from tidal_plugins.ingestion.uses import shown_as

    known, queued = plan.known, before.get(plan.episode.id)
    counted: Collection[str] = ()
    if queued is not None:
        counted = queued.get("detail", {}).get("counted", ())
    elif known is not None:
        said = _said(known.entries, firsts(writer, scope, known.entries))
        counted = sorted({*said, *shown_as(writer, scope, known.surfaced)})
    given = (("shown", list(plan.shown.items())), ("counted", list(counted)))
    return {name: value for name, value in given if value} or None


@dataclass(frozen=True)
class Linker(Handler[int]):
    """Links the memories that were shown before a turn and the entries of the turn, as one context, and returns how
    many turns it linked. If a turn continues, links that it has made are not made again."""

    writer: Writer

    kind = LINK
    most = 64
    """Turns that are linked in one transaction: some thousand links, written in less than a tenth of a second."""

    def do(self, scope: Scope, jobs: Sequence[Job]) -> int:
        writer = self.writer
        web = AssociationStore(writer.storage, writer.settings.associations)
        with writer.storage.transaction():
            still = writer.jobs.finish(scope, LINK, jobs)
            try:
                web.commit_contexts(scope, list(_contexts(writer, web, scope, still)))
            except Corrupt:
                logger.error("what came up together in %d turns is not linked: a row is damaged", len(still))
        return len(still)


def _contexts(writer: Writer, web: AssociationStore, scope: Scope, jobs: Sequence[Job]) -> Iterator[Activation]:
    from tidal_plugins.ingestion.episodes import read_episodes
    from tidal_plugins.ingestion.repeats import firsts

    episodes = read_episodes(writer.storage, scope, [job.subject for job in jobs])
    first = firsts(writer, scope, [id_ for episode in episodes.values() for id_ in episode.entries])
    for job in jobs:
        if (episode := episodes.get(job.subject)) is not None:
            detail = job.detail or {}
            shown = detail.get("shown", ())
            context = web.activate((id_ for id_, how in shown if how), strength=_USED)
            context = web.activate((id_ for id_, how in shown if not how), context)
            context = web.activate(_said(episode.entries, first), context)
            yield Activation(context, job.since, frozenset(detail.get("counted", ())))


def _said(entries: Iterable[str], first: Mapping[str, str]) -> Iterable[str]:
    """Return the entries of an episode; a repetition counts as the entry that it repeats."""
    return dict.fromkeys(first.get(id_, id_) for id_ in entries)
