"""The read path on a real store: what is asked, what comes up, and what stands around it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from tests.conftest import OpenMemory
from tests.inside import raw
from tests.retrieval.directions import QUESTION, lying, say
from tidal_plugins import (
    Corrupt,
    HashingEmbedder,
    Hit,
    InvalidInput,
    Message,
    Note,
    QueryTimeout,
    Recall,
    Settings,
    TidalMemory,
)
from tidal_plugins.storage.columns.view import Found
from tidal_plugins.storage.sqlite.seek import SoughtColumns
from tidal_plugins.testing import NOON, FrozenClock

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
    connection = raw(path)
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
    memory = open_memory(settings=Settings(tuning={"recall.shortlist": 10}))
    fill(memory)
    for limit, ranked in ((1, 10), (5, 20)):
        recall = memory.recall("jazz piano bread", limit=limit)
        stages = [item.stage for item in recall.dropped]
        assert stages == ["trim"] * (ranked - limit) + ["shortlist"] * (len(stages) - ranked + limit)
        assert "shortlist" in stages
    wide = open_memory("wide.db", settings=Settings(tuning={"recall.shortlist": 8000}))
    fill(wide)
    assert {item.stage for item in wide.recall("jazz piano bread", limit=5).dropped} == {"trim"}


def test_what_only_keywords_find_gets_its_exact_cosine(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(tuning={"recall.pool": 2, "recall.keywords": 9.0}))
    memory.remember([Note(f"zebra{letter}") for letter in "xyvw"])
    far = memory.remember("The zebra stood among many other animals of the wide savannah in the evening sun.")
    hit = memory.recall("zebra", limit=1)[0]
    assert (hit.id, hit.why.vector_rank, hit.why.keyword_rank) == (far.id, None, 1)
    query, passage = HashingEmbedder().embed(["zebra", far.text])
    assert hit.why.cosine == pytest.approx(float(query @ passage), abs=5e-4)


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


def hurried(*arguments: Any) -> Found:
    raise QueryTimeout("a search ran past its deadline")


def test_a_keyword_search_past_its_deadline_leaves_recall_by_meaning(
    open_memory: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    fill(memory)
    monkeypatch.setattr(SoughtColumns, "matching", hurried)
    recall = memory.recall("jazz piano")
    assert recall.degraded == ("keywords",)
    assert recall[0].text.startswith("jazz piano")
    assert all(hit.why.keyword_rank is None and hit.why.vector_rank for hit in recall)
    assert "too long" in caplog.text
    monkeypatch.undo()
    assert memory.recall("jazz piano").degraded == ()


def test_recall_and_whisper_write_nothing(open_memory: OpenMemory, path: Path, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(graph={"background": False}))  # what it reads later is written, too
    fill(memory, 20)
    memory.record("I am SO angry about the piano!!!", "I see. " * 90, thread="s")
    watcher = raw(path)
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


def test_scripts_without_spaces_are_found(memory: TidalMemory) -> None:
    memory.remember([Note("私は東京都に住んでいます"), Note("大阪でピアノを弾きます"), Note("plain text")])
    hit = memory.recall("東京", limit=1)[0]
    assert (hit.text, hit.why.keyword_rank) == ("私は東京都に住んでいます", 1)


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


# a turn as words to look for, a text to embed, and the people that it names


class Listening(HashingEmbedder):
    """Keeps the last texts that it embedded."""

    def embed(self, texts: Sequence[str]) -> Any:
        self.last = list(texts)
        return super().embed(texts)


class Understood(NamedTuple):
    words: tuple[str, ...]
    meaning: str
    names: set[str]


@pytest.fixture
def understand(open_memory: Any) -> Any:
    """Returns how a memory in which some people speak understands a text."""

    def read(text: str, speakers: Sequence[str] = ()) -> Understood:
        embedder = Listening()
        settings = Settings(graph={"enabled": False}, storage={"durability": "fast"}, tuning={"recall.time": 0.0})
        memory: TidalMemory = open_memory(embedder=embedder, settings=settings)
        texts = {f"{number} words to find": name for number, name in enumerate(speakers)}
        for said, name in texts.items():
            memory.record(messages=[Message("user", said, speaker=name or None)])
        recall = memory.recall(text, limit=1000)
        meaning = embedder.last[0]
        named = {hit.entry.speaker for hit in recall if "speaker" in hit.why.factors}
        return Understood(recall.words, meaning, {name for name in named if name})

    return read


@pytest.mark.parametrize(
    ("text", "meaning", "words"),
    [
        ("When did Ann go hiking?", "When did go hiking?", ("go", "hiking")),
        ("Ann's hiking trip", "hiking trip", ("hiking", "trip")),
        ("ANN’S hiking, ann!", "hiking, !", ("hiking",)),
        ("Annabel went hiking", "Annabel went hiking", ("annabel", "went", "hiking")),
    ],
)
def test_names_of_speakers_are_taken_out_of_words_and_meaning(
    understand: Any, text: str, meaning: str, words: tuple[str, ...]
) -> None:
    assert understand(text, ["Ann", "Bob"]) == (words, meaning, set() if "Annabel" in text else {"Ann"})


@pytest.mark.parametrize(
    ("text", "words", "names"), [("Who is Ann?", ("ann",), {"Ann"}), ("Ann and Bob?", ("ann", "bob"), {"Ann", "Bob"})]
)
def test_a_turn_that_is_only_names_keeps_them(
    understand: Any, text: str, words: tuple[str, ...], names: set[str]
) -> None:
    assert understand(text, ["Ann", "Bob"]) == (words, text, names)


@pytest.mark.parametrize("role", ["user", "Assistant", "AI", "tool"])
def test_roles_are_no_names(understand: Any, role: str) -> None:
    text = "which tool did the user and the assistant call, an AI?"
    assert understand(text, [role])[1:] == (text, set())


@pytest.mark.parametrize("name", ["a.b(c*", "C++", "李雷", "O'Brien", "Ann Lee"])
def test_a_name_is_no_pattern(understand: Any, name: str) -> None:
    assert understand(f"hiking with {name}", [name]) == (("hiking",), "hiking with", {name})


@pytest.mark.parametrize("name", ["[", "\\", "^$", "?!", "🎹", "the", "You"])
def test_what_has_no_word_is_no_name(understand: Any, name: str) -> None:
    text = f"hiking with {name}, you see"
    assert understand(text, [name]) == (("hiking", "see"), text, set())


# the turns around a hit, which are returned with it


TURNS = ("hello there", "what is for lunch", "soup with leek", "and bread", "thank you")


@pytest.fixture
def lunch(memory: TidalMemory) -> TidalMemory:
    for number, text in enumerate(TURNS):
        message = Message("user", text, speaker="Ann" if number % 2 else "Ben")
        memory.record(messages=[message], thread="s", occurred_at=NOON - timedelta(minutes=9 - number))
    memory.record(messages=[Message("user", "a leek elsewhere")], thread="t", occurred_at=NOON - timedelta(minutes=5))
    return memory


def around(hit: Hit) -> tuple[list[str], list[str]]:
    return [entry.text for entry in hit.window.before], [entry.text for entry in hit.window.after]


def test_a_hit_comes_with_the_turns_around_it_in_order(lunch: TidalMemory) -> None:
    assert around(lunch.recall("soup leek", window=1)[0]) == (["what is for lunch"], ["and bread"])
    assert around(lunch.recall("soup leek", window=9)[0]) == (list(TURNS[:2]), list(TURNS[3:]))


def test_filters_choose_hits_and_not_what_stands_around_them(lunch: TidalMemory) -> None:
    [hit] = lunch.recall("soup leek", speakers=["Ben"], since=NOON - timedelta(minutes=7, seconds=1), limit=1, window=1)
    assert around(hit) == (["what is for lunch"], ["and bread"])


def test_what_is_excluded_archived_or_forgotten_stays_out(lunch: TidalMemory, clock: FrozenClock) -> None:
    ids = {hit.text: hit.id for hit in lunch.recall(" ".join(TURNS))}
    [hit] = lunch.recall("soup leek", exclude=[ids["and bread"]], limit=1, window=1)
    assert around(hit) == (["what is for lunch"], ["thank you"])
    lunch.forget(ids["what is for lunch"])
    assert around(lunch.recall("soup leek", window=1)[0])[0] == ["hello there"]
    clock.advance(days=9_000)
    lunch.maintenance.run()
    assert not lunch.recall("soup leek", window=1)
    [hit] = lunch.recall("soup leek", limit=1, window=1, include_archived=True)
    assert around(hit) == (["hello there"], ["and bread"])


@pytest.mark.parametrize("window", [-1, 51, True, 1.0])
def test_a_window_is_a_small_number(memory: TidalMemory, window: object) -> None:
    with pytest.raises(InvalidInput, match="window"):
        memory.recall("a", window=window)


# threads and neighbours, by hand-computed values and by what they bring up


def parts(recall: Recall, name: str) -> dict[str, float]:
    """The part of that name in the score of each hit, 0 where explanations leave it out."""
    return {hit.text: hit.why.factors.get(name, 0.0) for hit in recall}


def close(values: dict[str, float]) -> Any:
    return pytest.approx(values, abs=1e-4)


@pytest.fixture
def talk_at(open_memory: Any) -> Any:
    """Records turns of one thread at cosines with the question, among so many ordinary texts that the floor is 0."""

    def record(turns: dict[str, float], **threads: dict[str, float]) -> TidalMemory:
        cosines = {text: near for thread in (turns, *threads.values()) for text, near in thread.items()}
        memory = lying(open_memory, cosines)
        memory.remember([Note(f"ordinary {n}") for n in range(20)])
        for name, thread in {"s": turns, **threads}.items():
            say(memory, *(("user", text) for text in thread), thread=name)
        return memory

    return record


def test_the_best_of_a_thread_raises_the_others(talk_at: Any) -> None:
    memory = talk_at({"best": 0.5, "weak": 0.1}, t={"alone": 0.3})
    memory.remember("ordinary note")
    lifts = parts(memory.recall(QUESTION, limit=40), "thread")
    assert {name: lifts[name] for name in ("best", "weak", "alone", "ordinary note")} == close(
        {"best": 0.0, "weak": 0.25 * 0.4, "alone": 0.0, "ordinary note": 0.0}
    )


def test_a_question_lends_most_to_the_turn_after_it(talk_at: Any) -> None:
    memory = talk_at({"earlier": 0.0, "really?": 0.5, "later": 0.0})
    lifts = parts(memory.recall(QUESTION, limit=30), "neighbours")
    assert {name: lifts[name] for name in ("earlier", "later")} == close({"earlier": 0.075, "later": 0.225})


# on a store


def talk(memory: TidalMemory, *texts: str, thread: str = "s") -> dict[str, str]:
    """Record turns of one thread, a minute apart; return their texts' ids."""
    for number, text in enumerate(texts):
        message = Message("user", text, id=f"{thread}{number}")
        memory.record(messages=[message], thread=thread, occurred_at=NOON + timedelta(minutes=number))
    return {hit.text: hit.id for hit in memory.recall(" ".join(texts), limit=100)}


