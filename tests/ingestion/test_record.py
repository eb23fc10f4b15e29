"""Recording: episodes, entries and moods in detail."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tidal_plugins import Affect, Exchange, HashingEmbedder, Imported, Message, Settings, TidalMemory, ToolCall
from tidal_plugins.testing import NOON, FrozenClock
from tidal_plugins.tuning import Tuning


def test_an_episode_is_stored_verbatim(memory: TidalMemory) -> None:
    call = ToolCall("t", {"a": [1, {"b": None}]}, "c", "result", True)
    messages = (
        Message("user", "question", "m1", "Ann", at=NOON),
        Message("assistant", "", "m2", None, (call, ToolCall("u"))),
        Message("tool", "", "m3", tool_call_id="c", error=True),
    )
    kept = memory.record(messages=messages, thread="s", surfaced=["y"], metadata={"a": [1]})
    assert memory.episodes[kept.id] == kept
    assert (kept.messages, kept.thread, kept.turn, kept.surfaced) == (messages, "s", 1, ("y",))
    assert kept.metadata == {"a": [1]}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([Message("user", "Hello."), Message("assistant", "Hi.")], "Hello. → Hi."),
        ([Message("user", "Hello.")], "Hello."),
        ([Message("assistant", "Good\n\nmorning.")], "Good morning."),
        ([Message("tool", "output")], ""),
        (
            [Message("user", "Go."), Message("assistant", "", tool_calls=(ToolCall("a"), ToolCall("b"), ToolCall("a"))),
             Message("assistant", "Done.")],
            "Go. → [a, b] Done.",
        ),
        ([Message("user", "Go."), Message("assistant", "", tool_calls=(ToolCall("a"),))], "Go. → [a]"),
    ],
)  # fmt: skip
def test_a_summary_tells_question_tools_and_answer(memory: TidalMemory, messages: list[Message], expected: str) -> None:
    assert memory.record(messages=messages).summary == expected


@pytest.mark.parametrize(
    "text",
    [
        "word " * 500,
        "x" * 5000,
        " " + "x" * 5000,
        "\n\n" + "x" * 400 + " y" * 100,
        "One. " * 200,
        "東京。" * 300,
        " \n ",
    ],
)
@pytest.mark.parametrize("most", [40, 41, 320])
def test_a_summary_stays_within_its_length(open_memory: Any, text: str, most: int) -> None:
    memory = open_memory(settings=Tuning(ingestion={"summary_chars": most}))
    calls = tuple(ToolCall(f"tool{n}" * 5) for n in range(20))
    for messages in (
        [Message("user", text)],
        [Message("assistant", text)],
        [Message("user", text), Message("assistant", text)],
        [Message("user", text), Message("assistant", "", tool_calls=calls), Message("assistant", text)],
        [Message("user", "Short."), Message("assistant", text, tool_calls=calls)],
    ):
        if not any(message.text.strip() for message in messages):
            continue
        made = memory.record(messages=messages).summary
        assert len(made) <= most
        assert made == made.strip()


def test_ids_depend_on_every_part_and_nothing_else(memory: TidalMemory) -> None:
    parts: list[tuple[tuple[str, ...], str | None, str]] = [
        (("a",), "b", "c"), (("a", "b"), "c", "c"), (("a",), "bc", "c"), (("a",), None, "c"), (("a",), "None", "c"),
        (("a",), "b", "d"), (("a",), None, "b"),
    ]  # fmt: skip

    def made() -> list[str]:
        return [memory.scoped(*scope).episodes.id_of(key, thread=thread) for scope, thread, key in parts]

    assert len(set(made())) == len(parts)
    assert made() == made()
    assert all(id_.isalnum() for id_ in made())


def test_a_thread_called_none_is_not_no_thread(memory: TidalMemory) -> None:
    assert memory.record("x", id="1", thread="None").id != memory.record("x", id="1").id


def test_entries_know_who_said_them_where_and_when(memory: TidalMemory) -> None:
    at = NOON - timedelta(days=2)
    said = (Message("user", "jazz", "m1", "Ann", at=at + timedelta(hours=1)), Message("assistant", "yes", "m2"))
    kept = memory.record(messages=said, thread="s", occurred_at=at, metadata={"lang": "en"})
    user, agent = (memory.get(id_) for id_ in kept.entries)
    assert (user.kind, user.speaker, user.role, user.channel) == ("conversation", "Ann", "user", "user")
    assert (agent.speaker, agent.role, agent.channel, agent.position) == (None, "assistant", "agent", 1)
    assert (user.occurred_at, agent.occurred_at) == (at + timedelta(hours=1), at + timedelta(microseconds=1))
    assert user.recorded_at == agent.recorded_at == NOON
    assert user.episode == agent.episode == kept.id
    assert user.citation == kept.citation
    assert user.metadata == {"lang": "en", "message": "m1"}


def test_an_entry_holds_the_mood_after_its_exchange(memory: TidalMemory) -> None:
    kept = memory.record("I love this wonderful, great day!!!", "So do I, it is lovely! " * 20)
    assert memory.affect.state().valence > 0.1
    assert {memory.get(id_).affect for id_ in kept.entries} == {memory.affect.state()}


def test_a_turn_from_the_future_does_not_stop_the_mood(memory: TidalMemory) -> None:
    memory.record("hello", "hi", occurred_at=NOON + timedelta(days=3650))
    memory.record("I love this wonderful, great day!!!", "So do I, it is lovely! " * 20)
    assert memory.affect.state().valence > 0.1


def test_what_is_known_is_not_embedded_again(open_memory: Any) -> None:
    embedded: list[str] = []

    class Counting(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            embedded.extend(texts)
            return super().embed(texts)

    memory = open_memory(embedder=Counting())
    turn = Exchange((Message("user", "hello there", "m1"),))
    memory.record_many([turn] * 3)
    assert embedded == ["hello there"] * 2  # the summary's and the message's own
    memory.record_many([turn])
    memory.remember("a note")
    memory.remember("a note")
    assert embedded == ["hello there"] * 2 + ["a note"]


def test_many_exchanges_of_one_turn_are_one_episode(memory: TidalMemory) -> None:
    parts = [Exchange((Message(role, f"part {n}", f"m{n}"),), "s", "t") for n, role in enumerate(("user", "assistant"))]  # type: ignore[arg-type]
    assert memory.record_many(parts) == Imported(exchanges=2, new=1)
    [first] = memory.episodes.list()
    assert [m.text for m in first.messages] == ["part 0", "part 1"]


def test_a_bulk_import_walks_through_the_moods(memory: TidalMemory, clock: FrozenClock) -> None:
    glad, sad = "I love this wonderful, great day!!!", "I hate this horrible, terrible day!!!"
    year = [NOON - timedelta(days=365), NOON - timedelta(days=364)]
    memory.record_many(
        [
            Exchange((Message("user", text), Message("assistant", text * 12)), "old", None, at)
            for text, at in zip((glad, sad), year, strict=True)
        ]
    )
    moods = [memory.get(kept.entries[0]).affect for kept in memory.episodes.list()]
    assert moods[0]
    assert moods[1]
    assert moods[0].valence > 0.2
    assert moods[1].valence < -0.2
    assert memory.affect.state().intensity < 1e-6
    assert memory.affect.state() != Affect(1.0)


def test_framed_text_alone_is_nothing_to_record(memory: TidalMemory) -> None:
    memory.remember("jazz piano lessons")
    whispered = str(memory.whisper("jazz piano lessons"))
    episode = memory.record(whispered, "Hello.")
    assert [memory.get(id_).text for id_ in episode.entries] == ["Hello."]
    with pytest.raises(ValueError, match="at least one message with a text"):
        memory.record(whispered)


def test_a_turn_without_anything_new_comes_back_as_it_is_stored(memory: Any) -> None:
    stored = memory.record("My cat is Mia", id="t")
    again = memory.record("My cat is Mia", id="t", surfaced=["elsewhere"], metadata={"k": 1})
    assert (again.surfaced, again.metadata) == (stored.surfaced, stored.metadata)
    assert again == memory.episodes[stored.id]


def test_half_lives_beyond_any_calendar_are_as_good_as_for_ever(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(decay={"warm": 1e12, "cold": 1e300}))
    [id_] = memory.record("My cat is Mia").entries
    assert memory.get(id_).tier.cold_at.year == 9999
    assert memory.recall("cat")[0].id == id_
