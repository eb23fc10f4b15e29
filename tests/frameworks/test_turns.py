"""What the frameworks share, told of each door: an agent is reminded before a turn, and every turn is recorded once."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.frameworks.conftest import (
    ASK,
    FACT,
    MARK,
    Context,
    by_config,
    by_context,
    checkpointed,
    metronome,
    only,
    queries,
    said,
    thread,
    user,
)
from tests.frameworks.doors import DOORS, OfLangChain
from tidal_plugins import EmbeddingError, InvalidInput

ALL = pytest.mark.parametrize("door", DOORS, indirect=True)
GRAPHS = pytest.mark.parametrize("door", ["nodes", "middleware"], indirect=True)
SYNC = pytest.mark.parametrize("door", ["nodes", "middleware", "engine"], indirect=True)
LOOPS = pytest.mark.parametrize(
    "door", ["nodes", "nodes, async", "middleware", "middleware, async", "agent"], indirect=True
)
"""The doors whose agents call tools."""

TICKS = [("metronome", {"tempo": 60}), ("metronome", {"tempo": 90})]


@ALL
async def test_another_thread_is_reminded_and_only_the_model_sees_the_whisper(memory, door):
    model = door.says("Noted.", "A standard.")
    ask = door.app(model)
    assert await ask(FACT, "monday") == "Noted."
    assert await ask(ASK, "friday") == "A standard."
    first, second = door.shown(model)
    assert first == [("user", FACT)]
    ((role, shown),) = second
    assert role == "user"
    assert shown.startswith(MARK)
    assert shown.endswith(f"\n\n{ASK}")
    assert FACT in shown
    assert door.history("friday") == [("user", ASK), ("assistant", "A standard.")]
    episode = only(memory, thread="friday")
    assert said(episode) == [ASK, "A standard."]
    assert FACT in [memory.get(id_).text for id_ in episode.surfaced]


UPDATES = {
    "Nodes": ["recall", "model", "approve", "tools", "recall", "model", "record"],
    "Middleware": ["before_agent", "model", "tools", "model", "after_agent"],
}


@GRAPHS
@pytest.mark.parametrize("style", ["sync", "async"])
async def test_streams_and_checkpoints_say_what_surfaced_and_never_the_whisper(reminded, door, style):
    model, modes = door.says(door.calls(*TICKS[:1]), "A standard."), ["custom", "updates", "messages", "values"]
    app, given = door.built(model, [metronome], None), (user(ASK, id="h1"), thread("friday"))
    if style == "sync":
        parts = list(app.stream(*given, stream_mode=modes))
    else:
        parts = [part async for part in app.astream(*given, stream_mode=modes)]
    (custom, *again), updates, messages, states = ([part for mode, part in parts if mode == one] for one in modes)
    assert all(part == custom for part in again), "a loop that leads back to recall says it again"
    event = custom["tidal_recall"]
    assert event.keys() == {"turn", "ids", "why", "whisper", "degraded", "valence", "arousal"}
    assert (event["turn"], event["ids"]) == ("h1", list(only(reminded, thread="friday").surfaced))
    assert len(event["why"]) == len(event["ids"]) > 0
    assert "meaning" in event["why"][0]
    assert event["whisper"].startswith(MARK)
    names = [name.removeprefix("TidalMemoryMiddleware.") for part in updates for name in part]
    assert names == UPDATES[type(door).__name__]
    assert [part[0].text for part in messages if part[0].text] == ["The metronome ticks at 60.", "A standard."]
    assert all(MARK in shown[0].text for shown in model.shown)
    assert MARK not in str([part["messages"] for part in states])
    kept = checkpointed(door.saver)
    assert ASK in kept
    assert "tidal-memory" not in kept
    assert FACT not in kept


@GRAPHS
@pytest.mark.parametrize("by", [by_context, by_config])
async def test_a_scope_may_come_from_the_run(memory, door, run, by):
    model = door.says("Noted.", "A standard.", "I do not know.")
    app = door.built(model, [], None, scope=by, context_schema=Context)
    for text, name, who in ((FACT, "one", "anna"), (ASK, "two", "anna"), (ASK, "two of ben", "ben")):
        await run(app, user(text), thread(name, user_id=who), context=Context(who))
    assert [FACT in shown[-1].text for shown in model.shown] == [True, True, False]
    assert [len(memory.scoped("user", name).episodes.list()) for name in ("anna", "ben")] == [2, 1]
    assert memory.episodes.list() == []
    with pytest.raises(InvalidInput):
        await run(door.built(model, [], None, scope=lambda *_: None), user(FACT), thread("none"))
    assert len(model.shown) == 3


@ALL
async def test_what_the_model_sees_anyway_is_not_whispered(door):
    model = door.says("Noted.", "A standard.")
    ask = door.app(model)
    await ask(FACT)
    await ask(ASK)
    assert door.shown(model)[1] == [("user", FACT), ("assistant", "Noted."), ("user", ASK)]


@LOOPS
async def test_a_tool_loop_recalls_once_and_is_one_episode(reminded, door, embedder):
    model = door.says(door.calls(*TICKS), door.calls(("metronome", {"tempo": -1}), text="Slower."), "Swing it.")
    assert await door.app(model, tools="metronome")(ASK) == "Swing it."
    first, second, third = door.shown(model)
    assert FACT in first[0][1]
    assert [role for role, _ in third] == ["user", "assistant", "tool", "tool", "assistant", "tool"]
    assert [MARK in text for _, text in third] == [True] + [False] * 5
    assert second[0] == third[0] == first[0]
    assert sorted(text for _, text in second[2:]) == ["The metronome ticks at 60.", "The metronome ticks at 90."]
    assert embedder.recalls == [ASK]
    episode = only(reminded, thread="friday")
    assert [call.arguments["tempo"] for call in episode.tool_calls] == [60, 90, -1]
    assert [call.result for call in episode.tool_calls][:2] == [
        "The metronome ticks at 60.",
        "The metronome ticks at 90.",
    ]
    assert "no tempo -1" in episode.tool_calls[2].result
    assert episode.tool_calls[2].error == isinstance(door, OfLangChain), "LlamaIndex does not tell"
    assert [message.text for message in episode.reasoning if message.text] == ["Slower."]
    assert (episode.query, episode.answer) == (ASK, "Swing it.")
    assert episode.surfaced


@LOOPS
async def test_calls_without_ids_are_recorded_with_their_results_in_order(memory, door):
    model = door.says(door.without_ids(door.calls(*TICKS)), "Swing it.")
    assert await door.app(model, tools="metronome")("Tick.") == "Swing it."
    episode = only(memory)
    assert [(call.arguments["tempo"], call.result) for call in episode.tool_calls] == [
        (60, "The metronome ticks at 60."),
        (90, "The metronome ticks at 90."),
    ]


@LOOPS
async def test_a_turn_whose_model_failed_after_its_tools_is_recorded_with_the_next(memory, door):
    ask = door.app(
        door.says(door.calls(*TICKS[:1], text="May I?"), ConnectionError("away"), "Fine."), tools="metronome"
    )
    with pytest.raises(Exception, match="away"):
        await ask("Tick.")
    assert [said(episode)[:1] for episode in memory.episodes.list()] in ([], [["Tick."]])
    await ask("Never mind.")
    assert [said(episode)[0] for episode in memory.episodes.list()][:1] == ["Tick."]
    assert said(memory.episodes.list()[-1])[-2:] == ["Never mind.", "Fine."]


@pytest.mark.parametrize("door", ["nodes", "nodes, async", "middleware", "middleware, async"], indirect=True)
async def test_a_crash_in_the_model_is_made_good_by_running_on(reminded, door, embedder):
    model = door.says(ConnectionError("away"), "A standard.")
    ask = door.app(model)
    with pytest.raises(ConnectionError):
        await ask(ASK)
    assert reminded.episodes.list(thread="friday") == []
    await ask(None)
    assert embedder.recalls == [ASK]
    episode = only(reminded, thread="friday")
    assert said(episode) == [ASK, "A standard."]
    assert episode.surfaced


@ALL
async def test_the_same_words_said_again_are_another_turn(memory, door):
    ask = door.app(door.says("Hello."))
    for _ in range(3):
        await ask("Hello there, my friend.")
    assert [said(episode) for episode in memory.episodes.list()] == [["Hello there, my friend.", "Hello."]] * 3
    assert [episode.turn for episode in memory.episodes.list()] == [1, 2, 3]


@ALL
async def test_another_process_goes_on_and_embeds_no_recorded_turn_again(memory, door, embedder):
    for text in ("One red apple.", "Two green pears.", "Three blue plums."):
        embedder.calls.clear()
        await door.app(door.says("Yes."))(text)
        assert set(embedder.texts) == {text, "Yes.", f"{text} → Yes."}
        door.restart()
    assert [episode.turn for episode in memory.episodes.list()] == [1, 2, 3]


@pytest.mark.parametrize("door", ["nodes", "nodes, async", "middleware", "middleware, async"], indirect=True)
async def test_a_turn_that_was_missed_is_recorded_before_the_next_is_over(memory, door, embedder):
    def answer(shown):
        embedder.failures = 1
        return "Noted."

    with pytest.raises(EmbeddingError):
        await door.app(door.says(answer))(FACT)
    assert memory.episodes.list() == []
    await door.app(door.says("A standard."))(ASK)
    assert [said(episode) for episode in memory.episodes.list(thread="friday")] == [
        [FACT, "Noted."],
        [ASK, "A standard."],
    ]
    assert [episode.turn for episode in memory.episodes.list(thread="friday")] == [1, 2]


@SYNC
@pytest.mark.parametrize("text", ["", "  \n"])
async def test_an_empty_question_reminds_of_nothing_and_its_answer_is_recorded(reminded, door, text):
    model = door.says("You said nothing.")
    await door.app(model)(text)
    assert door.shown(model) == [[("user", text)]]
    assert only(reminded, thread="friday").answer == "You said nothing."


@SYNC
async def test_an_answer_that_repeats_the_whisper_is_kept_verbatim_and_found_without_it(reminded, door):
    model = door.says("-")
    model.replies = [lambda shown: f"{door.plain(shown[0])[1]}\nSo I say: a standard."]
    await door.app(model)(ASK)
    episode = only(reminded, thread="friday")
    assert MARK in episode.answer
    answer = reminded.get(episode.entries[-1]).text
    assert MARK not in answer
    assert FACT not in answer
    assert answer.endswith("So I say: a standard.")


@ALL
async def test_each_scope_remembers_its_own(memory, door):
    await door.app(door.says("Noted."), scope=("user", "anna"))(FACT, "one")
    assert memory.episodes.list() == []
    assert said(only(memory.scoped("user", "anna"))) == [FACT, "Noted."]
    for name, reminded in (("anna", True), ("ben", False)):
        model = door.says("A standard.")
        await door.app(model, scope=("user", name))(ASK, f"two of {name}")
        assert (FACT in door.shown(model)[0][-1][1]) == reminded


@ALL
@pytest.mark.parametrize("scope", [(), ("user", ""), ("user", None), "anna", ["user", "anna"]])
async def test_a_scope_that_is_none_is_refused_before_the_model_runs(memory, door, scope):
    model = door.says("Noted.")
    with pytest.raises(InvalidInput):
        await door.app(model, scope=scope)(FACT)
    assert model.shown == []
    assert memory.episodes.list() == []


@pytest.mark.parametrize("door", ["nodes, async", "middleware, async", "engine, async", "agent"], indirect=True)
async def test_users_that_talk_at_once_never_see_each_other(memory, door):
    names = [f"user{chr(97 + n)}" for n in range(8)]
    models = {}

    async def talk(name):
        models[name] = door.says(f"Noted, {name}.")
        ask = door.app(models[name], scope=("user", name))
        await ask(f"I am {name}, and {FACT}", f"monday-{name}")
        await ask(f"I am {name}. {ASK}", f"friday-{name}")

    await asyncio.gather(*map(talk, names))
    for name in names:
        assert {other for other in names if other in str(door.shown(models[name]))} == {name}
        first, second = memory.scoped("user", name).episodes.list()
        assert [first.thread, second.thread] == [f"monday-{name}", f"friday-{name}"]
        assert [first.answer, second.answer] == [f"Noted, {name}."] * 2
        assert second.surfaced


@pytest.mark.parametrize("door", ["nodes, async", "middleware, async", "engine, async", "agent"], indirect=True)
async def test_nothing_of_it_runs_on_the_event_loop(reminded, door, embedder):
    await door.app(door.says("Noted."))(ASK)
    assert embedder.threads
    assert threading.main_thread() not in embedder.threads


@pytest.mark.parametrize("door", ["nodes", "middleware", "engine"], indirect=True)
async def test_misuse_is_refused(memory, door):
    for wrong, reason in (
        ({"nested": "never"}, "nested must be one of apart, skip, user"),
        ({"agent": "planner"}, "policy="),
    ):
        with pytest.raises(InvalidInput, match=reason):
            await door.app(door.says("-"), **wrong)("Hello.")
    assert queries(memory) == []
