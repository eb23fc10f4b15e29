"""The profiles, by hand-computed values."""

from __future__ import annotations

import math
from datetime import timedelta
from random import Random
from statistics import median
from typing import Any

import pytest

from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Tier
from tidal_plugins.retrieval.query import Query, understand
from tidal_plugins.retrieval.rank import Candidate, Context, Found, Ranked, ordinary, rank, shortlist
from tidal_plugins.storage.base import Corpus, EntrySummary, Match
from tidal_plugins.testing import NOON
from tidal_plugins.tuning import Tuning

QUERY = understand("jazz piano", [])
SAD, STIRRED = Affect(-0.4, 0.2), Affect(-0.8, 0.6)


def candidate(
    id: str,
    cosine: float | None = None,
    rank: int | None = 1,
    *,
    bm25: float | None = None,
    keyword_rank: int = 1,
    **fields: Any,
) -> Candidate:
    known = {"importance": 5.0, "passages": 1, **dict.fromkeys(("speaker", "role", "affect", "tier"))}
    return Candidate(
        EntrySummary(id=id, **{**known, **fields}),
        None if bm25 is None else Match(id, bm25, 0, 4, 10),
        None if bm25 is None else keyword_rank,
        None if cosine is None else Match(id, cosine, 0, 4, 10),
        None if cosine is None else rank,
    )


def ranked(
    *candidates: Candidate,
    profile: str,
    affect: Affect = Affect(),
    query: Query = QUERY,
    hours: float = 0,
    **recall: Any,
) -> list[Ranked]:
    return rank(candidates, context(query, affect, hours, **recall), profile)


def context(query: Query = QUERY, affect: Affect = Affect(), hours: float = 0, **recall: Any) -> Context:
    return Context(query, Corpus(99, 10.0), affect, NOON + timedelta(hours=hours), Tuning(recall=recall))


def scores(found: list[Ranked]) -> dict[str, float]:
    return {item.id: item.score for item in found}


def tier(hours: float = 72.0, **fields: Any) -> Tier:
    return Tier(1.0, NOON, hours, **fields)


# tidal: α·cos + (1 − α)·(1 − |Δv|), times what decay has left


def test_tidal_when_calm_is_the_cosine() -> None:
    found = ranked(
        candidate("glad", 0.5, affect=Affect(0.9, 0.9)),
        candidate("skill", 0.4),
        candidate("worded", bm25=9.0),
        profile="tidal",
        affect=Affect(0.04, 0.04),
    )
    assert scores(found) == {"glad": 0.5, "skill": 0.4, "worded": 0.0}
    assert "feeling" not in found[0].parts


def test_tidal_mixes_meaning_and_feeling() -> None:
    found = ranked(
        candidate("same", 0.5, affect=Affect(-0.4)),
        candidate("opposite", 0.6, affect=Affect(0.6)),
        candidate("none", 0.5),
        profile="tidal",
        affect=SAD,
    )
    expected = {"same": 0.7 * 0.5 + 0.3, "none": 0.7 * 0.5 + 0.3 * 0.6, "opposite": 0.7 * 0.6}
    assert scores(found) == pytest.approx(expected)
    assert [item.id for item in found] == ["same", "none", "opposite"]
    assert found[0].parts["feeling"] == pytest.approx(0.65 - 0.5)


def test_tidal_swaps_alpha_when_stirred() -> None:
    found = ranked(
        candidate("a", 0.5, affect=Affect(-0.8)),
        candidate("b", 0.9, affect=Affect(0.8)),
        profile="tidal",
        affect=STIRRED,
    )
    assert scores(found) == pytest.approx({"a": 0.3 * 0.5 + 0.7, "b": 0.0})
    assert ranked(candidate("a", 0.5), profile="tidal", affect=Affect(0.5))[0].score == pytest.approx(0.35 + 0.3 * 0.5)
    assert ranked(candidate("a", 0.5), profile="tidal", affect=Affect(0.51))[0].score == pytest.approx(
        0.15 + 0.7 * 0.49
    )


def test_tidal_decays_undamped() -> None:
    found = ranked(
        candidate("new", 0.4, tier=tier(720)),
        candidate("old", 0.8, tier=tier(72)),
        candidate("skill", 0.3),
        profile="tidal",
        hours=144,
    )
    assert scores(found) == pytest.approx({"old": 0.8 / 4, "new": 0.4 * 2**-0.2, "skill": 0.3})


