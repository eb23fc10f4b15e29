"""Ranking: the profiles by hand-computed values, and the weights that make chances."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.retrieval.directions import QUESTION, Directions, holding, noted, say
from tests.tuned import tuned
from tidal_plugins import Affect, InvalidInput, Recall, TidalMemory
from tidal_plugins.retrieval.calibration import HIT_FEATURES, LINE_FEATURES, RECALL_FEATURES, SHIPPED, load
from tidal_plugins.testing import FrozenClock

SAD, STIRRED = Affect(-0.4, 0.2), Affect(-0.8, 0.6)
PLAIN = {"importance": 0.0, "decay": 0.0, "thread": 0.0, "neighbours": 0.0, "time_mention": 0.0}
"""The profile ``balanced`` without what is tested elsewhere."""


def scores(recall: Recall) -> Any:
    return pytest.approx({hit.text: hit.score for hit in recall}, abs=5e-4)


def fused(recall: Recall) -> Any:
    return pytest.approx({hit.text: hit.why.fused for hit in recall}, abs=5e-4)


def factors(recall: Recall, name: str) -> Any:
    return {hit.text: hit.why.factors.get(name) for hit in recall}


# tidal: α·cos + (1 − α)·(1 − |Δv|), times what decay has left


def test_tidal_mixes_meaning_and_feeling(open_memory: Any) -> None:
    cosines = {"same": 0.5, "opposite": 0.6, "none": 0.5}
    memory = holding(open_memory, cosines, affects={"same": Affect(-0.4), "opposite": Affect(0.6)})
    recall = memory.recall(QUESTION, profile="tidal", affect=SAD)
    assert scores(recall) == {"same": 0.7 * 0.5 + 0.3, "none": 0.7 * 0.5 + 0.3 * 0.6, "opposite": 0.7 * 0.6}
    assert [hit.text for hit in recall] == ["same", "none", "opposite"]
    assert recall[0].why.factors["feeling"] == pytest.approx(0.65 - 0.5, abs=5e-4)


def test_tidal_swaps_alpha_when_stirred(open_memory: Any) -> None:
    affects = {"like": Affect(-0.8), "unlike": Affect(0.8)}
    memory = holding(open_memory, {"like": 0.5, "unlike": 0.9}, affects=affects)
    assert scores(memory.recall(QUESTION, profile="tidal", affect=STIRRED)) == {"like": 0.3 * 0.5 + 0.7, "unlike": 0.0}
    calm, stirred = (memory.recall(QUESTION, profile="tidal", affect=Affect(value)) for value in (-0.5, -0.51))
    assert {hit.text: hit.score for hit in calm}["like"] == pytest.approx(0.35 + 0.3 * 0.7, abs=5e-4)
    assert {hit.text: hit.score for hit in stirred}["like"] == pytest.approx(0.15 + 0.7 * 0.71, abs=5e-4)


def test_decay_counts_in_full_in_tidal_and_damped_in_the_others(open_memory: Any, clock: FrozenClock) -> None:
    memory = holding(open_memory, {"said": 0.8, "written": 0.3}, affects={"said": Affect()})
    clock.advance(hours=144)
    assert scores(memory.recall(QUESTION, profile="tidal")) == {"said": 0.8 / 4, "written": 0.3}
    strengths = (factors(memory.recall(QUESTION, profile=name), "strength") for name in ("balanced", "attention"))
    assert list(strengths) == [{"said": pytest.approx(0.95 + 0.05 / 4), "written": None}] * 2


# attention: reciprocal ranks, times importance


def test_attention_is_rank_fusion_times_importance(open_memory: Any) -> None:
    memory = open_memory(embedder=Directions({"both zebra": 0.3, "one": 0.9, "low": 0.2}))
    for text, importance in (("both zebra", 5.0), ("one", 10.0), ("low", 1.0)):
        noted(memory, text, importance=importance)
    recall = memory.recall(QUESTION, profile="attention")
    best = 1 / 61 + 1 / 62
    assert scores(recall) == {"both zebra": 1.0, "one": 1 / 61 / best * 1.5, "low": 1 / 63 / best * 0.6}
    assert recall[0].text == "both zebra"
    assert recall[0].why.fused == pytest.approx(best)
    assert factors(recall, "importance")["both zebra"] == 1.0


def test_recency_in_full_is_an_option_of_attention(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(embedder=Directions({"older": 0.9, "newer": 0.3}), settings=tuned(recall={"half_life": 720.0}))
    noted(memory, "older", importance=5.0)
    clock.advance(days=60)
    noted(memory, "newer", importance=5.0)
    recall = memory.recall(QUESTION, profile="attention")
    assert scores(recall) == {"newer": 61 / 62, "older": 0.25}
    assert factors(recall, "recency")["older"] == pytest.approx(0.25)


@pytest.mark.parametrize("profile", ["balanced", "tidal", "attention"])
def test_of_two_that_say_the_same_the_newer_comes_first(open_memory: Any, clock: FrozenClock, profile: str) -> None:
    memory = open_memory()
    memory.remember("The choir sings at ten.", source="choir hall.md", importance=9)
    memory.record("The choir sings at noon.")
    clock.advance(days=18)
    newer = memory.remember("The choir  sings at ten.", source="b.md", importance=3)
    recall = memory.recall("When does the choir sing in the hall?", profile=profile)
    assert [hit.entry.source for hit in recall if hit.entry.kind == "kb"] == ["b.md", "choir hall.md"]
    assert recall[0].id == newer.id


# balanced: e^(sharpness · (fused − best)) of cosine + keywords + what is known of speakers and roles


def test_balanced_adds_up_by_hand(open_memory: Any) -> None:
    cosines = {"plain": 0.5, "told": 0.5}
    memory = holding(open_memory, cosines, recall={**PLAIN, "assistant": 0.05})
    say(memory, ("assistant", "told"))
    found = {(hit.entry.role, hit.text): hit.why.fused for hit in memory.recall(QUESTION)}
    assert found[None, "plain"] == pytest.approx(0.5, abs=5e-4)
    assert found["assistant", "told"] == pytest.approx(0.45, abs=5e-4)


def test_balanced_favours_the_speaker_that_the_query_names(open_memory: Any) -> None:
    texts = {"Ann: waltz": 0.4, "Bob: polka": 0.5}
    memory = open_memory(embedder=Directions(texts), settings=tuned(recall={**PLAIN, "speaker": 0.15}))
    say(memory, ("Ann", "waltz"), ("Bob", "polka"))
    assert fused(memory.recall(f"{QUESTION} Ann")) == {"waltz": 0.55, "polka": 0.5}


def test_in_balanced_a_mood_counts_above_the_threshold_alone(open_memory: Any) -> None:
    affects = {"a": Affect(-0.4), "b": Affect(0.6)}
    memory = holding(open_memory, {"a": 0.5, "b": 0.5}, affects=affects, recall={**PLAIN, "feeling": 0.4})
    for calm in (SAD, Affect(-0.5, 0.5), Affect(0.04)):
        assert fused(memory.recall(QUESTION, affect=calm)) == {"a": 0.5, "b": 0.5}
    stirred = {"a": 0.5 + 0.4 * 0.7 * 0.6, "b": 0.5 - 0.4 * 0.7 * 0.4}
    assert fused(memory.recall(QUESTION, affect=STIRRED)) == stirred


# all


@pytest.mark.parametrize("profile", ["balanced", "tidal"])
def test_equals_are_ordered_by_their_texts(open_memory: Any, profile: Any) -> None:
    texts = [f"text {n}" for n in range(20)]
    memory = holding(open_memory, dict.fromkeys(texts, 0.5))
    recall = memory.recall(QUESTION, profile=profile, limit=20)
    order = [(-round(hit.score, 5), hit.text) for hit in recall]
    assert order == sorted(order)
    assert len(set(recall.ids)) == 20


# emotions


def test_alike_emotions_add_to_the_score_and_opposite_ones_cost(open_memory: Any) -> None:
    angry, joyful = Affect(-0.2, 0.0, {"anger": 0.8, "neutral": 0.9}), Affect(0.0, 0.0, {"joy": 1.0, "neutral": 0.9})
    texts = {"angry": 0.5, "joyful": 0.45, "none": 0.4}
    memory = holding(open_memory, texts, affects={"angry": angry, "joyful": joyful})
    recall = memory.recall(QUESTION, profile="attention", affect=angry)
    assert factors(recall, "emotion") == {
        "angry": pytest.approx(0.3), "joyful": pytest.approx(-0.15), "none": None,  # the axis: −1·1/(√2·√2)
    }  # fmt: skip


def test_in_balanced_emotions_decide_between_memories_that_are_about_equally_near(open_memory: Any) -> None:
    angry, joyful = Affect(0.0, 0.0, {"anger": 0.8}), Affect(0.0, 0.0, {"joy": 0.8})
    affects = {"joyful": joyful, "angry": angry, "farther": angry}
    texts = {"joyful": 0.5, "angry": 0.4, "farther": 0.3}
    memory = holding(open_memory, texts, affects=affects, recall={**PLAIN, "feeling": 0.0})
    recall = memory.recall(QUESTION, affect=Affect(-0.8, 0.9, {"anger": 0.7}))
    assert [hit.text for hit in recall] == ["angry", "joyful", "farther"]
    assert [hit.why.fused for hit in recall] == pytest.approx([0.4 + 0.1, 0.5 - 0.05, 0.3 + 0.1], abs=5e-4)


@pytest.mark.parametrize(("valence", "part"), [(-0.8, 0.3 / 2**0.5), (0.8, -0.3 / 2**0.5)])
def test_a_mood_without_names_is_compared_by_how_pleasant_it_is(open_memory: Any, valence: float, part: float) -> None:
    memory = holding(open_memory, {"angry": 0.5}, affects={"angry": Affect(0.0, 0.0, {"anger": 0.8})})
    recall = memory.recall(QUESTION, profile="attention", affect=Affect(valence))
    assert factors(recall, "emotion") == {"angry": pytest.approx(part)}


# explanations


def test_an_explanation_says_how_the_memory_felt(open_memory: Any) -> None:
    affects = {"angry": Affect(-0.2, 0.0, {"anger": 0.62, "fear": 0.2})}
    memory = holding(open_memory, {"angry": 0.5}, affects=affects)
    [hit] = memory.recall(QUESTION, profile="tidal")
    assert str(hit.why).endswith("(anger .62, fear .20)")


# recency, substance and topic: a turn that goes on with something begun earlier


GOING_ON = "We settled on the loop. What is next?"


def aged(open_memory: Any, clock: FrozenClock, **recall: float) -> Any:
    """Return a memory of two turns that are equally near to any query, the first of them a week older."""
    memory = holding(open_memory, {}, recall={**PLAIN, **recall})
    memory.remember("old")
    clock.advance(days=7)
    memory.remember("new")
    return memory


def test_a_turn_that_goes_on_prefers_what_was_last(open_memory: Any, clock: FrozenClock) -> None:
    memory = aged(open_memory, clock, recency=1.0)
    recall = memory.recall(GOING_ON)
    assert [hit.text for hit in recall] == ["new", "old"]
    assert factors(recall, "recency") == {"new": pytest.approx(1.0), "old": pytest.approx(1 / 8)}
    assert scores(recall) == {"new": 1.0, "old": 1 / 8}


@pytest.mark.parametrize("text", ["Which loop did we settle on?", "The loop was muddy.", QUESTION])
def test_questions_and_news_pay_no_heed_to_age(open_memory: Any, clock: FrozenClock, text: str) -> None:
    recall = aged(open_memory, clock, recency=1.0).recall(text)
    assert set(factors(recall, "recency").values()) == {None}


SHORT, LONG, ANSWER = "short", *(" ".join(f"{word}{number}" for number in range(40)) for word in ("told", "said"))


def spoken(open_memory: Any, **ongoing: float) -> TidalMemory:
    """Return a memory of turns that are equally near to any query, with no weight but these for what goes on."""
    none = {"importance": 0.0, "brief": 0.0, "assistant": 0.0, "average": 0.0, "topic": 0.0}
    return holding(open_memory, {}, recall={**PLAIN, "recency": 0.0, "assistant": 0.0}, ongoing={**none, **ongoing})


def test_a_turn_that_goes_on_prefers_what_says_much_and_what_the_person_said(open_memory: Any) -> None:
    memory = spoken(open_memory, brief=0.2, assistant=0.1, average=-0.15)
    say(memory, ("user", SHORT), ("user", LONG), ("assistant", ANSWER))
    memory.remember("note")
    recall = memory.recall(GOING_ON)
    found = factors(recall, "substance")
    assert found["note"] is None, "nobody said it, so it counts as an average turn"
    assert found[SHORT] == pytest.approx(math.exp(5 * (0.15 - 0.2)))
    assert 1 < found[LONG] < math.exp(5 * 0.15)
    assert found[ANSWER] == pytest.approx(found[LONG] * math.exp(-5 * 0.1))
    assert [hit.text for hit in recall] == [LONG, "note", ANSWER, SHORT]


def test_a_turn_that_goes_on_prefers_what_matters(open_memory: Any) -> None:
    memory = spoken(open_memory, importance=0.1)
    say(memory, ("user", "Boots then."), ("user", "I am severely allergic to walnuts."))
    found = {hit.text: (hit.entry.importance, hit.why.factors["substance"]) for hit in memory.recall(GOING_ON)}
    assert list(found) == ["I am severely allergic to walnuts.", "Boots then."]
    assert all(factor == pytest.approx(math.exp(5 * 0.1 * (matters - 4.5))) for matters, factor in found.values())


def test_a_turn_that_goes_on_stays_with_the_nearest_thread(open_memory: Any) -> None:
    memory = spoken(open_memory, topic=0.2)
    say(memory, ("user", "The loop is muddy"), ("user", "Boots then"), thread="walk")
    say(memory, ("user", "Rice for supper"), thread="food")
    expected = {
        "The loop is muddy": pytest.approx(math.e),
        "Boots then": pytest.approx(math.e),
        "Rice for supper": None,
    }
    assert factors(memory.recall(GOING_ON), "topic") == expected
    assert set(factors(memory.recall("Which loop is muddy?"), "topic").values()) == {None}


# the weights that make chances: those that ship, and files that are none


NAMES = ("balanced", "tidal", "attention")


@pytest.mark.parametrize("profile", NAMES)
def test_what_ships_has_a_weight_for_every_feature_of_every_profile(profile: str) -> None:
    head = load(SHIPPED)[profile]
    assert tuple(head.of_recall.weights) == RECALL_FEATURES
    assert tuple(head.of_line.weights) == LINE_FEATURES
    assert tuple(head.of_hit.weights) == HIT_FEATURES
    assert min(head.of_recall.weights.values()) > 0
    assert SHIPPED.stat().st_size < 4_000


def without(**changed: Any) -> Any:
    of_recall = {"weights": {"margin": 2.5}, "bias": -1.0}
    of_line = {"weights": {"behind": 3.0, "short": 1.0}, "bias": 0.5}
    of_hit = {"weights": {"behind": 3.0, "short": 1.0, "ahead": 4.0}, "bias": 0.5}
    parts = {"of_recall": of_recall, "of_line": of_line, "of_hit": of_hit, **changed}
    return {"profiles": dict.fromkeys(NAMES, parts)}


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"profiles": {}},
        without(of_hit=None),
        without(of_line=None),
        without(of_recall={"weights": {"margin": "much"}, "bias": 0}),
        without(of_recall={"weights": {"other": 1.0}, "bias": 0}),
        without(of_recall={"weights": {"margin": -1.0}, "bias": 0}),
        without(of_recall={"weights": {"margin": float("nan")}, "bias": 0}),
        without(of_hit={"weights": {"short": 1.0, "behind": 1.0, "ahead": 1.0}, "bias": 0}),
    ],
)
def test_a_file_that_holds_no_weights_is_refused(tmp_path: Path, value: Any) -> None:
    file = tmp_path / "calibration.json"
    file.write_text(json.dumps(value), "utf-8")
    with pytest.raises(InvalidInput, match="make fit-confidence"):
        load(file)
    with pytest.raises(InvalidInput, match="make fit-confidence"):
        load(tmp_path / "none.json")
