"""Whatever the history: nothing is lost, nothing is cited that is not there, and what the model gets fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compaction.histories import chat, flat, histories, long_history, loop, systems, turns
from tests.compaction.oracle import CITED, TIGHT, checked, least, ongoing_starts, reached, texts
from tidal_plugins import (
    Compaction,
    ContextOverflow,
    Exchange,
    HashingEmbedder,
    Message,
    NotFound,
    Settings,
    TidalMemory,
)
from tidal_plugins.model.compaction import Kept, Size
from tidal_plugins.testing import FrozenClock

FAST = Settings(storage={"durability": "fast"}, graph={"background": False})
any_example = settings(
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
FEWER = settings(any_example, max_examples=max(4, settings.default.max_examples // 4))
"""Each example makes many compactions."""

limits = st.tuples(
    st.sampled_from([400, 700, 1_500, 4_000, 10_000]), st.sampled_from([None, None, 4_000, 12_000, 60_000])
)
forces = st.sampled_from([None, None, "compact", "hard"])
reserves = st.sampled_from([Size(), Size(), Size(80, 300)])


Fresh = Callable[[], TidalMemory]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fresh]:
    """Opens a memory with nothing in it; the one before is closed."""
    opened: list[TidalMemory] = []

    def open_() -> TidalMemory:
        while opened:
            opened.pop().close()
        path = tmp_path_factory.mktemp("properties") / "agent.db"
        opened.append(TidalMemory(path, embedder=HashingEmbedder(), settings=FAST, clock=FrozenClock()))
        return opened[-1]

    yield open_
    while opened:
        opened.pop().close()


NOTHING = Size()


def compact(
    memory: TidalMemory,
    history: Any,
    limit: tuple[int, int | None],
    *,
    reserved: Size = NOTHING,
    pressed: bool = False,
    sizes: list[Size] | None = None,
    **options: Any,
) -> Compaction | None:
    """A compaction of which every rule has been checked; ``None`` where it was rightly refused."""
    tokens, bytes_ = limit
    compactor = memory.compactor(max_tokens=tokens, max_bytes=bytes_)
    try:
        compaction = compactor.compact(history, thread="s", reserved=reserved, sizes=sizes, **options)
    except ContextOverflow as error:
        check_refusal(error, (least(history, sizes) + reserved).share(whole(limit)))
        return None
    return checked(memory, history, compaction, sizes=sizes, reserved=reserved, pressed=pressed)


def whole(limit: tuple[int, int | None]) -> Size:
    return Size(limit[0], limit[1] or FAST.compaction.max_bytes)


def check_refusal(error: ContextOverflow, share: float) -> None:
    assert re.search(r"\d", str(error)), "it does not say what does not fit"
    assert share > TIGHT, f"refused without need: {error}"


@any_example
@given(history=histories(), limit=limits, force=forces, reserved=reserves, known=st.data())
def test_every_rule_holds_for_any_history(
    fresh: Fresh, history: Any, limit: tuple[int, int | None], force: Any, reserved: Size, known: Any
) -> None:
    """Where the caller knows the sizes too: images take few tokens and many bytes."""
    memory = fresh()
    size = st.builds(Size, st.integers(1, 300), st.sampled_from([20, 200, 3_000]))
    sizes = [known.draw(size) for _ in flat(history)] if known.draw(st.integers(0, 2)) == 2 else None
    first = compact(memory, history, limit, force=force, reserved=reserved, sizes=sizes)
    recorded = len(memory.episodes.list(thread="s"))
    again = compact(memory, history, limit, reserved=reserved, sizes=sizes)
    if first is None:
        assert again is None or not again.rebuilt
    else:
        assert again
        assert again.view == first.view
        after = len(memory.episodes.list(thread="s"))
        assert after == recorded or (recorded == 0 and after <= len(history))  # a preparation records beside it


@FEWER
@given(head=systems, parts=turns(least=4, most=10, ends=True), limit=limits, hold=st.data())
def test_every_rule_holds_at_each_call_while_a_conversation_grows(
    fresh: Fresh, head: list[Message], parts: list[list[Message]], limit: tuple[int, int | None], hold: Any
) -> None:
    memory = fresh()
    history = list(head)
    before: Compaction | None = None
    pressed: list[Any] = []
    for part in parts:
        for message in part:
            history.append(message)
            if message.role == "assistant" or not hold.draw(st.booleans()):
                continue
            asked = ongoing_starts(history)
            if least(history).share(whole(limit)) > TIGHT:
                pressed.append(asked)
            compaction = compact(memory, history, limit, pressed=asked in pressed)
            if before and compaction and before.id == compaction.id:
                grown_from(before, compaction)
            before = compaction


def grown_from(before: Compaction, after: Compaction) -> None:
    """The same context, with what came since at its end: a provider's cache of it stays good."""
    if before.id is None:
        assert not after.rebuilt
    else:
        assert after.messages[: len(before.messages)] == before.messages
        assert repr(after.view[: len(before.view)]) == repr(before.view)
    assert all(isinstance(piece, Kept) for piece in after.view[len(before.view) :])


