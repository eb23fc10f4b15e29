"""Settings, and the weights that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tidal_plugins import HashingEmbedder, InvalidInput, Settings, TidalMemory
from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.retrieval.weights import HopTuning, RecallTuning
from tidal_plugins.scoring.decay import DecayTuning
from tidal_plugins.weights import check, weights


@pytest.mark.parametrize(
    ("tuning", "told"),
    [
        ({"recall.keyword": 0.4}, r"no weight 'recall\.keyword': the nearest names are recall\.keywords"),
        ({"retrieval.rrf": 3}, r"recall\.rrf"),
        ({"threshold": 0.4}, r"the nearest names are .*\.threshold"),
        ({"": 1}, "names no weight"),
        ({"graph.enabled": False}, "names no weight"),  # it is a setting
        ({"decay.floor": 1.0}, "decay.floor must be above 0 and below 1, got 1.0"),
        ({"decay.warm": 0}, "decay.warm must be above 0, got 0.0"),
        ({"decay.floor": "much"}, "must be a float"),
        ({"consolidation.turns": 2.5}, "must be a int"),
        ({"consolidation.turns": True}, "must be a int"),
        ({"affect.rule": "mine"}, "one of person, tidal"),
        ({"compaction.target": 0.99}, "target < compact < hard"),
    ],
)
def test_a_wrong_weight_makes_no_file_and_says_what_would_do(tmp_path: Path, tuning: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), settings=Settings(tuning=tuning))
    assert list(tmp_path.iterdir()) == []


def test_settings_and_weights_reach_the_values_that_a_memory_goes_by(tmp_path: Path) -> None:
    settings = Settings(
        recording={"secrets": "keep", "gate": True, "max_chars": 9},
        graph={"supersession": False},
        models={"calls_per_day": 7},
        recall={"hops": 2},
        tuning={"decay.floor": 0.5, "recall.keywords": 1, "graph.functional": ("is",)},
    )
    with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), settings=settings) as memory:
        assert memory.settings == settings
        got = memory.settings
    assert (got[DecayTuning].floor, got[RecallTuning].keywords, got[HopTuning].hops) == (0.5, 1.0, 2)
    assert got[GraphTuning].functional == ("is",)
    assert got[DecayTuning].warm == Settings()[DecayTuning].warm


def test_each_default_is_a_value_that_its_bounds_admit() -> None:
    every = {name: one.default for name, one in weights().items()}
    check(Settings(tuning=every))
    assert Settings(tuning=every)[RecallTuning] == Settings()[RecallTuning]


@pytest.mark.parametrize(
    "wrong",
    [
        {"decay": {"floor": 0.1}},
        {"whisper": {"alike": 1.0}},
        {"signals": {"view": {}}},
        {"time_zone": "Mars/Olympus"},
        {"tuning": {"decay.warm": float("inf")}},
    ],
)
def test_unknown_settings_and_values_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings(**wrong)
