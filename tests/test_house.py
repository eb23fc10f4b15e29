"""Rules of the house that no linter knows: which doors tests use, and that no test reads a clock."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py"))

PUBLIC = (
    "tidal_plugins.errors",
    "tidal_plugins.protocols",
    "tidal_plugins.scoring",  # pure formulas
    "tidal_plugins.storage",  # the contract, and the engines that keep it
    "tidal_plugins.testing",
    "tidal_plugins.tuning",  # internal, but what sets a weight for a test as it does for a benchmark
)
"""Modules that any test may import, with those below them."""

INTERNAL: dict[str, dict[str, str]] = {}
"""What a file may import beside that, and why no door shows it."""

CLOCKS = {"time.time", "time.monotonic", "time.perf_counter", "time.thread_time", "time.process_time"}
CLOCK_READERS = {"waiting.py", "effort.py"}


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the modules of the core that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def parsed(file: str) -> ast.Module:
    return ast.parse((TESTS / file).read_text("utf-8"))


@pytest.mark.parametrize("file", FILES)
def test_tests_use_public_doors(file: str) -> None:
    inner = {name for name in imported(parsed(file)) if name.startswith("tidal_plugins.")}
    inner = {name for name in inner if not any(name == door or name.startswith(f"{door}.") for door in PUBLIC)}
    allowed = INTERNAL.get(file, {}).keys()
    assert inner <= allowed, f"{file} imports {sorted(inner - allowed)}"
    assert allowed <= inner, f"{file} no longer imports {sorted(allowed - inner)}"


@pytest.mark.parametrize("file", [file for file in FILES if file not in CLOCK_READERS])
def test_tests_read_no_clock(file: str) -> None:
    """A machine may be busy: waiting is for events (``tests/waiting.py``), effort is compared (``tests/effort.py``)."""
    calls = {ast.unparse(node.func) for node in ast.walk(parsed(file)) if isinstance(node, ast.Call)}
    assert not calls & CLOCKS
