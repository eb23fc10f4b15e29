import math

import pytest

from tidal_plugins.scoring.fusion import keyword_strength, reciprocal_rank, relevance, sharp_relevance, stretched


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [((1, 1), 2 / 61), ((1, 0), 1 / 61), ((3, 10), 1 / 63 + 1 / 70), ((0, 0), 0.0), ((), 0.0)],
)
def test_reciprocal_ranks_are_summed_over_the_channels(ranks: tuple[int, ...], expected: float) -> None:
    assert reciprocal_rank(ranks, k=60) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("fused", "best", "expected"),
    [(0.5, 1.0, 0.5), (2.0, 2.0, 1.0), (0.0, 0.5, 0.0), (-0.1, 0.5, 0.0), (0.2, 0.0, 0.0), (-0.2, -0.1, 0.0)],
)
def test_relevance_is_the_share_of_the_best(fused: float, best: float, expected: float) -> None:
    assert relevance(fused, best) == expected


@pytest.mark.parametrize(
    ("fused", "best", "expected"),
    [(0.5, 0.5, 1.0), (0.3, 0.5, math.exp(-1)), (-0.3, -0.1, math.exp(-1)), (0.6, 0.5, 1.0)],
)
def test_sharp_relevance_falls_with_the_distance_from_the_best(fused: float, best: float, expected: float) -> None:
    assert sharp_relevance(fused, best, sharpness=5) == pytest.approx(expected)


def test_keyword_strength_by_hand() -> None:
    # A passage of mean length: the first factor is 2.2. Up to the brevity the second is 2.2 too, and they cancel out.
    assert keyword_strength(6.0, words=10, mean_words=10, terms=4, passages=99, brevity=30) == pytest.approx(
        6.0 / (2 * math.log(100))
    )
    # Half the mean length: 1 + 1.2·(0.25 + 0.75/2) = 1.75
    assert keyword_strength(6.0, words=5, mean_words=10, terms=1, passages=99, brevity=30) == pytest.approx(
        6.0 * 1.75 / 2.2 / math.log(100)
    )
    # Twice the brevity: 1 + 1.2·2 = 3.4
    assert keyword_strength(6.0, words=60, mean_words=60, terms=1, passages=99, brevity=30) == pytest.approx(
        6.0 * 2.2 / 3.4 / math.log(100)
    )


@pytest.mark.parametrize(
    "changes", [{"bm25": 0.0}, {"bm25": -0.5}, {"terms": 0}, {"mean_words": 0.0}, {"mean_words": 0.0, "passages": 0}]
)
def test_no_keyword_has_no_strength(changes: dict[str, float]) -> None:
    values = {"bm25": 2.0, "words": 5, "mean_words": 10.0, "terms": 2, "passages": 50, "brevity": 30.0, **changes}
    assert keyword_strength(values.pop("bm25"), **values) == 0.0  # type: ignore[arg-type]


def test_a_long_passage_gains_nothing_from_its_length() -> None:
    strengths = [
        keyword_strength(4.0, words=w, mean_words=40, terms=2, passages=500, brevity=30) for w in (30, 60, 240)
    ]
    assert strengths == sorted(strengths, reverse=True)


@pytest.mark.parametrize(
    ("scores", "expected"), [([], []), ([3.0], [1.0]), ([2.0, 2.0], [1.0, 1.0]), ([-10.0, 0.0, 30.0], [0.0, 0.25, 1.0])]
)
def test_scores_of_any_scale_are_stretched_from_0_to_1(scores: list[float], expected: list[float]) -> None:
    assert stretched(scores) == pytest.approx(expected)