def test_a_cold_entry_counts_from_its_new_anchor() -> None:
    cold = tier(72, cold_at=NOON + timedelta(hours=480))
    just, later = (ranked(candidate("a", 0.8, tier=cold), profile="tidal", hours=h)[0] for h in (480, 480 + 720))
    assert just.score == pytest.approx(0.8)
    assert later.score == pytest.approx(0.4)


# attention: reciprocal ranks, times importance


def test_attention_is_rank_fusion_times_importance() -> None:
    both = candidate("both", 0.3, 2, bm25=5.0, keyword_rank=3)
    found = ranked(
        both, candidate("one", 0.9, 1, importance=10.0), candidate("low", bm25=9.0, importance=1.0), profile="attention"
    )
    best = 1 / 62 + 1 / 63
    assert found[0].fused == pytest.approx(best)
    assert scores(found) == pytest.approx({"both": 1.0, "one": 1 / 61 / best * 1.5, "low": 1 / 61 / best * 0.6})
    assert found[0].parts["importance"] == 1.0


def test_attention_ignores_feeling() -> None:
    pair = candidate("a", 0.5, affect=Affect(-0.8)), candidate("b", 0.5, 2, affect=Affect(0.8))
    assert scores(ranked(*pair, profile="attention", affect=STIRRED)) == scores(ranked(*pair, profile="attention"))


# balanced: e^(sharpness · (fused − best)) of cosine + keywords + what is known of speakers and roles


def balanced(*candidates: Candidate, **context: Any) -> list[Ranked]:
    given = {
        "keywords": 0.35,
        "brevity": 30.0,
        "speaker": 0.15,
        "passages": 0.05,
        "assistant": 0.05,
        "sharpness": 5.0,
        "feeling": 0.4,
        "decay": 0.0,
    }
    return ranked(*candidates, profile="balanced", **{**given, "importance": 0.0, **context})


def fused(*candidates: Candidate, **context: Any) -> dict[str, float]:
    return {item.id: item.fused for item in balanced(*candidates, **context)}


def test_balanced_adds_up_by_hand() -> None:
    words = 6.0 / (math.sqrt(2) * math.log(100))
    found = fused(
        candidate("plain", 0.5),
        candidate("worded", 0.5, bm25=6.0),
        candidate("only words", bm25=6.0),
        candidate("assistant", 0.5, role="assistant"),
        candidate("long", 0.5, passages=20),
    )
    expected = {
        "plain": 0.5,
        "worded": 0.5 + 0.35 * words,
        "only words": 0.35 * words,
        "assistant": 0.45,
        "long": 0.5 - 0.05 * math.log(20),
    }
    assert found == pytest.approx(expected)


def test_balanced_favours_the_speaker_that_the_query_names() -> None:
    query = understand("what does Ann play", ["Ann", "Bob"])
    found = fused(candidate("ann", 0.4, speaker="Ann"), candidate("bob", 0.5, speaker="Bob"), query=query)
    assert found == pytest.approx({"ann": 0.55, "bob": 0.5})


def test_balanced_relevance_falls_with_the_gap() -> None:
    found = scores(balanced(candidate("best", 0.7), candidate("near", 0.6), candidate("far", 0.1)))
    assert found == pytest.approx({"best": 1.0, "near": math.exp(-0.5), "far": math.exp(-3)})


def test_balanced_lets_feeling_grow_with_intensity() -> None:
    pair = candidate("a", 0.5, affect=Affect(-0.4)), candidate("b", 0.5, affect=Affect(0.6))
    share = 0.3 * 0.4 / 0.5
    assert fused(*pair, affect=SAD) == pytest.approx({"a": 0.5 + 0.4 * share, "b": 0.5})
    assert fused(*pair, affect=STIRRED) == pytest.approx({"a": 0.5 + 0.4 * 0.7 * 0.6, "b": 0.5 - 0.4 * 0.7 * 0.4})
    assert fused(*pair, affect=Affect(0.04)) == pytest.approx({"a": 0.5, "b": 0.5})


def test_balanced_damps_decay_and_weighs_importance_as_told() -> None:
    old = candidate("old", 0.5, tier=tier(72), importance=10.0)
    assert balanced(old, hours=72, decay=0.2)[0].score == pytest.approx(0.9)
    assert balanced(old, hours=-72, decay=0.2)[0].score == pytest.approx(1.0)
    assert balanced(old, importance=0.5)[0].score == pytest.approx(1.25)


# all


