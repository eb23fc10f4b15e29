"""Attack a memory in several ways, and count what came of it.

    python -m benchmarks.trust kills damage encrypted power disk servers copies poison

Each arm is a module of ``benchmarks.trust`` that prints its counts beside the goals and returns whether they are met.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rich.console import Console

from benchmarks.tables import options, wide
from benchmarks.trust import copies, damage, disk, kills, poison, power, servers

ARMS: Final[Mapping[str, tuple[Callable[[int, Console], bool], int]]] = {
    "kills": (kills.run, kills.KILLS),
    "damage": (damage.run, damage.FILES),
    "encrypted": (damage.run_encrypted, damage.FILES),
    "power": (power.run, power.CUTS),
    "disk": (disk.run, disk.FAULTS),
    "servers": (servers.run, servers.SLOW),
    "copies": (copies.run, copies.COPIES),
    "poison": (poison.run, poison.TEXTS),
}
"""What attacks memories, prints what came of it and returns whether the goals are met, and how often it does so."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the arms that are named, or all, and return 1 if one of them misses a goal."""
    parser = options(__doc__)
    parser.add_argument("arms", nargs="*", metavar="ARM", help=f"{', '.join(ARMS)}; default: all")
    parser.add_argument("--count", type=int, help="kills, cuts, faults and files of each arm; default: its own number")
    args = parser.parse_args(argv)
    if unknown := set(args.arms) - ARMS.keys():
        parser.error(f"no such arm: {', '.join(sorted(unknown))}")
    console, begun = wide(120), time.monotonic()
    arms = [ARMS[name] for name in args.arms or ARMS]
    good = [attack(args.count or count, console) for attack, count in arms]
    console.print(f"{time.monotonic() - begun:.0f} s in all")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
