"""An agent that works for hundreds of turns, in a context that holds a few: nothing is lost, and nothing overflows."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.agent import MAX_BYTES, MAX_TOKENS, query
from tidal_plugins import HashingEmbedder, TidalMemory

pytestmark = pytest.mark.slow

TURNS = 164
BREAK = 112
"""The turn in whose middle the first process ends."""

WORKER = Path(__file__).with_name("agent.py")
ROOT = Path(__file__).parents[2]

Report = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workshop")
    (folder / "files" / "stock").mkdir(parents=True)
    for number in range(12):
        lines = [f"item {number}-{line}: {line * 37 % 91} pieces left on shelf {line}" for line in range(12)]
        (folder / "files" / "stock" / f"{number}.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> list[Report]:
    """What two processes report, the second of which goes on where the first stopped."""
    return [process(folder, 0, BREAK, stop=True), process(folder, BREAK, TURNS)]


def process(folder: Path, first: int, last: int, *, stop: bool = False) -> Report:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'adapters'}", "OMP_NUM_THREADS": "1"}
    order = json.dumps({"folder": str(folder), "turns": [first, last], "stop": stop})
    done = subprocess.run(
        [sys.executable, str(WORKER), order], env=environment, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    report: Report = json.loads(done.stdout)
    return report


@pytest.fixture(scope="module")
def calls(run: list[Report]) -> list[dict[str, Any]]:
    """Every call of the model, in order."""
    return [call for report in run for call in report["calls"]]


def test_every_turn_was_worked_off(run: list[Report], calls: list[dict[str, Any]]) -> None:
    assert list(dict.fromkeys(call["turn"] for call in calls)) == list(range(TURNS))
    assert len(calls) > 2 * TURNS
    assert [report["waits"] for report in run] == [["tools"], []]


def test_the_context_never_exceeds_the_limit(calls: list[dict[str, Any]]) -> None:
    assert max(call["tokens"] for call in calls) <= MAX_TOKENS
    assert max(call["bytes"] for call in calls) <= MAX_BYTES
    assert max(call["tokens"] for call in calls) > MAX_TOKENS / 2, "the limit was never near"


def test_every_call_has_its_question_its_prompt_first_and_its_tool_pairs(calls: list[dict[str, Any]]) -> None:
    for call in calls:
        assert call["asked"] == 1, call["turn"]
        assert call["prompts"] == [0]
        assert call["unpaired"] == []


def test_the_checkpoints_keep_the_whole_history(run: list[Report]) -> None:
    assert run[1]["asked"] == [query(turn) for turn in range(TURNS)]
    assert run[1]["written"] == []
    assert "llm_input_messages" not in run[1]["saved"]
    assert run[1]["messages"] > 4 * TURNS


def test_a_new_process_goes_on_with_the_same_context(run: list[Report]) -> None:
    before, after = run[0]["calls"][-1]["written"], run[1]["calls"][0]["written"]
    assert len(before) >= 2
    assert after == before
    assert run[1]["calls"][0]["turn"] == BREAK - 1


def test_contexts_are_rebuilt_now_and_then_not_at_every_call(calls: list[dict[str, Any]]) -> None:
    heads = [json.dumps(call["written"]) for call in calls]
    rebuilt = [new for old, new in itertools.pairwise(heads) if old != new]
    assert 5 < len(rebuilt) < len(calls) / 4


def test_every_question_is_found_verbatim_by_what_the_model_sees(
    folder: Path, calls: list[dict[str, Any]], run: list[Report]
) -> None:
    """In the context itself, or in an episode that it cites: a run of turns is cited by its ends."""
    last = [call for call in calls if call["texts"]][-1]
    assert last["turn"] >= TURNS - 10
    shown = "\n".join(last["texts"])
    with TidalMemory(folder / "agent.db", embedder=HashingEmbedder()) as memory:
        episodes = memory.episodes.list(thread="workshop")
        assert [episode.query for episode in episodes] == [query(turn) for turn in range(TURNS)]
        ids = [episode.id for episode in episodes]
        cited = {ids.index(id_) for id_ in re.findall(r"\[ep:([0-9a-z]+)\]", shown) if id_ in ids}
        for first, end in re.findall(r"\[ep:([0-9a-z]+)\] to \[ep:([0-9a-z]+)\]", shown):
            cited |= set(range(ids.index(first), ids.index(end) + 1))
        found = {memory.episodes[ids[number]].query for number in cited}
    missing = [turn for turn in range(last["turn"] + 1) if query(turn) not in found and query(turn) not in shown]
    assert not missing
