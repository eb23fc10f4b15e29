"""Forty turns of work on a shop's back end, in four threads; then three questions to the graph that was learned from
them, each answered with the words that say so. No model is called, and the clock is turned by hand.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import shorten

from graph_story import DAYS

from tidal_plugins import TidalMemory
from tidal_plugins.model.graph import Relation

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
TURN = timedelta(minutes=6)


class Clock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.now = MONDAY

    def __call__(self) -> datetime:
        return self.now


def main() -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder, TidalMemory(Path(folder) / "shop.db", clock=clock) as memory:
        work(memory, clock)
        where(memory)
        dependents(memory)
        on_tuesday(memory)


def work(memory: TidalMemory, clock: Clock) -> None:
    headline("Four days of work")
    for number, (thread, turns) in enumerate(DAYS):
        for turn, (said, answer) in enumerate(turns):
            clock.now = MONDAY + timedelta(days=number) + turn * TURN
            memory.record(said, answer, thread=thread, id=f"{thread}-{turn}")
        memory.graph.index_pending()  # it runs in the background; here the clock stands still until it is done
    graph = memory.graph
    print(f"{len(memory.episodes.list())} turns, {len(graph.entities())} entities, {len(graph.relations())} relations")


def where(memory: TidalMemory) -> None:
    headline("Where is `calculate_tax_liability`, and what is it for?")
    graph = memory.graph
    entity = graph.entity("calculate_tax_liability")
    print(f"{entity.name}: a {entity.type}, spoken of in {len(entity.episodes)} turns, {len(entity.threads)} threads")
    for predicate in ("defined_in", "is"):
        show(memory, graph.relations(subject=entity.id, predicate=predicate))


def dependents(memory: TidalMemory) -> None:
    headline("What depends on the InventoryItem schema?")
    for affected in memory.graph.impact("InventoryItem"):
        print(f"{affected.entity.name}, {affected.distance} away:")
        show(memory, affected.path)


def on_tuesday(memory: TidalMemory) -> None:
    headline("What did we believe about the deployment on Tuesday?")
    tuesday = MONDAY + timedelta(days=1, hours=8)
    graph = memory.graph
    show(memory, graph.relations(subject="deployment", valid_at=tuesday, believed_at=tuesday))
    print("and since then:")
    for relation in graph.timeline("deployment"):
        if relation.superseded_at:
            continue  # what was believed of it before it was over
        since, until = relation.valid_from or relation.recorded_at, relation.valid_until
        print(f"  {since:%A %H:%M} – {f'{until:%A %H:%M}' if until else 'now'}: {graph.sentence(relation)}")


def show(memory: TidalMemory, relations: list[Relation] | tuple[Relation, ...]) -> None:
    for relation in relations:
        evidence = memory.graph.evidence(relation)[0]
        print(f"  {memory.graph.sentence(relation)} ({relation.confidence:.2f})")
        said = memory.get(evidence.entry or evidence.episode).text  # the whole message, of which the quote is a part
        print(f"    {evidence.at:%A}, {evidence.citation}: {shorten(said, 140)}")


def headline(text: str) -> None:
    print(f"\n== {text}")


if __name__ == "__main__":
    main()
