"""What users do with a memory, at the door they use."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import (
    Affect,
    Closed,
    Exchange,
    HashingEmbedder,
    InvalidInput,
    Message,
    Note,
    NotFound,
    OnnxEmbedder,
    Settings,
    TidalMemory,
    ToolCall,
)
from tidal_plugins.model.exchange import Imported
from tidal_plugins.model.transcript import transcript
from tidal_plugins.testing import NOON, FrozenClock

WEATHER = ToolCall("weather", {"city": "Oslo", "days": [1, 2]}, id="c1", result="-3 °C")
BROKEN = ToolCall("mail", {"to": "ann@example.org"}, id="c2", result="timeout", error=True)


def turn(number: int, session: str | None = "s") -> Exchange:
    said = (
        Message("user", f"question {number}", id=f"u{number}"),
        Message("assistant", f"answer {number}", id=f"a{number}"),
    )
    return Exchange(said, session)


def texts(hits: Any) -> list[str]:
    return [hit.text for hit in hits]


def stored(memory: TidalMemory) -> tuple[int, int]:
    """How many episodes and conversation entries the scope holds."""
    episodes = memory.episodes.list()
    return len(episodes), sum(len(episode.entries) for episode in episodes)


def test_what_is_printed_says_which_memory_it_is_and_what_came_up(memory: TidalMemory) -> None:
    assert str(memory) == f"TidalMemory({memory.path!r}, scope=('default',))"
    memory.record("The ferry leaves from berth nine.", "Noted.")
    assert str(memory.recall("the ferry", limit=1)) == "1. The ferry leaves from berth nine."


# record


def test_a_turn_is_kept_verbatim(memory: TidalMemory) -> None:
    text = "  I play «jazz» piano.\n\n\tEvery day! 🎹 東京 \u202e "
    episode = memory.record(text, "Noted.", thread="s1", id="t1", metadata={"a": [1, None]}, surfaced=["m1"])
    assert memory.episodes[episode.id] == memory.episodes[f"[{episode.citation}]"] == episode
    assert (episode.query, episode.answer, episode.thread, episode.turn) == (text, "Noted.", "s1", 1)
    assert (episode.metadata, episode.surfaced, episode.scope) == ({"a": [1, None]}, ("m1",), ("default",))
    assert episode.recorded_at == episode.occurred_at == NOON
    assert [memory.get(id_).text for id_ in episode.entries] == [text, "Noted."]


def test_tool_calls_keep_arguments_results_errors_and_order(memory: TidalMemory) -> None:
    unanswered = ToolCall("search", {})
    episode = memory.record("weather?", "Cold.", tools=[WEATHER, BROKEN, unanswered])
    assert memory.episodes[episode.id].tool_calls == (WEATHER, BROKEN, ToolCall("search", {}, id="call-3"))
    assert [m.role for m in episode.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert memory.episodes.list(tool="mail") == [episode]
    assert memory.episodes.list(tool="mai") == []


def test_messages_between_question_and_answer_are_the_reasoning(memory: TidalMemory) -> None:
    messages = [
        Message("user", "weather?"),
        Message("assistant", "I shall look.", tool_calls=(ToolCall("weather", {"city": "Oslo"}, id="c1"),)),
        Message("tool", "-3 °C", tool_call_id="c1"),
        Message("assistant", "Cold."),
    ]
    episode = memory.record(messages=messages)
    assert [m.text for m in episode.reasoning] == ["I shall look."]
    assert episode.answer == "Cold."
    assert episode.tool_calls[0].result == "-3 °C"
    assert texts(memory.recall("look", kinds={"conversation"}))[0] == "I shall look."


def test_what_a_model_thought_is_kept_with_its_turn_and_shown_nowhere(memory: TidalMemory) -> None:
    thought = "They mentioned quince jam from Ostrava, api_key=sk-proj-Zq81mXc04Lw9Tb7Kd2Rf6Hs3."
    said = (Message("user", "I like quince jam."), Message("assistant", "", reasoning=thought))
    episode = memory.record(messages=[*said, Message("assistant", "Noted, quince.", reasoning="Short is best.")])
    held = memory.episodes[episode.id]
    assert "quince jam from Ostrava" in held.messages[1].reasoning
    assert "sk-proj" not in held.messages[1].reasoning
    assert held.messages[2].reasoning == "Short is best."
    assert "Ostrava" not in str(texts(memory.recall("quince jam from Ostrava", include_archived=True)))
    assert "Ostrava" not in memory.whisper("Do I like quince jam from Ostrava?").text
    assert "Ostrava" not in transcript(held.messages) + held.summary
    memory.forget(memory.recall("I like quince jam.")[0].id)
    assert [message.reasoning for message in memory.episodes[episode.id].messages] == ["", "", ""]


def test_a_tool_that_printed_nothing_and_a_model_that_only_called_are_no_error(memory: TidalMemory) -> None:
    call = ToolCall("run", {"command": "true"}, id="c1")
    for blank in ("", " ", "\n"):
        calling = Message("assistant", blank, tool_calls=(call,)), Message("tool", blank, tool_call_id="c1")
        episode = memory.record(messages=[Message("user", "run it"), *calling, Message("assistant", "Done.")])
        assert [m.text for m in memory.episodes[episode.id].messages] == ["run it", blank, blank, "Done."]
        assert len(episode.entries) == 2
        assert memory.record("x", "y", tools=[ToolCall("run", result=blank)]).tool_calls[0].result == blank


def test_a_turn_recorded_again_under_its_id_is_one_episode(memory: TidalMemory) -> None:
    first = memory.record("hello there", "hi", id="t1", thread="s")
    again = memory.record("hello there", "another answer", id="t1", thread="s", metadata={"x": 1}, surfaced=["m"])
    assert memory.episodes.list() == [first]
    assert again.messages == first.messages
    assert memory.record("hello there", "hi", id="t1", thread="other").id != first.id
    assert memory.episodes.id_of("t1", thread="s") == first.id


def test_a_turn_recorded_again_with_its_message_ids_is_one_episode(memory: TidalMemory) -> None:
    assert memory.record_many([turn(1)]) == Imported(exchanges=1, new=1)
    first = memory.episodes.list()
    assert memory.record_many([turn(1), turn(1)]) == Imported(exchanges=2)
    assert (memory.episodes.list(), stored(memory)) == (first, (1, 2))
    assert memory.record("hello", "hi").id != memory.record("hello", "hi").id, "without ids it is a new one each time"
    assert stored(memory) == (3, 6)


def test_a_turn_that_goes_on_after_an_interrupt_stays_one_episode_and_gains_what_is_new(
    memory: TidalMemory, clock: FrozenClock
) -> None:
    call = ToolCall("pay", {"sum": 10}, id="c1")
    asked = [Message("user", "pay the bill", id="u"), Message("assistant", "May I?", id="a", tool_calls=(call,))]
    before = memory.record(messages=asked, thread="s")
    old = [memory.get(id_) for id_ in before.entries]
    clock.advance(hours=2)
    rest = [Message("tool", "paid", id="t", tool_call_id="c1"), Message("assistant", "The bill is paid.", id="b")]
    after = memory.record(messages=[*asked, *rest], thread="s")
    assert memory.episodes.list() == [after]
    assert (after.id, after.turn, after.occurred_at) == (before.id, 1, NOON)
    assert after.recorded_at == NOON + timedelta(hours=2), "as it is now it was not known before"
    assert [m.id for m in after.messages] == ["u", "a", "t", "b"]
    assert [memory.get(id_) for id_ in after.entries[:2]] == old
    assert [memory.get(id_).text for id_ in after.entries] == ["pay the bill", "May I?", "The bill is paid."]
    assert after.tool_calls[0].result == "paid"
    assert "The bill is paid." in after.summary
    assert memory.record(messages=rest[1:], id="u", thread="s") == after


def test_turns_count_within_their_session_in_the_order_recorded(memory: TidalMemory) -> None:
    assert [memory.record(f"a{n}", thread="a").turn for n in range(3)] == [1, 2, 3]
    assert memory.record("b", thread="b").turn == 1
    assert memory.record("none").turn == 0
    assert memory.record("long ago", thread="a", occurred_at=NOON - timedelta(days=900)).turn == 4
    assert memory.record("after", thread="a").turn == 5
    memory.forget(memory.episodes.list(thread="a")[-1].id)
    assert memory.record("and on", thread="a").turn == 6
    assert memory.scoped("other").record("x", thread="a").turn == 1


def test_episodes_are_listed_by_time_session_and_limit(memory: TidalMemory) -> None:
    for hour in (3, 1, 2):
        memory.record(f"at {hour}", thread="odd" if hour % 2 else "even", occurred_at=NOON + timedelta(hours=hour))
    assert [e.query for e in memory.episodes.list()] == ["at 1", "at 2", "at 3"]
    assert [e.query for e in memory.episodes.list(newest_first=True, limit=2)] == ["at 3", "at 2"]
    assert [e.query for e in memory.episodes.list(thread="odd")] == ["at 1", "at 3"]
    since, until = NOON + timedelta(hours=2), NOON + timedelta(hours=3)
    assert [e.query for e in memory.episodes.list(since=since, until=until)] == ["at 2"]
    assert memory.episodes.list(thread="nobody") == []


def test_an_episode_is_found_by_the_meaning_of_its_summary(memory: TidalMemory) -> None:
    episode = memory.record("How is the weather in Oslo?", "Minus three degrees.", tools=[WEATHER])
    memory.record("Who wrote Hamlet?", "Shakespeare.")
    best = memory.recall("weather in Oslo", kinds={"episode"})[0]
    assert best.id == episode.id
    assert best.text == episode.summary == "How is the weather in Oslo? → [weather] Minus three degrees."
    assert all(hit.entry.kind != "episode" for hit in memory.recall("weather in Oslo"))


# remember


def test_a_skill_is_remembered_with_its_fields_and_found(memory: TidalMemory) -> None:
    entry = memory.remember(
        "To deploy, run the release script.", kind="skill", source="deploy.md", tags=["ops"], importance=8,
        trust=0.5, metadata={"v": 2}, occurred_at=NOON - timedelta(days=1),
    )  # fmt: skip
    assert memory.get(entry.id) == memory.get(entry.citation) == entry
    assert (entry.kind, entry.source, entry.tags, entry.importance) == ("skill", "deploy.md", ("ops",), 8.0)
    assert (entry.trust, entry.metadata, entry.occurred_at) == (0.5, {"v": 2}, NOON - timedelta(days=1))
    assert texts(memory.recall("how to deploy")) == ["To deploy, run the release script."]


def test_importance_and_tags_are_estimated_where_not_given(memory: TidalMemory) -> None:
    decision = memory.remember("We decided to use PostgreSQL instead of MySQL.")
    chatter = memory.remember("ok thanks")
    assert 1 <= chatter.importance < decision.importance <= 10
    assert any("postgresql" in tag.lower() for tag in decision.tags)
    assert memory.remember("We decided on tea.", tags=[]).tags == ()


def test_what_is_remembered_again_is_returned_as_it_stands(memory: TidalMemory, clock: FrozenClock) -> None:
    first = memory.remember("water boils at 100 °C", importance=3)
    clock.advance(days=1)
    assert memory.remember("water boils at 100 °C", importance=9) == first
    assert memory.remember("water boils at 100 °C", source="physics").id != first.id
    assert memory.remember("water boils at 100 °C", kind="fact").id != first.id


def test_many_notes_come_back_in_order_with_progress(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(tuning={"ingestion.batch": 4}))
    seen: list[tuple[int, int | None]] = []
    notes = [Note(f"note number {n % 9}") for n in range(10)]
    entries = memory.remember(notes, progress=lambda done, of: seen.append((done, of)))
    assert [entry.text for entry in entries] == [note.text for note in notes]
    assert seen == [(4, 10), (8, 10), (10, 10)]
    assert len({entry.id for entry in entries}) == 9
    memory.record_many([turn(n) for n in range(5)], progress=lambda done, of: seen.append((done, of)))
    memory.record_many((turn(n) for n in range(5)), progress=lambda done, of: seen.append((done, of)))
    assert seen[3:] == [(4, 5), (5, 5), (4, None), (5, None)]


def test_a_bulk_that_was_interrupted_can_be_run_again(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(tuning={"ingestion.batch": 4}))
    notes, turns = [Note(f"note number {n}") for n in range(10)], [turn(n) for n in range(10)]

    def stop(done: int, of: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.remember(notes, progress=stop)
    assert len(memory.recall("note number", limit=99)) == 4
    memory.remember(notes)
    assert sorted(texts(memory.recall("note number", limit=99))) == sorted(note.text for note in notes)
    with pytest.raises(KeyboardInterrupt):
        memory.record_many(turns, progress=stop)
    assert stored(memory) == (4, 8)
    memory.record_many(turns)
    assert stored(memory) == (10, 20)
    assert [e.turn for e in memory.episodes.list(thread="s")] == list(range(1, 11))


def test_the_best_passage_speaks_for_a_long_document(memory: TidalMemory) -> None:
    chapters = [
        f"## {topic}\n\n" + f"The {topic} has its own long story here. " * 30 for topic in ("piano", "ocean", "market")
    ]
    document = "\n\n".join(chapters)
    entry = memory.remember(document, source="book.md")
    hit = memory.recall("ocean story")[0]
    assert hit.entry == entry
    assert hit.text == document
    assert hit.passage in document
    assert "ocean" in hit.passage
    assert "market" not in hit.passage
    assert len(hit.passage.split()) < 160
    assert len(memory.recall("story", limit=50)) == 1


# filters


@pytest.fixture
def library(memory: TidalMemory) -> TidalMemory:
    memory.record_many(
        [
            Exchange((Message("user", "jazz at noon", speaker="Ann"), Message("assistant", "jazz answer")), "s1", "t1"),
            Exchange(
                (Message("user", "jazz later", speaker="Bob"),),
                "s2",
                "t2",
                NOON + timedelta(hours=5),
                (),
                {"lang": "en"},
            ),
        ]
    )
    memory.remember("jazz scales", kind="skill", source="scales.md", tags=["music", "piano"])
    memory.remember("jazz history", source="history.md", tags=["music"], metadata={"lang": "en", "year": 1950})
    memory.remember("jazz is over", source="old.md", valid_until=NOON)
    return memory


def test_filters_apply_inside_both_channels(library: TidalMemory) -> None:
    noon, later = ["jazz at noon", "jazz answer"], "jazz later"
    expected: list[tuple[dict[str, Any], list[str]]] = [
        ({}, [*noon, later, "jazz scales", "jazz history"]),
        *(({"kinds": {"skill"}}, ["jazz scales"]), ({"kinds": ["skill", "kb"]}, ["jazz history", "jazz scales"])),
        *(
            ({"kinds": []}, []),
            ({"threads": {"s1"}}, noon),
            ({"speakers": ["ann"]}, []),
            ({"speakers": ["' OR 1=1 --"]}, []),
        ),
        *(({"threads": ["s1", "s2"], "speakers": ["Bob"]}, [later]), ({"metadata": {"year": "1950"}}, [])),
        *(({"sources": {"scales.md", "old.md"}}, ["jazz scales"]), ({"tags": {"piano", "nothing"}}, ["jazz scales"])),
        *(({"metadata": {"lang": "en"}}, [later, "jazz history"]), ({"since": NOON + timedelta(hours=5)}, [later])),
        ({"metadata": {"lang": "en", "year": 1950}}, ["jazz history"]),
        ({"until": NOON + timedelta(hours=5), "kinds": {"conversation"}}, noon),
    ]
    for filters, found in expected:
        assert sorted(texts(library.recall("jazz", **filters))) == sorted(found), filters
        assert {hit.text for hit in library.recall("jazz", limit=1, **filters)} <= set(found)


def test_entries_and_whole_episodes_can_be_excluded(library: TidalMemory) -> None:
    first, skill = library.episodes.list(thread="s1")[0], library.recall("jazz", kinds={"skill"})[0]
    left = set(texts(library.recall("jazz", exclude=[f"[{first.citation}]", skill.id])))
    assert left == {"jazz later", "jazz history"}
    assert first.id not in {hit.entry.episode for hit in library.whisper("jazz at noon", exclude=[first.id]).hits}


def test_what_is_no_longer_valid_is_not_recalled_but_can_be_fetched(memory: TidalMemory, clock: FrozenClock) -> None:
    offer = memory.remember("tickets cost ten", valid_until=NOON + timedelta(hours=1))
    assert memory.recall("tickets")
    clock.advance(hours=1)
    assert not memory.recall("tickets")
    assert memory.get(offer.id) == offer


# decay


def test_an_unused_conversation_is_archived_in_time_and_a_skill_never(memory: TidalMemory, clock: FrozenClock) -> None:
    memory.record("my sister lives in Oslo", id="t")
    memory.remember("to reach Oslo take the train", kind="skill")
    entry = memory.get(memory.episodes.list()[0].entries[0])
    assert entry.tier
    assert entry.tier.cold_at
    assert entry.tier.archived_at
    assert (entry.tier.cold_at - NOON) / timedelta(hours=1) == pytest.approx(72 * 6.643856)
    assert (entry.tier.archived_at - entry.tier.cold_at) / timedelta(hours=1) == pytest.approx(720 * 6.643856)
    clock.set(entry.tier.cold_at)
    assert len(memory.recall("Oslo")) == 2
    clock.set(entry.tier.archived_at)
    assert texts(memory.recall("Oslo")) == ["to reach Oslo take the train"]
    assert len(memory.recall("Oslo", include_archived=True)) == 2
    assert memory.get(entry.id) == entry
    clock.advance(days=36500)
    assert texts(memory.recall("Oslo")) == ["to reach Oslo take the train"]


# scopes


def test_nothing_crosses_scopes(memory: TidalMemory) -> None:
    mine, theirs = memory.scoped("user", "1"), memory.scoped("user", "2")
    episode = mine.record("my pin is 4711", "ok", thread="s", id="t", tools=[WEATHER])
    note = mine.remember("my pin is 4711 indeed", source="pin.md", kind="skill")
    for other in (theirs, memory, memory.scoped("user"), memory.scoped("user", "1", "x"), memory.scoped('user","1')):
        assert not other.recall("my pin is 4711", include_archived=True)
        assert not other.recall("my pin is 4711", kinds={"episode"})
        assert not other.whisper("what is my pin 4711")
        assert other.episodes.list() == other.episodes.list(thread="s") == other.episodes.list(tool="weather") == []
        for id_ in (episode.id, note.id, *episode.entries):
            with pytest.raises(NotFound):
                other.get(id_)
            assert other.forget(id_).count == 0
        with pytest.raises(NotFound):
            other.episodes[episode.citation]
        assert other.forget(source="pin.md", thread="s").count == 0
    assert mine.episodes[episode.id] == episode
    assert mine.get(note.id) == note


# life


@pytest.mark.parametrize("of_a_view", [True, False])
def test_closing_one_view_closes_all(memory: TidalMemory, of_a_view: bool) -> None:
    view = memory.scoped("view")
    memory.record("hello")
    (view if of_a_view else memory).close()
    for closed in (memory, view):
        closed.close()
        calls = (closed.record, closed.remember, closed.recall, closed.whisper, closed.get, closed.forget)
        for use in (*(partial(call, "hello") for call in calls), closed.episodes.list, closed.affect.state):
            with pytest.raises(Closed):
                use()


class Answers:
    def __init__(self, *feelings: Any) -> None:
        self.feelings = list(feelings)

    def estimate(self, texts: Sequence[str], vectors: Any = None) -> list[Affect]:
        if self.feelings == ["raises"]:
            raise RuntimeError(texts[0])
        return self.feelings


def test_an_estimator_that_fails_costs_the_mood_and_not_the_memory(
    open_memory: Any, caplog: pytest.LogCaptureFixture
) -> None:
    wild = Affect(emotions={"joy": 3.0})
    for number, feelings in enumerate((["raises"], [], [Affect()], [wild, Affect()], ["calm"] * 2, [None] * 2)):
        caplog.clear()
        memory = open_memory(f"{number}.db", emotion=Answers(*feelings))
        episode = memory.record("a secret disaster", "I see.")
        assert memory.get(episode.entries[0]).affect == memory.affect.state() == Affect()
        assert memory.whisper("what was the secret disaster?")
        assert "counts as neutral" in caplog.text
        assert "secret" not in caplog.text


# async, threads


def test_two_threads_recording_one_turn_make_one_episode(open_memory: Any, tmp_path: Path) -> None:
    memories = [open_memory(), open_memory()]
    for number in range(10):
        start = threading.Barrier(2)

        def work(memory: TidalMemory, start: threading.Barrier = start, number: int = number) -> str:
            start.wait()
            return memory.record(messages=turn(number).messages, thread=turn(number).thread).id

        with ThreadPoolExecutor(2) as pool:
            assert len(set(pool.map(work, memories))) == 1
    assert stored(memories[0]) == (10, 20)
    assert sorted(e.turn for e in memories[0].episodes.list()) == list(range(1, 11))


# meaning


def test_meaning_finds_what_shares_no_word(open_memory: Any, minilm: OnnxEmbedder) -> None:
    memory = open_memory(embedder=minilm)
    memory.record("I'm allergic to peanuts.", "I'll remember that.")
    memory.record("My flight to Lisbon leaves on Friday.", "Have a good trip!")
    memory.remember("Restart the server with systemctl restart nginx.", kind="skill", source="ops.md")
    assert memory.recall("Which food could make me ill?")[0].text == "I'm allergic to peanuts."
    assert memory.recall("how do I reboot the web server")[0].entry.kind == "skill"
    whisper = memory.whisper("When does my plane to Portugal take off?")
    assert "Lisbon" in str(whisper)
    assert not memory.whisper("Prove that the square root of two is irrational.")
    assert not memory.whisper("thanks, great!")


def test_an_answer_of_the_wrong_type_is_refused(memory: TidalMemory) -> None:
    skill = memory.remember("to deploy, run make", kind="skill")
    with pytest.raises(NotFound, match="not an episode"):
        memory.episodes[skill.id]
    with pytest.raises(InvalidInput, match="either messages"):
        memory.record("hi", messages=[Message("user", "hi")])


async def test_a_cancelled_call_is_written_whole_or_not_at_all(memory: TidalMemory) -> None:
    tasks = []
    for number in range(10):
        tasks.append(asyncio.create_task(memory.arecord(f"cancelled {number}", "ok", id=str(number), thread="s")))
        await asyncio.sleep(number / 2000)
        tasks[-1].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert any(isinstance(result, asyncio.CancelledError) for result in results)
    again = [await memory.arecord(f"cancelled {n}", "ok", id=str(n), thread="s") for n in range(10)]
    assert sorted(episode.turn for episode in again) == list(range(1, 11))
    assert stored(memory) == (10, 20)


def test_closing_while_others_work_ends_them_with_a_typed_error(open_memory: Any) -> None:
    memory = open_memory()
    memory.remember([Note(f"jazz note {n}") for n in range(50)])
    began = threading.Barrier(5)

    def work(thread: int) -> None:
        began.wait()
        for n in range(10_000):
            memory.recall("jazz note")
            memory.record(f"{thread} said {n}", id=f"{thread} {n}")

    with ThreadPoolExecutor(4) as pool:
        working = [pool.submit(work, thread) for thread in range(4)]
        began.wait()
        memory.close()
        errors = [future.exception() for future in working]
    assert {type(error) for error in errors} == {Closed}
    reopened = open_memory()
    assert all(len(episode.entries) == 1 for episode in reopened.episodes.list())


def test_an_embedder_without_an_id_serves(open_memory: Any) -> None:
    class Plain:
        dimensions = 64

        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return HashingEmbedder(64).embed(texts).tolist()

    memory = open_memory(embedder=Plain())
    memory.record("I play jazz piano", "Noted.")
    assert memory.recall("jazz")


def test_an_upset_turn_changes_what_comes_up(memory: TidalMemory) -> None:
    memory.record("The garden party was a wonderful joy, I loved it!!", "How lovely, great!")
    memory.record("The garden party was a horrible disaster, I hated it!!", "Terrible, I am sorry.")
    calm = memory.recall("garden party", affect=Affect(), profile="tidal")
    upset = memory.recall("garden party", affect=Affect(-0.9, 0.9), profile="tidal")
    assert {hit.id for hit in calm} == {hit.id for hit in upset}
    assert upset[0].entry.affect
    assert upset[0].entry.affect.valence < 0
    assert "feeling" in upset[0].why.factors
    assert "feeling" not in calm[0].why.factors


def test_threads_that_come_and_go_keep_their_own_connections(memory: TidalMemory) -> None:
    """A later thread gets the ident of one that has ended, and must not share its connection with who closes it."""
    memory.record("The kiln fires at noon.")
    errors, interval = list[BaseException](), sys.getswitchinterval()

    def read() -> None:
        try:
            memory.entries.list(limit=5)
        except BaseException as error:
            errors.append(error)

    def spawn() -> None:
        for _ in range(100):
            thread = threading.Thread(target=read)
            thread.start()
            thread.join()

    sys.setswitchinterval(1e-5)
    try:
        spawners = [threading.Thread(target=spawn) for _ in range(6)]
        for each in spawners:
            each.start()
        for each in spawners:
            each.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
