"""Bad input: a typed error that says what to do, and nothing half-written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidal_plugins import (
    BadEmbedding,
    EmbedderMismatch,
    EmbeddingError,
    Exchange,
    HashingEmbedder,
    InvalidInput,
    InvalidScope,
    InvalidText,
    Message,
    NotADatabase,
    Note,
    OnnxEmbedder,
    Settings,
    TidalError,
    TidalMemory,
    ToolCall,
)
from tidal_plugins.testing import HOSTILE, NOON

NAIVE = datetime(2026, 1, 1)
DEEP: dict[str, Any] = {}
for _ in range(5000):
    DEEP = {"a": DEEP}

Use = Callable[[TidalMemory], object]


def state(memory: TidalMemory) -> tuple[Any, ...]:
    """Everything that a failed write could have changed."""
    hits = memory.recall("good text", limit=1000, kinds={"conversation", "kb", "skill", "fact", "dossier", "episode"})
    return sorted(hits.ids), memory.episodes.list(), memory.affect.state()


def refused(memory: TidalMemory, use: Use, error: type[TidalError] = InvalidInput) -> str:
    before = state(memory)
    with pytest.raises(error) as caught:
        use(memory)
    assert state(memory) == before
    assert len(str(caught.value)) > 15
    return str(caught.value)


@pytest.mark.parametrize("text", ["", " \n\t", None, 7, b"bytes", ["a"]], ids=repr)
@pytest.mark.parametrize(
    "use",
    [
        lambda m, text: m.recall(text),
        lambda m, text: m.record_many(
            [Exchange((Message("user", "good text"),), id="1"), Exchange((Message("user", text),), id="2")]
        ),
        lambda m, text: m.remember([Note("good text"), Note(text)]),
        lambda m, text: m.record(text),
    ],
)
def test_what_is_no_text_is_refused(memory: TidalMemory, use: Callable[..., object], text: Any) -> None:
    refused(memory, lambda m: use(m, text))


@pytest.mark.parametrize("given", [None, 7, "", ["good text", 7], [{"text": "good text"}], b"bytes"], ids=repr)
def test_what_is_neither_text_nor_notes_is_not_remembered(memory: TidalMemory, given: Any) -> None:
    refused(memory, lambda m: m.remember(given))


def test_a_text_beyond_the_limit_is_refused_with_the_way_out(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(ingestion={"max_chars": 1000}))
    uses: list[Use] = [
        lambda m: m.recall("x" * 1001),
        lambda m: m.remember("x" * 1001),
        lambda m: m.remember([Note("good text"), Note("x" * 1001)]),
        lambda m: m.record("good text", "x" * 1001),
        lambda m: m.record("good text", tools=[ToolCall("t", result="x" * 1001)]),
        lambda m: m.record("good text", tools=[ToolCall("t", {"a": "x" * 1001})]),
    ]
    for use in uses:
        refused(memory, use)
    assert "max_chars" in refused(memory, uses[1], InvalidText)
    assert len(memory.record("x" * 1000, "y " * 500).query) == 1000


@pytest.mark.slow
def test_a_text_as_long_as_the_limit_is_stored_found_and_shown(memory: TidalMemory) -> None:
    entry = memory.remember("The needle is here. " + "All of this is hay and straw. " * 33_000)
    assert memory.recall("needle")[0].id == entry.id
    assert memory.recall("needle")[0].passage.startswith("The needle is here.")
    blob = memory.remember("x" * 999_999)
    assert memory.get(blob.id) == blob
    episode = memory.record("word " * 199_999, "ok")
    assert memory.episodes[episode.id] == episode
    assert len(episode.summary) <= memory.settings.ingestion.summary_chars


@pytest.mark.parametrize("text", ["a\0b", "lone \ud800 surrogate", "\udfff"], ids=repr)
def test_nul_and_lone_surrogates_are_replaced(memory: TidalMemory, text: str) -> None:
    clean = text.replace("\0", "\ufffd").replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")
    episode = memory.record(
        text, text, tools=[ToolCall("t", {"a": text, text: [text]}, result=text)], thread=text,
        metadata={text: [text]}, id=text,
    )  # fmt: skip
    assert memory.episodes[episode.id] == episode
    assert (episode.query, episode.answer, episode.thread, episode.metadata) == (clean, clean, clean, {clean: [clean]})
    assert (episode.tool_calls[0].arguments, episode.tool_calls[0].result) == ({"a": clean, clean: [clean]}, clean)
    entry = memory.remember(text, source=text, tags=[text], metadata={"a": {"b": text}})
    assert memory.get(entry.id) == entry
    assert (entry.text, entry.source, entry.tags, entry.metadata) == (clean, clean, (clean,), {"a": {"b": clean}})
    memory.recall(text)
    memory.whisper(text)


def test_the_default_embedder_takes_queries_with_surrogates(open_memory: Any, minilm: OnnxEmbedder) -> None:
    memory = open_memory(embedder=minilm)
    memory.remember("I play \ud83d jazz")
    assert memory.recall("\ud83d jazz piano \0")[0].text == "I play \ufffd jazz"


@pytest.mark.parametrize(
    "text", [*HOSTILE, "!!!", "🎹", "the of and", "\u200b", "a" * 999, "AND OR NOT", "-- ; DROP TABLE entries"]
)
def test_hostile_strings_are_only_words(memory: TidalMemory, text: str) -> None:
    memory.remember("an innocent bystander")
    memory.recall(text)
    memory.whisper(f"{text} {text}")
    entry = memory.remember(text, source=text, tags=[text])
    episode = memory.record(text, text, thread=text, id=text)
    assert memory.get(entry.id) == entry
    assert memory.episodes.list(thread=episode.thread) == [episode]
    assert entry.id in memory.recall(text, limit=1000).ids
    assert not memory.recall("innocent bystander", sources=[text], tags=[text], threads=[text], speakers=[text])
    assert memory.forget(entry.id).count == 1
    assert memory.recall("innocent bystander")[0].text == "an innocent bystander"


def test_of_a_very_long_turn_the_beginning_whispers(memory: TidalMemory) -> None:
    memory.remember("jazz piano lessons on friday")
    for turn in ("when are jazz piano lessons? " + " " * 2_000_000, " \n" * 10_000 + "when are jazz piano lessons?"):
        assert memory.whisper(turn)


def test_thousands_of_words_are_a_query(memory: TidalMemory) -> None:
    memory.remember("word17 word18")
    assert memory.recall(" ".join(f"word{n}" for n in range(5000)))


# arguments


@pytest.mark.parametrize(
    "use",
    [
        lambda m: m.recall("x", limit=0),
        lambda m: m.recall("x", limit=-1),
        lambda m: m.recall("x", limit=1001),
        lambda m: m.recall("x", limit=True),
        lambda m: m.recall("x", limit="5"),
        lambda m: m.recall("x", limit=2.5),
        lambda m: m.recall("x", kinds={"poem"}),
        lambda m: m.recall("x", kinds="skill"),
        lambda m: m.recall("x", profile="best"),
        lambda m: m.recall("x", since=NAIVE),
        lambda m: m.recall("x", until="yesterday"),
        lambda m: m.recall("x", since=""),
        lambda m: m.recall("x", until=0),
        lambda m: m.recall("x", kinds=[["skill"]]),
        lambda m: m.recall("x", threads="s1"),
        lambda m: m.recall("x", speakers="Ann"),
        lambda m: m.recall("x", sources=[None]),
        lambda m: m.recall("x", tags="jazz"),
        lambda m: m.recall("x", exclude="abc"),
        lambda m: m.recall("x", exclude=[7]),
        lambda m: m.recall("x", metadata={"a": float("nan")}),
        lambda m: m.recall("x", metadata={"a": {1, 2}}),
        lambda m: m.recall("x", speakers=["\ud800"]),
        lambda m: m.whisper(None),
        lambda m: m.get(None),
        lambda m: m.get("\ud800"),
        lambda m: m.forget(7),
        lambda m: m.episodes.list(limit=-1),
        lambda m: m.episodes.list(limit="x"),
        lambda m: m.episodes.list(since=NAIVE),
        lambda m: m.remember("x", kind="poem"),
        lambda m: m.remember("x", kind="episode"),
        lambda m: m.remember("x", importance=0),
        lambda m: m.remember("x", importance=10.5),
        lambda m: m.remember("x", importance=float("nan")),
        lambda m: m.remember("x", importance="high"),
        lambda m: m.remember("x", trust=1.1),
        lambda m: m.remember("x", trust=-0.1),
        lambda m: m.remember("x", trust=True),
        lambda m: m.remember("x", occurred_at=NAIVE),
        lambda m: m.remember("x", valid_until=NAIVE),
        lambda m: m.remember("x", tags="jazz"),
        lambda m: m.remember("x", tags=[None]),
        lambda m: m.remember("x", source=7),
        lambda m: m.remember("x", source=""),
        lambda m: m.remember("x", source="s" * 10_000),
        lambda m: m.remember("x", colour="red"),
        lambda m: m.remember([Note("x")], kind="skill"),
        lambda m: m.remember([Note("good text"), Note("x", importance=99)]),
        lambda m: m.record(),
        lambda m: m.record(""),
        lambda m: m.record("", tools=[ToolCall("t")]),
        lambda m: m.record(messages=[Message("system", "x")]),  # type: ignore[arg-type]
        lambda m: m.record("x", occurred_at=NAIVE),
        lambda m: m.record(messages=[Message("user", "x", at=NAIVE)]),
        lambda m: m.record("x", thread=7),
        lambda m: m.record("x", tools=[ToolCall("")]),
        lambda m: m.record("x", tools=[ToolCall("t", result={"a": 1})]),  # type: ignore[arg-type]
        lambda m: m.record("x", tools=[ToolCall("t", "arguments")]),  # type: ignore[arg-type]
        lambda m: m.record_many([Exchange((Message("user", "good text"),), id="1"), Exchange((), id="2")]),
        lambda m: m.record_many(None),
        lambda m: m.record_many("turns"),
        lambda m: m.record("x", id=0),
        lambda m: m.record("x", occurred_at=0),
        lambda m: m.record("x", tools=None),
        lambda m: m.record("x", surfaced=7),
        lambda m: m.record(messages=None),
        lambda m: m.recall("x", kinds=7),
        lambda m: m.recall("x", kinds=np.array([1.0, 2.0])),
        lambda m: m.recall("x", profile=np.array(["tidal"])),
        lambda m: m.remember("x", tags=7),
        lambda m: m.remember("x", occurred_at=""),
        lambda m: m.remember("x", kind=["skill"]),
        lambda m: m.episodes.list(since=0),
        lambda m: m.episodes.id_of(None),
        lambda m: m.associations.spread(None),
        lambda m: m.graph.entities(thread=["t"]),
        lambda m: m.graph.relations(thread={"t"}),
        lambda m: m.graph.impact("x", predicates=7),
        lambda m: m.graph.sentences(["x"]),
        lambda m: m.sessions.policies[["planner"]],
        lambda m: m.compactor(counter=len),
    ],
)  # fmt: skip
def test_unusable_arguments_are_refused(memory: TidalMemory, use: Use) -> None:
    memory.remember("good text")
    refused(memory, use)


@pytest.mark.parametrize(
    "value",
    [
        {"a": float("nan")},
        {"a": [1, float("inf")]},
        {1: "a"},
        {"a": b"x"},
        {"a": object()},
        DEEP,
        {"a": "x" * 70_000},
        "text",
        [1],
        {"a": {1}},
    ],
    ids=lambda value: str(type(value)),
)
def test_metadata_must_be_small_json(memory: TidalMemory, value: Any) -> None:
    refused(memory, lambda m: m.record("x", metadata=value))
    refused(memory, lambda m: m.remember("x", metadata=value))
    refused(memory, lambda m: m.remember([Note("good text"), Note("x", metadata=value)]))
    if value != {"a": "x" * 70_000}:  # arguments may have as much as a text
        refused(memory, lambda m: m.record("x", tools=[ToolCall("t", value)]))


def test_times_of_any_zone_are_one_time(memory: TidalMemory) -> None:
    oslo = timezone(timedelta(hours=2))
    entry = memory.remember("zoned", occurred_at=NOON.astimezone(oslo))
    assert entry.occurred_at == NOON
    assert entry.occurred_at.tzinfo is UTC
    assert memory.remember("zoned", occurred_at=NOON).id == entry.id


@pytest.mark.parametrize("scope", [(), ("",), ("a", ""), ("a\nb",), ("a\0",), (1,), (None,)], ids=repr)
def test_a_scope_needs_printable_segments(memory: TidalMemory, tmp_path: Path, scope: Any) -> None:
    with pytest.raises(InvalidScope):
        memory.scoped(*scope)
    with pytest.raises(InvalidScope):
        TidalMemory(tmp_path / "other.db", scope=scope)
    assert not (tmp_path / "other.db").exists()


def test_a_scope_is_a_tuple(tmp_path: Path) -> None:
    for scope in ("user", ["user"], None):
        with pytest.raises(InvalidScope):
            TidalMemory(tmp_path / "other.db", scope=scope)  # type: ignore[arg-type]


def test_a_clock_without_a_zone_is_refused(open_memory: Any) -> None:
    memory = open_memory(clock=lambda: NAIVE)
    with pytest.raises(InvalidInput, match="time zone"):
        memory.record("x")


@pytest.mark.parametrize("given", [7, "text", [], {1}], ids=repr)
@pytest.mark.parametrize("name", ["settings", "embedder", "emotion", "clock", "summariser", "scope"])
def test_what_does_not_fit_where_it_is_plugged_in_makes_no_file(tmp_path: Path, name: str, given: Any) -> None:
    options: dict[str, Any] = {"embedder": HashingEmbedder(), name: given}
    with pytest.raises(InvalidInput):
        TidalMemory(tmp_path / "agent.db", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_class_is_no_embedder(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="the class HashingEmbedder"):
        TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder)  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{}, {"recall": {"limit": 3}}], ids=repr)
def test_settings_are_no_dictionary(tmp_path: Path, settings: Any) -> None:
    with pytest.raises(InvalidInput, match="Settings"):
        TidalMemory(tmp_path / "agent.db", settings=settings)


def test_collections_know_what_they_hold(memory: TidalMemory) -> None:
    episode = memory.record("Mara builds the Atlas bridge.", "Noted.")
    memory.dossiers.refresh("atlas bridge")
    assert episode.id in memory.episodes
    assert "nothing" not in memory.episodes
    assert "atlas bridge" in memory.dossiers
    assert "moon" not in memory.dossiers
    assert "planner" not in memory.sessions.policies
    for collection in (memory.episodes, memory.dossiers, memory.sessions.policies, memory.facts):
        assert 7 not in collection  # type: ignore[operator,unused-ignore]


@pytest.mark.parametrize("name", ["episodes", "dossiers"])
def test_collections_that_are_listed_are_not_iterated(memory: TidalMemory, name: str) -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(getattr(memory, name))


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("", InvalidInput),
        ("\ud800.db", InvalidInput),
        (".", NotADatabase),
        ("file:x", InvalidInput),
        ("no/such/x.db", InvalidInput),
    ],
)
def test_an_unusable_path_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, error: type[TidalError]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        TidalMemory(path)


# embedders


class Bad:
    """Returns what it is told for every batch but the probe of its identity."""

    id = "bad-1"

    def __init__(self, rows: Callable[[int], Any], dimensions: int = 4) -> None:
        self.rows = rows
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> Any:
        return self.rows(len(texts))


def _row(*values: float) -> Callable[[int], Any]:
    return lambda count: [values] * count


def _raises(error: Exception) -> Callable[[int], Any]:
    def rows(count: int) -> Any:
        raise error

    return rows


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (_row(0, 0, 0, 0), BadEmbedding),
        (_row(1, float("nan"), 0, 0), BadEmbedding),
        (_row(1, float("inf"), 0, 0), BadEmbedding),
        (_row(1, 2, 3), BadEmbedding),
        (_row(), BadEmbedding),
        (lambda count: [1.0, 2.0, 3.0, 4.0], BadEmbedding),
        (lambda count: np.ones((count + 1, 4)), BadEmbedding),
        (lambda count: np.ones((count, 4, 1)), BadEmbedding),
        (lambda count: None, BadEmbedding),
        (lambda count: [["a"] * 4] * count, EmbeddingError),
        (lambda count: [[1.0] * (n + 3) for n in range(count + 1)], EmbeddingError),
        (_raises(RuntimeError("out of memory")), EmbeddingError),
        (_raises(ConnectionError("no network")), EmbeddingError),
        (_raises(KeyError("x")), EmbeddingError),
    ],
)
@pytest.mark.parametrize("with_id", [True, False])
def test_a_bad_embedder_is_refused_and_leaves_the_file_to_a_good_one(
    open_memory: Any, rows: Callable[[int], Any], error: type[TidalError], with_id: bool
) -> None:
    embedder = Bad(rows)
    if not with_id:
        embedder.id = None  # type: ignore[assignment]
    memory = open_memory(embedder=embedder)
    uses: list[Use] = [lambda m: m.record("hello"), lambda m: m.remember("hello"), lambda m: m.recall("hello")]
    for use in uses:
        with pytest.raises(error):
            use(memory)
    assert memory.episodes.list() == []
    assert memory.affect.state().valence == 0
    good = open_memory()
    episode = good.record("hello")
    assert good.episodes.list() == [episode]


def test_extreme_but_finite_vectors_serve(open_memory: Any) -> None:
    for number, size in enumerate((1e-30, 1e30)):
        memory = open_memory(f"{number}.db", embedder=Bad(_row(size, size, 0, 0)))
        memory.remember("hello")
        assert memory.recall("hello")[0].why.cosine == pytest.approx(1)


class Hashing64(HashingEmbedder):
    id = None  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(64)


class Other64(Hashing64):
    pass


class Changed64(Hashing64):
    def embed(self, texts: Sequence[str]) -> Any:
        return -super().embed(texts)


Changed64.__qualname__ = Hashing64.__qualname__
Changed64.__module__ = Hashing64.__module__


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        (HashingEmbedder(64), HashingEmbedder(32)),
        (HashingEmbedder(64), Hashing64()),
        (Hashing64(), HashingEmbedder(64)),
        (Hashing64(), Other64()),
        (Hashing64(), Changed64()),
        (HashingEmbedder(384), OnnxEmbedder()),
    ],
)
def test_another_embedders_file_is_neither_read_nor_written(open_memory: Any, writer: Any, reader: Any) -> None:
    with open_memory(embedder=writer) as memory:
        episode = memory.record("hello there", "hi")
    stranger = open_memory(embedder=reader)
    uses: list[Use] = [
        lambda m: m.recall("hello"),
        lambda m: m.whisper("jazz piano music"),
        lambda m: m.record("good"),
        lambda m: m.remember("good"),
    ]
    for use in uses:
        with pytest.raises(EmbedderMismatch, match="was written with"):
            use(stranger)
    assert stranger.episodes.list() == [episode]
    assert open_memory(embedder=writer).recall("hello")[0].entry.episode == episode.id


def test_two_embedders_opening_an_empty_file_do_not_mix(open_memory: Any) -> None:
    first, second = open_memory(), open_memory(embedder=HashingEmbedder(32))
    assert not first.recall("x")
    assert not second.recall("x")
    first.record("hello")
    with pytest.raises(EmbedderMismatch):
        second.record("hello")
    with pytest.raises(EmbedderMismatch):
        second.recall("hello")
