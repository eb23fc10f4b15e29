"""How many nodes a billion entries and ten thousand recalls a second take: a model, with its assumptions.

    python benchmarks/scale.py --json scale.json && python benchmarks/scale_model.py --measured scale.json
    python benchmarks/scale_model.py --entries 1000000000 --recalls 10000 --cores 64

What a recall and a record cost, and what an entry takes on disk, are figures that ``scale.py`` measured; all else is an
assumption, printed above the table, and an argument. The model is arithmetic, no measurement: it holds as far as the
work divides by scope, which no query of the engine crosses.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout


from benchmarks.tables import options, table, wide


def of(default: float, what: str) -> Any:
    """Return a field with its default and what it says."""
    return field(default=default, metadata={"what": what})


@dataclass(frozen=True)
class Assumptions:
    """What the model takes for granted."""

    bytes_per_entry: float = of(10_000.0, "bytes on disk for an entry, with its indexes (measured)")
    recall_core_ms: float = of(40.0, "ms of one core for a recall, library and database together (measured)")
    record_core_ms: float = of(40.0, "ms of one core for a record, library and database together (measured)")
    server_share: float = of(0.5, "share of that time that the database takes")
    writes_per_recall: float = of(0.5, "records for each recall")
    active: float = of(0.05, "share of the entries in scopes that are in use, which should be in memory")
    cores: int = of(32, "cores of a node")
    memory_gb: float = of(256.0, "GB of memory of a node")
    disk_tb: float = of(4.0, "TB of disk of a node")
    load: float = of(0.5, "share of its cores, memory and disk that a node is filled to")
    replicas: int = of(1, "read replicas of each node")
    skew: float = of(1.5, "load of the busiest node, against the average")


@dataclass(frozen=True)
class Plan:
    """Nodes for a number of entries and recalls a second, by what each resource asks for."""

    entries: float
    recalls: float
    disk_tb: float
    by_disk: int
    by_memory: int
    by_reads: int
    by_writes: int
    application_cores: int

    @property
    def nodes(self) -> int:
        """Return the nodes that hold the data, without their replicas."""
        return max(self.by_disk, self.by_memory, self.by_reads, self.by_writes)

    @property
    def bound_by(self) -> str:
        """Return the resource that asks for the most nodes."""
        needs = {"disk": self.by_disk, "memory": self.by_memory, "recalls": self.by_reads, "records": self.by_writes}
        return max(needs, key=needs.__getitem__)


def plan(entries: float, recalls: float, given: Assumptions) -> Plan:
    """Return how many nodes are needed. Replicas serve recalls, and every record is written to each of them."""
    disk = entries * given.bytes_per_entry / 1e12
    hot_gb = given.active * entries * given.bytes_per_entry / 1e9
    usable = given.cores * given.load / given.skew
    records = recalls * given.writes_per_recall
    reading = recalls * given.recall_core_ms * given.server_share / 1000
    writing = records * given.record_core_ms * given.server_share / 1000
    application = (recalls * given.recall_core_ms + records * given.record_core_ms) * (1 - given.server_share) / 1000
    return Plan(
        entries=entries,
        recalls=recalls,
        disk_tb=disk,
        by_disk=_nodes(disk * given.skew, given.disk_tb * given.load),
        by_memory=_nodes(hot_gb * given.skew, given.memory_gb * given.load),
        by_reads=_nodes(reading / (1 + given.replicas) + writing, usable),
        by_writes=_nodes(writing, usable),
        application_cores=math.ceil(application / given.load),
    )


def measured(path: Path) -> dict[str, float]:
    """Return the assumptions that the largest row of a run of ``scale.py`` settles."""
    figures: dict[str, Any] = json.loads(path.read_text("utf-8"))
    row = figures["rows"][-1]
    busy = min(figures["cores"], figures["processes"])
    return {
        "bytes_per_entry": row["bytes_per_entry"],
        "recall_core_ms": 1000 * busy / row["recalls_per_second"],
        "record_core_ms": row["calls"]["record"]["p50_ms"],
    }


def _nodes(need: float, of_one: float) -> int:
    return max(1, math.ceil(need / of_one))


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--entries", nargs="+", type=float, default=[1e6, 1e7, 1e8, 1e9], metavar="N")
    parser.add_argument("--recalls", nargs="+", type=float, default=[100, 1_000, 10_000], metavar="N", help="a second")
    parser.add_argument("--measured", type=Path, metavar="FILE", help="figures that scale.py wrote")
    for one in fields(Assumptions):
        option = "--" + one.name.replace("_", "-")
        parser.add_argument(option, type=type(one.default), metavar="X", help=one.metadata["what"])
    args = parser.parse_args(argv)
    named = {one.name: value for one in fields(Assumptions) if (value := getattr(args, one.name)) is not None}
    known = measured(args.measured) if args.measured else {}
    given = Assumptions(**{**known, **named})
    if min(given.load, given.cores, given.memory_gb, given.disk_tb, *args.entries, *args.recalls) <= 0:
        parser.error("loads, nodes, entries and recalls must be positive")
    plans = [plan(entries, recalls, given) for entries in args.entries for recalls in args.recalls]
    show(given, {*known} - {*named}, plans)


def show(given: Assumptions, from_run: set[str], plans: Sequence[Plan]) -> None:
    taken = table("Assumptions", "value", "of what", "from", left=3)
    for one in fields(given):
        value = getattr(given, one.name)
        taken.add_row(f"{value:,.4g}", one.metadata["what"], "scale.py" if one.name in from_run else "assumed")
    columns = ("entries", "recalls/s", "TB", "disk", "memory", "recalls", "records", "nodes", "bound by")
    title = "Nodes that hold the data, and what asks for them"
    found = table(title, *columns, "with replicas", "cores of applications", left=0)
    for each in plans:
        needs = (each.by_disk, each.by_memory, each.by_reads, each.by_writes, each.nodes)
        head = (f"{each.entries / 1e6:,.4g} M", f"{each.recalls:,.0f}", f"{each.disk_tb:,.2f}")
        tail = (each.bound_by, f"{each.nodes * (1 + given.replicas):,}", f"{each.application_cores:,}")
        found.add_row(*head, *(f"{need:,}" for need in needs), *tail)
    wide(120).print(taken, found)


if __name__ == "__main__":
    main()
