"""The recall benchmark: what it reads, what it computes, and that the command runs."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.locomo import ADVERSARIAL, Counts, Data, Question, load, pooled
from benchmarks.metrics import METRICS, difference, ndcg, ranks_of, recall, reciprocal_rank, scores, summary
from benchmarks.retrieval_outcomes import Asked, Report, held_out

ROOT = Path(__file__).resolve().parents[2]


def turn(dia_id: str, speaker: str, text: str) -> dict[str, str]:
    return {"dia_id": dia_id, "speaker": speaker, "text": text, "blip_caption": "a caption that stays out"}


def question(text: str, evidence: Any, category: int = 4) -> dict[str, Any]:
    return {"question": text, "answer": "an answer", "evidence": evidence, "category": category}


def garden() -> dict[str, Any]:
    """A conversation whose questions cite their evidence in every way that is met in the wild."""
    return {
        "sample_id": "garden",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_2_date_time": "12:05 am on 3 June, 2024",
            "session_2": [turn("D2:1", "Ben", "The fox dug up my tulips."), turn("D2:2", "Ada", "Put wire over them.")],
            "session_1_date_time": "1:56 pm on 8 May, 2024",
            "session_1": [
                turn("D1:1", "Ada", "I planted eleven quince trees."),
                turn("D1:2", "Ben", "My tulips are late."),
                turn("D1:3", "Ada", "  "),
            ],
            "session_3_date_time": "1:00 pm on 9 July, 2024",
        },
        "qa": [
            question("How many quince trees did Ada plant?", ["D1:1"]),
            question("What happened to the tulips?", ["D1:2; D2:1"], category=1),
            question("Who protects tulips?", ["D:2:1 D2:02", "D9:9"], category=2),
            question("Is there anything more?", ["D"]),
            question("Nothing at all?", []),
            question("Did Ben plant quinces?", "D1:1", category=5),
        ],
    }


def chat() -> dict[str, Any]:
    return {
        "data": [
            {
                "id": "late",
                "question_type": "single-session-user",
                "conversation": [
                    {"role": "user", "content": "My bike is green.", "date": "2024/03/02 (Sat) 10:00"},
                    {"role": "assistant", "content": "A fine colour.", "date": "2024/03/02 (Sat) 10:00"},
                ],
                "questions": [{"id": "q1", "question": "What colour is my bike?", "answer": "green"}],
            },
            {
                "id": "early",
                "question_type": "multi-session",
                "conversation": [
                    {
                        "role": "user",
                        "content": "I ride to work.",
                        "date": "2024/03/01 (Fri) 09:30",
                        "has_answer": True,
                    },
                    {"role": "assistant", "content": "Good for you.", "date": "2024/03/01 (Fri) 09:30"},
                ],
                "questions": [{"id": "q2", "question": "How do I get to work?", "answer": "by bike"}],
            },
        ]
    }


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


# reading


def test_sessions_come_in_order_of_time_with_aware_dates(tmp_path: Path) -> None:
    (conversation,) = load(written(tmp_path / "garden.json", [garden()])).conversations
    assert [session.id for session in conversation.sessions] == ["session_1", "session_2"]
    assert conversation.sessions[0].at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert conversation.sessions[1].at == datetime(2024, 6, 3, 0, 5, tzinfo=UTC)
    assert conversation.end > max(turn.at for turn in conversation.turns)


def test_turns_keep_id_speaker_and_text_and_blank_ones_are_counted(tmp_path: Path) -> None:
    data = load(written(tmp_path / "garden.json", [garden()]))
    first, *_ = turns = data.conversations[0].turns
    assert (first.id, first.speaker, first.role, first.text) == (
        "D1:1",
        "Ada",
        "user",
        "I planted eleven quince trees.",
    )
    assert [turn.id for turn in turns] == ["D1:1", "D1:2", "D2:1", "D2:2"]
    assert data.counts.turns_without_text == 1


def test_malformed_evidence_is_mended_or_skipped_and_counted(tmp_path: Path) -> None:
    data = load(written(tmp_path / "garden.json", [garden()]))
    evidence = [set(question.evidence) for question in data.conversations[0].questions]
    assert evidence == [{"D1:1"}, {"D1:2", "D2:1"}, {"D2:1", "D2:2"}, {"D1:1"}]
    assert data.counts.evidence_repaired == 2  # "D1:2; D2:1" and "D:2:1 D2:02"
    assert data.counts.evidence_skipped == 2  # "D9:9", which no turn has, and "D"
    assert data.counts.questions_without_evidence == 2


@pytest.mark.parametrize("given", ["D1:1,D2:1", " D1:1 ;D2:1", "D1:1 D2:1", "(D1:01), d2:1", "D 1 : 1 D:2:1"])
def test_every_spelling_of_two_ids_is_read(tmp_path: Path, given: str) -> None:
    value = garden() | {"qa": [question("Both?", [given])]}
    (asked,) = load(written(tmp_path / "garden.json", [value])).conversations[0].questions
    assert asked.evidence == {"D1:1", "D2:1"}


def test_categories_have_names(tmp_path: Path) -> None:
    questions = load(written(tmp_path / "garden.json", [garden()])).conversations[0].questions
    assert [question.category for question in questions] == ["4 single-hop", "1 multi-hop", "2 temporal", ADVERSARIAL]


def test_speakers_called_by_their_role_get_it(tmp_path: Path) -> None:
    value = json.loads(json.dumps(garden()).replace('"Ada"', '"user"').replace('"Ben"', '"assistant"'))
    turns = load(written(tmp_path / "chat.json", [value])).conversations[0].turns
    assert [(turn.role, turn.speaker) for turn in turns[:2]] == [("user", None), ("assistant", None)]


def test_a_long_mem_eval_sample_is_one_history(tmp_path: Path) -> None:
    (history,) = load(written(tmp_path / "sample.json", chat())).conversations
    assert [turn.id for turn in history.turns] == ["early/0", "early/1", "late/0", "late/1"]
    assert [turn.role for turn in history.turns] == ["user", "assistant"] * 2
    assert history.turns[0].at == datetime(2024, 3, 1, 9, 30, tzinfo=UTC)


def test_marked_messages_are_the_evidence_and_else_the_whole_conversation(tmp_path: Path) -> None:
    (history,) = load(written(tmp_path / "sample.json", chat())).conversations
    assert {question.text: set(question.evidence) for question in history.questions} == {
        "What colour is my bike?": {"late/0", "late/1"},
        "How do I get to work?": {"early/0"},
    }


def test_pooling_keeps_ids_apart(tmp_path: Path) -> None:
    other = garden() | {"sample_id": "orchard"}
    pool = pooled("pool", load(written(tmp_path / "two.json", [garden(), other])).conversations)
    assert len({turn.id for turn in pool.turns}) == len(pool.turns) == 8
    known = {turn.id for turn in pool.turns}
    assert all(question.evidence <= known for question in pool.questions)


def _without(key: str) -> dict[str, Any]:
    value = garden()
    del value["conversation"][key]
    return value


BAD = {
    "is not JSON": "{",
    "the file should be a list": {"rows": []},
    "garden.session_1_date_time should be a date": [_without("session_1_date_time")],
    "should be an object": ["a text"],
    "conversation should be dict, not missing": [{"qa": []}],
    "has no session_N": [{"conversation": {}, "qa": []}],
    "dia_id should be str": [
        {"conversation": {**garden()["conversation"], "session_1": [{"speaker": "A", "text": "t"}]}}
    ],
    "asks no question that has evidence": [garden() | {"qa": []}],
    "has the role 'narrator'": json.dumps(chat()).replace('"assistant"', '"narrator"'),
    "should be a date such as": json.dumps(chat()).replace("2024/03/02 (Sat) 10:00", "one day"),
    "two turns of the same dia_id": json.dumps([garden()]).replace("D1:2", "D1:1"),
}


@pytest.mark.parametrize("message", BAD)
def test_a_bad_file_is_told_what_is_wrong_with_it(tmp_path: Path, message: str) -> None:
    path = written(tmp_path / "bad.json", BAD[message])
    with pytest.raises(SystemExit) as error:
        load(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("name", ["", "missing.json"])
def test_what_is_no_file_is_told_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(SystemExit, match="cannot be read"):
        load(tmp_path / name)


def test_bytes_that_are_no_text_are_told_so(tmp_path: Path) -> None:
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SystemExit, match="cannot be read"):
        load(tmp_path / "bytes.json")


# computing


def test_ranks_are_those_within_the_first_ten() -> None:
    ranking = [f"D1:{number}" for number in range(1, 13)]
    assert ranks_of(["D1:1", "D1:10", "D1:11", "D9:9"], ranking) == [1, 10, None, None]


@pytest.mark.parametrize(("k", "expected"), [(1, 0.25), (3, 0.25), (5, 0.5), (10, 0.75)])
def test_recall_is_the_share_of_the_evidence(k: int, expected: float) -> None:
    assert recall([1, 4, 9, None], k) == expected


def test_reciprocal_rank_is_of_the_first_found() -> None:
    assert reciprocal_rank([None, 4, 2]) == 0.5
    assert reciprocal_rank([None]) == 0


def test_ndcg_compares_with_all_evidence_first() -> None:
    assert ndcg([1, 2]) == pytest.approx(1)
    assert ndcg([3, None]) == pytest.approx((1 / 2) / (1 + 1 / math.log2(3)))
    ideal = sum(1 / math.log2(place + 1) for place in range(1, 11))
    assert ndcg([2, *[None] * 23]) == pytest.approx(1 / math.log2(3) / ideal)  # of 24, ten could stand in the first ten


def test_scores_stand_in_the_order_of_their_names() -> None:
    found = dict(zip(METRICS, scores([2, None]), strict=True))
    assert found["recall@1"] == found["hit@1"] == 0
    assert (found["recall@3"], found["hit@3"], found["mrr@10"]) == (0.5, 1, 0.5)


def test_intervals_hold_the_mean_and_repeat() -> None:
    rows = [scores([rank]) for rank in (1, 2, 4, None) * 25]
    figures = summary(rows)
    assert figures["recall@1"]["mean"] == 25
    assert figures["recall@1"]["low"] < 25 < figures["recall@1"]["high"]
    assert figures["recall@1"]["high"] - figures["recall@1"]["low"] == pytest.approx(2 * 1.96 * 4.33, abs=1.5)
    assert summary(rows) == figures


def test_a_difference_is_paired_by_question() -> None:
    better, worse = [scores([1])] * 9 + [scores([None])], [scores([2])] * 9 + [scores([None])]
    assert difference(better, worse)["recall@1"]["mean"] == 90
    assert difference(better, better)["recall@1"] == {"mean": 0, "low": 0, "high": 0}


# the command


def test_the_command_prints_tables_and_writes_every_rank(tmp_path: Path) -> None:
    data, out = written(tmp_path / "garden.json", [garden()]), tmp_path / "out.json"
    run = [sys.executable, str(ROOT / "benchmarks" / "retrieval.py"), "--embedder", "hashing"]
    done = subprocess.run([*run, "--data", data, "--json", out], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "3 questions and 1 adversarial ones" in done.stdout
    assert "2 evidence ids repaired, 2 skipped" in done.stdout
    assert "Recall with two hops" in done.stdout
    assert "Recall with associations" in done.stdout
    assert "The whisper, balanced: area under the curve" in done.stdout
    (figures,) = json.loads(out.read_text("utf-8"))["files"]
    found = figures["arms"]["keywords only"]["overall"]["recall@10"]["mean"]
    assert found == pytest.approx(250 / 3, abs=0.01)  # «Put wire over them» shares no word with its question
    assert {"plain RRF", "vectors only", "balanced", "tidal", "attention"} <= figures["arms"].keys()
    assert "no keywords" in figures["ablation"]
    assert len(figures["asked"]) == 4
    assert figures["asked"][0]["ranks"]["keywords only"] == [1]


def test_each_conversation_is_held_out_of_choosing_its_step() -> None:
    def asked(conversation: str, balanced: int, step: int) -> Asked:
        item = Asked(conversation, Question("why?", "4 single-hop", frozenset({"a"})), ["a"])
        item.ranks = {"balanced": [balanced], "step": [step]}
        return item

    report = Report(Data("file", [], Counts()), ["balanced"], ["step"])
    report.asked = [asked("one", 1, 2), asked("two", 2, 1), asked("three", 2, 1)]
    held = {part.name: part for part in held_out(report)}
    assert [held[name].chosen for name in ("one", "two", "three")] == ["step", "balanced", "balanced"]
    assert held["one"].own == [scores([1])]
    assert held["one"].rows == [scores([2])]
    report.asked = report.asked[:1]
    assert held_out(report) == []


def test_the_command_leaves_out_what_it_is_told_to(tmp_path: Path) -> None:
    data, out = written(tmp_path / "sample.json", chat()), tmp_path / "out.json"
    run = [sys.executable, str(ROOT / "benchmarks" / "retrieval.py"), "--embedder", "hashing", "--no-ablation"]
    options = ["--profiles", "balanced", "--limit-questions", "1", "--json", out]
    done = subprocess.run([*run, "--data", data, *options], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (figures,) = json.loads(out.read_text("utf-8"))["files"]
    assert len(figures["asked"]) == 1
    assert figures["ablation"] == {}
    assert "tidal" not in figures["arms"]


def test_a_bad_file_ends_the_command_with_one_line(tmp_path: Path) -> None:
    data = written(tmp_path / "bad.json", "[]")
    run = [sys.executable, str(ROOT / "benchmarks" / "retrieval.py"), "--embedder", "hashing", "--data", data]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "asks no question" in done.stderr
