"""The lives that the benchmark of living memory lives through, and the ways in which it asks their memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.metrics import DEPTH

COLUMNS = ("recall@5", "quoted@5", "recall@10", "ndcg@10", "all hits")
"""Columns of the tables. ``all hits`` is the share of the evidence among all shown hits, which may be more than ten."""


@dataclass(frozen=True, slots=True)
class Life:
    """One way to live through a conversation."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    surfaced: bool = True
    consolidated: bool = True
    dossiers: bool = False


@dataclass(frozen=True, slots=True)
class Arm:
    """A life, and the way in which its memory is asked."""

    life: str
    recall: Mapping[str, Any] = field(default_factory=dict)
    limit: int = DEPTH
    associative: bool = False
    archived: bool = False
    """Whether archived entries are asked too; decay is off only if they are."""


LIVES: Final[Mapping[str, Life]] = {  # "eager": a fact from each use, for the defaults make hardly any
    "off": Life(surfaced=False, consolidated=False),
    "use": Life(consolidated=False),
    "default": Life(),
    "no use": Life(surfaced=False),
    "no consolidation": Life(consolidated=False),
    "gate": Life({"gate": {"enabled": True}}),
    "eager": Life({"consolidation": {"turns": 1}}),
    "dossiers": Life(dossiers=True),
}
ARMS: Final[Mapping[str, Arm]] = {
    "all off": Arm("off", {"decay": 0.0}, archived=True),
    "archiving alone": Arm("off", {"decay": 0.0}),
    "decay alone": Arm("off"),
    "use and decay alone": Arm("use"),
    "default": Arm("default"),
    "default, nothing surfaced": Arm("no use"),
    "default, decay 0": Arm("default", {"decay": 0.0}),
    "default, archived too": Arm("default", archived=True),
    "default, not consolidated": Arm("no consolidation"),
    "default + 5 of 10 associated": Arm("default", limit=5, associative=True),
    "default + 5 associated": Arm("default", associative=True),
    "default + gate": Arm("gate"),
    "default, eager facts": Arm("eager"),
    "default + dossiers": Arm("dossiers"),
}
MECHANISMS: Final[Sequence[tuple[str, str, str]]] = (
    ("everything that is on by default", "default", "all off"),
    ("archiving, alone", "archiving alone", "all off"),
    ("decay of strength, alone", "decay alone", "archiving alone"),
    ("use, with decay alone", "use and decay alone", "decay alone"),
    ("use, and the facts from it", "default", "default, nothing surfaced"),
    ("decay of strength", "default", "default, decay 0"),
    ("archiving", "default", "default, archived too"),
    ("consolidation, facts", "default", "default, not consolidated"),
    ("associations, hits as many", "default + 5 of 10 associated", "default"),
    ("associations, hits beyond", "default + 5 associated", "default"),
    ("gate", "default + gate", "default"),
    ("eager facts", "default, eager facts", "default"),
    ("dossiers", "default + dossiers", "default"),
)
"""The name of each mechanism, the arm that has it, and the same arm without it."""
