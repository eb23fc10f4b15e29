"""The graph as text for other programs, GraphML, JSON-LD and Cypher, and what such a text adds to a graph.

All formats carry the properties of ``Entity`` and ``Relation``, with times in ISO 8601 and episodes as ids. A text that
is read is checked against these types, and nothing in it is looked up, included or run. A graph that is loaded becomes
evidence from its source, with its history, beside what is known here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args
from xml.etree import ElementTree as Xml

from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.indexing.stale import mark_stale
from tidal_plugins.graph.records.entities import (
    IMPORT,
    MAX_NAME,
    MENTIONED,
    Named,
    Place,
    bare,
    entity_id,
    name_entities,
)
from tidal_plugins.graph.records.merging import join, merged
from tidal_plugins.graph.records.relations import (
    EVER,
    EVIDENCE,
    Triple,
    Validity,
    add_evidence,
    begin,
    chain,
    new_row,
    piece,
    unused,
    with_confidence,
)
from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.model.clock import aware, to_micros
from tidal_plugins.model.entry import Link, Scope, derive_id
from tidal_plugins.model.graph import WORD, Applied, Entity, Mention, Relation
from tidal_plugins.patterns import lazy_re
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage, WhereLinks

Format = Literal["graphml", "json-ld", "cypher"]

Properties = dict[str, Any]
"""By name: texts, numbers, booleans and lists of texts."""

Rows = tuple[list[Properties], list[Properties]]
"""Entities and relations by their properties."""

MAX_CHARS = 32_000_000
"""Characters of a graph that is read: XML takes 14 times as much memory while it is."""

LISTS = ("aliases", "episodes", "threads")
"""The properties that are lists."""


@dataclass(frozen=True, slots=True)
class Portable:
    """A graph outside its store. The ends of its relations are ids of its entities."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]


def write(graph: Portable, format_: Format) -> str:
    """Return a graph as text."""
    return _format(format_).write(map(_properties, graph.entities), map(_properties, graph.relations))


