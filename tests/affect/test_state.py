"""The affect loop over simulated time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tidal_plugins import Affect, Settings, TidalMemory
from tidal_plugins.testing import NOON, FrozenClock

UPSET, GLAD = Affect(-0.8, 0.6), Affect(0.8, 0.4)
LONG = (100, 400)
"""Characters of a question, and of an answer of full length."""


class Reads:
    """Feels what a text says: «-0.8/0.6», with anger where it says so."""

    def estimate(self, texts: Sequence[str], vectors: Any = None) -> list[Affect]:
        return [self._read(text) for text in texts]

    def _read(self, text: str) -> Affect:
        if not text:
            return Affect()
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


def test_the_user_moves_the_state_and_the_answer_by_a_tenth_of_that(memory: TidalMemory) -> None:
    # .5·−.8 = −.4 and .5·.6 = .3; then −.4 + .05·(.8 + .4) = −.34 and .3 + .05·(.4 − .3) = .305.
    assert close(advance(memory, UPSET, GLAD, LONG), -0.34, 0.305)
    # −.34 + .5·(−.8 + .34) = −.57 and .305 + .5·(.6 − .305) = .4525; −.57 + .05·1.37 = −.5015, .4525 − .05·.0525.
    assert close(advance(memory, UPSET, GLAD, (100, 20)), -0.5015, 0.449875), "the length of the answer matters not"


def test_ten_furious_turns_with_long_and_polite_answers_are_a_bad_mood(memory: TidalMemory, clock: FrozenClock) -> None:
    for _ in range(10):
        state = advance(memory, UPSET, Affect(0.3, 0.1), (60, 900))
        clock.advance(minutes=2)
    assert state.valence < -0.6


def test_a_turn_feels_like_its_most_charged_sentence(memory: TidalMemory) -> None:
    memory.record("0.1/0.2… -0.8/0.6…", None)  # (.1³·.1 − .8³·.8)/(.1³ + .8³) = −.7982; the arousal is the whole's
    assert close(memory.affect.state(), -0.3991, 0.1)


@pytest.mark.parametrize(
    ("lengths", "valence", "arousal"),
    [
        # Event: (−.8·100 + .8·400)/500 = .48 and (.6·100 + .4·400)/500 = .44; gain .5 for an answer of full length.
        (LONG, 0.24, 0.22),
        # Event: (−.8·100 + .8·20)/120 = −.533 and (.6·100 + .4·20)/120 = .567; gain .5 · .1.
        ((100, 20), -0.0267, 0.0283),
    ],
)
def test_tidal_weighs_an_exchange_by_its_lengths(
    open_memory: OpenMemory, lengths: tuple[int, int], valence: float, arousal: float
) -> None:
    memory = open_memory(emotion=Reads(), settings=Settings(tuning={"affect.rule": "tidal"}))
    assert close(advance(memory, UPSET, GLAD, lengths), valence, arousal)


def test_it_relaxes_by_half_in_six_hours(memory: TidalMemory, clock: FrozenClock) -> None:
    advance(memory, UPSET, GLAD, LONG)
    for passed, valence, arousal in ((6, -0.17, 0.1525), (18, -0.0425, 0.038125), (720, 0.0, 0.0), (-1, -0.34, 0.305)):
        clock.set(NOON + timedelta(hours=passed))
        assert close(memory.affect.state(), valence, arousal), "a clock that went back changes nothing"


def test_an_old_conversation_imported_late_leaves_the_live_state_alone(memory: TidalMemory) -> None:
    assert memory.affect.state() == Affect()
    live = advance(memory, UPSET, Affect(), (100, 0), NOON - timedelta(seconds=1))
    assert (live.valence, live.arousal) == pytest.approx((-0.4, 0.3), abs=1e-3), "without an answer"
    assert advance(memory, GLAD, GLAD, LONG, NOON - timedelta(days=400)) == live


def test_a_clock_that_was_ahead_does_not_freeze_the_mood(memory: TidalMemory, clock: FrozenClock) -> None:
    clock.advance(days=3652)
    wrong = advance(memory, UPSET, UPSET, LONG)
    clock.set(NOON)
    assert memory.affect.state() == wrong, "what was felt then counts from now"
    after = advance(memory, GLAD, GLAD, LONG)
    # From −.42, .315: −.42 + .5·1.22 = .19 and .3575; the answer: .19 + .05·.61 and .3575 + .05·.0425.
    assert close(after, 0.2205, 0.359625), "it starts from that state, not from rest"
    clock.advance(hours=6)
    assert close(memory.affect.state(), after.valence / 2, after.arousal / 2), "and relaxes again"


def test_it_is_durable_and_of_one_scope(memory: TidalMemory, open_memory: OpenMemory) -> None:
    after = advance(memory, replace(UPSET, emotions={"anger": 0.5}), UPSET, (400, 400))
    memory.close()
    reopened = open_memory(emotion=None)
    assert reopened.affect.state() == after
    assert after.emotions == {"anger": pytest.approx(0.2375)}
    assert reopened.scoped("there").affect.state() == Affect()


def test_it_drifts_to_its_baseline(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(emotion=Reads(), settings=Settings(tuning={"affect.baseline": 0.2}))
    assert memory.affect.state().valence == 0.2
    advance(memory, UPSET, UPSET, LONG)
    clock.advance(days=30)
    assert memory.affect.state().valence == pytest.approx(0.2)


def test_without_an_estimator_texts_are_neutral(open_memory: OpenMemory) -> None:
    memory = open_memory(emotion=None)
    assert memory.get(memory.record("I hate this!").entries[0]).affect in (None, Affect())
    assert memory.affect.state() == Affect()
