"""Rules of the house that an import checker does not see."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tidal_plugins
from tidal_plugins.storage.base import Storage

CORE = Path(tidal_plugins.__file__).parent
PROJECT = tomllib.loads((CORE.parent / "pyproject.toml").read_text(encoding="utf-8"))

NAMED_SECOND = {
    "write_documents", "documents", "erase_documents", "append_log", "read_log", "trim_log",
    "read_meta", "write_meta",
}  # fmt: skip
"""The calls whose second argument names a collection, a log or a value of the store."""

NAMED_THIRD = {"read_document", "frontier"}
"""The calls whose third argument names a collection, or kinds of links."""

OF_LINKS = {"Link", "WhereLinks"}
"""The calls whose arguments ``kind`` and ``kinds`` name kinds of links."""

HOMONYMS = {
    ("graph", "uses"), ("model", "uses"), ("english", "first"), ("english", "secret"), ("english", "named"),
    ("tuning", "policies"),
}  # fmt: skip
"""Words that a room means otherwise: the relation «uses», the ordinal, cues of passwords and names, settings."""

Constants = dict[str, tuple[str, str]]
"""By name, the module that defines a string constant, and its value."""


def layers() -> list[set[str]]:
    """Return the rooms, the highest first."""
    contract = PROJECT["tool"]["importlinter"]["contracts"][0]
    return [{name.strip(" ()") for name in row.split("|")} for row in contract["layers"]]


@cache
def module(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(room: str) -> list[Path]:
    return [path for path in (CORE / f"{room}.py", *sorted((CORE / room).rglob("*.py"))) if path.is_file()]


@cache
def constants(path: Path) -> Constants:
    """Return the string constants of a module: those that it defines, and those that it imports from the core."""
    found: Constants = {}
    for statement in module(path).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            for target in statement.targets:
                if isinstance(target, ast.Name) and isinstance(statement.value.value, str):
                    found[target.id] = (room_of(path), statement.value.value)
        elif isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("tidal_plugins."):
            source = CORE.joinpath(*str(statement.module).split(".")[1:]).with_suffix(".py")
            known = constants(source) if source.is_file() else {}
            found |= {alias.asname or alias.name: known[alias.name] for alias in statement.names if alias.name in known}
    return found


def room_of(path: Path) -> str:
    return path.relative_to(CORE).parts[0].removesuffix(".py")


def names_of_storage(path: Path) -> Iterator[str]:
    """List the names by which a module calls collections, logs, kinds of links and values of the store."""
    for call in ast.walk(module(path)):
        if not isinstance(call, ast.Call):
            continue
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        arguments = call.args[1:2] if called in NAMED_SECOND else call.args[2:3] if called in NAMED_THIRD else []
        if called in OF_LINKS:
            arguments = [keyword.value for keyword in call.keywords if keyword.arg in ("kind", "kinds")]
        for argument in arguments:
            yield from (node.id for node in ast.walk(argument) if isinstance(node, ast.Name))


def owners() -> dict[str, set[str]]:
    """Return, for each name of a collection, log, kind or value, the rooms that define it."""
    found: dict[str, set[str]] = {}
    for path in CORE.rglob("*.py"):
        known = constants(path)
        for name in set(names_of_storage(path)) & known.keys():
            room, value = known[name]
            found.setdefault(value, set()).add(room)
    return found


def literals(room: str) -> Iterator[tuple[str, str]]:
    """List the string literals of a room, each with its place."""
    for path in modules(room):
        for node in ast.walk(module(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.relative_to(CORE)}:{node.lineno}", node.value


def test_no_lower_room_names_what_a_higher_one_stores() -> None:
    defined, rows = owners(), layers()
    assert {"dossiers", "entities", "association"} <= defined.keys(), "the search finds what there is"
    told = []
    for number, row in enumerate(rows):
        above = {room for higher in rows[:number] for room in higher}
        foreign = {value for value, rooms in defined.items() if rooms <= above}
        told += [
            f"{place} names {value!r} of {'/'.join(defined[value])}"
            for room in sorted(row)
            for place, value in literals(room)
            if value in foreign and (room, value) not in HOMONYMS
        ]
    assert not told, "\n".join(told)


def test_the_storage_contract_stays_small() -> None:
    assert len(Storage.__abstractmethods__) <= 27