def read(text: str, format_: Format) -> Portable:
    """Return the graph that a text holds. Raises ``InvalidInput`` if it holds none."""
    if not isinstance(text, str):
        raise InvalidInput(f"give a graph as text, got {type(text).__name__}")
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"a graph has at most {MAX_CHARS:,} characters, got {len(text):,}: load it in parts")
    format_known = _format(format_)
    from pydantic import TypeAdapter, ValidationError

    try:
        entities, relations = format_known.read(text)
        graph = Portable(
            tuple(TypeAdapter(list[Entity]).validate_python([_lists(one) for one in entities])),
            tuple(TypeAdapter(list[Relation]).validate_python([_lists(one) for one in relations])),
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InvalidInput(f"the graph has a property that cannot be used: {first['loc']}: {first['msg']}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(f"this is no graph in {format_} as export writes it: {error!s:.200}") from error
    return _checked(graph)


def _format(format_: str) -> Writing:
    if not isinstance(format_, str) or format_ not in FORMATS:
        raise InvalidInput(f"format must be one of {', '.join(get_args(Format))}, got {shown(format_)}")
    return FORMATS[format_]


def _properties(one: Entity | Relation) -> Properties:
    values = {name: getattr(one, name) for name in one.__dataclass_fields__}
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


def _lists(properties: Mapping[str, Any]) -> Properties:
    """Return properties with those that other programs leave out: empty lists and open ends."""
    optional = dict.fromkeys(("valid_from", "valid_until", "superseded_at")) if "predicate" in properties else {}
    lists = {name: () for name in LISTS if name != "aliases" or "predicate" not in properties}
    return {**optional, **lists, **properties}


def _checked(graph: Portable) -> Portable:
    """Return a graph, or raise ``InvalidInput`` for a relation without its ends or a time without a zone."""
    known = {entity.id for entity in graph.entities}
    for entity in graph.entities:
        aware(entity.first_seen, "first_seen")
        aware(entity.last_seen, "last_seen")
    for one in graph.relations:
        if one.subject not in known or one.object not in known:
            raise InvalidInput(f"the relation {shown(one.id)} is between entities that the graph does not have")
        if not 0 < one.confidence <= 1:
            raise InvalidInput(
                f"the confidence of relation {shown(one.id)} is {one.confidence}; it lies above 0, up to 1"
            )
        for name in ("valid_from", "valid_until", "recorded_at", "superseded_at"):
            if (time := getattr(one, name)) is not None:
                aware(time, name)
        _in_order(one, one.valid_from, one.valid_until, "valid_until", "valid_from")
        _in_order(one, one.recorded_at, one.superseded_at, "superseded_at", "recorded_at")
    return graph


def _in_order(one: Relation, begins: datetime | None, ends: datetime | None, *names: str) -> None:
    if begins and ends and ends < begins:
        raise InvalidInput(f"the relation {shown(one.id)} has a {' before its '.join(names)}: {ends} and {begins}")


# loading


def load(storage: Storage, scope: Scope, graph: Portable, source: str, settings: GraphTuning, now: datetime) -> Applied:
    """Load a graph in one transaction, whole or not at all. Loading it again changes nothing."""
    _check_names(graph, settings)
    with storage.transaction():
        loader = _Loader(storage, scope, source, settings, now)
        ids = {entity.id: loader.entity(entity) for entity in graph.entities}
        versions: dict[str, list[Relation]] = {}
        for relation in graph.relations:
            if relation.superseded_at is not None:
                versions.setdefault(relation.id, []).append(relation)
        current = [relation for relation in graph.relations if relation.superseded_at is None]
        found = [loader.relation(one, ids, versions.get(one.id, ())) for one in current]
        loader.settle({ids[one.subject] for one in current})
        mark_stale(storage, scope, now, entities=ids.values(), relations=found)
    return Applied(tuple(dict.fromkeys(ids.values())), tuple(dict.fromkeys(found)))


def loaded_from(storage: Storage, scope: Scope, source: str) -> list[Link]:
    """Return the mentions and the evidence that came from a source."""
    return storage.links(scope, WhereLinks(targets=[IMPORT + source], kinds=[MENTIONED, EVIDENCE]))


class _Loader:
    def __init__(self, storage: Storage, scope: Scope, source: str, settings: GraphTuning, now: datetime) -> None:
        self._storage = storage
        self._scope = scope
        self._source = source
        self._functional = settings.functional
        self._now = now
        self._merged = merged(storage, scope)

    def entity(self, entity: Entity) -> str:
        """Store an entity with its aliases, and return its id here."""
        id_ = self._named(entity, entity.name)
        for alias in entity.aliases:
            other = self._named(entity, alias)
            if self._merged.root(other) != self._merged.root(id_):
                join(self._storage, self._scope, id_, other, self._now, known=self._merged)
        return id_

    def relation(self, one: Relation, ids: Mapping[str, str], versions: Sequence[Relation]) -> str:
        """Store a relation with its earlier versions, unless it is known with that beginning, and return its id."""
        said = Triple(ids[one.subject], one.predicate, ids[one.object], one.negated)
        rows = chain(self._storage, self._scope, said)
        row = next((row for row in rows if begin(row) == (one.valid_from or EVER)), None)
        if row is None:
            row = self._new(one, said, rows)
            self._storage.put_links(self._scope, [row, *(_version(self._scope, row, each) for each in versions)])
        place = self._place(one.valid_from or one.recorded_at)
        times = one.valid_from, one.valid_until
        if add_evidence(
            self._storage, self._scope, piece(self._scope, row, place, (0, 0), one.confidence, self._now, times)
        ):
            self._storage.put_links(self._scope, with_confidence(self._storage, self._scope, [row]))
        return row.id

    def settle(self, subjects: set[str]) -> None:
        """End known and loaded relations where they contradict each other."""
        validity = Validity(self._storage, self._scope, self._functional, self._merged, self._now)
        validity.refit(validity.states(self._merged.all_members(subjects)))

    def _named(self, entity: Entity, name: str) -> str:
        id_ = entity_id(self._scope, Mention(name, entity.type, entity.category, 0, 1))
        named = {id_: Named(id_, bare(name), entity.type, entity.category)}
        for at in (entity.first_seen, entity.last_seen):
            name_entities(self._storage, self._scope, named, self._place(at), self._now)
        return id_

    def _new(self, one: Relation, said: Triple, rows: Sequence[Link]) -> Link:
        id_, recorded_at = unused(self._scope, said, rows), min(one.recorded_at, self._now)
        times = (one.valid_from, one.valid_until, recorded_at)
        row = new_row(id_, said, self._functional, *times, opened=to_micros(recorded_at))
        return replace(row, anchored_at=self._now)

    def _place(self, at: datetime) -> Place:
        return Place(IMPORT + self._source, None, None, None, self._source, at, self._source)


def _version(scope: Scope, row: Link, one: Relation) -> Link:
    return replace(
        row,
        id=derive_id(scope, "version", row.id, to_micros(one.recorded_at)),
        weight=one.confidence,
        valid_from=one.valid_from,
        valid_until=one.valid_until,
        recorded_at=one.recorded_at,
        superseded_at=one.superseded_at,
        expires_at=one.superseded_at,
        metadata={**row.metadata, "of": row.id},
    )


def _check_names(graph: Portable, settings: GraphTuning) -> None:
    for entity in graph.entities:
        for name in (entity.name, *entity.aliases):
            if not bare(name) or len(name) > MAX_NAME:
                raise InvalidInput(f"an entity's name has 1 to {MAX_NAME} characters, got {shown(name)}")
        if not WORD.fullmatch(entity.type):
            raise InvalidInput(f"an entity's type is a word in lower case, got {shown(entity.type)}")
    for relation in graph.relations:
        if not WORD.fullmatch(relation.predicate):
            raise InvalidInput(f"a predicate is words in snake_case, got {shown(relation.predicate)}")


# GraphML: nodes and directed edges with typed data, as yEd, Gephi and networkx read it


NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_TYPES = {"confidence": "double", "negated": "boolean"}
_ENDS = {"subject": "source", "object": "target"}


def _write_graphml(entities: Iterable[Properties], relations: Iterable[Properties]) -> str:
    """Return a graph as GraphML.

    Lists are written as JSON. The versions of a relation share a ``relation``; every edge has its own id.
    """
    nodes, edges = list(entities), list(relations)
    root = Xml.Element("graphml", xmlns=NAMESPACE)
    for kind, rows in (("node", nodes), ("edge", edges)):
        for name in dict.fromkeys(name for row in rows for name in _own(row)):
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


def _read_graphml(text: str) -> Rows:
    if "<!" in text.replace("<!--", ""):
        raise ValueError("document types and entities are not read")  # they may include files, and swell without end
    try:
        root = Xml.fromstring(text)
    except Xml.ParseError as error:
        raise ValueError(str(error)) from error
    names = {key.get("id"): key.get("attr.name") for key in root.iter(f"{{{NAMESPACE}}}key")}
    nodes = [{"id": node.get("id"), **_read_data(node, names)} for node in root.iter(f"{{{NAMESPACE}}}node")]
    edges = [_read_edge(edge, names) for edge in root.iter(f"{{{NAMESPACE}}}edge")]
    return nodes, edges


def _own(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties that are not attributes of the element itself."""
    if "predicate" not in row:
        return {name: value for name, value in row.items() if name != "id"}
    return {{"id": "relation"}.get(name, name): value for name, value in row.items() if name not in _ENDS}


def _fill(element: Xml.Element, kind: str, row: Mapping[str, Any]) -> None:
    for name, value in _own(row).items():
        data = Xml.SubElement(element, "data", key=f"{kind}-{name}")
        data.text = _printable(value) if isinstance(value, str) else _json(value)


def _printable(text: str) -> str:
    """Return a text without the control characters and the two that are none, which XML cannot hold."""
    return "".join(one for one in text if (one >= " " and one not in "\ufffe\uffff") or one in "\t\n\r")


def _json(value: Any) -> str:
    """Return a value as JSON, which escapes the characters that XML cannot hold."""
    text = json.dumps(value, ensure_ascii=False)
    return text if _printable(text) == text else json.dumps(value)


def _read_data(element: Xml.Element, names: Mapping[str | None, str | None]) -> dict[str, Any]:
    found = {}
    for data in element.iter(f"{{{NAMESPACE}}}data"):
        name, value = names.get(data.get("key")), data.text or ""
        if name is not None:
            found[name] = json.loads(value) if value.startswith("[") and name in LISTS else value
    return found


def _read_edge(element: Xml.Element, names: Mapping[str | None, str | None]) -> dict[str, Any]:
    found = _read_data(element, names)
    return {"subject": element.get("source"), "object": element.get("target"), "id": found.pop("relation"), **found}


# JSON-LD: a graph of entities and relations, with a context that gives every property a name of its own


VOCABULARY = "urn:tidal:"
CONTEXT = {
    "@vocab": VOCABULARY,
    "entity": f"{VOCABULARY}entity:",
    "relation": f"{VOCABULARY}relation:",
    "subject": {"@type": "@id"},
    "object": {"@type": "@id"},
}


def _write_json_ld(entities: Iterable[Properties], relations: Iterable[Properties]) -> str:
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


def _read_json_ld(text: str) -> Rows:
    graph = json.loads(text)["@graph"]
    nodes = [{"id": _local_id(one["@id"]), **_json_properties(one)} for one in graph if one["@type"] == "Entity"]
    edges = [
        {
            "id": _local_id(one["@id"]),
            **_json_properties(one),
            "subject": _local_id(one["subject"]),
            "object": _local_id(one["object"]),
        }
        for one in graph
        if one["@type"] == "Relation"
    ]
    return nodes, edges


def _without(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def _json_properties(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if not name.startswith("@")}


def _local_id(id_: str) -> str:
    return id_.removeprefix("entity:").removeprefix("relation:")


# Cypher: one CREATE with a line for every entity and every relation; only such lines are read back, and nothing is run


_NODE = lazy_re(r"\(n\d+:Entity (\{.*\})\)")
_EDGE = lazy_re(r"\(n\d+\)-\[:\w+ (\{.*\})\]->\(n\d+\)")
_PROPERTY = lazy_re(r"(\w+): (\"(?:[^\"\\]|\\.)*\"|\[[^\]\"]*(?:\"(?:[^\"\\]|\\.)*\"[^\]\"]*)*\]|[-\w.+]+)(, )?")


def _write_cypher(entities: Iterable[Properties], relations: Iterable[Properties]) -> str:
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


def _read_cypher(text: str) -> Rows:
    lines = text.strip().removesuffix(";").split("\n")
    if lines != [""] and lines.pop(0).strip() != "CREATE":
        raise ValueError("it does not begin with CREATE")
    nodes, edges = [], []
    for line in filter(None, (line.strip().removesuffix(",") for line in lines)):
        if match := _NODE.fullmatch(line):
            nodes.append(_cypher_properties(match[1]))
        elif match := _EDGE.fullmatch(line):
            edges.append(_cypher_properties(match[1]))
        else:
            raise ValueError(f"a line is neither an entity nor a relation: {shown(line)}")
    return nodes, edges


def _map(row: Mapping[str, Any]) -> str:
    """Return properties in Cypher, which writes texts, numbers, booleans and lists like JSON."""
    return "{" + ", ".join(f"{name}: {json.dumps(value)}" for name, value in row.items()) + "}"


def _cypher_properties(text: str) -> dict[str, Any]:
    found, at = {}, 1
    while at < len(text) - 1:
        match = _PROPERTY.match(text, at, len(text) - 1)
        if match is None:
            raise ValueError(f"properties cannot be read: {shown(text[at:])}")
        found[match[1]], at = json.loads(match[2]), match.end()
    return found


class Writing(NamedTuple):
    """A format: functions that write and read entities and relations as properties. ``None`` is left out."""

    write: Callable[[Iterable[Properties], Iterable[Properties]], str]
    read: Callable[[str], Rows]


FORMATS = {
    "graphml": Writing(_write_graphml, _read_graphml),
    "json-ld": Writing(_write_json_ld, _read_json_ld),
    "cypher": Writing(_write_cypher, _read_cypher),
}
