"""Measure what the graph learns of code from an agent's tool calls: an agent reads a package, three files a turn.

    python benchmarks/code.py --package tidal_plugins --ask EpisodeIndexer.index add_evidence

Prints how long the turns took to index, how many relations came of them, and the answers of ``graph.impact`` to the
questions. Functions that others call by name are asked for as well, and their direct dependents compared with those
that Python's own parser finds: the functions that call a name which their module defines or imports. Needs the extra
``code``.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from tidal_plugins import NotFound, Settings, TidalMemory, ToolCall
from tidal_plugins.embedding.hashing import HashingEmbedder

ROOT = Path(__file__).resolve().parents[1]
PER_TURN = 3
"""Files that the agent reads in a turn."""
SETTINGS = Settings(storage={"durability": "fast"}, graph={"background": False})

Callers = Mapping[str, set[str]]
"""The functions that call a function, by its name."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many direct dependents were found among those that are true, over the functions that were asked for."""

    functions: int
    found: int
    right: int
    true: int


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Reads a package as an agent would, and asks what a change affects.")
    parser.add_argument("--package", default="tidal_plugins", help="a folder below the root of this repository")
    parser.add_argument("--files", type=int, help="only so many files")
    parser.add_argument(
        "--ask", nargs="*", default=["add_evidence", "EpisodeIndexer.index"], help="names to ask graph.impact for"
    )
    options = parser.parse_args(arguments)
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / options.package).rglob("*.py"))[: options.files]
    with (
        TemporaryDirectory() as folder,
        TidalMemory(Path(folder, "code.db"), embedder=HashingEmbedder(), settings=SETTINGS) as memory,
    ):
        record(memory, files)
        show(memory, files, options.ask)


def record(memory: TidalMemory, files: Sequence[str]) -> None:
    """Record turns in which an agent lists the files and reads all of them."""
    memory.record(
        "What is there?", "So much.", tools=[ToolCall("Bash", {"command": "git ls-files"}, None, "\n".join(files))]
    )
    for start in range(0, len(files), PER_TURN):
        calls = [
            ToolCall("Read", {"file_path": path}, None, numbered(path)) for path in files[start : start + PER_TURN]
        ]
        memory.record("Go on.", "Read.", tools=calls)


def numbered(path: str) -> str:
    lines = (ROOT / path).read_text().rstrip("\n").split("\n")
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 1))


def show(memory: TidalMemory, files: Sequence[str], asked: Sequence[str]) -> None:
    console, turns = Console(), len(memory.graph.pending())
    start = time.perf_counter()
    done = memory.graph.index_pending()
    seconds = time.perf_counter() - start
    console.print(
        f"{turns} turns, {len(files)} files: {done.assertions} relations in {seconds:.1f} s, entries included"
    )
    relations = memory.graph.relations()
    console.print(Counter(one.predicate for one in relations).most_common())
    for name in asked:
        start = time.perf_counter()
        answer = [f"{each.entity.name} ({each.distance})" for each in memory.graph.impact(name)]
        console.print(f"[b]{name}[/b] in {1000 * (time.perf_counter() - start):.0f} ms: {', '.join(answer[:40])}")
    one = agreement(memory, callers(files))
    table = Table("functions", "dependents found", "right", "true", "precision", "recall")
    shares = [f"{one.right / max(1, one.found):.3f}", f"{one.right / max(1, one.true):.3f}"]
    table.add_row(*map(str, (one.functions, one.found, one.right, one.true)), *shares)
    console.print(table)


def agreement(memory: TidalMemory, true: Callers) -> Agreement:
    """Compare the direct dependents of functions with the true ones."""
    found = right = 0
    for name, expected in true.items():
        try:
            near = memory.graph.impact(name, predicates=["calls"], depth=1)
        except NotFound:
            continue
        names = {each.entity.name.rpartition("::")[2] for each in near}
        found, right = found + len(names), right + len(names & expected)
    return Agreement(len(true), found, right, sum(map(len, true.values())))


def callers(files: Sequence[str]) -> Callers:
    """Return who calls each function that is defined once in a module of these files, by Python's own parser."""
    trees = {path: ast.parse((ROOT / path).read_text()) for path in files}
    defined = Counter(node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.FunctionDef))
    once = {name for name, count in defined.items() if count == 1 and not name.startswith("_")}
    found: dict[str, set[str]] = {}
    for tree in trees.values():
        imported = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(files[0].split("/")[0])
            for alias in node.names
            if alias.asname is None
        }
        own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        for caller, node in functions(tree):
            for call in ast.walk(node):
                name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
                if name in once & (imported | own) and name != caller:
                    found.setdefault(name, set()).add(caller)
    return found


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the functions of a module and the methods of its classes, by their qualified names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{one.name}", one) for one in node.body if isinstance(one, ast.FunctionDef))


if __name__ == "__main__":
    main()
