"""What signals do to a recall: in their session, in their scope, and nowhere else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tidal_plugins import Recall, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock
from tidal_plugins.tuning import Tuning

TEXTS = (
    "Jazz piano practice is at noon.",
    "The jazz festival sells tickets.",
    "A guide to the rust programming language.",
    "Pasta is cooked with tomatoes.",
)


@pytest.fixture
def ids(memory: TidalMemory) -> list[str]:
    return [memory.remember(text).id for text in TEXTS]


def scores(recall: Recall) -> dict[str, float]:
    return {hit.id: hit.score for hit in recall}


def test_an_entry_rewarded_ten_times_ranks_higher_in_its_session_and_only_there(
    memory: TidalMemory, ids: list[str]
) -> None:
    before = memory.recall("jazz piano")
    with memory.sessions.open(user="70", agent="a") as session, memory.sessions.open(user="71", agent="b") as other:
        for _ in range(10):
            session.signal("reward", ids[3], 2.0)
        other.signal("reward", ids[1])
        inside = memory.recall("jazz piano", session=session)
        assert inside.ids.index(ids[3]) < before.ids.index(ids[3])
        assert scores(inside)[ids[3]] - scores(before)[ids[3]] == pytest.approx(0.2 * 20 / 21)
        assert "session reward 0.19" in inside.explain()
        assert scores(memory.recall("jazz piano")) == scores(before), "nothing without session"
        lane = scores(memory.recall("jazz piano", session=other))
        assert lane == {**scores(before), ids[1]: pytest.approx(scores(before)[ids[1]] + 0.1)}, "the other lane"


def test_annotations_lift_what_they_speak_of(memory: TidalMemory, ids: list[str]) -> None:
    before = scores(memory.recall("jazz piano"))
    session = memory.sessions.open()
    session.annotate(ids[0], "rust programming language")
    session.annotate(ids[0], "the rust book")
    hit = next(hit for hit in memory.recall("jazz piano", session=session) if hit.id == ids[2])
    assert hit.score - before[ids[2]] == pytest.approx(0.3)
    assert hit.why.factors["session annotation"] == pytest.approx(0.3)
    session.annotate(ids[0], "of the and")  # has no keyword
    assert scores(memory.recall("jazz piano", session=session))[ids[2]] == pytest.approx(hit.score)


def test_labels_count_as_words_of_an_entry(memory: TidalMemory) -> None:
    tagged = memory.remember("Practise scales slowly.", tags=["borrowchecker"])
    session = memory.sessions.open()
    session.annotate(tagged.id, "borrowchecker")
    [hit] = memory.recall("scales", session=session)
    assert hit.why.factors["session annotation"] == pytest.approx(0.3)


def test_a_reward_fades(memory: TidalMemory, ids: list[str], clock: FrozenClock) -> None:
    session = memory.sessions.open()
    session.signal("reward", ids[0])
    clock.advance(hours=24)
    hit = memory.recall("jazz piano", session=session)[0]
    assert hit.why.factors["session reward"] == pytest.approx(0.2 * 0.5 / 1.5)
    clock.advance(days=60)
    assert "session reward" not in memory.recall("jazz piano", session=session)[0].why.factors


def test_rewarded_entries_outside_the_pool_join_it_through_the_same_filters(
    open_memory: Callable[..., TidalMemory], clock: FrozenClock
) -> None:
    memory = open_memory(settings=Tuning(recall={"pool": 1, "shortlist": 1}))
    far = memory.remember("Pasta is cooked with tomatoes.", source="kitchen").id
    gone = memory.remember("Old pasta.", valid_until=clock() + timedelta(hours=1)).id
    memory.remember("Jazz piano.")
    for number in range(30):
        memory.remember(f"The piano teacher moved house, part {number}.")
    session = memory.sessions.open()
    session.signal("reward", far, 5.0, note="pasta")
    session.signal("reward", gone, 5.0)
    clock.advance(hours=2)
    assert far not in memory.recall("jazz piano", limit=5).ids
    hits = memory.recall("jazz piano", limit=5, session=session)
    joined = next(hit for hit in hits if hit.id == far)
    assert joined.why.keyword_rank is None
    assert gone not in hits.ids
    assert far not in memory.recall("jazz piano", limit=5, session=session, sources={"music"}).ids


def test_signals_of_the_scope_shape_everyones_ranking_by_their_sign(memory: TidalMemory, ids: list[str]) -> None:
    before = scores(memory.recall("jazz"))
    memory.signals.add("like", ids[1])
    memory.signals.add("like", ids[1])
    memory.signals.add("skip", ids[0])
    memory.signals.add("annotate", ids[0])
    after = memory.recall("jazz")
    assert scores(after)[ids[1]] - before[ids[1]] == pytest.approx(0.2 * 2 / 3)
    assert scores(after)[ids[0]] - before[ids[0]] == pytest.approx(-0.2 * 1 / 2)
    assert scores(memory.recall("jazz", session=memory.sessions.open())) == scores(after)
    assert memory.signals.tally().scores["like"] == {ids[1]: 2.0}
    assert memory.signals.tally().counts["like"].minute == 2
    assert scores(memory.scoped("another").recall("jazz")) == {}


def test_a_like_and_a_dislike_cancel_out(memory: TidalMemory, ids: list[str]) -> None:
    memory.signals.add("like", ids[1])
    memory.signals.add("dislike", ids[1])
    hit = next(hit for hit in memory.recall("jazz") if hit.id == ids[1])
    assert "signals" not in hit.why.factors


def test_types_of_ones_own_have_their_half_life_and_sign(
    open_memory: Callable[..., TidalMemory], clock: FrozenClock
) -> None:
    memory = open_memory(
        settings=Settings(
            signals={"types": {"reward": {}, "annotate": {"sign": 0}, "bury": {"half_life": 1, "sign": -1}}}
        )
    )
    entry = memory.remember(TEXTS[0]).id
    memory.signals.add("bury", entry)
    clock.advance(hours=1)
    assert memory.recall("jazz")[0].why.factors["signals"] == pytest.approx(-0.2 * 0.5 / 1.5)


def test_a_whisper_feels_the_session_too(memory: TidalMemory, ids: list[str]) -> None:
    session = memory.sessions.open()
    assert memory.whisper("When is jazz piano practice?").ids[0] == ids[0]
    session.signal("reward", ids[0])
    whisper = memory.whisper("When is jazz piano practice?", session=session)
    assert whisper.hits[0].why.factors["session reward"] == pytest.approx(0.1)


@pytest.mark.parametrize("profile", ["balanced", "tidal", "attention"])
def test_every_profile_feels_the_session(memory: TidalMemory, ids: list[str], profile: str) -> None:
    session = memory.sessions.open()
    session.signal("reward", ids[0])
    hit = memory.recall("jazz piano", profile=profile, session=session)[0]
    assert hit.why.factors["session reward"] == pytest.approx(0.1)


def test_what_an_entry_says_now_counts_also_where_another_process_changed_it(
    open_memory: Callable[..., TidalMemory],
) -> None:
    memory, writer = open_memory(), open_memory()
    memory.facts["bridge"] = "up"
    session = memory.sessions.open()
    session.annotate(memory.remember("The bridge is of steel.").id, "lowered")

    def gained() -> list[float | None]:
        return [
            hit.why.factors.get("session annotation")
            for hit in memory.recall("bridge", kinds=["fact"], session=session)
        ]

    assert gained() == [None]
    writer.facts["bridge"] = "lowered"
    assert gained() == [pytest.approx(0.3)]


def test_an_annotation_of_what_was_forgotten_shapes_nothing(open_memory: Callable[..., TidalMemory]) -> None:
    memory, other = open_memory(), open_memory()
    noted, kept = memory.remember("Pasta is cooked with tomatoes.").id, memory.remember("Jazz piano at noon.").id
    before = scores(memory.recall("piano"))[kept]
    session = memory.sessions.open()
    session.annotate(noted, "jazz")
    assert scores(memory.recall("piano", session=session))[kept] == pytest.approx(before + 0.3)
    other.forget(noted)
    assert "session annotation" not in memory.recall("piano", session=session).explain()


def test_damaged_vectors_leave_a_recall_of_the_session_by_keywords(
    open_memory: Callable[..., TidalMemory], tmp_path: Path
) -> None:
    memory = open_memory()
    for number in range(40):
        memory.remember(f"jazz piano {number}")
    odd = memory.remember("Pasta is cooked with tomatoes.").id
    session = memory.sessions.open()
    session.signal("reward", odd, 5.0)
    sid = session.id
    memory.close()
    path = tmp_path / "agent.db"
    with closing(sqlite3.connect(path)) as file, file:  # its first number is NaN
        file.execute("UPDATE vectors SET vector = CAST(X'0000C07F' || substr(vector, 5) AS BLOB)")
    recall = open_memory().recall("jazz piano", session=sid, limit=41)
    assert recall.degraded == ("damaged vectors",)
    assert odd in recall.ids
    assert len(recall) > 1
