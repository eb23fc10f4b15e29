"""What the benchmarks read of their data, and what they say of a file that they cannot read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compaction_cases, presence_month, trajectories
from benchmarks.locomo import ADVERSARIAL, load, pooled
from tests.benchmarks.data import ada, chat, garden, openai_run, question, swe_agent_run, talk, written
from tidal_plugins.compaction.turns import history
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


@pytest.mark.parametrize("given", ["D1:1,D2:1", " D1:1 ;D2:1", "D1:1 D2:1", "(D1:01), d2:1", "D 1 : 1 D:2:1"])
def test_every_spelling_of_two_ids_is_read(tmp_path: Path, given: str) -> None:
    value = garden() | {"qa": [question("Both?", [given])]}
    (asked,) = load(written(tmp_path / "garden.json", [value])).conversations[0].questions
    assert asked.evidence == {"D1:1", "D2:1"}


def test_speakers_called_by_their_role_get_it_and_pooling_keeps_ids_apart(tmp_path: Path) -> None:
    value = json.loads(json.dumps(garden()).replace('"Ada"', '"user"').replace('"Ben"', '"assistant"'))
    turns = load(written(tmp_path / "chat.json", [value])).conversations[0].turns
    assert [(turn.role, turn.speaker) for turn in turns[:2]] == [("user", None), ("assistant", None)]
    both = [garden(), garden() | {"sample_id": "orchard"}]
    pool = pooled("pool", load(written(tmp_path / "two.json", both)).conversations)
    known = {turn.id for turn in pool.turns}
    assert len(known) == len(pool.turns) == 8
    assert all(each.evidence <= known for each in pool.questions)


def test_a_long_mem_eval_sample_is_one_history_whose_marked_messages_are_the_evidence(tmp_path: Path) -> None:
    (history,) = load(written(tmp_path / "sample.json", chat())).conversations
    assert [(turn.id, turn.role) for turn in history.turns] == [
        ("early/0", "user"), ("early/1", "assistant"), ("late/0", "user"), ("late/1", "assistant"),
    ]  # fmt: skip
    assert history.turns[0].at == datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
    assert {each.text: set(each.evidence) for each in history.questions} == {
        "What colour is my bike?": {"late/0", "late/1"}, "How do I get to work?": {"early/0"},
    }  # fmt: skip


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


def test_a_date_before_the_last_one_is_mended(tmp_path: Path) -> None:
    value = ada()
    value["Ada"][2]["time"] = "2025-01-01 (Wednesday)"
    data = load(written(tmp_path / "people.json", value))
    sessions = data.conversations[0].sessions
    assert [part.id for part in sessions] == ["s1", "s2", "s3"]
    assert sessions[1].at < sessions[2].at
    assert data.counts.dates_mended == 1


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
    "should be an object": ["a text"],
    "conversation should be dict, not missing": [{"qa": []}],
    "has no session_N": [{"conversation": {}, "qa": []}],
    "dia_id should be str": [changed(garden(), "conversation", "session_1", to=[{"speaker": "A", "text": "t"}])],
    "asks no question that has evidence": [garden() | {"qa": []}],
    "has the role 'narrator'": json.dumps(chat()).replace('"assistant"', '"narrator"'),
    "should be a date such as": json.dumps(chat()).replace("2024/03/02 (Sat) 10:00", "one day"),
    "two turns of the same dia_id": json.dumps([garden()]).replace("D1:2", "D1:1"),
    "Ada[0].time should be a date": changed(ada(), "Ada", 0, "time", to="one day"),
    "has the speaker 'Narrator'": changed(ada(), "Ada", 0, "turns", to=[{"speaker": "Narrator", "content": "x"}]),
}


@pytest.mark.parametrize("message", BAD)
def test_a_bad_file_is_told_what_is_wrong_with_it(tmp_path: Path, message: str) -> None:
    path = written(tmp_path / "bad.json", BAD[message])
    with pytest.raises(SystemExit) as error:
        load(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_what_cannot_be_read_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    for name in ("", "missing.json", "bytes.json"):
        with pytest.raises(SystemExit, match="cannot be read"):
            load(tmp_path / name)
    with pytest.raises(SystemExit, match=r"none\.json cannot be read"):
        presence_month.read(written(tmp_path / "none.json", "{"))
    for text in ("", "{", "[]", '[{"traj": [{"role": "user"}, 3]}]', '{"traj": 1}'):
        with pytest.raises(SystemExit, match="bad"):
            trajectories.load(written(tmp_path / "bad.json", text))


# cases of compaction


def test_a_conversation_becomes_a_history_of_user_and_assistant(tmp_path: Path) -> None:
    value = changed(talk(6), "conversation", "session_1", 1, "speaker", to="Nora")  # two in a row
    case = compaction_cases.conversation(load(written(tmp_path / "talk.json", [value])).conversations[0])
    assert [message.role for message in case.messages] == ["user", "assistant", "user", "assistant"]
    assert case.messages[0].text.count("I decided") == 3
    assert [asked.query for asked in case.asked] == ["Where does bababa stay?"]  # the adversarial one is out
    [story] = presence_month.read(written(tmp_path / "talk.json", [talk(3)]))
    assert [turn.agent[:9] for turn in story.turns] == ["I decided", "I see."]


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


STEP = {"thought": "I look first.", "action": "open till_1.py", "observation": "return int(price)"}


@pytest.mark.parametrize("value", [swe_agent_run(1), {"traj": {"trajectory": [STEP]}}], ids=["history", "trajectory"])
def test_runs_of_swe_agent_become_calls_and_results(tmp_path: Path, value: Any) -> None:
    (run,) = trajectories.load(written(tmp_path / "runs.jsonl", json.dumps(value)))
    asked, looked, found = run.messages[:3]
    assert (asked.role, looked.text, found.role) == ("user", "I look first.", "tool")
    assert [(call.name, dict(call.arguments)) for call in looked.tool_calls] == [
        ("open", {"command": "open till_1.py"})
    ]
    assert unpaired(run.messages) == []
