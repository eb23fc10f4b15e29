"""What follows a turn: its jobs, stored with it. They link what came up together, look for what it supersedes, and read
it for the graph, by rules and, where there is one, by a model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from tidal_plugins.facts.finding import SUPERSEDE
from tidal_plugins.facts.invalidation import may_replace
from tidal_plugins.graph.handlers import READ
from tidal_plugins.graph.reader.budget import MODEL
from tidal_plugins.ingestion.associate import enqueue_links
from tidal_plugins.ingestion.plan import TurnPlan, Writing
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.jobs.queue import enqueue, note
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.reading.sentences import TAG


def follow(writing: Writing, plans: Sequence[TurnPlan]) -> None:
    """Store the jobs that follow turns. Call it inside the transaction, once the turns are stored."""
    grown = {plan.episode.id for plan in plans if plan.known}
    linked = enqueue_links(writing.writer, writing.scope, plans, grown, writing.now)
    read = read_turns(writing.writer, writing.scope, [plan.episode.id for plan in plans], grown, writing.now)
    if linked or read:
        note(writing.writer.storage, writing.scope, writing.now)


def read_notes(writer: Writer, scope: Scope, notes: Sequence[Entry], now: datetime) -> None:
    """Have the sentences of notes read, and what they supersede looked for. Call it inside the transaction that stores
    them."""
    if notes:
        ids = [entry.id for entry in notes]
        enqueue(writer.storage, scope, TAG, dict.fromkeys(ids), now, replacing=ids)
        if writer.settings.supersession.enabled:
            said = [entry.id for entry in notes if may_replace(entry)]
            enqueue(writer.storage, scope, SUPERSEDE, dict.fromkeys(said), now, replacing=said)
        note(writer.storage, scope, now)


def read_turns(writer: Writer, scope: Scope, episodes: Sequence[str], grown: Collection[str], now: datetime) -> bool:
    """Have turns read, of which ``grown`` may wait for it already, and return whether there are any.

    Call it inside the transaction that changes them. A worker first reads those that its own process has stored.
    """
    jobs, settings = dict.fromkeys(episodes), writer.settings
    enqueue(writer.storage, scope, TAG, jobs, now, replacing=grown)
    if settings.supersession.enabled:
        enqueue(writer.storage, scope, SUPERSEDE, jobs, now, replacing=grown)
    readers = [READ] if settings.graph.enabled else []
    for kind in [*readers, MODEL] if writer.model.reader else readers:
        enqueue(writer.storage, scope, kind, jobs, now, replacing=grown, by=writer.jobs.throttle.name)
    return bool(jobs)


def forget_derived(
    writer: Writer, scope: Scope, entries: Collection[Entry], blanked: Collection[str], now: datetime
) -> set[str]:
    """Remove from the graph what was read in entries that are about to be erased, and return the ids of the entries
    that go with it. ``blanked`` are the episodes that lose a part: their jobs begin anew, without their errors.

    Call it inside the transaction that erases them. Erasing an entry removes its own jobs.
    """
    from tidal_plugins.graph.indexing.forgetting import forget_graph

    gone = forget_graph(writer.storage, scope, entries, writer.settings.graph.functional, now)
    if writer.jobs.renew(scope, blanked, now) or gone:
        note(writer.storage, scope, now)
    return gone
