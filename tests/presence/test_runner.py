"""The runner: a thread that steps a presence and hands over what it says, to a callback or to a loop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.presence.conftest import DEBT
from tests.waiting import aeventually, eventually
from tidal_plugins import InvalidInput, Presence, TidalError

OFTEN = timedelta(milliseconds=5)
DUE = datetime(2026, 3, 4, 9, tzinfo=UTC)


@pytest.fixture
def due(days):
    """Return a memory with something to say."""
    days.say(DEBT)
    days.clock.set(DUE)
    return days.memory


def statuses(memory):
    return [one.status for one in memory.presence.messages()]


def test_a_callback_gets_the_message_once(due):
    got = []
    with Presence(due, got.append, interval=OFTEN) as presence:
        assert presence.running
        assert eventually(lambda: got)
    assert not presence.running
    assert [one.text for one in got] == ["You wanted to pay the plumber 80 euros by Thursday; that is tomorrow."]
    assert statuses(due) == ["taken"]


def test_a_message_waits_again_when_the_callback_raises_and_the_log_holds_no_words_of_it(due, caplog):
    tries = []

    def fail_twice(message):
        tries.append(message.id)
        if len(tries) < 3:
            raise ValueError(message.text)

    with Presence(due, fail_twice, interval=OFTEN):
        assert eventually(lambda: len(tries) == 3)
    assert len(set(tries)) == 1
    assert statuses(due) == ["taken"]
    assert "ValueError" in caplog.text
    assert "plumber" not in caplog.text


async def test_a_message_is_not_taken_before_a_loop_is_free_to_read_it(due, clock):
    async with Presence(due, interval=OFTEN) as presence:
        assert await aeventually(lambda: statuses(due) == ["queued"])
        before = due.presence.state().at
        clock.advance(minutes=30)  # its steps go on
        assert await aeventually(lambda: due.presence.state().at > before)
        assert statuses(due) == ["queued"]
        message = await anext(aiter(presence))
    assert "plumber" in message.text
    assert statuses(due) == ["taken"]


@pytest.mark.parametrize("fails", [True, False])
async def test_what_a_callback_was_told_or_failed_at_does_not_go_to_a_loop(due, fails):
    tries = []

    def told(message):
        tries.append(message)
        if fails:
            raise OSError("the line is dead")

    async with Presence(due, told, interval=OFTEN) as presence:
        assert await aeventually(lambda: tries)
        with pytest.raises(InvalidInput, match="without on_message="):
            await anext(aiter(presence))
    assert fails or statuses(due) == ["taken"]
    with pytest.raises(InvalidInput):
        await anext(aiter(Presence(due)))


def test_of_two_runners_one_holds_the_presence_and_the_other_follows(days, open_memory):
    days.say(DEBT)
    one, other = [], []
    first = Presence(days.memory, one.append, interval=OFTEN).start()
    assert eventually(lambda: days.memory.presence.state())
    assert eventually(lambda: "another process holds" in days.memory.presence.step().decision.reason)
    second = Presence(open_memory(), other.append, interval=OFTEN).start()
    first.stop()
    days.clock.set(DUE)
    assert eventually(lambda: other)
    second.stop()
    assert one == []
    assert "something is due" in other[0].why


def test_a_holder_that_died_is_followed_when_its_lease_ends(due, clock):
    def held(holder, **options):
        return (
            "another process holds"
            in due.presence.step(**{"holder": holder} if holder else {}, **options).decision.reason
        )

    lease = {"lease": timedelta(minutes=3)}
    assert due.presence.step(holder="one", **lease).message
    assert held("two", **lease)
    assert held(None)
    clock.advance(minutes=3)
    assert not held("two", **lease)
    due.presence.release("one")
    assert held("one", **lease)
    due.presence.release("two")
    assert not held("one", lease=timedelta(days=300))
    clock.advance(days=-1)
    assert not held("two"), "a clock that goes back does not lock everybody out"
    for options in ({"holder": None}, {"lease": 3}, {"lease": timedelta.max}, {"lease": -OFTEN}):
        with pytest.raises(InvalidInput):
            due.presence.step(**{"holder": "one", **options})


async def test_a_memory_that_is_closed_ends_the_thread_and_the_loop(due, open_memory):
    other = open_memory()
    async with Presence(due, interval=OFTEN) as looped:
        async for _message in looped:
            break
        presence = Presence(other, interval=OFTEN).start()
        assert await aeventually(lambda: other.presence.state())
        other.close()
        due.close()
    assert not looped.running
    assert await aeventually(lambda: not presence.running)
    assert presence.stop()


def test_a_memory_that_is_read_only_answers_and_keeps_nothing(due, open_memory):
    due.presence.step()
    reader = open_memory(read_only=True)
    assert [one.status for one in reader.presence.messages()] == ["queued"]
    assert "waits to be taken" in reader.presence.why().reason
    for call in (reader.presence.take, reader.presence.erase, lambda: reader.presence.allow(zone="UTC")):
        with pytest.raises(TidalError):
            call()
    assert statuses(due) == ["queued"]


def test_a_callback_is_a_function_and_an_interval_a_duration(memory):
    async def send(message): ...

    for callback in (str, "print", 3):
        with pytest.raises(InvalidInput):
            Presence(memory, callback)
    with pytest.raises(InvalidInput, match="async for"):
        Presence(memory, send)
    for interval in (timedelta(0), 60, None, timedelta(days=4000)):
        with pytest.raises(InvalidInput):
            Presence(memory, interval=interval)
