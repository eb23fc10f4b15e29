"""The affect loop over simulated time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tidal_plugins import Affect, TidalMemory
from tidal_plugins.testing import NOON, FrozenClock
from tidal_plugins.tuning import Tuning

UPSET, GLAD = Affect(-0.8, 0.6), Affect(0.8, 0.4)
LONG = (100, 400)
"""Characters of a question, and of an answer of full length."""


class Reads:
    """Feels what a text says: «-0.8/0.6», with anger where it says so."""

    def estimate(self, texts: Sequence[str], vectors: Any = None) -> list[Affect]:
        return [self._read(text) for text in texts]

    def _read(self, text: str) -> Affect:
        valence, arousal, anger, *_ = f"{text.split('…')[0]}/".split("/")
        felt = Affect(float(valence), float(arousal))
        return replace(felt, emotions={"anger": float(anger)}) if anger else felt


@pytest.fixture
def memory(open_memory: OpenMemory) -> TidalMemory:
    return open_memory(emotion=Reads())


def advance(
    memory: TidalMemory, user: Affect, agent: Affect, lengths: tuple[int, int], at: datetime | None = None
) -> Affect:
    """Record a turn of texts with these feelings and lengths; return the state after it."""
    asked, answered = (text(affect, chars) for affect, chars in zip((user, agent), lengths, strict=True))
    memory.record(asked, answered or None, occurred_at=at)
    return memory.affect.state()


def text(affect: Affect, chars: int) -> str:
    anger = f"/{affect.emotions['anger']}" if affect.emotions else ""
    return f"{affect.valence}/{affect.arousal}{anger}…".ljust(chars, "x")[:chars]


def close(affect: Affect, valence: float, arousal: float) -> bool:
    return (affect.valence, affect.arousal) == pytest.approx((valence, arousal), abs=1e-4)


def test_a_new_memory_is_at_rest(memory: TidalMemory) -> None:
    assert memory.affect.state() == Affect()


def test_an_exchange_moves_the_state_by_its_gain(memory: TidalMemory) -> None:
    # Event: (−.8·100 + .8·400)/500 = .48 and (.6·100 + .4·400)/500 = .44; gain .5 for an answer of full length.
    assert close(advance(memory, UPSET, GLAD, LONG), 0.24, 0.22)


def test_a_short_answer_moves_it_little(memory: TidalMemory) -> None:
    # Event: (−.8·100 + .8·20)/120 = −.533 and (.6·100 + .4·20)/120 = .567; gain .5 · .1.
    assert close(advance(memory, UPSET, GLAD, (100, 20)), -0.0267, 0.0283)


def test_it_relaxes_by_half_in_six_hours(memory: TidalMemory, clock: FrozenClock) -> None:
    advance(memory, UPSET, GLAD, LONG)
    for passed, valence, arousal in ((6, 0.12, 0.11), (18, 0.03, 0.0275), (720, 0.0, 0.0), (-1, 0.24, 0.22)):
        clock.set(NOON + timedelta(hours=passed))
        assert close(memory.affect.state(), valence, arousal), "a clock that went back changes nothing"


def test_the_next_exchange_starts_from_the_relaxed_state(memory: TidalMemory, clock: FrozenClock) -> None:
    advance(memory, UPSET, GLAD, LONG)
    clock.advance(hours=6)
    assert close(advance(memory, UPSET, UPSET, LONG), 0.12 + 0.5 * (-0.8 - 0.12), 0.11 + 0.5 * (0.6 - 0.11))


def test_it_stays_in_range_and_comes_near_what_goes_on(memory: TidalMemory, clock: FrozenClock) -> None:
    most = Affect(-1.0, 1.0)
    for _ in range(20):
        state = advance(memory, most, most, LONG)
        assert -1 <= state.valence <= 0 <= state.arousal <= 1
        clock.advance(minutes=1)
    assert state.intensity > 0.9


def test_an_old_conversation_imported_late_leaves_the_live_state_alone(memory: TidalMemory) -> None:
    live = advance(memory, UPSET, UPSET, LONG)
    assert advance(memory, GLAD, GLAD, LONG, NOON - timedelta(days=400)) == live


def test_a_clock_that_was_ahead_does_not_freeze_the_mood(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.advance(days=3652)
    wrong = advance(memory, UPSET, UPSET, LONG)
    clock.set(NOON)
    assert memory.affect.state() == wrong, "what was felt then counts from now"
    after = advance(memory, GLAD, GLAD, LONG)
    assert close(after, -0.4 + 0.5 * (0.8 + 0.4), 0.3 + 0.5 * (0.4 - 0.3)), "it starts from that state, not from rest"
    clock.advance(hours=6)
    assert close(memory.affect.state(), after.valence / 2, after.arousal / 2), "and relaxes again"


def test_it_is_durable_and_of_one_scope(memory: TidalMemory, open_memory: OpenMemory) -> None:
    after = advance(memory, replace(UPSET, emotions={"anger": 0.5}), UPSET, (400, 400))
    memory.close()
    reopened = open_memory(emotion=None)
    assert reopened.affect.state() == after
    assert after.emotions == {"anger": pytest.approx(0.125)}
    assert reopened.scoped("there").affect.state() == Affect()


def test_it_drifts_to_its_baseline(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(emotion=Reads(), settings=Tuning(affect={"baseline": 0.2}))
    assert memory.affect.state().valence == 0.2
    advance(memory, UPSET, UPSET, LONG)
    clock.advance(days=30)
    assert memory.affect.state().valence == pytest.approx(0.2)


def test_without_an_estimator_texts_are_neutral(open_memory: OpenMemory) -> None:
    memory = open_memory(emotion=None)
    assert memory.get(memory.record("I hate this!").entries[0]).affect in (None, Affect())
    assert memory.affect.state() == Affect()
