"""The read path on a real store."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

from tidal_plugins import Corrupt, HashingEmbedder, Note, QueryTimeout, TidalMemory
from tidal_plugins.storage.columns.view import Found
from tidal_plugins.storage.sqlite.columns import SQLiteColumns
from tidal_plugins.testing import FrozenClock
from tidal_plugins.tuning import Tuning

TOPICS = [
    "jazz piano",
    "garden tools",
    "train to Oslo",
    "tax return",
    "sourdough bread",
    "piano lessons",
    "bread and jam",
]


def fill(memory: TidalMemory, count: int = 150) -> None:
    memory.remember([Note(f"{TOPICS[n % len(TOPICS)]} number {n}") for n in range(count)])


def sql(path: Path, *statements: Any) -> list[Any]:
    """Through the library's own copy of SQLite: two copies on one file cancel each other's locks."""
    connection = apsw.Connection(str(path))
    try:
        return [list(connection.execute(*statement)) for statement in statements]
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


def test_every_candidate_is_a_hit_or_has_a_stage_and_a_reason(memory: TidalMemory) -> None:
    fill(memory)
    recall = memory.recall("jazz piano bread", limit=5)
    assert len(recall) == 5
    assert len(recall.dropped) >= 95
    assert not set(recall.ids) & {item.id for item in recall.dropped}
    assert len({*recall.ids, *(item.id for item in recall.dropped)}) == 5 + len(recall.dropped)
    assert {item.stage for item in recall.dropped} == {"trim", "shortlist"}
    assert all(item.reason for item in recall.dropped)
    lines = recall.explain(dropped=len(recall.dropped)).splitlines()
    assert len(lines) == 5 + len(recall.dropped)
    assert recall.explain().splitlines() == lines[:15], "unless told otherwise, ten of what was dropped"
    assert lines[0].startswith(f"1. {recall[0].score:.3f} kb {recall[0].id}: keywords #")


def test_only_the_shortlist_is_ranked_in_full(open_memory: Any) -> None:
    memory = open_memory(settings=Tuning(recall={"shortlist": 10}))
    fill(memory)
    for limit, ranked in ((1, 10), (5, 20)):
        recall = memory.recall("jazz piano bread", limit=limit)
        stages = [item.stage for item in recall.dropped]
        assert stages == ["trim"] * (ranked - limit) + ["shortlist"] * (len(stages) - ranked + limit)
        assert "shortlist" in stages
    wide = open_memory("wide.db", settings=Tuning(recall={"shortlist": 8000}))
    fill(wide)
    assert {item.stage for item in wide.recall("jazz piano bread", limit=5).dropped} == {"trim"}


def test_what_only_keywords_find_gets_its_exact_cosine(open_memory: Any) -> None:
    memory = open_memory(settings=Tuning(recall={"pool": 2, "keywords": 9.0}))
    memory.remember([Note(f"zebra{letter}") for letter in "xyvw"])
    far = memory.remember("The zebra stood among many other animals of the wide savannah in the evening sun.")
    hit = memory.recall("zebra", limit=1)[0]
    assert (hit.id, hit.why.vector_rank, hit.why.keyword_rank) == (far.id, None, 1)
    query, passage = HashingEmbedder().embed(["zebra", far.text])
    assert hit.why.cosine == pytest.approx(float(query @ passage), abs=1e-5)


def test_the_same_question_has_the_same_answer(open_memory: Any) -> None:
    notes = [Note(f"{TOPICS[n % len(TOPICS)]} number {n}") for n in range(60)]
    first = open_memory("first.db")
    first.remember(notes)
    Random(1).shuffle(notes)
    second = open_memory("second.db")
    for note in notes:
        second.remember([note])
    for query in ("jazz piano", "number 7", "bread"):
        assert first.recall(query) == first.recall(query)
        answers = [
            [(hit.text, round(hit.score, 5)) for hit in memory.recall(query, limit=20)] for memory in (first, second)
        ]
        assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "damage",
    ["UPDATE entries SET text = 'forged' WHERE id = ?", "UPDATE entries SET importance = 9.5 WHERE id = ?",
     "UPDATE entries SET metadata = '{}}' WHERE id = ?", "UPDATE entries SET occurred_at = 1 << 62 WHERE id = ?",
     "UPDATE entries SET emotions = '{', valence = 1, arousal = 1 WHERE id = ?"],
)  # fmt: skip
def test_a_damaged_row_is_left_out_and_reported(
    memory: TidalMemory, path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = memory.remember("jazz piano lessons"), memory.remember("jazz piano")
    sql(path, (damage, (bad.id,)))
    recall = memory.recall("jazz piano", limit=1)
    assert recall.ids == (good.id,)
    assert [(item.id, item.stage) for item in recall.dropped] == [(bad.id, "checksum")]
    assert bad.id in caplog.text
    assert "jazz" not in caplog.text
    assert "damaged" in recall.explain()
    assert good.id in str(memory.whisper("where are my jazz piano lessons on monday?"))
    with pytest.raises(Corrupt):
        memory.get(bad.id)


@pytest.mark.parametrize("damage", ["tags = '[bad'", "metadata = '{bad'"])
def test_a_damaged_row_ends_no_search_by_tags_metadata_or_associations(
    memory: TidalMemory, path: Path, damage: str
) -> None:
    good, bad = (
        memory.remember(text, tags=["jazz"], metadata={"a": 1}) for text in ("jazz piano lessons", "jazz piano")
    )
    sql(path, (f"UPDATE entries SET {damage} WHERE id = ?", (bad.id,)))
    assert memory.recall("jazz piano", tags=["jazz"]).ids == (good.id,)
    assert memory.recall("jazz piano", metadata={"a": 1}).ids == (good.id,)
    assert memory.recall("jazz piano", associative=True).ids == (good.id,)


def test_a_store_of_damaged_rows_recalls_nothing(memory: TidalMemory, path: Path) -> None:
    fill(memory, 30)
    sql(path, ("UPDATE entries SET text = 'forged'",))
    recall = memory.recall("jazz piano")
    assert len(recall) == 0
    assert {item.stage for item in recall.dropped} == {"checksum"}


def hurried(*arguments: Any) -> Found:
    raise QueryTimeout("a search ran past its deadline")


def test_a_keyword_search_past_its_deadline_leaves_recall_by_meaning(
    open_memory: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    fill(memory)
    monkeypatch.setattr(SQLiteColumns, "matching", hurried)
    recall = memory.recall("jazz piano")
    assert recall.degraded == ("keywords",)
    assert recall[0].text.startswith("jazz piano")
    assert all(hit.why.keyword_rank is None and hit.why.vector_rank for hit in recall)
    assert "too long" in caplog.text
    monkeypatch.undo()
    assert memory.recall("jazz piano").degraded == ()


def test_recall_and_whisper_write_nothing(memory: TidalMemory, path: Path, clock: FrozenClock) -> None:
    fill(memory, 20)
    memory.record("I am SO angry about the piano!!!", "I see. " * 90, thread="s")
    watcher = apsw.Connection(str(path))
    before = watcher.pragma("data_version")
    clock.advance(hours=5)
    assert memory.recall("jazz piano", include_archived=True)
    assert memory.whisper("where did the jazz piano number 7 go?")
    assert memory.affect.state().intensity > 0
    assert memory.episodes.list()
    assert watcher.pragma("data_version") == before
    memory.record("hello", "hi")
    assert watcher.pragma("data_version") != before
    watcher.close()


def test_what_the_affect_was_is_told(memory: TidalMemory) -> None:
    memory.record("I am SO angry about the piano!!!", "I see. " * 90)
    recall = memory.recall("piano")
    assert recall.affect == memory.affect.state()
    assert recall.affect.valence < 0
    assert recall.at == memory.now()


def test_scripts_without_spaces_are_found(memory: TidalMemory) -> None:
    memory.remember([Note("私は東京都に住んでいます"), Note("大阪でピアノを弾きます"), Note("plain text")])
    hit = memory.recall("東京", limit=1)[0]
    assert (hit.text, hit.why.keyword_rank) == ("私は東京都に住んでいます", 1)


def test_the_passage_is_of_the_channel_that_ranks_higher(memory: TidalMemory) -> None:
    text = (
        "# Tools\n\n"
        + "A spade and a rake for the garden. " * 25
        + "\n\n# Music\n\n"
        + "The xylophone sounds bright. " * 25
    )
    memory.remember(text)
    assert "xylophone" in memory.recall("xylophone")[0].passage
    assert "spade" in memory.recall("spade rake")[0].passage


def test_an_empty_store_recalls_nothing(memory: TidalMemory) -> None:
    recall = memory.recall("anything at all")
    assert (len(recall), recall.dropped, recall.explain(), recall.ids) == (0, (), "", ())
    assert not memory.whisper("anything at all")


def test_a_label_that_the_text_has_not_finds_it(memory: TidalMemory) -> None:
    fill(memory)
    labelled = memory.remember(Note("three hundred a month at most", tags=("budget",)))
    hit = memory.recall("what was the budget?", limit=1)[0]
    assert hit.id == labelled.id
    assert hit.why.keyword_rank == 1
    assert hit.text == "three hundred a month at most"