@FEWER
@given(parts=turns(least=3, most=8), other=turns(most=2), limit=limits, cut=st.data())
def test_a_fork_shows_nothing_of_the_abandoned_branch(
    fresh: Fresh, parts: list[list[Message]], other: list[list[Message]], limit: tuple[int, Any], cut: Any
) -> None:
    memory = fresh()
    kept = cut.draw(st.integers(1, len(parts) - 1))
    trunk = [message for part in parts[:kept] for message in part]
    abandoned = [replace(m, text=f"{m.text} abandonedbranch") for part in parts[kept:] for m in part]
    compact(memory, trunk + abandoned, limit, force="compact")
    known = {episode.id for episode in memory.episodes.list(thread="s")}
    forked = trunk + [message for part in other for message in part]
    compaction = compact(memory, forked, limit)
    if compaction is None:
        return
    assert "abandonedbranch" not in texts(compaction)
    for id_ in {*compaction.citations, *compaction.ledger.episodes} & known:
        assert any("abandonedbranch" not in message.text for message in memory.episodes[id_].messages)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "tokens"), [(0, 8_000), (1, 32_000)])
def test_every_rule_holds_for_two_thousand_messages(fresh: Fresh, seed: int, tokens: int) -> None:
    history = long_history(seed, 2_000)
    assert len(history) > 1_900
    compaction = compact(fresh(), history, (tokens, None))
    assert compaction
    assert compaction.rebuilt
    assert len(compaction.ledger) > 1_500


@pytest.mark.parametrize(("width", "before"), [(1, 6), (10, 0)])
def test_an_ongoing_turn_of_many_calls_folds(fresh: Fresh, width: int, before: int) -> None:
    memory = fresh()
    asked = Message("user", "Look at all hundred of them.", "request")
    history = [Message("system", "You are an agent."), *chat(0, before), asked, *loop(0, 100 // width, width=width)]
    compaction = compact(memory, history, (2_000, None))
    assert compaction
    assert compaction.stage == "hard"
    assert compaction.folded
    assert compaction.messages.count(asked) == 1
    assert compaction.messages[-1 - width :] == tuple(history[-1 - width :])
    [partial] = {id_ for loss in compaction.ledger if loss.position in compaction.folded for id_ in [loss.episode]}
    assert partial == memory.episodes.id_of("request", thread="s")
    assert partial in CITED.findall(compaction.fold)
    stated = {memory.episodes[partial].messages[loss.index].text for loss in compaction.ledger}
    assert stated >= {history[position].text for position in compaction.folded}


def test_a_folded_turn_that_goes_on_and_ends_is_one_episode(fresh: Fresh) -> None:
    memory = fresh()
    history = [Message("user", "Look at all of them.", "request")]
    for first in range(0, 120, 5):
        history += loop(first, first + 5)
        assert compact(memory, history, (2_000, None))
    answer = Message("assistant", "Seen.", "answer")
    memory.record(messages=[*history, answer], thread="s")
    [episode] = memory.episodes.list(thread="s")
    assert [message.text for message in episode.messages] == [message.text for message in [*history, answer]]
    history += [answer, Message("user", "And?", "next")]
    compaction = compact(memory, history, (2_000, None))
    assert compaction
    assert "Look at all of them." in texts(compaction)
    assert len(memory.episodes.list(thread="s")) == 1


def test_citations_survive_ten_compactions(fresh: Fresh) -> None:
    memory = fresh()
    limit = (3_000, None)
    history: list[Message] = [Message("system", "You are an agent.")]
    rebuilt: list[Compaction] = []
    previous: Compaction | None = None
    number = 0
    while len(rebuilt) < 10:
        history += [*chat(number, number + 1, words=80), Message("user", "go on", f"m{number}-more")]
        history += [*loop(number, number + 1), Message("assistant", "done", f"m{number}-done")]
        number += 1
        compaction = compact(memory, [*history, Message("user", "Where are we?", f"m{number}-user")], limit)
        assert compaction
        if previous and previous.rebuilt and compaction.id == previous.id:
            completed = [p for p in previous.view if not (isinstance(p, Kept) and p.position >= previous.ongoing)]
            assert list(compaction.view[: len(completed)]) == completed
        elif compaction.rebuilt:
            rebuilt.append(compaction)
        previous = compaction
        assert number < 400
    last = rebuilt[-1]
    told = reached(memory, "\n".join([last.summary, last.synthesis, last.fold]))
    for compaction in rebuilt:
        assert set(compaction.citations) <= told
    assert len(rebuilt[0].citations) > 1
    asked = {message.text for message in history if message.role == "user"}
    found = {m.text for id_ in told for m in memory.episodes[id_].messages} | {m.text for m in last.messages}
    assert asked <= found


def test_refusals_say_what_does_not_fit(fresh: Fresh) -> None:
    memory = fresh()
    huge = "word " * 20_000
    cases: list[Sequence[Message]] = [
        [Message("system", huge), Message("user", "hi", "u")],
        [Message("user", huge, "u")],
        [*chat(0, 3), Message("user", "hi", "u"), *loop(0, 1, words=20_000)],
    ]
    for history in cases:
        with pytest.raises(ContextOverflow, match=r"\d") as refused:
            memory.compactor(max_tokens=2_000).compact(history, thread="s")
        assert len(str(refused.value)) > 30
    assert all(len(episode.messages) for episode in memory.episodes.list())
    with pytest.raises(NotFound):
        memory.episodes["0000000000000"]


@pytest.mark.parametrize("exchanges", [False, True])
def test_empty_and_tiny_histories_are_left_alone(fresh: Fresh, exchanges: bool) -> None:
    cases: list[list[Message]] = [[], [Message("system", "You are.")], [Message("user", "hi")], [Message("user", "")]]
    for messages in cases:
        history: Any = [Exchange(tuple(messages), id="t")] if exchanges and messages else messages
        compaction = compact(fresh(), history, (1_000, None))
        assert compaction
        assert not compaction.rebuilt
