"""JSON-LD: a ``@graph`` of entities and relations, with a context that gives every property a name of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

VOCABULARY = "urn:tidal:"
CONTEXT = {
    "@vocab": VOCABULARY,
    "entity": f"{VOCABULARY}entity:",
    "relation": f"{VOCABULARY}relation:",
    "subject": {"@type": "@id"},
    "object": {"@type": "@id"},
}


def write(entities: Iterable[Mapping[str, Any]], relations: Iterable[Mapping[str, Any]]) -> str:
    nodes = [{"@id": f"entity:{one['id']}", "@type": "Entity", **_without(one, "id")} for one in entities]
    edges = [
        {
            "@id": f"relation:{one['id']}",
            "@type": "Relation",
            **_without(one, "id"),
            "subject": f"entity:{one['subject']}",
            "object": f"entity:{one['object']}",
        }
        for one in relations
    ]
    return json.dumps({"@context": CONTEXT, "@graph": [*nodes, *edges]}, ensure_ascii=False, indent=1) + "\n"


def read(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    graph = json.loads(text)["@graph"]
    nodes = [{"id": _bare(one["@id"]), **_plain(one)} for one in graph if one["@type"] == "Entity"]
    edges = [
        {"id": _bare(one["@id"]), **_plain(one), "subject": _bare(one["subject"]), "object": _bare(one["object"])}
        for one in graph
        if one["@type"] == "Relation"
    ]
    return nodes, edges


def _without(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def _plain(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if not name.startswith("@")}


def _bare(id_: str) -> str:
    return id_.removeprefix("entity:").removeprefix("relation:")
