"""The weights that make chances: those that ship, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import InvalidInput, Settings
from tidal_plugins.retrieval.head import (
    HIT_FEATURES,
    LINE_FEATURES,
    RECALL_FEATURES,
    SHIPPED,
    Head,
    Logistic,
    load,
    save,
)

PROFILES = ("balanced", "tidal", "attention")


@pytest.mark.parametrize("profile", PROFILES)
def test_what_ships_has_a_weight_for_every_feature_of_every_profile(profile: str) -> None:
    head = load(SHIPPED)[profile]
    assert tuple(head.of_recall.weights) == RECALL_FEATURES
    assert tuple(head.of_line.weights) == LINE_FEATURES
    assert tuple(head.of_hit.weights) == HIT_FEATURES
    assert min(head.of_recall.weights.values()) > 0
    assert SHIPPED.stat().st_size < 4_000


def test_what_ships_says_where_it_comes_from() -> None:
    about = json.loads(SHIPPED.read_text("utf-8"))["about"]
    assert "Apache-2.0" in about["attribution"]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("margin", [-1e6, -1.0, 0.0, 0.4, 1.0, 1e6])
def test_chances_are_chances_whatever_the_features(profile: str, margin: float) -> None:
    head = load(SHIPPED)[profile]
    assert 0 <= head.of_recall({"margin": margin}) <= 1
    assert 0 <= head.of_line({"behind": -abs(margin), "short": -abs(margin)}) <= 1
    assert 0 <= head.of_hit({"behind": -abs(margin), "short": -abs(margin), "ahead": abs(margin)}) <= 1


@pytest.mark.parametrize("profile", PROFILES)
def test_a_recall_that_stands_out_clears_the_threshold_and_one_that_does_not_stays_under_it(profile: str) -> None:
    head, threshold = load(SHIPPED)[profile], Settings().whisper.threshold
    assert head.of_recall({"margin": 0.0}) < threshold < head.of_recall({"margin": 0.6})


def test_the_same_numbers_are_the_same_bytes_and_come_back(tmp_path: Path) -> None:
    of_line = Logistic({"behind": 3.0, "short": 0.0}, 0.5)
    head = Head(Logistic({"margin": 2.5}, -1.0), of_line, Logistic({**of_line.weights, "ahead": 4.0}, 0.5))
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    for file in (one, two):
        save(file, dict.fromkeys(PROFILES, head), {"attribution": "ours"})
    assert one.read_bytes() == two.read_bytes()
    assert load(one) == dict.fromkeys(PROFILES, head)


def without(**changed: Any) -> Any:
    of_recall = {"weights": {"margin": 2.5}, "bias": -1.0}
    of_line = {"weights": {"behind": 3.0, "short": 1.0}, "bias": 0.5}
    of_hit = {"weights": {"behind": 3.0, "short": 1.0, "ahead": 4.0}, "bias": 0.5}
    parts = {"of_recall": of_recall, "of_line": of_line, "of_hit": of_hit, **changed}
    return {"profiles": dict.fromkeys(PROFILES, parts)}


def test_a_file_with_every_weight_is_read(tmp_path: Path) -> None:
    file = tmp_path / "head.json"
    file.write_text(json.dumps(without()), "utf-8")
    assert load(file)["tidal"].of_hit.weights["ahead"] == 4.0


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
    file = tmp_path / "head.json"
    file.write_text(json.dumps(value), "utf-8")
    with pytest.raises(InvalidInput, match="make fit-confidence"):
        load(file)
    with pytest.raises(InvalidInput, match="make fit-confidence"):
        load(tmp_path / "none.json")
