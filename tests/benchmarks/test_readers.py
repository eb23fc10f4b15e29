"""What the benchmarks read of their data, and what they say of a file that they cannot read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compaction_cases, trajectories
from benchmarks.conversations import ADVERSARIAL, load
from tests.benchmarks.data import ada, chat, garden, openai_run, swe_agent_run, written
from tidal_plugins.compaction.state import history
from tidal_plugins.model.compaction import unpaired


def test_a_conversation_is_read_in_order_of_time_and_evidence_is_mended_or_skipped(tmp_path: Path) -> None:
    data = load(written(tmp_path / "garden.json", [garden()]))
    (conversation,) = data.conversations
    assert [(part.id, part.at) for part in conversation.sessions] == [
        ("session_1", datetime(2024, 5, 8, 13, 56, tzinfo=UTC)), ("session_2", datetime(2024, 6, 3, 0, 5, tzinfo=UTC)),
    ]  # fmt: skip
    first, *_ = turns = conversation.turns
    assert conversation.end > max(turn.at for turn in turns)
    assert (first.speaker, first.role, first.text) == ("Ada", "user", "I planted eleven quince trees.")
    assert [turn.id for turn in turns] == ["D1:1", "D1:2", "D2:1", "D2:2"]
    asked = [(each.category, set(each.evidence)) for each in conversation.questions]
    assert asked == [("4 single-hop", {"D1:1"}), ("1 multi-hop", {"D1:2", "D2:1"}), ("2 temporal", {"D2:1", "D2:2"}),
                     (ADVERSARIAL, {"D1:1"})]  # fmt: skip
    counts = data.counts
    assert (counts.turns_without_text, counts.evidence_repaired, counts.evidence_skipped) == (1, 2, 2)
    assert counts.questions_without_evidence == 2


def test_a_person_of_real_mem_is_asked_before_the_own_session_is_known(tmp_path: Path) -> None:
    data = load(written(tmp_path / "people.json", ada()))
    (person,) = data.conversations
    (asked,) = person.questions
    assert (asked.text, asked.evidence) == ("We settled on the loop. What's next?", {"s1:3"})
    assert data.counts.evidence_skipped == 2
    ((at, known, new),) = person.moments()
    assert [part.id for part in known.sessions] == [part.id for part in new] == ["s1"]
    assert all(turn.at < at for turn in known.turns)
    first, second, _ = person.sessions
    assert first.at < first.turns[-1].at < second.at, "sessions of one day keep their order"


def changed(value: Any, *keys: Any, to: Any) -> Any:
    inner = value
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    return value


BAD = {
    "is not JSON": "{",
    "the file should be a list": {"rows": []},
    "garden.session_1_date_time should be a date": [changed(garden(), "conversation", "session_1_date_time", to=None)],
    "has no session_N": [{"conversation": {}, "qa": []}],
    "asks no question that has evidence": [garden() | {"qa": []}],
    "Ada[0].time should be a date": changed(ada(), "Ada", 0, "time", to="one day"),
}


def test_a_sample_of_long_mem_eval_is_one_history_in_order_of_time(tmp_path: Path) -> None:
    data = load(written(tmp_path / "chat.json", chat()))
    (conversation,) = data.conversations
    assert [turn.text for session in conversation.sessions for turn in session.turns] == [
        "I ride to work.",
        "Good!",
        "My bike is green.",
        "A fine colour.",
    ]
    found = {question.text: question.evidence for question in conversation.questions}
    assert found["How do I get to work?"] == {"early/0"}  # the message that is marked
    assert found["What colour is my bike?"] == {"late/0", "late/1"}


def test_a_bad_file_is_told_what_is_wrong_with_it(tmp_path: Path) -> None:
    for message, value in BAD.items():
        path = written(tmp_path / "bad.json", value)
        with pytest.raises(SystemExit) as error:
            load(path)
        assert message in str(error.value)
        assert str(path) in str(error.value)


# cases of compaction


def test_runs_keep_their_pairs_and_their_evidence_are_changes_requirements_and_errors(tmp_path: Path) -> None:
    runs = trajectories.load(written(tmp_path / "runs.json", [openai_run(n) for n in range(3)]))
    assert [message.role for message in runs[0].messages[:3]] == ["user", "assistant", "tool"]
    assert [message.error for message in runs[0].messages if message.role == "tool"] == [False, True, False]
    first, last = trajectories.joined(runs, 2)
    assert (len(first.messages), len(last.messages)) == (16, 8)
    assert unpaired(first.messages) == []
    assert len(history(first.messages).turns) == 2
    case = compaction_cases.trajectory(runs[0])
    kinds = ["requirement", "action", "error", "action", "constraint"]  # neither what was looked up, nor thanks
    assert [fact.kind for fact in case.facts] == kinds
    assert case.asked[0].facts == (0, 1, 2, 3), "constraints are counted apart"
    assert {"book", "0", "card"} <= case.facts[3].words


def test_runs_of_swe_agent_become_calls_and_results(tmp_path: Path) -> None:
    (run,) = trajectories.load(written(tmp_path / "runs.jsonl", json.dumps(swe_agent_run(1))))
    asked, looked, found = run.messages[:3]
    assert (asked.role, looked.text, found.role) == ("user", "I look first.", "tool")
    assert [(call.name, dict(call.arguments)) for call in looked.tool_calls] == [
        ("open", {"command": "open till_1.py"})
    ]
    assert unpaired(run.messages) == []