def test_the_answer_comes_up_though_no_word_of_it_was_asked(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(tuning={"recall.pool": 3, "recall.shortlist": 3}))
    talk(memory, "hello again", "where did the zebra sleep?", "under an old oak", "fine")
    talk(memory, *(f"nothing number {n}" for n in range(9)), thread="t")
    found = memory.recall("zebra sleep", limit=3)
    assert found[0].text == "where did the zebra sleep?"
    answer = next(hit for hit in found if hit.text == "under an old oak")
    assert answer.why.factors["neighbours"] > 0
    assert answer.why.factors["thread"] > 0
    without = open_memory(
        "plain.db", settings=Settings(tuning={"recall.pool": 3, "recall.shortlist": 3, "recall.neighbours": 0.0})
    )
    talk(without, "hello again", "where did the zebra sleep?", "under an old oak", "fine")
    talk(without, *(f"nothing number {n}" for n in range(9)), thread="t")
    assert all("neighbours" not in hit.why.factors for hit in without.recall("zebra sleep", limit=3))


# the statements of SQL that a recall and a whisper take


MOST = 6


def test_what_others_write_is_seen_at_once(tmp_path: Path) -> None:
    path, embedder = tmp_path / "a.db", HashingEmbedder()
    with TidalMemory(path, embedder=embedder) as memory, TidalMemory(path, embedder=embedder) as other:
        for number in range(4):
            assert len(memory.recall(f"lighthouse {number}")) == number
            kept = other.record(f"The lighthouse {number} is dark.", thread="coast")
            assert memory.recall(f"lighthouse {number}").ids[0] in kept.entries
        other.forget(*memory.recall("lighthouse").ids)
        assert not memory.recall("lighthouse").ids


def test_neighbours_pass_the_same_filter(memory: TidalMemory) -> None:
    ids = talk(memory, "where did the zebra sleep?", "under an old oak")
    found = memory.recall("zebra", exclude=[ids["under an old oak"]])
    assert [hit.text for hit in found] == ["where did the zebra sleep?"]


def test_a_turn_that_tells_counts_more_than_one_that_asks(talk_at: Any) -> None:
    memory = talk_at({"since last week": 0.5, "why?": 0.5, "plain words": 0.5})
    lifts = parts(memory.recall(QUESTION), "time_mention")
    assert {name: lifts[name] for name in ("since last week", "why?", "plain words")} == close(
        {"since last week": 0.05, "why?": -0.05, "plain words": 0.0}
    )