@pytest.mark.parametrize("profile", ["balanced", "tidal", "attention"])
def test_the_order_does_not_depend_on_the_order_of_candidates(profile: str) -> None:
    chance = Random(5)
    many = [
        candidate(f"c{n}", round(chance.random(), 1), n + 1, bm25=chance.choice([None, 1.0, 2.0]), keyword_rank=n + 1,
                  affect=Affect(chance.uniform(-1, 1)), importance=chance.choice([3.0, 5.0]))
        for n in range(60)
    ]  # fmt: skip
    many += [c._replace(sketch=c.sketch._replace(id="twin of " + c.sketch.id)) for c in many]
    first = ranked(*many, profile=profile, affect=STIRRED)
    chance.shuffle(many)
    assert ranked(*many, profile=profile, affect=STIRRED) == first
    assert [item.score for item in first] == sorted((item.score for item in first), reverse=True)
    tied = [item.id for item in ranked(candidate("b", 0.5), candidate("a", 0.5), profile=profile)]
    assert tied == ["a", "b"]


@pytest.mark.parametrize("profile", ["balanced", "tidal", "attention"])
def test_nothing_found_ranks_nothing(profile: str) -> None:
    assert ranked(profile=profile) == []


def test_alike_emotions_add_to_the_score_and_opposite_ones_cost() -> None:
    angry, joyful = Affect(-0.2, 0.0, {"anger": 0.8, "neutral": 0.9}), Affect(0.0, 0.0, {"joy": 1.0, "neutral": 0.9})
    found = ranked(
        candidate("angry", 0.5, affect=angry), candidate("joyful", 0.5, affect=joyful), candidate("none", 0.5),
        profile="attention", affect=angry,
    )  # fmt: skip
    assert {item.id: item.parts.get("emotion") for item in found} == {
        "angry": pytest.approx(0.3), "joyful": pytest.approx(-0.15), "none": None,  # the axis: −1·1/(√2·√2)
    }  # fmt: skip
    assert scores(found) == pytest.approx({item.id: item.relevance + item.parts.get("emotion", 0.0) for item in found})


def test_in_balanced_emotions_decide_between_memories_that_are_about_equally_near() -> None:
    angry, joyful = Affect(0.0, 0.0, {"anger": 0.8}), Affect(0.0, 0.0, {"joy": 0.8})
    near = candidate("joyful", 0.5, affect=joyful)
    rival, far = candidate("angry", 0.4, affect=angry), candidate("farther", 0.3, affect=angry)
    found = balanced(near, rival, far, affect=Affect(-0.8, 0.9, {"anger": 0.7}), feeling=0.0)
    assert [item.id for item in found] == ["angry", "joyful", "farther"]
    assert [item.fused for item in found] == pytest.approx([0.4 + 0.1, 0.5 - 0.05, 0.3 + 0.1])


def test_the_profile_tidal_has_no_term_of_emotions() -> None:
    angry = Affect(-0.8, 0.9, {"anger": 0.8})
    [found] = ranked(candidate("angry", 0.5, affect=angry), profile="tidal", affect=angry)
    assert found.score == pytest.approx(0.3 * 0.5 + 0.7)
    assert set(found.parts) == {"feeling"}


@pytest.mark.parametrize("profile", ["balanced", "tidal", "attention"])
def test_without_emotions_to_compare_there_is_no_part_of_them(profile: str) -> None:
    angry = Affect(-0.2, 0.0, {"anger": 0.8})
    for stored in (None, Affect(-0.2), Affect(-0.2, 0.0, {})):
        assert "emotion" not in ranked(candidate("a", 0.5, affect=stored), profile=profile, affect=angry)[0].parts


@pytest.mark.parametrize("profile", ["balanced", "tidal", "attention"])
def test_emotions_that_are_left_of_a_mood_that_is_over_count_for_nothing(profile: str) -> None:
    angry = candidate("angry", 0.5, affect=Affect(-0.2, 0.0, {"anger": 0.8}))
    assert "emotion" not in ranked(angry, profile=profile, affect=Affect(-0.04, 0.0, {"anger": 0.04}))[0].parts


def test_a_mood_without_names_is_compared_by_how_pleasant_it_is() -> None:
    angry = candidate("angry", 0.5, affect=Affect(0.0, 0.0, {"anger": 0.8}))
    assert ranked(angry, profile="attention", affect=Affect(-0.8))[0].parts["emotion"] == pytest.approx(0.3 / 2**0.5)
    assert ranked(angry, profile="attention", affect=Affect(0.8))[0].parts["emotion"] == pytest.approx(-0.3 / 2**0.5)


