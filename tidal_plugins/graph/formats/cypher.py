"""Cypher: one ``CREATE`` with a line for every entity and every relation.

Only such lines are read back. Text that does anything else is refused, and nothing is run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tidal_plugins.patterns import lazy_re
from tidal_plugins.shown import shown

_NODE = lazy_re(r"\(n\d+:Entity (\{.*\})\)")
_EDGE = lazy_re(r"\(n\d+\)-\[:\w+ (\{.*\})\]->\(n\d+\)")
_PROPERTY = lazy_re(r"(\w+): (\"(?:[^\"\\]|\\.)*\"|\[[^\]\"]*(?:\"(?:[^\"\\]|\\.)*\"[^\]\"]*)*\]|[-\w.+]+)(, )?")


def write(entities: Iterable[Mapping[str, Any]], relations: Iterable[Mapping[str, Any]]) -> str:
    """Return a graph as Cypher. Relations name their ends in their properties, so that each line can be read alone."""
    numbers: dict[str, int] = {}
    lines = []
    for one in entities:
        numbers[one["id"]] = len(numbers)
        lines.append(f"(n{numbers[one['id']]}:Entity {_map(one)})")
    for one in relations:
        ends = (f"(n{numbers[one[end]]})" for end in ("subject", "object"))
        lines.append(f"-[:{one['predicate'].upper()} {_map(one)}]->".join(ends))
    return "CREATE\n" + ",\n".join(lines) + ";\n" if lines else ""


def read(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    lines = text.strip().removesuffix(";").split("\n")
    if lines != [""] and lines.pop(0).strip() != "CREATE":
        raise ValueError("it does not begin with CREATE")
    nodes, edges = [], []
    for line in filter(None, (line.strip().removesuffix(",") for line in lines)):
        if match := _NODE.fullmatch(line):
            nodes.append(_properties(match[1]))
        elif match := _EDGE.fullmatch(line):
            edges.append(_properties(match[1]))
        else:
            raise ValueError(f"a line is neither an entity nor a relation: {shown(line)}")
    return nodes, edges


def _map(row: Mapping[str, Any]) -> str:
    """Return properties in Cypher, which writes texts, numbers, booleans and lists like JSON."""
    return "{" + ", ".join(f"{name}: {json.dumps(value)}" for name, value in row.items()) + "}"


def _properties(text: str) -> dict[str, Any]:
    found, at = {}, 1
    while at < len(text) - 1:
        match = _PROPERTY.match(text, at, len(text) - 1)
        if match is None:
            raise ValueError(f"properties cannot be read: {shown(text[at:])}")
        found[match[1]], at = json.loads(match[2]), match.end()
    return found
