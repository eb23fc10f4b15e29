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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.table import Table

from benchmarks.tables import options, wide


@dataclass(frozen=True)
class Assumptions:
    """What the model takes for granted. The comment of each field says what it is."""

    bytes_per_entry: float = 10_000.0  # on disk, with indexes and the episodes of its turn; measured by scale.py
    recall_core_ms: float = 40.0  # core time of one recall, library and server together; measured by scale.py
    record_core_ms: float = 40.0  # core time of one record, both together; measured by scale.py
    server_share: float = 0.5  # share of that time which the database takes, not the application
    writes_per_recall: float = 0.5  # records for each recall: an agent that whispers and records has 1, a search less
    active: float = 0.05  # share of the entries that belong to scopes in use within an hour: these should be in memory
    cores: int = 32  # cores of a node
    memory_gb: float = 256.0  # memory of a node
    disk_tb: float = 4.0  # disk of a node
    load: float = 0.5  # share of its cores, memory and disk that a node may be filled to
    replicas: int = 1  # read replicas of each node, which serve recalls beside it
    skew: float = 1.5  # load of the busiest node against the average: scopes differ


EXPLAINED = {
    "bytes_per_entry": "bytes on disk for an entry, with its indexes (measured)",
    "recall_core_ms": "ms of one core for a recall, library and database together (measured)",
    "record_core_ms": "ms of one core for a record, library and database together (measured)",
    "server_share": "share of that time that the database takes",
    "writes_per_recall": "records for each recall",
    "active": "share of the entries in scopes that are in use, which should be in memory",
    "cores": "cores of a node",
    "memory_gb": "GB of memory of a node",
    "disk_tb": "TB of disk of a node",
    "load": "share of its cores, memory and disk that a node is filled to",
    "replicas": "read replicas of each node",
    "skew": "load of the busiest node, against the average",
}


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
    for field in fields(Assumptions):
        option = "--" + field.name.replace("_", "-")
        parser.add_argument(option, type=type(field.default), metavar="X", help=EXPLAINED[field.name])
    args = parser.parse_args(argv)
    named = {field.name: value for field in fields(Assumptions) if (value := getattr(args, field.name)) is not None}
    known = measured(args.measured) if args.measured else {}
    given = Assumptions(**{**known, **named})
    if min(given.load, given.cores, given.memory_gb, given.disk_tb, *args.entries, *args.recalls) <= 0:
        parser.error("loads, nodes, entries and recalls must be positive")
    plans = [plan(entries, recalls, given) for entries in args.entries for recalls in args.recalls]
    show(given, {*known} - {*named}, plans)


def show(given: Assumptions, from_run: set[str], plans: Sequence[Plan]) -> None:
    console = wide(120)
    taken = Table(title="Assumptions", title_justify="left")
    for column in ("value", "of what", "from"):
        taken.add_column(column, justify="right" if column == "value" else "left")
    for name, value in _values(given).items():
        taken.add_row(f"{value:,.4g}", EXPLAINED[name], "scale.py" if name in from_run else "assumed")
    table = Table(title="Nodes that hold the data, and what asks for them", title_justify="left")
    columns = ("entries", "recalls/s", "TB", "disk", "memory", "recalls", "records", "nodes", "bound by")
    for column in (*columns, "with replicas", "cores of applications"):
        table.add_column(column, justify="right")
    for each in plans:
        needs = (each.by_disk, each.by_memory, each.by_reads, each.by_writes, each.nodes)
        head = (f"{each.entries / 1e6:,.4g} M", f"{each.recalls:,.0f}", f"{each.disk_tb:,.2f}")
        tail = (each.bound_by, f"{each.nodes * (1 + given.replicas):,}", f"{each.application_cores:,}")
        table.add_row(*head, *(f"{need:,}" for need in needs), *tail)
    console.print(taken, table)


def _values(given: Assumptions) -> Mapping[str, float]:
    return {field.name: getattr(given, field.name) for field in fields(given)}


if __name__ == "__main__":
    main()
