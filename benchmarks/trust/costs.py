"""Costs: the share of ``record`` and ``recall`` that checksums, redaction and keyed frames take, by size of the store.

The embedder is one of hashes. A model would take most of the time itself, and make every share smaller.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from benchmarks.embedders import CachedEmbedder
from benchmarks.trust.load_work import opened
from tidal_plugins import TidalMemory
from tidal_plugins.ingestion.redaction import Redaction
from tidal_plugins.model.exchange import Exchange, turn
from tidal_plugins.model.fence import Frames
from tidal_plugins.retrieval import secrets as shown
from tidal_plugins.secrets import finding as secrets
from tidal_plugins.storage import checksums

SIZES = 1_000, 10_000
"""Entries in the store: two for each turn."""
CALLS = 150
MOST: Final = 0.05
"""Goal: the share that each of the safeties may take."""

SAFETIES: Final[Mapping[str, Sequence[Callable[..., Any]]]] = {
    "checksums": (checksums.checksum, checksums.is_intact, checksums.passage_checksum, checksums.vector_checksum),
    "redaction": (shown.hide_secrets, secrets.untagged),
}
"""Functions of modules."""
METHODS: Final[Mapping[str, tuple[type, Sequence[str]]]] = {
    "redaction": (Redaction, ("exchange", "comparable", "text", "value")),
    "keyed frames": (Frames, ("strip", "blank", "cited", "text", "memories", "tag_of_text", "capsule")),
}
"""Methods of classes."""

TEXT = "In week {0} the crew of the {1} unloaded crate {2}, and {3} signed for it at gate {4}."
SHIPS, PEOPLE = ("Aurora", "Brigid", "Calypso", "Dione", "Estrella"), ("Ines", "Joris", "Kaja", "Liam", "Mina")


def run(embedder: CachedEmbedder, data: Path | None, console: Console) -> bool:
    """Measure both calls at each size, print the shares, and return whether each is within the goal."""
    table = Table("entries", "call", "ms", *(f"{name} ms" for name in _names()))
    good = True
    for size in SIZES:
        for call, (seconds, spent) in measured(size, CALLS).items():
            shares = {name: spent[name] / seconds for name in _names()}
            cells = (f"{1000 * spent[name] / CALLS:.2f} ({share:.1%})" for name, share in shares.items())
            table.add_row(f"{size:,}", call, f"{1000 * seconds / CALLS:.1f}", *cells)
            good &= all(share <= MOST for share in shares.values())
    console.print(table)
    console.print(f"Goal: each takes at most {MOST:.0%} of a call, at any size.")
    return good


def measured(size: int, calls: int) -> dict[str, tuple[float, Mapping[str, float]]]:
    """Return, for each call, the seconds of all calls and how many of them each safety took, in a store of a size."""
    with TemporaryDirectory(prefix="tidal-costs-") as folder, opened(str(Path(folder, "agent.db"))) as memory:
        memory.record_many(Exchange(turn(said(n), f"Crate {n} noted."), f"week {n // 50}") for n in range(size // 2))
        return {
            "record": _measure(lambda n: _record(memory, size + n), calls),
            "recall": _measure(lambda n: memory.recall(f"Who signed for crate {n * 31 % size}?"), calls),
        }


def said(number: int) -> str:
    """Return a sentence with a number."""
    return TEXT.format(number // 50, SHIPS[number % 5], number, PEOPLE[number // 5 % 5], number % 13)


def _names() -> Sequence[str]:
    return list(dict.fromkeys([*SAFETIES, *METHODS]))


def _record(memory: TidalMemory, number: int) -> None:
    memory.record(said(number), f"Crate {number} noted.", thread="now")


def _measure(call: Callable[[int], object], calls: int) -> tuple[float, Mapping[str, float]]:
    for number in range(5):
        call(-1 - number)
    spent, begun = defaultdict[str, float](float), time.thread_time()
    with _timed(spent):
        for number in range(calls):
            call(number)
    return time.thread_time() - begun, spent


@contextmanager
def _timed(spent: defaultdict[str, float]) -> Iterator[None]:
    """Add up the seconds that each safety takes, the outermost calls only."""
    inside: list[str] = []

    def timing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            if name in inside:
                return function(*arguments, **named)
            inside.append(name)
            begun = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                spent[name] += time.thread_time() - begun
                inside.remove(name)

        return timed

    with ExitStack() as patches:
        for name, functions in SAFETIES.items():
            for module in [one for key, one in sys.modules.items() if key.startswith("tidal_plugins") and one]:
                for place, found in list(vars(module).items()):
                    if any(found is function for function in functions):
                        patches.enter_context(patch.object(module, place, timing(name, found)))
        for name, (owner, methods) in METHODS.items():
            for method in methods:
                patches.enter_context(patch.object(owner, method, timing(name, getattr(owner, method))))
        yield
