"""Maintenance runs as they are noted: when they ran and how much they did."""

from __future__ import annotations

from dataclasses import asdict

from tidal_plugins.model.consolidation import Consolidation, MaintenanceRun
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Line, Storage
from tidal_plugins.storage.repeating import repeated

DONE = "maintenance"
"""Log of the runs that did anything."""

KEPT = 1_000
"""Runs of a scope that are kept."""

_KEY = "run"


@repeated
def note_run(storage: Storage, scope: Scope, report: Consolidation) -> None:
    """Note a run, unless it did nothing."""
    done = MaintenanceRun(
        at=report.at,
        run=report.run,
        forgotten=len(report.retention.ids) if report.retention else 0,
        learned=report.learned,
        settled=report.settled,
        pruned=report.pruned,
        facts=len(report.facts),
        seeds=len(report.seeds),
        errors=tuple(": ".join(error.split(": ")[:2]) for error in report.errors),  # a message may quote a memory
    )
    if not done:
        return
    value = asdict(done)
    del value["at"]
    with storage.transaction():
        storage.append_log(scope, DONE, [Line(_KEY, report.at, value)])
        storage.trim_log(scope, DONE, keep=KEPT)


def noted_runs(storage: Storage, scope: Scope, limit: int) -> list[MaintenanceRun]:
    """Return the last runs of a scope that did anything, the newest first."""
    lines = storage.read_log(scope, DONE, limit=limit, newest_first=True)
    return [MaintenanceRun(at=line.at, **{**line.value, "errors": tuple(line.value["errors"])}) for line in lines]
