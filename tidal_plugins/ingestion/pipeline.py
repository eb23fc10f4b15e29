"""The write path as lists of steps.

Each step does one thing. A step costs nothing when its capability is off. To see how a write came to be, read the lists
and open one step.

- ``PREPARATION``: takes no lock and may wait for a model; a batch of plans at a time.
- ``LOADING``: reads, inside the transaction, what the steps below need of the store; a batch of plans at a time.
- ``STEPS``: what becomes of each plan, one after the other. The writes are held, and stored together at the end.
- What may follow the write is stored with it as jobs (:mod:`tidal_plugins.ingestion.following`), once for a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidal_plugins.facts.versions import flag_claims
from tidal_plugins.ingestion.batch import Batch
from tidal_plugins.ingestion.episodes import load_numbers, number, store_episode, to_entry
from tidal_plugins.ingestion.feeling import feel, set_mood
from tidal_plugins.ingestion.following import follow, read_notes
from tidal_plugins.ingestion.frames import note_shown
from tidal_plugins.ingestion.gate import admit, compare, tally
from tidal_plugins.ingestion.plan import Plan, TurnPlan, Writing
from tidal_plugins.ingestion.repeats import FIRST, hear, store_entries
from tidal_plugins.ingestion.uses import strengthen


def embed(writing: Writing, plans: Sequence[Plan]) -> None:
    """Split and embed every new text of a batch in one go."""
    entries = []
    for plan in plans:
        entries += [to_entry(plan.episode)] if isinstance(plan, TurnPlan) else []
        entries += plan.entries
    records = {record.entry.id: record for record in writing.writer.records(entries)}
    for plan in plans:
        plan.records = records


def read_claims(writing: Writing, plans: Sequence[Plan]) -> None:
    """Read what new entries claim of facts."""
    claims = writing.writer.claims(writing.scope, [entry for plan in plans for entry in plan.entries])
    for plan in plans:
        own = {entry.id for entry in plan.entries}
        plan.claims = [claim for claim in claims if claim[0].id in own]


def load_links(batch: Batch, plans: Sequence[Plan]) -> None:
    """Read the entries that new ones repeat."""
    marks = {mark for plan in plans for mark in plan.marks.values()}
    batch.load_links({FIRST: marks})
    batch.entries([link.target for mark in marks for link in batch.links(FIRST, mark)])


def flag(batch: Batch, plan: Plan) -> None:
    """Open a conflict for each claim that contradicts a fact."""
    flag_claims(batch.writer.storage, batch.scope, plan.claims)


NOTE_PREPARATION: Sequence[Callable[[Writing, Sequence[Plan]], None]] = (embed, compare, read_claims, hear)
PREPARATION: Sequence[Callable[[Writing, Sequence[TurnPlan]], None]] = (
    embed,
    compare,
    feel,
    read_claims,
    hear,
)

NOTE_LOADING: Sequence[Callable[[Batch, Sequence[Plan]], None]] = (load_links,)
LOADING: Sequence[Callable[[Batch, Sequence[TurnPlan]], None]] = (load_numbers, load_links)

NOTE_STEPS: Sequence[Callable[[Batch, Plan], None]] = (admit, store_entries, tally, flag)
STEPS: Sequence[Callable[[Batch, TurnPlan], None]] = (
    number,
    set_mood,
    admit,
    store_episode,
    store_entries,
    tally,
    strengthen,
    flag,
    note_shown,
)


def prepare_turns(writing: Writing, plans: Sequence[TurnPlan]) -> None:
    """Run the steps that take no lock."""
    for step in PREPARATION:
        step(writing, plans)


def store_turns(writing: Writing, plans: Sequence[TurnPlan]) -> None:
    """Run the steps that store turns. Call it inside the transaction."""
    batch = Batch(writing)
    for load in LOADING:
        load(batch, plans)
    for plan in plans:
        for step in STEPS:
            step(batch, plan)
    batch.store()
    follow(writing, plans)


def prepare_notes(writing: Writing, plans: Sequence[Plan]) -> None:
    """Run the steps that take no lock."""
    for step in NOTE_PREPARATION:
        step(writing, plans)


def store_notes(writing: Writing, plans: Sequence[Plan]) -> None:
    """Run the steps that store notes. Call it inside the transaction."""
    batch = Batch(writing)
    for load in NOTE_LOADING:
        load(batch, plans)
    for plan in plans:
        for step in NOTE_STEPS:
            step(batch, plan)
    batch.store()
    read_notes(writing.writer, writing.scope, [entry for plan in plans for entry in plan.entries], writing.now)
