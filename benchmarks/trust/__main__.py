"""Attack a memory in several ways, and count what came of it.

    python -m benchmarks.trust kills damage power disk
    python -m benchmarks.trust poison --data FILE

Each arm is a module of ``benchmarks.trust`` that prints its counts beside the goals and returns whether they are met.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.trust import costs, damage, disk, kills, load, poison, power, tenants

WIDTH = 120

Arm = Callable[[argparse.Namespace, Console], bool]
"""Attacks memories as the options say, and prints what came of it. Returns whether the goals are met."""


def _embedded(attack: Callable[[CachedEmbedder, Path | None, Console], bool]) -> Arm:
    """Return the arm that attacks memories of the embedder that is chosen, and of a file of conversations if given."""
    return lambda options, console: attack(CachedEmbedder(EMBEDDERS[options.embedder]()), options.data, console)


ARMS: Final[Mapping[str, Arm]] = {
    "kills": lambda options, console: kills.run(options.count or kills.KILLS, console),
    "damage": lambda options, console: damage.run(options.count or damage.FILES, console),
    "power": lambda options, console: power.run(options.count or power.CUTS, console),
    "disk": lambda options, console: disk.run(options.count or disk.FAULTS, console),
    "poison": _embedded(poison.run),
    "tenants": _embedded(tenants.run),
    "load": _embedded(load.run),
    "costs": _embedded(costs.run),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the arms that are named, or all, and return 1 if one of them misses a goal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("arms", nargs="*", metavar="ARM", help=f"{', '.join(ARMS)}; default: all")
    parser.add_argument("--count", type=int, help="kills, cuts, faults and files of each arm; default: its own number")
    parser.add_argument("--data", type=Path, help="conversations to poison too, in a format of benchmarks/locomo.py")
    add_embedder(parser)
    args = parser.parse_args(argv)
    if unknown := set(args.arms) - ARMS.keys():
        parser.error(f"no such arm: {', '.join(sorted(unknown))}")
    console = Console(width=max(WIDTH, Console().width))
    begun = time.monotonic()
    good = [ARMS[name](args, console) for name in args.arms or ARMS]
    console.print(f"{time.monotonic() - begun:.0f} s in all")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
