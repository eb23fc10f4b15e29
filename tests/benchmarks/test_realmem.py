"""RealMem's people, as the recall benchmark reads and asks them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.locomo import Conversation, load

ROOT = Path(__file__).resolve().parents[2]
LOOP = "The user wants the classic loop."
MERGED = "The user likes loops."


def session(id_: str, day: str, *texts: str, **fields: Any) -> dict[str, Any]:
    turns = [{"speaker": ("User", "Assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    return {"session": id_, "time": f"{day} (Monday)", "turns": turns, "memories": [], **fields}


def memory(session: str, content: str, turn: int) -> dict[str, Any]:
    return {"session": session, "content": content, "turn": turn}


def ada() -> dict[str, Any]:
    """A person who plans a trip. Her one query uses a memory of one turn, a merged one, and one of a later session."""
    asked = session("s2", "2026-01-05", "We settled on the loop. What's next?", "The ferry.")
    asked["turns"][0]["is_query"] = True
    used = [("s1", LOOP), ("s1", MERGED), ("s3", "The ferry is booked.")]
    asked["turns"][1]["memory_used"] = [{"session_uuid": id_, "content": content} for id_, content in used]
    planned = [memory("s1", LOOP, 3), memory("s1", MERGED, 0)]
    return {
        "Ada": [
            session("s1", "2026-01-05", "A trip, then.", "Which loop?", "The classic loop.", memories=planned),
            asked,
            session("s3", "2026-02-02", "Booked the ferry.", memories=[memory("s3", "The ferry is booked.", 1)]),
        ]
    }


def written(folder: Path, value: Any) -> Path:
    path = folder / "people.json"
    path.write_text(json.dumps(value), "utf-8")
    return path


def read(folder: Path, value: Any) -> Conversation:
    (person,) = load(written(folder, value)).conversations
    return person


def test_evidence_is_the_turns_of_earlier_sessions_that_memories_come_from(tmp_path: Path) -> None:
    data = load(written(tmp_path, ada()))
    (question,) = data.conversations[0].questions
    assert (question.text, question.evidence) == ("We settled on the loop. What's next?", {"s1:3"})
    assert data.counts.evidence_skipped == 2


def test_a_query_is_asked_before_its_own_session_is_known(tmp_path: Path) -> None:
    ((at, known, new),) = read(tmp_path, ada()).moments()
    assert [part.id for part in known.sessions] == [part.id for part in new] == ["s1"]
    assert all(turn.at < at for turn in known.turns)


def test_a_date_before_the_last_one_is_mended(tmp_path: Path) -> None:
    value = ada()
    value["Ada"][2]["time"] = "2025-01-01 (Wednesday)"
    data = load(written(tmp_path, value))
    sessions = data.conversations[0].sessions
    assert [part.id for part in sessions] == ["s1", "s2", "s3"]
    assert sessions[1].at < sessions[2].at
    assert data.counts.dates_mended == 1


def test_sessions_of_one_day_keep_their_order(tmp_path: Path) -> None:
    first, second, _ = read(tmp_path, ada()).sessions
    assert first.at < first.turns[-1].at < second.at


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": "one day"}, "Ada[0].time should be a date"),
        ({"turns": [{"speaker": "Narrator", "content": "x"}]}, "has the speaker 'Narrator'"),
    ],
)
def test_a_bad_file_is_told_what_is_wrong_with_it(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    value = ada()
    value["Ada"][0] |= change
    with pytest.raises(SystemExit) as error:
        load(written(tmp_path, value))
    assert message in str(error.value)


def test_the_command_asks_each_turn_at_its_time(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    run = [sys.executable, str(ROOT / "benchmarks" / "retrieval.py"), "--embedder", "hashing", "--no-ablation"]
    done = subprocess.run(
        [*run, "--data", written(tmp_path, ada()), "--json", out], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (asked,) = json.loads(out.read_text("utf-8"))["files"][0]["asked"]
    assert asked["ranks"]["balanced"][0] in (1, 2, 3)
