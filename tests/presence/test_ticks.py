"""The arithmetic of a presence: the gate of the source, and what time alone does to a state."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins import Affect
from tidal_plugins.model.presence import Attention, PresenceState
from tidal_plugins.presence.gate import score
from tidal_plugins.presence.ticks import PresenceTuning, mood, tick
from tidal_plugins.scoring.salience import gate
from tidal_plugins.settings import Settings

TUNING = Settings()[PresenceTuning]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WEIGHTS = {
    name: getattr(TUNING, name)
    for name in ("by_threads", "full_threads", "by_seeds", "full_seeds", "by_arousal", "by_absence", "half_absence")
}


def test_the_gate_gives_the_score_of_the_source():
    parts = gate(4, 2, 0.48, 255, **WEIGHTS)
    assert sum(parts.values()) == pytest.approx(0.515, abs=0.0005)
    assert sum(parts.values()) > TUNING.threshold


def test_a_state_is_scored_by_the_threads_above_the_threshold_and_by_the_thoughts():
    threads = tuple(Attention(str(n), str(n), "task", 0.31) for n in range(4))
    faint = tuple(Attention(f"f{n}", "f", "task", 0.3) for n in range(9))
    state = PresenceState(NOON, heard=NOON - timedelta(minutes=255), threads=threads + faint)
    assert score(state, Affect(0.72, 0.48), NOON, TUNING).counts == {
        "threads": 4,
        "seeds": 0,
        "arousal": 0.48,
        "absence": 255.0,
    }


hours = st.integers(-200, 200)
attention = st.builds(
    lambda n, kind, salience, due, ends: Attention(
        str(n),
        str(n),
        kind,
        salience,
        None if due is None else NOON + timedelta(hours=due),
        None if ends is None else NOON + timedelta(hours=ends),
    ),
    st.integers(0, 10**9),
    st.sampled_from(["promise", "task", "plan", "question", "stirred"]),
    st.floats(0, 1),
    st.none() | hours,
    st.none() | hours,
)


@st.composite
def states(draw):
    threads = draw(st.lists(attention, max_size=8))
    links = []
    if len(threads) > 1:
        places = st.integers(0, len(threads) - 1)
        pair = st.tuples(places, places, st.floats(0.01, 5)).filter(lambda link: link[0] != link[1])
        links = draw(st.lists(pair, max_size=6))
    return PresenceState(NOON, threads=tuple(threads), links=tuple(links))


@given(states(), st.lists(st.integers(0, 400), min_size=1, max_size=6))
def test_ticks_at_once_are_the_same_as_ticks_one_after_another(state, parts):
    stepwise = state
    for part in parts:
        stepwise = tick(stepwise, TUNING, part)
    assert stepwise == tick(state, TUNING, sum(parts))


@given(states(), st.integers(1, 500))
def test_salience_stays_between_nothing_and_everything(state, ticks):
    after = tick(state, TUNING, ticks)
    assert all(0 <= one.salience <= 1 for one in after.threads)
    assert (after.at, after.ticks) == (NOON + ticks * timedelta(minutes=1), ticks)
    assert [one.id for one in after.threads] == [one.id for one in state.threads]


def test_salience_spreads_along_associations_and_goes_nowhere_else():
    threads = (Attention("a", "a", "task", 1.0), Attention("b", "b", "task", 0.0), Attention("c", "c", "task", 0.0))
    alone = PresenceState(NOON, threads=threads)
    linked = replace(alone, links=((0, 1, 2.0),))
    a, b, c = (one.salience for one in tick(linked, TUNING, 600).threads)
    assert a > b > 0.1
    assert c == 0
    assert [one.salience for one in tick(alone, TUNING, 600).threads][1:] == [0, 0]
    assert a + b <= tick(alone, TUNING, 600).threads[0].salience + 1e-6


def test_what_is_due_comes_to_the_fore_and_fades_when_its_day_is_over():
    tomorrow = datetime(2026, 3, 2, tzinfo=UTC)
    state = PresenceState(NOON, threads=(Attention("a", "a", "task", 0.1, due=tomorrow + timedelta(days=1)),))
    at = [tick(state, TUNING, 60 * hours).threads[0].salience for hours in (0, 12, 36, 48, 60, 60 + 168)]
    assert at[0] < at[1] < at[2] == at[3] == 1
    assert at[1] == pytest.approx(0.5)
    assert at[4] == pytest.approx(1.0, abs=0.01)
    assert at[5] == pytest.approx(0.5, abs=0.01)


def test_a_presence_that_is_left_alone_comes_to_rest():
    state = PresenceState(NOON, threads=(Attention("a", "a", "task", 1.0),))
    assert tick(state, TUNING, 1_500_000).threads[0].salience == 0


def test_the_mood_relaxes_to_its_baseline_and_arousal_to_nothing():
    felt = Affect(-0.8, 0.9)
    moods = [
        mood(PresenceState(NOON + timedelta(hours=hours), heard=NOON, felt=felt), 12.0, TUNING)
        for hours in (0, 24, 48, 960)
    ]
    assert [one.valence for one in moods] == sorted(one.valence for one in moods)
    assert (moods[0].valence, moods[0].arousal) == (-0.8, 0.9)
    assert moods[1].arousal == pytest.approx(0.45)
    assert 0.5 <= moods[3].valence <= 0.75
    assert moods[3].arousal == pytest.approx(0, abs=1e-6)
    assert mood(PresenceState(NOON), 12.0, TUNING) == Affect(TUNING.baseline)


def test_missed_steps_are_made_good_at_once(open_memory, clock):
    one, other = open_memory("one.db"), open_memory("other.db")
    for memory in (one, other):
        memory.presence.allow(zone="UTC")
        memory.record("I need to pay the plumber 80 euros by Thursday.", "Noted.", thread="talk", id="t")
        memory.presence.step()
    for _ in range(40):
        clock.advance(minutes=13)
        many = one.presence.step().state
    once = other.presence.step().state
    assert (once.at, once.ticks) == (many.at, many.ticks)
    assert [t.salience for t in once.threads] == [t.salience for t in many.threads]


def test_a_plan_leaves_the_mind_at_the_end_of_its_day():
    begins = datetime(2026, 3, 2, tzinfo=UTC)
    ends = begins + timedelta(days=1)
    state = PresenceState(NOON, threads=(Attention("a", "a", "plan", 0.5, begins, ends),))
    assert tick(state, TUNING, 35 * 60).threads[0].salience == 1
    assert tick(state, TUNING, 36 * 60).threads[0].salience == 0
