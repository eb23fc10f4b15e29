"""The affect loop over simulated time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import Affect
from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import HERE, NOON
from tidal_plugins.tuning import AffectTuning

UPSET, GLAD, LONG = Affect(-0.8, 0.6), Affect(0.8, 0.4), (100, 400)


class Reads:
    """Feels what a text says: «-0.8/0.6»."""

    def estimate(self, texts: Sequence[str], vectors: Any = None) -> list[Affect]:
        return [Affect(*map(float, text.split("/"))) for text in texts]


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SQLiteStorage]:
    storage = SQLiteStorage(tmp_path / "agent.db")
    yield storage
    storage.close()


@pytest.fixture
def loop(storage: SQLiteStorage) -> AffectLoop:
    return AffectLoop(storage, Reads(), AffectTuning())


def close(affect: Affect, valence: float, arousal: float) -> bool:
    return (affect.valence, affect.arousal) == pytest.approx((valence, arousal))


def test_a_new_scope_is_at_rest(loop: AffectLoop) -> None:
    assert loop.current(HERE, NOON) == Affect()


def test_an_exchange_moves_the_state_by_its_gain(loop: AffectLoop) -> None:
    # Event: (−.8·100 + .8·400)/500 = .48 and (.6·100 + .4·400)/500 = .44; gain .5 for an answer of full length.
    after = loop.advance(HERE, UPSET, GLAD, LONG, NOON, NOON)
    assert close(after, 0.24, 0.22)
    assert loop.current(HERE, NOON) == after


def test_a_short_answer_moves_it_little(loop: AffectLoop) -> None:
    # The event is the user's, −.8 and .6; gain .5 · .1.
    assert close(loop.advance(HERE, UPSET, GLAD, (100, 0), NOON, NOON), -0.04, 0.03)


def test_it_relaxes_by_half_in_six_hours(loop: AffectLoop) -> None:
    loop.advance(HERE, UPSET, GLAD, LONG, NOON, NOON)
    assert close(loop.current(HERE, NOON + timedelta(hours=6)), 0.12, 0.11)
    assert close(loop.current(HERE, NOON + timedelta(hours=18)), 0.03, 0.0275)
    assert close(loop.current(HERE, NOON + timedelta(days=30)), 0.0, 0.0)
    assert close(loop.current(HERE, NOON - timedelta(hours=1)), 0.24, 0.22), "a clock that went back changes nothing"


def test_the_next_exchange_starts_from_the_relaxed_state(loop: AffectLoop) -> None:
    loop.advance(HERE, UPSET, GLAD, LONG, NOON, NOON)
    later = NOON + timedelta(hours=6)
    after = loop.advance(HERE, UPSET, UPSET, LONG, later, later)
    assert close(after, 0.12 + 0.5 * (-0.8 - 0.12), 0.11 + 0.5 * (0.6 - 0.11))


def test_it_stays_in_range_and_comes_near_what_goes_on(loop: AffectLoop) -> None:
    most = Affect(-1.0, 1.0)
    for minute in range(50):
        now = NOON + timedelta(minutes=minute)
        state = loop.advance(HERE, most, most, LONG, now, now)
        assert -1 <= state.valence <= 0 <= state.arousal <= 1
    assert state.intensity > 0.9


def test_an_old_conversation_imported_late_leaves_the_live_state_alone(loop: AffectLoop) -> None:
    live = loop.advance(HERE, UPSET, UPSET, LONG, NOON, NOON)
    old = loop.advance(HERE, GLAD, GLAD, LONG, NOON - timedelta(days=400), NOON)
    assert close(old, 0.4, 0.2), "it has a state of its own, from rest"
    assert loop.current(HERE, NOON) == live


def test_a_clock_that_was_ahead_does_not_freeze_the_mood(loop: AffectLoop) -> None:
    ahead = NOON + timedelta(days=3652)
    wrong = loop.advance(HERE, UPSET, UPSET, LONG, ahead, ahead)
    assert loop.current(HERE, NOON) == wrong, "what was felt then counts from now"
    later = NOON + timedelta(hours=6)
    after = loop.advance(HERE, GLAD, GLAD, LONG, NOON, NOON)
    assert close(after, -0.4 + 0.5 * (0.8 + 0.4), 0.3 + 0.5 * (0.4 - 0.3)), "it starts from that state, not from rest"
    assert loop.current(HERE, NOON) == after
    assert close(loop.current(HERE, later), after.valence / 2, after.arousal / 2), "and relaxes again"


def test_it_is_durable_and_of_one_scope(loop: AffectLoop, tmp_path: Path) -> None:
    after = loop.advance(HERE, replace(UPSET, emotions={"anger": 0.5}), UPSET, (400, 400), NOON, NOON)
    loop.storage.close()
    reopened = AffectLoop(SQLiteStorage(tmp_path / "agent.db"), None, AffectTuning())
    assert reopened.current(HERE, NOON) == after
    assert after.emotions == {"anger": pytest.approx(0.125)}
    assert reopened.current(("there",), NOON) == Affect()
    reopened.storage.close()


def test_a_turn_that_stirs_colours_its_own_recall(loop: AffectLoop) -> None:
    assert loop.felt(HERE, "-0.8/0.6", NOON) == UPSET
    assert loop.felt(HERE, "-0.5/0.5", NOON) == Affect(), "not above the threshold"
    loop.advance(HERE, UPSET, UPSET, LONG, NOON, NOON)
    state = loop.current(HERE, NOON)
    assert loop.felt(HERE, "0.1/0.1", NOON) == state
    assert loop.felt(HERE, "0.6/0.1", NOON) == Affect(0.6, 0.1)
    for minute in range(9):
        now = NOON + timedelta(minutes=minute)
        loop.advance(HERE, Affect(-1, 1), Affect(-1, 1), LONG, now, now)
    assert loop.felt(HERE, "0.6/0.1", NOON + timedelta(minutes=9)).valence < -0.9, "the stronger feeling stays"


def test_it_drifts_to_its_baseline(storage: SQLiteStorage) -> None:
    loop = AffectLoop(storage, None, AffectTuning(baseline=0.2))
    assert loop.current(HERE, NOON).valence == 0.2
    loop.advance(HERE, UPSET, UPSET, LONG, NOON, NOON)
    assert loop.current(HERE, NOON + timedelta(days=30)).valence == pytest.approx(0.2)


def test_without_an_estimator_texts_are_neutral(storage: SQLiteStorage) -> None:
    assert AffectLoop(storage, None, AffectTuning()).estimate(["a", "b"]) == [Affect(), Affect()]
