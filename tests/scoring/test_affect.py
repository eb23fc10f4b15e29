"""Hand-computed values stand beside their arithmetic."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins import Affect
from tidal_plugins.scoring import affect

NONE = Affect()

valences = st.floats(-1, 1)
shares = st.floats(0, 1)
emotions = st.none() | st.dictionaries(st.sampled_from(["joy", "anger", "fear", "neutral"]), shares)
affects = st.builds(Affect, valences, shares, emotions)
lengths = st.integers(0, 10_000_000)


def assert_between(value: float, a: float, b: float) -> None:
    assert min(a, b) - 1e-12 <= value <= max(a, b) + 1e-12


def assert_in_range(state: Affect) -> None:
    assert -1 <= state.valence <= 1
    assert 0 <= state.arousal <= 1
    assert all(0 <= strength <= 1 for strength in (state.emotions or {}).values())


@pytest.mark.parametrize(
    ("hours", "baseline", "valence", "arousal"),
    [
        (0, 0, -0.8, 0.4),
        (6, 0, -0.4, 0.2),  # one half-life
        (12, 0, -0.2, 0.1),  # two
        (3, 0, -0.5656854, 0.2828427),  # 2^(−3/6) = 0.7071068
        (6, 0.2, -0.3, 0.3),  # 0.2 + (−0.8 − 0.2)/2 and 0.2 + (0.4 − 0.2)/2
        (6, -0.2, -0.5, 0.2),  # −0.2 + (−0.8 + 0.2)/2; arousal rests at 0
        (-5, 0, -0.8, 0.4),  # the clock went back
        (math.inf, 0.1, 0.1, 0.1),
    ],
)
def test_a_state_relaxes_to_its_baseline(hours: float, baseline: float, valence: float, arousal: float) -> None:
    state = affect.relax(Affect(-0.8, 0.4), hours, half_life=6, baseline=baseline)
    assert (state.valence, state.arousal) == pytest.approx((valence, arousal))
    assert state.emotions is None


def test_named_emotions_relax_to_zero() -> None:
    state = affect.relax(Affect(0.5, 0.5, {"joy": 0.8}), 12, half_life=6, baseline=0.3)
    assert state.emotions == pytest.approx({"joy": 0.2})  # 0.8 · 2^(−12/6)


@given(affects, st.floats(-100, 10_000), st.floats(0.01, 1000), valences)
def test_relaxing_stays_between_state_and_baseline(
    state: Affect, hours: float, half_life: float, baseline: float
) -> None:
    relaxed = affect.relax(state, hours, half_life=half_life, baseline=baseline)
    assert_in_range(relaxed)
    assert_between(relaxed.valence, state.valence, baseline)
    assert_between(relaxed.arousal, state.arousal, max(0.0, baseline))


@given(affects, st.floats(0, 1000), st.floats(0, 1000))
def test_relaxing_twice_is_relaxing_once_for_both_times(state: Affect, first: float, second: float) -> None:
    twice = affect.relax(affect.relax(state, first, half_life=6, baseline=0.1), second, half_life=6, baseline=0.1)
    once = affect.relax(state, first + second, half_life=6, baseline=0.1)
    assert (twice.valence, twice.arousal) == pytest.approx((once.valence, once.arousal), abs=1e-9)


@pytest.mark.parametrize(
    ("valences", "expected"),
    [
        ([], 0.0),
        ([0.0, 0.0], 0.0),
        ([-0.4], -0.4),
        ([0.1, -0.8], -0.79824),  # (.001·.1 − .512·.8)/.513
        ([0.5, -0.5], 0.0),
        ([-0.2, 0.4], 0.3333333),  # (−.008·.2 + .064·.4)/.072
    ],
)
def test_a_text_feels_like_its_most_charged_sentence(valences: list[float], expected: float) -> None:
    assert affect.peak(valences) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("user_chars", "agent_chars", "valence", "arousal"),
    [
        (100, 300, 0.05, 0.35),  # (−0.4·100 + 0.2·300)/400 and (0.8·100 + 0.2·300)/400
        (100, 100, -0.1, 0.5),
        (50, 0, -0.4, 0.8),  # no answer
        (0, 50, 0.2, 0.2),  # no question
        (0, 0, -0.4, 0.8),  # nothing to weigh by: the user's
    ],
)
def test_an_exchange_weighs_both_sides_by_length(
    user_chars: int, agent_chars: int, valence: float, arousal: float
) -> None:
    event = affect.exchange(Affect(-0.4, 0.8), Affect(0.2, 0.2), user_chars, agent_chars)
    assert (event.valence, event.arousal) == pytest.approx((valence, arousal))


def test_an_exchange_merges_the_emotions_of_both_sides() -> None:
    user, agent = Affect(emotions={"anger": 0.8, "fear": 0.4}), Affect(emotions={"fear": 0.8, "caring": 0.4})
    assert affect.exchange(user, agent, 100, 300).emotions == pytest.approx(
        {"anger": 0.2, "caring": 0.3, "fear": 0.7}  # 0.8·¼ | 0.4·¾ | 0.4·¼ + 0.8·¾
    )


def test_a_side_without_emotions_counts_as_none_felt() -> None:
    assert affect.exchange(Affect(emotions={"joy": 0.8}), NONE, 100, 300).emotions == pytest.approx({"joy": 0.2})
    assert affect.exchange(NONE, NONE, 100, 300).emotions is None


@given(affects, affects, lengths, lengths)
def test_an_exchange_lies_between_its_sides(user: Affect, agent: Affect, user_chars: int, agent_chars: int) -> None:
    event = affect.exchange(user, agent, user_chars, agent_chars)
    assert_in_range(event)
    assert_between(event.valence, user.valence, agent.valence)
    assert_between(event.arousal, user.arousal, agent.arousal)


@pytest.mark.parametrize(
    ("chars", "expected"),
    [
        (0, 0.05),  # 0.5 · 0.1
        (40, 0.05),  # 0.5 · 40/400
        (100, 0.125),
        (400, 0.5),
        (100_000, 0.5),
    ],
)
def test_longer_answers_move_the_state_further_up_to_a_full_one(chars: int, expected: float) -> None:
    assert affect.gain(chars, rate=0.5, full_chars=400, least=0.1) == pytest.approx(expected)


@given(lengths, lengths)
def test_gain_is_monotone_and_bounded(a: int, b: int) -> None:
    low, high = (affect.gain(chars, rate=0.5, full_chars=400, least=0.1) for chars in sorted((a, b)))
    assert 0.05 <= low <= high <= 0.5


@pytest.mark.parametrize(
    ("gain", "valence", "arousal"),
    [(0, 0.2, 0.1), (0.25, -0.05, 0.3), (0.5, -0.3, 0.5), (1, -0.8, 0.9)],  # 0.2 − g·1.0 and 0.1 + g·0.8
)
def test_an_update_moves_the_state_towards_the_event(gain: float, valence: float, arousal: float) -> None:
    state = affect.update(Affect(0.2, 0.1), Affect(-0.8, 0.9), gain)
    assert (state.valence, state.arousal) == pytest.approx((valence, arousal))


def test_an_update_takes_in_new_emotions_and_lets_old_ones_fade() -> None:
    state = affect.update(Affect(emotions={"joy": 0.8}), Affect(emotions={"anger": 0.6}), 0.25)
    assert state.emotions == pytest.approx({"anger": 0.15, "joy": 0.6})


@given(st.lists(st.tuples(affects, shares), max_size=20))
def test_no_sequence_of_updates_leaves_the_range(events: list[tuple[Affect, float]]) -> None:
    state = Affect()
    for event, gain in events:
        state = affect.update(state, event, gain)
        assert_in_range(state)


@pytest.mark.parametrize(("intensity", "expected"), [(0.0, 0.7), (0.5, 0.7), (0.5000001, 0.3), (1.0, 0.3)])
def test_alpha_swaps_only_above_the_threshold(intensity: float, expected: float) -> None:
    assert affect.alpha(intensity, calm=0.7, stirred=0.3, threshold=0.5) == expected


@pytest.mark.parametrize(
    ("similarity", "current", "memory", "alpha", "expected"),
    [
        (0.8, 0.5, 0.5, 0.7, 0.86),  # 0.7·0.8 + 0.3·1
        (0.8, 0.5, -0.5, 0.7, 0.56),  # 0.7·0.8 + 0.3·0
        (0.8, -0.6, 0.2, 0.3, 0.38),  # 0.3·0.8 + 0.7·(1 − 0.8)
        (0.8, 1.0, -1.0, 0.3, -0.46),  # 0.3·0.8 + 0.7·(1 − 2)
        (0.8, 0.3, 0.9, 1.0, 0.8),  # meaning alone
        (0.8, 0.3, 0.9, 0.0, 0.4),  # feeling alone
    ],
)
def test_blend_weighs_meaning_against_nearness_of_feeling(
    similarity: float, current: float, memory: float, alpha: float, expected: float
) -> None:
    assert affect.blend(similarity, current, memory, alpha) == pytest.approx(expected)


@given(shares, valences, valences, valences, shares)
def test_blend_prefers_the_memory_that_feels_nearer(
    similarity: float, current: float, a: float, b: float, alpha: float
) -> None:
    near, far = sorted((a, b), key=lambda valence: abs(valence - current))
    nearer, farther = (affect.blend(similarity, current, memory, alpha) for memory in (near, far))
    assert nearer >= farther
    assert alpha - 1 - 1e-12 <= farther <= nearer <= 1 + 1e-12


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"joy": 0.6}, {"joy": 0.2}, 1.0),
        ({"joy": 0.6}, {"anger": 0.6}, 0.0),
        ({"joy": 0.3, "fear": 0.4}, {"joy": 0.5}, 0.6),  # 0.3 / √(0.09 + 0.16)
        ({"joy": 0.3, "neutral": 0.9}, {"joy": 0.5, "neutral": 0.1}, 1.0),
        ({"neutral": 1.0}, {"neutral": 1.0}, 0.0),
        ({"joy": 0.0}, {"joy": 0.5}, 0.0),
        ({}, {"joy": 0.5}, 0.0),
        (None, {"joy": 0.5}, 0.0),
        (None, None, 0.0),
    ],
)
def test_emotions_are_compared_without_their_neutral_part(
    a: dict[str, float] | None, b: dict[str, float] | None, expected: float
) -> None:
    assert affect.emotion_similarity(a, b) == pytest.approx(expected)
    assert affect.emotion_similarity(b, a) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"joy": 0.6}, {"joy": 0.2}, 1.0),
        ({"joy": 0.6}, {"anger": 0.3}, -0.5),  # (1, 0, 1) · (0, 1, −1) / 2
        ({"fear": 0.6}, {"anger": 0.3}, 0.5),  # both unpleasant
        ({"surprise": 0.6}, {"joy": 0.3}, 0.0),  # neither
        ({affect.AXIS: -0.8}, {"joy": 0.3}, -0.7071068),
        ({"neutral": 1.0}, {"neutral": 1.0}, 0.0),
    ],
)
def test_poles_set_pleasant_emotions_against_unpleasant_ones(
    a: dict[str, float], b: dict[str, float], expected: float
) -> None:
    assert affect.emotion_similarity(a, b, poles=affect.POLES) == pytest.approx(expected)
    assert affect.emotion_similarity(b, a, poles=affect.POLES) == pytest.approx(expected)


def test_a_trace_of_a_feeling_counts_in_proportion() -> None:
    assert affect.emotion_similarity({"joy": 0.01}, {"joy": 0.5}, faint=0.05) == pytest.approx(0.2)
    assert affect.emotion_similarity({"joy": 0.05}, {"joy": 0.5}, faint=0.05) == pytest.approx(1.0)


@given(emotions, emotions)
def test_emotion_similarity_is_symmetric_and_bounded(a: dict[str, float] | None, b: dict[str, float] | None) -> None:
    similarity = affect.emotion_similarity(a, b)
    assert 0 <= similarity <= 1
    assert affect.emotion_similarity(b, a) == pytest.approx(similarity)
    assert -1 <= affect.emotion_similarity(a, b, poles=affect.POLES) <= 1
