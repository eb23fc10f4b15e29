"""Bad input: a typed error that says what to do, and nothing half-written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidal_plugins import (
    EmbedderMismatch,
    EmbeddingError,
    Exchange,
    HashingEmbedder,
    InvalidInput,
    Message,
    Note,
    Settings,
    StorageError,
    TidalError,
    TidalMemory,
    ToolCall,
)
from tidal_plugins.testing import HOSTILE

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


def test_what_is_no_text_is_refused(memory: TidalMemory) -> None:
    good: Any = Message("user", "good text")
    for text in ("", " \n\t", None, 7, b"bytes", ["a"]):
        turns: Any = [Exchange((good,), id="1"), Exchange((Message("user", text),), id="2")]
        notes: Any = [Note("good text"), Note(text)]
        asked = ("recall", "" if text is None else text)  # without a query the hottest are recalled
        for name, given in (asked, ("record_many", turns), ("remember", notes), ("record", text)):
            refused(memory, lambda m, name=name, given=given: getattr(m, name)(given))
    for neither in (None, 7, "", ["good text", 7], [{"text": "good text"}], {"good text": 7}, b"bytes"):
        refused(memory, lambda m, neither=neither: m.remember(neither))


def test_a_text_beyond_the_limit_is_refused_with_the_way_out(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(recording={"max_chars": 1000}))
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
    assert "max_chars" in refused(memory, uses[1], InvalidInput)
    assert len(memory.record("x" * 1000, "y " * 500).query) == 1000


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


# arguments


def given(name: str, *values: object) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


NAN = float("nan")
REFUSED: dict[str, list[dict[str, Any]]] = {
    "recall": [
        *given("limit", 0, -1, 1001, True, "5", 2.5),
        *given("kinds", {"poem"}, "skill", [["skill"]], 7, np.array([1.0, 2.0])),
        *given("profile", "best", np.array(["tidal"])),
        *given("since", NAIVE, ""),
        *given("until", "yesterday", 0),
        *given("exclude", "abc", [7]),
        *given("metadata", {"a": NAN}, {"a": {1, 2}}),
        {"threads": "s1"}, {"speakers": "Ann"}, {"speakers": ["\ud800"]}, {"sources": [None]}, {"tags": "jazz"},
    ],
    "remember": [
        *given("kind", "poem", "episode", ["skill"]),
        *given("importance", 0, 10.5, NAN, "high"),
        *given("trust", 1.1, -0.1, True),
        *given("occurred_at", NAIVE, ""),
        *given("tags", "jazz", [None], 7),
        *given("source", 7, "", "s" * 10_000),
        *given("", [Note("good text"), Note("x", importance=99)]),
        {"valid_until": NAIVE}, {"colour": "red"}, {"": [Note("x")], "kind": "skill"},
    ],
    "record": [
        *given("", None, ""),
        *given("occurred_at", NAIVE, 0),
        *given("tools", [ToolCall("")], [ToolCall("t", result={"a": 1})], [ToolCall("t", "arguments")], None),
        {"": "", "tools": [ToolCall("t")]}, {"thread": 7}, {"id": 0}, {"surfaced": 7},
        {"": None, "messages": [Message("system", "x")]}, {"": None, "messages": [Message("user", "x", at=NAIVE)]},
        {"": None, "messages": None},
    ],
    "record_many": [
        *given("", None, "turns", [Exchange((Message("user", "good text"),), id="1"), Exchange((), id="2")])
    ],
    "whisper": given("", None),
    "get": given("", None, "\ud800"),
    "forget": given("", 7),
    "episodes.list": [*given("limit", -1, "x"), *given("since", NAIVE, 0)],
    "episodes.id_of": given("", None),
    "associations.spread": given("", None),
    "graph.entities": [{"thread": ["t"]}],
    "graph.relations": [{"thread": {"t"}}],
    "graph.impact": [{"": "x", "predicates": 7}],
    "graph.sentences": given("", ["x"]),
    "sessions.policies.__getitem__": given("", ["planner"]),
    "compactor": given("counter", len),
}  # fmt: skip
"""By method, the arguments that it refuses. The one without a name is given by its place, and «x» by default."""


@pytest.mark.parametrize("method", REFUSED)
def test_unusable_arguments_are_refused(memory: TidalMemory, method: str) -> None:
    memory.remember("good text")
    for arguments in REFUSED[method]:
        named = {"": "x", **arguments} if method in ("recall", "remember", "record") else dict(arguments)
        placed = [named.pop("")] if "" in named else []
        refused(memory, lambda m, placed=placed, named=named: attrgetter(method)(m)(*placed, **named))


def test_a_turn_of_another_type_is_told_what_it_should_be(memory: TidalMemory) -> None:
    turn: Any = {"role": "user", "content": "good text"}
    assert "user must be a text" in refused(memory, lambda m: m.record(turn))
    assert "agent must be a text" in refused(memory, lambda m: m.record("good text", turn))
    assert "must be a Message" in refused(memory, lambda m: m.record(messages=[turn]))
    number: Any = 7
    assert "must be str | None, got 7" in refused(memory, lambda m: m.record("good text", thread=number))
    exchange = Exchange((Message("user", number),), id="1")
    assert "must be tuple[Message, ...]" in refused(memory, lambda m: m.record_many([exchange]))


def test_metadata_must_be_small_json(memory: TidalMemory) -> None:
    large = {"a": "x" * 70_000}
    bad = ({"a": NAN}, {"a": [1, float("inf")]}, {1: "a"}, {"a": b"x"}, {"a": object()}, {"a": {1}})
    for value in (*bad, DEEP, large, "text", [1]):
        refused(memory, lambda m, value=value: m.record("x", metadata=value))
        refused(memory, lambda m, value=value: m.remember("x", metadata=value))
        refused(memory, lambda m, value=value: m.remember([Note("good text"), Note("x", metadata=value)]))
        if value is not large:  # arguments may have as much as a text
            refused(memory, lambda m, value=value: m.record("x", tools=[ToolCall("t", value)]))


def test_a_scope_is_a_tuple_of_printable_segments(memory: TidalMemory, tmp_path: Path) -> None:
    segments: Any = [(), ("",), ("a", ""), ("a\nb",), ("a\0",), (1,), (None,)]
    for scope in segments:
        with pytest.raises(InvalidInput, match="scope"):
            memory.scoped(*scope)
    for scope in [*segments, "user", ["user"], None]:
        with pytest.raises(InvalidInput, match="scope"):
            TidalMemory(tmp_path / "other.db", scope=scope)
    assert not (tmp_path / "other.db").exists()


def test_a_clock_without_a_zone_is_refused(open_memory: Any) -> None:
    memory = open_memory(clock=lambda: NAIVE)
    with pytest.raises(InvalidInput, match="time zone"):
        memory.record("x")


@pytest.mark.parametrize("name", ["settings", "embedder", "emotion", "clock", "summariser", "scope"])
def test_what_does_not_fit_where_it_is_plugged_in_makes_no_file(tmp_path: Path, name: str) -> None:
    settings: list[Any] = [{}, {"recall": {"limit": 3}}] if name == "settings" else []
    for given in [7, "text", [], {1}, *settings]:
        with pytest.raises(InvalidInput, match="Settings" if given in settings else None):
            TidalMemory(tmp_path / "agent.db", **{"embedder": HashingEmbedder(), name: given})
    with pytest.raises(InvalidInput, match="the class HashingEmbedder"):
        TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder)
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("", " ", "\ud800.db", "file:x?mode=memory", "a\0b", "no/such/x.db", b"x.db", 7):
        with pytest.raises(InvalidInput):
            TidalMemory(path)  # type: ignore[arg-type]
    with pytest.raises(StorageError):
        TidalMemory(".")
    with pytest.raises(InvalidInput, match="expanduser"):
        TidalMemory("~/agent.db")


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


def misshapen(count: int) -> Any:
    return [[1.0] * (n + 3) for n in range(count + 1)]


BAD = (
    *(_row(0, 0, 0, 0), _row(1, NAN, 0, 0), _row(1, float("inf"), 0, 0), _row(1, 2, 3), _row(), lambda count: None),
    *(lambda count: [1.0, 2.0, 3.0, 4.0], lambda count: np.ones((count + 1, 4)), lambda count: np.ones((count, 4, 1))),
)
FAILING = (
    *(lambda count: [["a"] * 4] * count, misshapen, _raises(RuntimeError("out of memory"))),
    *(_raises(ConnectionError("no network")), _raises(KeyError("x"))),
)


@pytest.mark.parametrize(("answers", "answered"), [(BAD, True), (FAILING, False)])
def test_a_bad_embedder_is_refused_and_leaves_the_file_to_a_good_one(
    open_memory: Any, answers: Sequence[Any], answered: bool
) -> None:
    uses: list[Use] = [lambda m: m.record("hello"), lambda m: m.remember("hello"), lambda m: m.recall("hello")]
    for number, rows in enumerate(answers):
        embedder = Bad(rows)
        if number % 2:
            embedder.id = None
        memory = open_memory(f"{number}.db", embedder=embedder)
        for use in uses:
            with pytest.raises(EmbeddingError) as caught:
                use(memory)
            assert caught.value.answered is answered
        assert memory.episodes.list() == []
        assert memory.affect.state().valence == 0
        good = open_memory(f"{number}.db")
        episode = good.record("hello")
        assert good.episodes.list() == [episode]


class Hashing64(HashingEmbedder):
    id = None

    def __init__(self) -> None:
        super().__init__(64)


class Changed64(Hashing64):
    def embed(self, texts: Sequence[str]) -> Any:
        return -super().embed(texts)


Changed64.__qualname__ = Hashing64.__qualname__
Changed64.__module__ = Hashing64.__module__


def test_two_embedders_opening_an_empty_file_do_not_mix(open_memory: Any) -> None:
    first, second = open_memory(), open_memory(embedder=HashingEmbedder(32))
    assert not first.recall("x")
    assert not second.recall("x")
    first.record("hello")
    with pytest.raises(EmbedderMismatch):
        second.record("hello")
    with pytest.raises(EmbedderMismatch):
        second.recall("hello")
