"""How long the inspector's pages take on a large memory, the first in a new process and again, and how long they are.

    python benchmarks/pages.py [--entries 100000] [--db FILE]

The memory is of made-up conversations, with an embedder that needs no model. ``--db`` keeps it for another run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))  # run by its path, from a checkout
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from benchmarks.synthetic import SEED, Words, conversation
from tidal_plugins import HashingEmbedder, Settings, TidalMemory

TOKEN, ADDRESS = "a-token-for-benchmarks", "http://127.0.0.1:8766"
TIMES = 5
"""Visits of a page after the first."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--entries", type=int, default=100_000, metavar="N", help="entries of a new memory")
    parser.add_argument("--db", type=Path, metavar="FILE", help="the memory: made if it is not there, and kept")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures")
    args = parser.parse_args(argv)
    with TemporaryDirectory(prefix="tidal-benchmark-") as folder:
        path = args.db or Path(folder, "memory.db")
        if not path.exists():
            fill(path, args.entries)
        query = Words(SEED).query().replace(" ", "+")
        paths = ["/", "/timeline", f"/?turn={query}", "/graph", "/knowledge", "/health"]
        found = {each.partition("=")[0]: in_new_process(path, each) for each in paths}
    show(found)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1), "utf-8")


def fill(path: Path, entries: int) -> None:
    quiet = Settings(graph={"background": False})
    with TidalMemory(path, embedder=HashingEmbedder(), settings=quiet) as memory:
        memory.record_many(conversation(Words(SEED), entries))


def in_new_process(path: Path, page: str) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(visits, (path, page))


def visits(path: Path, page: str) -> dict[str, Any]:
    """Return the milliseconds of the first visit of a page and of later ones, and its bytes."""
    from starlette.testclient import TestClient

    from tidal_plugins.apps.inspect.app import application

    with TidalMemory(path, read_only=True, embedder=HashingEmbedder()) as memory:
        client = TestClient(application(memory, token=TOKEN), base_url=ADDRESS)
        client.get(f"/?token={TOKEN}", follow_redirects=False)
        times = list[float]()
        for _ in range(1 + TIMES):
            start = time.perf_counter()
            answer = client.get(page)
            times.append(round(1000 * (time.perf_counter() - start), 1))
            assert answer.status_code == 200, answer.text
    return {"first_ms": times[0], "again_ms": sorted(times[1:])[TIMES // 2], "bytes": len(answer.content)}


def show(found: dict[str, dict[str, Any]]) -> None:
    table = Table("page", "first, ms", "again, ms", "kB")
    for page, figures in found.items():
        first, again, size = figures["first_ms"], figures["again_ms"], figures["bytes"]
        table.add_row(page, f"{first:.0f}", f"{again:.0f}", f"{size / 1000:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
