"""What comes up together with the hits is appended to them, through the same gates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.inside import associate, links, storage_of
from tests.reading import Reader
from tidal_plugins import Note, QueryTimeout, Recall, Settings, TidalMemory
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.columns.view import Found
from tidal_plugins.storage.sqlite.seek import SoughtColumns
from tidal_plugins.testing import FrozenClock


def recall(memory: TidalMemory, query: str = "jazz piano", limit: int = 1, **filters: Any) -> Recall:
    return memory.recall(query, limit=limit, associative=True, **filters)


@pytest.fixture
def chain(memory: TidalMemory) -> list[str]:
    """Jazz piano – the old bridge – tomato soup, each with the next, and something with none."""
    texts = ["I play jazz piano", "the old bridge", "tomato soup", "unrelated words"]
    ids = [entry.id for entry in memory.remember([Note(text, kind="conversation") for text in texts])]
    associate(memory, *ids[:2])
    associate(memory, *ids[1:3])
    return ids


def test_neighbours_follow_the_hits_with_their_provenance(memory: TidalMemory, chain: list[str]) -> None:
    found = recall(memory)
    assert found.ids == tuple(chain[:3])
    hit, near, far = found
    assert (near.why.activation, near.why.path) == (0.5, (hit.id, near.id))  # 1 / (1 + 1)
    assert (far.why.activation, far.why.path) == (0.25, (hit.id, near.id, far.id))
    assert (near.score, far.score) == (hit.score / 2, hit.score / 4)
    assert (hit.why.activation, hit.why.path) == (0.0, ())
    assert f"associated with a hit ({hit.id} → {near.id}), activation 0.50" in found.explain()
    assert near.passage == "the old bridge"


def test_it_is_off_unless_asked_for_and_writes_nothing(memory: TidalMemory, chain: list[str]) -> None:
    before = storage_of(memory).get(memory.scope, chain)
    assert memory.recall("jazz piano", limit=1).ids == (chain[0],)
    recall(memory)
    assert storage_of(memory).get(memory.scope, chain) == before
    assert [weight for *_, weight in links(memory).values()] == [1, 1]


def test_no_more_are_appended_than_the_settings_say(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(tuning={"recall.associated": 2}))
    ids = [entry.id for entry in memory.remember([Note("I play jazz piano"), *(Note(f"word{n}") for n in range(5))])]
    for n, id_ in enumerate(ids[1:]):
        associate(memory, ids[0], id_, times=n + 1)
    found = recall(memory)
    assert found.ids == (ids[0], ids[5], ids[4])
    unshown = {item.id: item.reason for item in found.dropped if item.stage == "association"}
    trimmed = {item.id for item in found.dropped if item.stage != "association"}
    assert unshown.keys() | trimmed == set(ids[1:4])
    none = open_memory("none.db", settings=Settings(tuning={"recall.associated": 0}))
    none.remember("I play jazz piano")
    assert len(recall(none)) == 1


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({"kinds": {"conversation", "skill"}}, "abce"),
        ({"kinds": {"skill"}}, "b"),
        ({"sources": {"x"}}, "ac"),
        ({"exclude": "bd"}, "ace"),
        ({"include_archived": True}, "abcde"),
        ({}, "abce"),
    ],
)
def test_neighbours_pass_the_same_gates(
    memory: TidalMemory, clock: FrozenClock, filters: dict[str, Any], left: str
) -> None:
    day = timedelta(days=1)
    notes = {
        "d": Note("word four", kind="conversation", occurred_at=clock()),
        "a": Note("I play jazz piano", kind="conversation", source="x"),
        "b": Note("word two", kind="skill"),
        "c": Note("word three", kind="conversation", source="x"),
        "e": Note("word five", kind="conversation"),
        "f": Note("word six", kind="conversation", valid_until=clock() + 250 * day),
    }
    first = memory.remember(notes["d"])
    clock.advance(days=230)
    ids = {"d": first.id, **{name: memory.remember(notes[name]).id for name in "abcef"}}
    clock.advance(days=25)
    associate(memory, *ids.values())
    names = {id_: name for name, id_ in ids.items()}
    if "exclude" in filters:
        filters = {"exclude": [ids[name] for name in filters["exclude"]]}
    found = recall(memory, limit=1, **filters)
    assert "".join(sorted(names[id_] for id_ in found.ids)) == left
    assert "f" not in left, "no longer valid"


def test_what_the_query_names_brings_up_what_the_graph_says_of_it(open_memory: OpenMemory) -> None:
    memory = open_memory(graph_extractor=Reader(), settings=Settings(graph={"background": False}))
    episode = memory.record("a long talk about cheese, in which checkout depends on billing")
    memory.remember([Note(f"what is the matter with checkout, number {n}?") for n in range(3)])
    memory.graph.index_pending()
    query = "what is the matter with checkout?"
    plain, found = memory.recall(query, limit=1), memory.recall(query, limit=1, associative=True)
    assert found[:1] == plain[:1]
    brought = {hit.text.split(" [")[0]: hit for hit in found[1:]}
    said = brought["checkout depends on billing"]
    assert said.why.path[-1] == said.id
    assert said.entry.kind == "fact"
    assert said.why.activation == pytest.approx(0.45)
    assert {hit.entry.episode for hit in found[1:]} & {episode.id}, "and where it was named"
    only = memory.recall(query, limit=1, associative=True, kinds={"conversation"})
    assert {hit.entry.kind for hit in only} == {"conversation"}


def test_shared_labels_lead_on_with_their_provenance(memory: TidalMemory) -> None:
    notes = [
        Note("I play jazz piano", tags=("music", "evening")),
        Note("the choir meets at eight", tags=("music", "evening"), importance=8),
        Note("a violin in the attic", tags=("music", "attic", "evening", "dust"), importance=5),
        Note("tomato soup", tags=("food",)),
    ]
    piano, choir, violin, _ = (entry.id for entry in memory.remember(notes))
    found = recall(memory)
    assert found.ids == (piano, choir, violin)
    near, far = found[1:]
    assert (near.why.activation, near.why.path) == (0.8, (piano, "#evening", "#music", choir))  # all shared · 8/10
    assert far.why.activation == pytest.approx(2 / 4 * 0.5)
    assert f"({piano} → #evening → #music → {choir}), activation 0.80" in found.explain()


def test_labels_that_took_too_long_to_look_up_are_reported(
    memory: TidalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember(Note("I play jazz piano", tags=("music",)))
    matching = SoughtColumns.matching

    def hurried(columns: SoughtColumns, terms: Sequence[str], k: int, where: Where) -> Found:
        if where.tags is not None:
            raise QueryTimeout("a search ran past its deadline")
        return matching(columns, terms, k, where)

    monkeypatch.setattr(SoughtColumns, "matching", hurried)
    assert memory.recall("jazz piano").degraded == ()
    assert memory.recall("jazz piano", associative=True).degraded == ("keywords",)


def test_labels_lead_on_within_the_scope_and_the_filter_alone(memory: TidalMemory) -> None:
    piano = memory.remember(Note("I play jazz piano", tags=("music",)))
    memory.scoped("other").remember(Note("the choir meets at eight", tags=("music",), importance=9))
    skill = memory.remember(Note("how to tune strings", tags=("music",), kind="skill", importance=9))
    assert recall(memory).ids == (piano.id, skill.id)
    assert recall(memory, kinds={"kb"}).ids == (piano.id,)
    assert recall(memory, exclude=[skill.id]).ids == (piano.id,)
    memory.forget(skill.id)
    assert recall(memory).ids == (piano.id,)
