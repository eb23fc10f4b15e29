"""The graph as text for other programs: GraphML, JSON-LD, Cypher.

All formats carry the properties of ``Entity`` and ``Relation``, with times in ISO 8601 and episodes as ids. A text that
is read is checked against these types, and nothing in it is looked up, included or run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args

from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.formats import cypher, graphml, jsonld
from tidal_plugins.graph.formats.graphml import LISTS
from tidal_plugins.model.clock import aware
from tidal_plugins.model.graph import Entity, Relation
from tidal_plugins.shown import shown

Format = Literal["graphml", "json-ld", "cypher"]

Properties = dict[str, Any]
"""By name: texts, numbers, booleans and lists of texts."""


class Writing(NamedTuple):
    """A format: functions that write and read entities and relations as properties. ``None`` is left out."""

    write: Callable[[Iterable[Properties], Iterable[Properties]], str]
    read: Callable[[str], tuple[list[Properties], list[Properties]]]


FORMATS = {
    "graphml": Writing(graphml.write, graphml.read),
    "json-ld": Writing(jsonld.write, jsonld.read),
    "cypher": Writing(cypher.write, cypher.read),
}


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
