from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.graph.knowing import World
from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.portable import Format, Portable, read, write
from tidal_plugins.testing import NOON

FORMATS = get_args(Format)
NASTY = ['"quoted", (n0)-[:X {a: 1}]->(n1)', "back\\slash\\", "<&>]]>", "東京 🙂", 'a: ["b"], c', "{}", "'; DROP"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.say("Ada lives_in Rome\nAda works_at Mill\nnot checkout calls billing", thread="one")
    world.clock.advance(days=3)
    world.say("Ada lives_in Oslo\ncheckout depends_on billing", thread="two")
    world.say("Countess lives_in Oslo")
    world.graph.merge("Ada", "Countess")
    yield world
    world.memory.close()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "empty").mkdir()
    empty = World(tmp_path / "empty")
    empty.clock.advance(days=3)
    yield empty
    empty.memory.close()


def graph_of(world: World) -> tuple[object, object]:
    """What a graph says, without ids and episodes."""
    entities = {
        (one.name, one.type, one.category, one.aliases, one.first_seen, one.last_seen) for one in world.graph.entities()
    }
    rows = [one for entity in world.graph.entities() for one in world.graph.timeline(entity.id)]
    words = world.graph.sentences(rows)
    relations = {
        (words[one.id], one.valid_from, one.valid_until, one.recorded_at, one.superseded_at, round(one.confidence, 9))
        for one in rows
    }
    return entities, relations


@pytest.mark.parametrize("format_", FORMATS)
def test_a_graph_comes_back_as_it_was_with_its_history(world: World, empty: World, format_: Format) -> None:
    assert read(empty.graph.export(format_), format_) == Portable((), ())
    text = world.graph.export(format_)
    assert read(text, format_) == read(world.graph.export("json-ld"), "json-ld")
    for _ in range(2):
        empty.graph.load(text, format_, source="elsewhere")
        assert graph_of(empty) == graph_of(world)


@pytest.mark.parametrize("format_", FORMATS)
def test_names_may_be_of_any_letters(world: World, empty: World, format_: Format) -> None:
    graph = read(world.graph.export("json-ld"), "json-ld")
    for name in NASTY:
        entities = (replace(graph.entities[0], name=name), *graph.entities[1:])
        empty.graph.load(write(Portable(entities, graph.relations), format_), format_, source=f"with {name}")
        assert name in {one.name for one in empty.graph.entities()}


def test_what_was_loaded_is_evidence_of_its_source_and_goes_with_it(world: World, empty: World) -> None:
    empty.say("checkout depends_on billing")
    empty.graph.load(world.graph.export(), source="elsewhere")
    relation = empty.only(subject="checkout", predicate="depends_on")
    assert {one.episode for one in empty.graph.evidence(relation)} == {empty.turns["e1"].id, "import:elsewhere"}
    assert relation.confidence > 0.8
    empty.graph.forget_source("elsewhere")
    assert empty.known() == ["checkout depends on billing"]
    assert {one.name for one in empty.graph.entities()} == {"checkout", "billing"}
    assert empty.only().confidence == pytest.approx(0.8)
    assert empty.graph.forget_source("elsewhere") == 0


def test_networkx_reads_the_graphml(world: World) -> None:
    import networkx

    graph = networkx.parse_graphml(world.graph.export())
    names = {data["name"] for _, data in graph.nodes(data=True)}
    assert names == {"Ada", "Rome", "Mill", "Oslo", "checkout", "billing"}
    predicates = {data["predicate"] for *_, data in graph.edges(data=True)}
    assert predicates == {"lives_in", "works_at", "calls", "depends_on"}
    written = StringIO("".join(networkx.generate_graphml(graph)))
    assert len(read(written.getvalue(), "graphml").entities) == 6


@pytest.mark.parametrize("format_", FORMATS)
def test_what_is_no_graph_is_refused_and_nothing_is_stored(empty: World, format_: Format) -> None:
    for text in (
        *("no graph", "{", "[]", '{"@graph": [1]}', '{"@graph": [{"@type": "Entity"}]}', "<graphml/"),
        *('<!DOCTYPE x [<!ENTITY a "b">]><graphml>&a;</graphml>', "CREATE\nMATCH (n) DELETE n", "[" * 100_000),
        *('CREATE\n(n0:Entity {name: "a"})', 'CREATE\n(n0:Entity {name: __import__("os")})'),
        "CREATE\n(n0:Entity {" + 'a: "' * 20_000 + "})",
        *(json.dumps({"@graph": [{"@id": id_, "@type": "Entity"}]}) for id_ in (None, 1, ["x"])),
    ):
        with pytest.raises(InvalidInput):
            empty.graph.load(text, format_, source="elsewhere")
    assert empty.graph.entities() == []


def test_relations_that_cannot_be_used_are_refused(world: World, empty: World) -> None:
    graph = read(world.graph.export(), "graphml")
    changes: list[tuple[dict[str, Any], str]] = [
        *(({"confidence": 2.0}, "confidence"), ({"confidence": float("nan")}, "confidence")),
        *(({"predicate": "Not Snake"}, "snake_case"), ({"subject": "nobody"}, "does not have")),
        ({"recorded_at": NOON.replace(tzinfo=None)}, "recorded_at"),
        ({"valid_from": NOON, "valid_until": NOON - timedelta(days=1)}, "valid_until before its valid_from"),
        ({"superseded_at": NOON - timedelta(days=9999)}, "superseded_at before its recorded_at"),
    ]
    for change, message in changes:
        relations = (replace(graph.relations[0], **change), *graph.relations[1:])
        with pytest.raises(InvalidInput, match=message):
            empty.graph.load(write(Portable(graph.entities, relations), "json-ld"), "json-ld", source="elsewhere")
    assert empty.graph.entities() == []


def test_what_held_for_an_instant_is_loaded(world: World, empty: World) -> None:
    graph = read(world.graph.export(), "graphml")
    change: dict[str, Any] = {"valid_from": NOON, "valid_until": NOON}
    relations = (replace(graph.relations[0], **change), *graph.relations[1:])
    empty.graph.load(write(Portable(graph.entities, relations), "json-ld"), "json-ld", source="elsewhere")
    rows = [row for entity in empty.graph.entities() for row in empty.graph.timeline(entity.id)]
    assert (NOON, NOON) in {(row.valid_from, row.valid_until) for row in rows}


def test_a_format_that_is_not_known_and_a_source_without_a_name_are_refused(world: World) -> None:
    with pytest.raises(InvalidInput, match="graphml, json-ld, cypher"):
        world.graph.export("rdf")
    with pytest.raises(InvalidInput, match="source"):
        world.graph.load("", source=" ")
    for source in (None, 1, ["x"]):
        with pytest.raises(InvalidInput, match="source"):
            world.graph.forget_source(source)
