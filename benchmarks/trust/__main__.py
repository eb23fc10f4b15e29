"""Attack a memory in several ways, and count what came of it.

    python -m benchmarks.trust poison --data FILE

Each arm is a module of ``benchmarks.trust`` that prints its counts beside the goals and returns whether they are met.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.trust import costs, load, poison, tenants

WIDTH = 120

Arm = Callable[[CachedEmbedder, Path | None, Console], bool]
"""Attacks memories that are made with an embedder, with a file of conversations if one is given, and prints what came
of it. Returns whether the goals are met."""

ARMS: Final[Mapping[str, Arm]] = {"poison": poison.run, "tenants": tenants.run, "load": load.run, "costs": costs.run}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the arms that are named, or all, and return 1 if one of them misses a goal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("arms", nargs="*", metavar="ARM", help=f"{', '.join(ARMS)}; default: all")
    parser.add_argument("--data", type=Path, help="conversations to attack too, in a format of benchmarks/locomo.py")
    add_embedder(parser)
    args = parser.parse_args(argv)
    if unknown := set(args.arms) - ARMS.keys():
        parser.error(f"no such arm: {', '.join(sorted(unknown))}")
    embedder = CachedEmbedder(EMBEDDERS[args.embedder]())
    console = Console(width=max(WIDTH, Console().width))
    return 0 if all(ARMS[name](embedder, args.data, console) for name in args.arms or ARMS) else 1


if __name__ == "__main__":
    sys.exit(main())
