"""GraphML: nodes and directed edges with typed data, as yEd, Gephi and networkx read it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree import ElementTree as Xml

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
LISTS = ("aliases", "episodes", "threads")
"""The properties that are lists."""

_TYPES = {"confidence": "double", "negated": "boolean"}
_ENDS = {"subject": "source", "object": "target"}


def write(entities: Iterable[Mapping[str, Any]], relations: Iterable[Mapping[str, Any]]) -> str:
    """Return a graph as GraphML.

    Lists are written as JSON. The versions of a relation share a ``relation``; every edge has its own id.
    """
    nodes, edges = list(entities), list(relations)
    root = Xml.Element("graphml", xmlns=NAMESPACE)
    for kind, rows in (("node", nodes), ("edge", edges)):
        for name in dict.fromkeys(name for row in rows for name in _data(row)):
            key = {"id": f"{kind}-{name}", "for": kind, "attr.name": name, "attr.type": _TYPES.get(name, "string")}
            Xml.SubElement(root, "key", key)
    graph = Xml.SubElement(root, "graph", edgedefault="directed")
    for row in nodes:
        _fill(Xml.SubElement(graph, "node", id=row["id"]), "node", row)
    for number, row in enumerate(edges):
        ends = {"source": row["subject"], "target": row["object"]}
        _fill(Xml.SubElement(graph, "edge", {"id": f"e{number}", **ends}), "edge", row)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def read(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    if "<!" in text.replace("<!--", ""):
        raise ValueError("document types and entities are not read")  # they may include files, and swell without end
    try:
        root = Xml.fromstring(text)
    except Xml.ParseError as error:
        raise ValueError(str(error)) from error
    names = {key.get("id"): key.get("attr.name") for key in root.iter(f"{{{NAMESPACE}}}key")}
    nodes = [{"id": node.get("id"), **_read(node, names)} for node in root.iter(f"{{{NAMESPACE}}}node")]
    edges = [_read_edge(edge, names) for edge in root.iter(f"{{{NAMESPACE}}}edge")]
    return nodes, edges


def _data(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties that are not attributes of the element itself."""
    if "predicate" not in row:
        return {name: value for name, value in row.items() if name != "id"}
    return {{"id": "relation"}.get(name, name): value for name, value in row.items() if name not in _ENDS}


def _fill(element: Xml.Element, kind: str, row: Mapping[str, Any]) -> None:
    for name, value in _data(row).items():
        data = Xml.SubElement(element, "data", key=f"{kind}-{name}")
        data.text = _printable(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _printable(text: str) -> str:
    """Return a text without the control characters and the two that are none, which XML cannot hold."""
    return "".join(one for one in text if (one >= " " and one not in "\ufffe\uffff") or one in "\t\n\r")


def _read(element: Xml.Element, names: Mapping[str | None, str | None]) -> dict[str, Any]:
    found = {}
    for data in element.iter(f"{{{NAMESPACE}}}data"):
        name, value = names.get(data.get("key")), data.text or ""
        if name is not None:
            found[name] = json.loads(value) if value.startswith("[") and name in LISTS else value
    return found


def _read_edge(element: Xml.Element, names: Mapping[str | None, str | None]) -> dict[str, Any]:
    found = _read(element, names)
    return {"subject": element.get("source"), "object": element.get("target"), "id": found.pop("relation"), **found}
