"""The graph in another engine: the same statements on an embedded one, and on Neo4j where ``NEO4J_URI`` names it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.graph.knowing import World
from tests.graph.sinking import EPISODES, Counting, change, embedded, facts, names, served
from tidal_plugins import Assertion, ComponentError, Conflict, Extraction, InvalidInput, Mention
from tidal_plugins.model.graph import SinkIds
from tidal_plugins.testing import NOON

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = [
    *('o\'clock "twelve"', "`DETACH`", "x'}) MATCH (n) DETACH DELETE n //", "$rows", "back\\slash\\", "{key: 1}"),
    *("\u202eright to left\u202c", "東京 🙂 e\u0301 \u200d", "n" * 200),
]


@pytest.fixture(params=["embedded", "server"])
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    sink = embedded(tmp_path / "graph.lbug") if request.param == "embedded" else served()
    yield sink
    if request.param == "server":
        change(sink, "MATCH (n) DETACH DELETE n")
    sink.close()


def test_an_engine_has_what_the_graph_has(world: World, sink: Any) -> None:
    world.say("Ada lives_in Rome\nnot checkout calls billing", thread="one")
    done = world.graph.mirror(sink)
    assert (done.entities, done.episodes, done.relations, done.removed, done.unchanged) == (4, 1, 2, 0, 0)
    assert facts(sink) == ["Ada lives in Rome", "checkout does not call billing (denied)"]
    [relation] = world.graph.relations(subject="Ada")
    [evidence] = world.graph.evidence(relation)
    [row] = sink.ask("MATCH (a:Entity {name: 'Ada'})-[r:RELATES]->(b:Entity) RETURN r, a.type AS type, b.name AS place")
    assert (row["type"], row["place"], row["r"]["predicate"]) == ("person", "Rome", "lives_in")
    assert row["r"]["relation"] == relation.id
    assert row["r"]["confidence"] == pytest.approx(relation.confidence)
    assert row["r"]["scope"] == "default"
    cited = [evidence.citation], [evidence.entry], [f"{evidence.start}-{evidence.end}"]
    assert (row["r"]["episodes"], row["r"]["entries"], row["r"]["spans"]) == cited
    episode = world.turns["e1"].id
    assert [row["name"] for row in sink.ask(EPISODES) if row["id"] == episode] == ["Ada", "Rome", "billing", "checkout"]


def test_a_second_time_writes_only_what_changed(world: World, sink: Any) -> None:
    world.say("Ada lives_in Rome\ncheckout calls billing")
    counting = Counting(sink)
    world.graph.mirror(counting)
    counting.batches.clear()
    done = world.graph.mirror(counting)
    assert (done.entities, done.episodes, done.relations, done.removed, done.unchanged) == (0, 0, 0, 0, 7)
    assert counting.batches == []
    world.clock.advance(days=1)
    world.say("Ada works_at Mill")
    done = world.graph.mirror(counting)
    assert (done.entities, done.episodes, done.relations, done.unchanged) == (2, 1, 1, 6)  # Ada was seen again
    assert [one.fact for batch in counting.batches for one in batch.relations] == ["Ada works at Mill"]
    assert facts(sink) == ["Ada lives in Rome", "Ada works at Mill", "checkout calls billing"]


def test_what_is_forgotten_here_is_erased_there(world: World, sink: Any) -> None:
    world.say("Ada lives_in Rome")
    world.say("checkout calls billing")
    world.say("checkout calls billing")
    world.graph.mirror(sink)
    world.forget("e1", "e2")
    done = world.graph.mirror(sink)
    assert done.removed == 5  # two episodes, two entities, a relation
    assert names(sink) == ["billing", "checkout"]
    [row] = sink.ask("MATCH (:Entity)-[r:RELATES]->(:Entity) RETURN r.episodes AS episodes")
    assert row["episodes"] == [f"[ep:{world.turns['e3'].id}]"]
    world.memory.erase_scope()
    assert world.graph.mirror(sink).removed == 4
    assert sink.ask("MATCH (n) RETURN count(n) AS count") == [{"count": 0}]


def test_merges_are_followed_and_undone(world: World, sink: Any) -> None:
    world.say("Ada lives_in Rome\nCountess works_at Mill")
    before = world.graph.mirror(sink)
    merge = world.graph.merge("Ada", "Countess")
    world.graph.mirror(sink)
    assert facts(sink) == ["Ada lives in Rome", "Ada works at Mill"]
    [row] = sink.ask("MATCH (n:Entity {name: 'Ada'}) RETURN n.aliases AS aliases")
    assert row["aliases"] == ["Countess"]
    assert "Countess" not in names(sink)
    world.graph.undo(merge)
    world.graph.mirror(sink)
    assert facts(sink) == ["Ada lives in Rome", "Countess works at Mill"]
    assert len(sink.ask(EPISODES)) == before.entities


def test_the_past_is_asked_in_cypher(world: World, sink: Any) -> None:
    """What is true and what is believed are two times, as they are in the graph itself."""
    world.say("Ada lives_in Rome")
    world.clock.advance(days=10)
    world.say("Ada lives_in Oslo", at=NOON + timedelta(days=4))  # told late
    world.graph.mirror(sink)
    question = (
        "MATCH (:Entity {name: 'Ada'})-[r:RELATES {predicate: 'lives_in'}]->(b:Entity) "
        "WHERE r.valid_from <= $true_at AND (r.valid_until IS NULL OR r.valid_until > $true_at) "
        "AND r.recorded_at <= $believed_at AND (r.superseded_at IS NULL OR r.superseded_at > $believed_at) "
        "RETURN b.name AS place"
    )
    for true_at, believed_at in [(1, 11), (5, 11), (5, 5), (11, 11)]:
        times = {"true_at": NOON + timedelta(days=true_at), "believed_at": NOON + timedelta(days=believed_at)}
        there = {row["place"] for row in sink.ask(question, **times)}
        known = world.graph.relations(subject="Ada", valid_at=times["true_at"], believed_at=times["believed_at"])
        assert there == {world.graph.entity(one.object).name for one in known}
    assert there == {"Oslo"}


def test_a_name_is_data(world: World, sink: Any) -> None:
    for number, name in enumerate(HOSTILE):
        text = f"{name} is here"
        thing = Mention(name, "module", "technical", 0, len(name))
        place = Mention("here", "concept", "contextual", len(text) - 4, len(text))
        said = Assertion(thing, "located_in", place, 0, len(text), 0.9)
        world.say(text, id=str(number), extraction=Extraction((thing, place), (said,)))
        world.graph.mirror(sink)
        [known] = world.graph.entities(type="module")
        assert names(sink) == sorted([known.name, "here"])
        rows = sink.ask("MATCH (n:Entity) WHERE n.name = $name RETURN n.id AS id", name=known.name)
        assert rows == [{"id": known.id}]
        world.forget(str(number))
        world.graph.mirror(sink)
        assert names(sink) == []


def test_two_scopes_and_two_memories_share_an_engine(world: World, sink: Any, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = World(tmp_path / "other")
    for one in (world, other):
        one.say("Ada lives_in Rome")
        one.graph.mirror(sink)
    world.memory.scoped("user", "42").graph.mirror(sink)
    assert names(sink) == ["Ada", "Ada", "Rome", "Rome"]
    world.forget("e1")
    world.graph.mirror(sink)
    assert names(sink) == ["Ada", "Rome"]
    assert other.graph.mirror(sink).unchanged == 4
    other.memory.close()


class _Down(Exception):
    """The engine does not answer."""


def _fails_after(count: int) -> Any:
    left = iter(range(count))

    def fail() -> None:
        if next(left, None) is None:
            raise _Down("connection reset")

    return fail


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_an_engine_that_fails_midway_is_completed_later(world: World, sink: Any, batches: int) -> None:
    """The last batch was written, but never confirmed. What was forgotten meanwhile goes from there, too."""
    world.say("Ada lives_in Rome")
    world.say("checkout calls billing")
    with pytest.raises(ComponentError, match="connection reset"):
        world.graph.mirror(Counting(sink, then=_fails_after(batches)))
    world.forget("e1")
    world.graph.mirror(sink)
    assert facts(sink) == ["checkout calls billing"]
    assert names(sink) == ["billing", "checkout"]
    assert world.graph.mirror(sink).unchanged == 4


@pytest.mark.slow
@pytest.mark.parametrize("batches", [0, 1, 2])
def test_a_kill_before_the_confirmation_repeats_harmlessly(world: World, tmp_path: Path, batches: int) -> None:
    embedded(tmp_path / "graph.lbug").close()
    world.say("Ada lives_in Rome\ncheckout calls billing")
    command = [sys.executable, "-m", "tests.graph.sink_process", str(tmp_path), str(batches)]
    assert subprocess.run(command, cwd=ROOT).returncode == 9
    world.forget("e1")
    world.say("Grace lives_in Oslo")
    sink = embedded(tmp_path / "graph.lbug")
    world.graph.mirror(sink)
    assert facts(sink) == ["Grace lives in Oslo"]
    assert names(sink) == ["Grace", "Oslo"]
    sink.close()


def test_an_engine_that_shows_a_password_or_answers_wrongly_is_an_error_of_ours(world: World) -> None:
    class Loose:
        name, with_texts = "loose", False
        has: Any = None

        def held(self, graph: str) -> Any:
            return self.has

        def apply(self, batch: Any) -> None:
            raise _Down("no login with password: hunter2secret")

    sink = Loose()
    world.say("Ada lives_in Rome")
    with pytest.raises(ComponentError, match="SinkIds"):
        world.graph.mirror(sink)
    sink.has = SinkIds()
    with pytest.raises(ComponentError, match="no login") as caught:
        world.graph.mirror(sink)
    assert "hunter2secret" not in str(caught.value)


def test_one_process_at_a_time_mirrors_to_a_sink(world: World) -> None:
    world.say("Ada lives_in Rome")
    inner: list[Any] = []

    def overtake() -> None:
        if not inner:
            inner.append(Kept())
            world.graph.mirror(inner[0])

    with pytest.raises(Conflict, match="one do it at a time"):
        world.graph.mirror(Counting(Kept(), then=overtake))
    assert world.graph.mirror(Kept()).unchanged == 4


class Kept:
    """A sink that keeps ids."""

    name, with_texts = "kept", False
    kept: ClassVar[dict[str, set[str]]] = {}

    def apply(self, batch: Any) -> None:
        for kind in ("entities", "episodes", "relations"):
            self.kept.setdefault(kind, set()).update(one.id for one in getattr(batch, kind))

    def held(self, graph: str) -> SinkIds:
        return SinkIds(**{kind: frozenset(ids) for kind, ids in self.kept.items()})


def test_what_is_no_sink_and_no_address_of_one_is_refused(world: World) -> None:
    from tidal_plugins.apps.graphs import open_sink

    for sink in (None, "neo4j://localhost", Kept, object()):
        with pytest.raises(InvalidInput, match="sink"):
            world.graph.mirror(sink)
    for uri in ("", "graph", "http://localhost", "kuzu:file", 7):
        with pytest.raises(InvalidInput, match="neo4j://host:7687"):
            open_sink(uri)


def test_an_address_holds_no_password() -> None:
    pytest.importorskip("neo4j")
    from tidal_plugins.apps.graphs import open_sink

    with pytest.raises(InvalidInput, match="leave user and password out"):
        open_sink("neo4j://ada:secret@localhost:7687")
    with open_sink("bolt://localhost:7687", auth=("ada", "secret"), database="tides") as sink:
        assert sink.name == "bolt://localhost:7687/tides"


def test_an_engine_that_was_emptied_gets_everything_again(world: World, sink: Any) -> None:
    world.say("Ada lives_in Rome")
    world.graph.mirror(sink)
    change(sink, "MATCH (n) DETACH DELETE n")
    assert world.graph.mirror(sink).unchanged == 0
    assert facts(sink) == ["Ada lives in Rome"]
    change(sink, "MATCH (n:Entity {name: 'Rome'}) SET n.name = 'Roma'")  # as when a backup is restored
    assert world.graph.mirror(sink).unchanged == 4
    world.graph.mirror(sink, full=True)
    assert names(sink) == ["Ada", "Rome"]


def test_a_change_that_was_taken_back_unconfirmed_is_taken_back_there(world: World, sink: Any) -> None:
    world.say("Ada lives_in Rome\nCountess works_at Mill")
    world.graph.mirror(sink)
    merge = world.graph.merge("Ada", "Countess")
    with pytest.raises(ComponentError):
        world.graph.mirror(Counting(sink, then=_fails_after(1)))
    world.graph.undo(merge)
    world.graph.mirror(sink)
    assert facts(sink) == ["Ada lives in Rome", "Countess works at Mill"]
    assert sink.ask("MATCH (n:Entity {name: 'Ada'}) RETURN n.aliases AS aliases") == [{"aliases": []}]