def test_an_explanation_says_how_the_memory_felt() -> None:
    angry = candidate("angry", 0.5, affect=Affect(-0.2, 0.0, {"anger": 0.62, "fear": 0.2}))
    assert str(ranked(angry, profile="tidal")[0].explain("tidal")).endswith("relevance 0.50 (anger .62, fear .20)")


def test_an_explanation_names_what_counted() -> None:
    found = ranked(candidate("a", 0.5, 4, bm25=3.25, keyword_rank=2), profile="attention")[0]
    why = found.explain("attention")
    assert str(why) == "keywords #2 (3.2), meaning #4 (0.50), relevance 1.00, importance 1.00"
    assert (why.fused, why.relevance, why.keyword_strength) == (found.fused, found.relevance, found.keyword_strength)
    assert (why.factors, why.profile) == (found.parts, "attention")
    none = ranked(candidate("a", None), profile="tidal")[0].explain("tidal")
    assert str(none) == "no keyword, meaning (0.00), relevance 0.00"


def test_the_parts_name_all_that_balanced_counts() -> None:
    angry = Affect(-0.4, 0.2, {"anger": 0.8})
    told = candidate("a", 0.5, speaker="Ann", role="assistant", passages=20, affect=angry, tier=tier(), importance=10.0)
    query = understand("what does Ann play", ["Ann"])
    parts = balanced(told, query=query, affect=angry, hours=72, decay=0.2, importance=0.5)[0].parts
    assert parts == pytest.approx(
        {"speaker": 0.15, "assistant": -0.05, "passages": -0.05 * math.log(20), "feeling": 0.4 * 0.3 * 0.4 / 0.5,
         "importance": 1.25, "strength": 0.9, "emotion": 0.1 * 0.4 / 0.5}
    )  # fmt: skip
    assert balanced(candidate("b", 0.5))[0].parts == {}


# the shortlist


@pytest.mark.parametrize(
    ("profile", "order"),
    [("balanced", ["both", "near", "worded"]), ("tidal", ["near", "both", "worded"]),
     ("attention", ["both", "worded", "near"])],
)  # fmt: skip
def test_the_shortlist_has_what_both_channels_together_put_first(profile: str, order: list[str]) -> None:
    found = [
        Found("worded", Match("worded", 6.0, 0, 4, 10), 1, Match("worded", 0.1, 0, 4, 10), None),
        Found("near", None, None, Match("near", 0.6, 0, 4, 10), 2),
        Found("both", Match("both", 6.0, 0, 4, 10), 2, Match("both", 0.5, 0, 4, 10), 3),
    ]
    for size in range(5):
        near, far = shortlist(found, context(keywords=0.35), profile, size)
        assert [item.id for item in near] == order[:size]
        assert [item.id for item in far] == order[size:]
        assert shortlist(found[::-1], context(keywords=0.35), profile, size) == (near, far)


@pytest.mark.parametrize("profile", ["balanced", "tidal", "attention"])
def test_ties_in_the_shortlist_go_by_id(profile: str) -> None:
    found = [Found(id, None, None, Match(id, 0.5, 0, 4, 10), 1) for id in "cab"]
    near, far = shortlist(found, context(), profile, 2)
    assert [[item.id for item in part] for part in (near, far)] == [["a", "b"], ["c"]]


@pytest.mark.parametrize("count", range(6))
def test_the_ordinary_candidate_is_the_median_of_all_that_were_found(count: int) -> None:
    cosines = [0.5, -0.1, 0.3, 0.9, 0.2, 0.4][:count]
    found = [Found(f"{cosine}", None, None, Match("", cosine, 0, 4, 10), 1) for cosine in cosines]
    for size in range(count + 1):
        near, far = shortlist(found, context(), "balanced", size)
        assert ordinary(near, far, context()) == pytest.approx(median(cosines) if cosines else 0.0)


def test_an_assistants_answer_raises_its_thread_as_far_as_it_counts_itself() -> None:
    found = ranked(
        candidate("best", 0.6, thread="s", role="assistant"), candidate("other", 0.35, thread="s"), profile="balanced"
    )
    assert {item.id: item.parts.get("thread", 0.0) for item in found} == pytest.approx(
        {"best": 0.0, "other": 0.25 * (0.6 - 0.05 - 0.35)}
    )
