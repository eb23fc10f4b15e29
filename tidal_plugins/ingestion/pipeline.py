"""The write path as lists of steps.

Each step is a function of one plan, or of a batch of plans, and does one thing. A step costs nothing when its
capability is off. To see how a write came to be, read the lists and open one step.

- ``PREPARATION``: takes no lock and may wait for a model; a batch of plans at a time.
- ``STEPS``: runs inside the transaction that stores a turn; one plan at a time.
- Steps for later run after the write on the thread of the open memory (:mod:`tidal_plugins.ingestion.later`). The last
  of ``STEPS`` queues them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tidal_plugins.facts.observations import flag_observations
from tidal_plugins.facts.versions import flag_claims
from tidal_plugins.ingestion.associate import associate
from tidal_plugins.ingestion.episodes import number, store_episode, to_entry
from tidal_plugins.ingestion.feeling import feel, set_mood
from tidal_plugins.ingestion.frames import note_shown
from tidal_plugins.ingestion.gate import admit, compare, tally
from tidal_plugins.ingestion.plan import Plan, TurnPlan, Writing
from tidal_plugins.ingestion.repeats import store_entries
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


def flag(writing: Writing, plan: Plan) -> None:
    """Open a conflict for each claim that contradicts a fact, and for observations that exclude earlier ones."""
    flag_claims(writing.writer.storage, writing.scope, plan.claims)
    flag_observations(writing.writer.storage, writing.scope, plan.entries, writing.now)


def queue(writing: Writing, plan: TurnPlan) -> None:
    """Queue the steps for later."""
    writing.writer.later.queue(writing.scope, plan.episode.id, writing.now)


NOTE_PREPARATION: Sequence[Callable[[Writing, Sequence[Plan]], None]] = (embed, compare, read_claims)
PREPARATION: Sequence[Callable[[Writing, Sequence[TurnPlan]], None]] = (embed, compare, feel, read_claims)

NOTE_STEPS: Sequence[Callable[[Writing, Plan], None]] = (admit, store_entries, tally, flag)
STEPS: Sequence[Callable[[Writing, TurnPlan], None]] = (
    number,
    set_mood,
    admit,
    store_episode,
    store_entries,
    tally,
    strengthen,
    associate,
    flag,
    note_shown,
    queue,
)


def prepare_turns(writing: Writing, plans: Sequence[TurnPlan]) -> None:
    """Run the steps that take no lock."""
    for step in PREPARATION:
        step(writing, plans)


def store_turn(writing: Writing, plan: TurnPlan) -> None:
    """Run the steps that store a turn. Call it inside the transaction."""
    for step in STEPS:
        step(writing, plan)


def prepare_notes(writing: Writing, plans: Sequence[Plan]) -> None:
    """Run the steps that take no lock."""
    for step in NOTE_PREPARATION:
        step(writing, plans)


def store_notes(writing: Writing, plans: Iterable[Plan]) -> None:
    """Run the steps that store notes. Call it inside the transaction."""
    for plan in plans:
        for step in NOTE_STEPS:
            step(writing, plan)
