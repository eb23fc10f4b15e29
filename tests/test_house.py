"""Rules of the house that no linter knows: the imports of tests, their clocks, and the first words of docstrings."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tidal_plugins

CORE = Path(tidal_plugins.__file__).parent
PROJECT = tomllib.loads((CORE.parent / "pyproject.toml").read_text(encoding="utf-8"))

NAMED_SECOND = {
    "read_document", "write_document", "documents", "erase_documents", "append_log", "read_log", "trim_log",
    "read_meta", "write_meta",
}  # fmt: skip
"""The calls whose second argument names a collection, a log or a value of the store."""

OF_LINKS = {"Link", "WhereLinks"}
"""The calls whose arguments ``kind`` and ``kinds`` name kinds of links. ``frontier`` names them in its third."""

HOMONYMS = {("graph", "uses"), ("model", "uses"), ("english", "first"), ("tuning", "policies")}
"""Words that a room means otherwise: the relation «uses», the ordinal, the group of settings."""

SOURCES = sorted(
    path.relative_to(TESTS.parent).as_posix()
    for folder in ("tidal_plugins", "adapters")
    for path in (TESTS.parent / folder).rglob("*.py")
)
NO_VERBS = set("A All An As By Every For From No Of One Only The Those With Without".split())
NO_VERBS |= set("How What When Where Whether Which Who Whom Why".split())
"""Words that no docstring of a function begins with."""

CLOCKS = {"time.time", "time.monotonic", "time.perf_counter", "time.thread_time", "time.process_time"}
CLOCK_READERS = {"waiting.py", "effort.py"}


def layers() -> list[set[str]]:
    """Return the rooms, the highest first."""
    contract = PROJECT["tool"]["importlinter"]["contracts"][0]
    return [{name.strip(" ()") for name in row.split("|")} for row in contract["layers"]]


@cache
def module(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(room: str) -> list[Path]:
    return [path for path in (CORE / f"{room}.py", *sorted((CORE / room).rglob("*.py"))) if path.is_file()]


@pytest.mark.parametrize("file", [file for file in FILES if file not in CLOCK_READERS])
def test_tests_read_no_clock(file: str) -> None:
    """A machine may be busy: waiting is for events (``tests/waiting.py``), effort is compared (``tests/effort.py``)."""
    calls = {ast.unparse(node.func) for node in ast.walk(parsed(file)) if isinstance(node, ast.Call)}
    assert not calls & CLOCKS


@pytest.mark.parametrize("file", SOURCES)
def test_docstrings_of_functions_begin_with_a_verb(file: str) -> None:
    """A noun, a clause or a fragment at the beginning says less than a sentence does."""
    tree = ast.parse((TESTS.parent / file).read_text("utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    texts = {node.name: ast.get_docstring(node) or "Return" for node in functions}
    assert not {name: text for name, text in texts.items() if text.split()[0] in NO_VERBS}
