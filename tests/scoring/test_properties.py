"""What holds of the formulas for any values, and what needs more than a row of ``by_hand.jsonl``."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tidal_plugins import Affect
from tidal_plugins.english.sentences import sentences
from tidal_plugins.scoring import affect, decay, priority, ranking, salience
from tidal_plugins.scoring.ranking import keyword_strength, recency
from tidal_plugins.scoring.text import terms
from tidal_plugins.scoring.windows import SECOND, WINDOWS, Buckets, counted, totals

NONE = Affect()
DAY = 86_400 * SECOND
LETTERS = "aZé ßİωЯש ع कि東京ひカ가ไทยᄀ0٣ _-.'’/@:#+,😀\u0301\u200b\u00ad"

valences, shares, weights = st.floats(-1, 1), st.floats(0, 1), st.floats(0, 10)
half_lives, hours, days = st.floats(0.1, 10_000), st.floats(-1000, 1_000_000), st.floats(0, 10_000)
emotions = st.none() | st.dictionaries(st.sampled_from(["joy", "anger", "fear", "neutral"]), shares)
affects = st.builds(Affect, valences, shares, emotions)
lengths = st.integers(0, 10_000_000)


def between(value: float, one: float, other: float) -> bool:
    return min(one, other) - 1e-12 <= value <= max(one, other) + 1e-12


def assert_in_range(state: Affect) -> None:
    assert -1 <= state.valence <= 1
    assert 0 <= state.arousal <= 1
    assert all(0 <= strength <= 1 for strength in (state.emotions or {}).values())


# affect


@given(affects, st.floats(-100, 10_000), st.floats(0.01, 1000), valences)
def test_relaxing_stays_between_state_and_baseline(state: Affect, hours: float, half: float, rest: float) -> None:
    relaxed = affect.relax(state, hours, half_life=half, baseline=rest)
    assert_in_range(relaxed)
    assert between(relaxed.valence, state.valence, rest)
    assert between(relaxed.arousal, state.arousal, max(0.0, rest))


@given(affects, st.floats(0, 1000), st.floats(0, 1000))
def test_relaxing_twice_is_relaxing_once_for_both_times(state: Affect, first: float, second: float) -> None:
    twice = affect.relax(affect.relax(state, first, half_life=6, baseline=0.1), second, half_life=6, baseline=0.1)
    once = affect.relax(state, first + second, half_life=6, baseline=0.1)
    assert (twice.valence, twice.arousal) == pytest.approx((once.valence, once.arousal), abs=1e-9)


def test_named_emotions_relax_to_zero_and_merge_and_fade() -> None:
    relaxed = affect.relax(Affect(0.5, 0.5, {"joy": 0.8}), 12, half_life=6, baseline=0.3)
    assert relaxed.emotions == pytest.approx({"joy": 0.2})  # 0.8 · 2^(−12/6)
    assert affect.relax(Affect(-0.8, 0.4), 1, half_life=6, baseline=0).emotions is None
    user, agent = Affect(emotions={"anger": 0.8, "fear": 0.4}), Affect(emotions={"fear": 0.8, "caring": 0.4})
    both = {"anger": 0.2, "caring": 0.3, "fear": 0.7}  # 0.8·¼ | 0.4·¾ | 0.4·¼ + 0.8·¾
    assert affect.exchange(user, agent, 100, 300).emotions == pytest.approx(both)
    assert affect.exchange(Affect(emotions={"joy": 0.8}), NONE, 100, 300).emotions == pytest.approx({"joy": 0.2})
    assert affect.exchange(NONE, NONE, 100, 300).emotions is None
    state = affect.update(Affect(emotions={"joy": 0.8}), Affect(emotions={"anger": 0.6}), 0.25)
    assert state.emotions == pytest.approx({"anger": 0.15, "joy": 0.6})


@given(affects, affects, lengths, lengths)
def test_an_exchange_lies_between_its_sides(user: Affect, agent: Affect, user_chars: int, agent_chars: int) -> None:
    event = affect.exchange(user, agent, user_chars, agent_chars)
    assert_in_range(event)
    assert between(event.valence, user.valence, agent.valence)
    assert between(event.arousal, user.arousal, agent.arousal)


@given(lengths, lengths)
def test_gain_is_monotone_and_bounded(one: int, other: int) -> None:
    low, high = (affect.gain(chars, rate=0.5, full_chars=400, least=0.1) for chars in sorted((one, other)))
    assert 0.05 <= low <= high <= 0.5


@given(st.lists(st.tuples(affects, shares), max_size=20))
def test_no_sequence_of_updates_leaves_the_range(events: list[tuple[Affect, float]]) -> None:
    state = Affect()
    for event, gain in events:
        state = affect.update(state, event, gain)
        assert_in_range(state)


@given(shares, valences, valences, valences, shares)
def test_blend_prefers_the_memory_that_feels_nearer(
    similarity: float, current: float, one: float, other: float, alpha: float
) -> None:
    near, far = sorted((one, other), key=lambda valence: abs(valence - current))
    nearer, farther = (ranking.blend(similarity, current, memory, alpha) for memory in (near, far))
    assert alpha - 1 - 1e-12 <= farther <= nearer <= 1 + 1e-12


@given(emotions, emotions)
def test_emotion_similarity_is_symmetric_and_bounded(
    one: dict[str, float] | None, other: dict[str, float] | None
) -> None:
    similarity = ranking.emotion_similarity(one, other)
    assert 0 <= similarity <= 1
    assert ranking.emotion_similarity(other, one) == pytest.approx(similarity)
    poles = ranking.emotion_similarity(one, other, poles=ranking.POLES)
    assert -1 <= poles <= 1
    assert ranking.emotion_similarity(other, one, poles=ranking.POLES) == pytest.approx(poles)


# confidence and context


@given(st.lists(st.tuples(st.integers(0, 5), shares)), st.tuples(st.integers(0, 5), shares))
def test_more_evidence_never_makes_less_sure_in_whatever_order(
    evidence: list[tuple[int, float]], more: tuple[int, float]
) -> None:
    sure = decay.combined(evidence)
    assert 0 <= sure <= decay.combined([*evidence, more]) + 1e-12 <= 1 + 1e-12
    assert decay.combined(reversed(evidence)) == sure


@given(shares, st.floats(0, 1e6), shares)
def test_fading_stays_between_the_floor_and_the_confidence(sure: float, days: float, floor: float) -> None:
    assert min(sure, floor) <= decay.faded(sure, days, half_life=180, floor=floor) <= sure


def test_rivals_that_are_not_there_count_as_unrelated() -> None:
    assert ranking.margin([], [], 0.0, rivals=4, topic=0.25) == 0.0
    found = ranking.margin([0.6, 0.4], [0.5, 0.3], 0.1, rivals=4, topic=0.25)
    assert found == pytest.approx(0.5 + 0.1 + 0.25 * 0.16)


# decay and associations


@given(weights, hours, hours, half_lives)
def test_weight_never_grows_with_time_and_lasts_longer_with_a_longer_half_life(
    weight: float, one: float, other: float, half: float
) -> None:
    earlier, later = sorted((one, other))
    assert 0 <= decay.weight(weight, later, half) <= decay.weight(weight, earlier, half) <= weight
    assert decay.weight(weight, later, half) <= decay.weight(weight, later, 2 * half)


@given(st.floats(0.02, 10), st.floats(0.001, 0.02), half_lives)
def test_the_weight_is_at_the_floor_when_its_time_has_come(weight: float, floor: float, half: float) -> None:
    hours = decay.hours_until(weight, floor, half)
    assert hours >= 0
    assert decay.weight(weight, hours, half) == pytest.approx(floor)
    daily = 0.5 ** (24 / half)
    if daily < 1:
        assert decay.edge_weight(weight, decay.days_until(weight, floor, daily), daily) == pytest.approx(floor)


@given(weights, weights, shares)
def test_strength_grows_with_weight_within_its_bounds(one: float, other: float, lam: float) -> None:
    weaker, stronger = (ranking.strength(weight, lam) for weight in sorted((one, other)))
    assert 1 - lam <= weaker <= stronger <= 1 + 1e-12


@given(st.lists(st.tuples(st.floats(0, 500), st.sampled_from([0.5, 1.0])), max_size=50))
def test_no_history_of_use_leaves_the_range(history: list[tuple[float, float]]) -> None:
    weight = 1.0
    for hours, amount in history:
        weight = decay.reinforce(decay.weight(weight, hours, 72), amount, 10)
        assert amount <= weight <= 10


@given(weights, days, days, st.floats(0.01, 1))
def test_an_edge_decays_in_two_parts_as_in_one(weight: float, one: float, other: float, daily: float) -> None:
    parts = decay.edge_weight(decay.edge_weight(weight, one, daily), other, daily)
    assert parts == pytest.approx(decay.edge_weight(weight, one + other, daily), abs=1e-9)
    assert decay.edge_weight(weight, one, 1.0) == weight, "without decay it stays"


def test_an_edge_fades_before_it_grows() -> None:
    assert decay.coactivate(decay.edge_weight(10, 2, 0.95), 1, 10) == 10  # 9.025 + 1; growing first gives 9.025
    assert decay.coactivate(decay.edge_weight(2, 10, 0.95), 1, 10) == pytest.approx(2.1974739)  # 2 · 0.5987369 + 1


@given(weights, weights)
def test_two_hops_never_outrank_their_first(one: float, other: float) -> None:
    first = decay.transmission(one)
    assert 0 <= first * decay.transmission(other) <= first < 1


# ranking


def test_recency_falls_with_a_power_of_the_age() -> None:
    assert recency(np.array([0.0, 1.0, 3.0, 8.0]), 1.0) == pytest.approx([1.0, 1 / 2, 1 / 4, 1 / 9])
    assert recency(8.0, 0.5) == pytest.approx(1 / 3)
    assert recency(-5.0, 1.0) == 1.0, "a moment to come is as recent as now"


@given(days, days, st.floats(0, 3))
def test_recency_never_rises_with_age(one: float, other: float, power: float) -> None:
    near, far = (recency(age, power) for age in sorted((one, other)))
    assert 0 <= far <= near <= 1


def test_keyword_strength_by_hand() -> None:
    def strength(words: int, mean: float, terms: int, bm25: float = 6.0, passages: int = 99) -> float:
        return keyword_strength(bm25, words=words, mean_words=mean, terms=terms, passages=passages, brevity=30)

    # A passage of mean length: the first factor is 2.2. Up to the brevity the second is 2.2 too, and they cancel out.
    assert strength(10, 10, 4) == pytest.approx(6.0 / (2 * math.log(100)))
    # Half the mean length: 1 + 1.2·(0.25 + 0.75/2) = 1.75
    assert strength(5, 10, 1) == pytest.approx(6.0 * 1.75 / 2.2 / math.log(100))
    # Twice the brevity: 1 + 1.2·2 = 3.4
    assert strength(60, 60, 1) == pytest.approx(6.0 * 2.2 / 3.4 / math.log(100))
    assert strength(5, 10, 2, 0.0) == strength(5, 10, 2, -0.5) == strength(5, 10, 0) == strength(5, 0.0, 2) == 0.0
    assert strength(5, 0.0, 2, 2.0, 0) == 0.0
    assert strength(30, 40, 2) >= strength(60, 40, 2) >= strength(240, 40, 2), "length gains nothing"


# priority and salience


def test_a_worth_above_that_of_a_plain_statement_raises_the_priority_and_an_agents_counts_less() -> None:
    found = [priority.sentence_priority(worth, least=0.15) for worth in (0.15, 0.3, 0.6, 1.0)]
    assert found == sorted(found)
    assert found[0] == 1 > priority.MIN_PRIORITY
    assert priority.sentence_priority(0.6, least=0.15, role="assistant") < found[2]


def test_half_of_the_words_state_a_message() -> None:
    assert priority.states({"kiln", "clay"}, {"kiln", "clay", "oven", "glaze"})
    assert not priority.states({"kiln"}, {"kiln", "clay", "oven"})
    assert not priority.states({"kiln"}, set())


@given(st.floats(-1e4, 1e5), st.floats(0, 10), shares, st.floats(0, 2))
def test_salience_lies_between_nought_and_one_and_grows_with_each_part(
    days: float, importance: float, relevance: float, distance: float
) -> None:
    def of_dossier(*parts: float) -> float:
        return salience.source_salience(*parts, half_life=30.0, floor=0.2, base=0.3)

    value = of_dossier(days, importance, relevance)
    assert 0 <= value <= 1
    assert of_dossier(days - 1, importance, relevance) >= value
    assert of_dossier(days, importance + 1, relevance) >= value
    assert of_dossier(days, importance, 1.0) >= value
    gate: dict[str, Any] = {"by_importance": 0.5, "by_intensity": 0.2, "by_surprise": 0.3}
    assert 0 <= salience.salience(importance, relevance, salience.surprise(distance), **gate) <= 1 + 1e-12


# signals and uses


def test_windows_count_what_lies_in_them() -> None:
    now, buckets = 100 * DAY, Buckets()
    for age in (0, 30 * SECOND, 90 * SECOND, 2 * 3_600 * SECOND, 2 * DAY, 8 * DAY):
        buckets = counted(buckets, now - age, now)
    assert totals(buckets, now) == {"minute": 2, "hour": 3, "day": 4, "week": 5}
    assert totals(buckets, now + 3_600 * SECOND) == {"minute": 0, "hour": 0, "day": 4, "week": 5}
    assert totals(buckets, now + 30 * DAY) == dict.fromkeys(WINDOWS, 0)
    buckets = Buckets()
    for number in range(5_000):
        now = number * 977 * SECOND
        buckets = counted(buckets, now, now)
    assert {name: len(found) <= WINDOWS[name][1] for name, found in buckets.items()} == dict.fromkeys(WINDOWS, True)


# texts


@given(st.text(alphabet="aZb1 _-.'/@:#+,", max_size=30), st.text(alphabet=LETTERS, max_size=30) | st.text(max_size=60))
def test_terms_are_short_words_and_the_same_whatever_stands_around(left: str, right: str) -> None:
    assert terms(f"{left}\n{right}") == terms(left) + terms(right)
    assert all(term.isalnum() and len(term) <= 64 for term in terms(right))


@settings(max_examples=50)
@given(st.text(alphabet=LETTERS, min_size=1, max_size=60))
def test_fts5_keeps_every_term_as_one_token(text: str) -> None:
    found = terms(text)
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'unicode61 remove_diacritics 0')")
    db.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab (t, 'instance')")
    db.execute("INSERT INTO t VALUES (?)", (" ".join(found),))
    assert db.execute("SELECT count(*) FROM tokens").get == len(found)


@given(st.text(alphabet="aB1 .!?…。」\"'\n-#\t\x85", max_size=80) | st.text(max_size=80))
def test_sentences_are_in_order_and_cover_all_but_white_space(text: str) -> None:
    spans = sentences(text)
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())


WORDS = "a|aB|a-|_a|1.|'|n't |C#|e\u0300\u0316|\u0300\uff9e|漢|://|\u00ad| "
ENDS = '.|. |."|…|1. |e.g. |\n| |a.\n|\n '


@pytest.mark.slow
@pytest.mark.parametrize(("reads", "units"), [(terms, WORDS), (sentences, ENDS)])
def test_a_hostile_text_takes_linear_time(reads: Any, units: str) -> None:
    for unit in units.split("|"):
        assert grows_linearly(reads, lambda chars, unit=unit: unit * (chars // len(unit)) + "a", 100_000), unit
