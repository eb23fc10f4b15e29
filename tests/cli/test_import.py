"""``tidal import``: histories of other programs, with times, threads and tool calls, and none twice."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli import histories
from tests.cli.conftest import Tidal

DAY = "2026-03-02"

FORMATS: list[tuple[str, str, Callable[[Path], Path], str, str]] = [
    ("claude-code", "cc-1.jsonl", histories.claude_code, "cc-1", "The wick is missing in lamp.c."),
    ("codex", "rollout-1.jsonl", histories.codex, "cx-1", "Both tests of the dam pass."),
    ("gemini-cli", "session-1.json", histories.gemini_cli, "gm-1", "The door is missing in kiln.c."),
    ("gemini-cli", "session-1.jsonl", histories.gemini_cli, "gm-1", "The door is missing in kiln.c."),
    ("chatgpt", "conversations.json", histories.chatgpt, "gpt-1", "The harbour is seven metres deep."),
    ("claude-ai", "conversations.json", histories.claude_ai, "ai-1", "The ferry leaves at 17:40."),
    ("langgraph", "saved.sqlite", histories.checkpoints, "mill", "You said: The old one is firewood."),
]


@pytest.mark.parametrize(("name", "file", "write", "thread", "answer"), FORMATS, ids=lambda case: None)
def test_each_format_is_told_read_and_known_again(
    tidal: Tidal, tmp_path: Path, name: str, file: str, write: Callable[[Path], Path], thread: str, answer: str
) -> None:
    path = write(tmp_path / file)
    done = tidal("import", str(path), "--json").data
    assert done["formats"] == {name: 1}
    assert (done["conversations"], done["known"], done["skipped"]) == (1, 0, [])
    turns = tidal("history", "--thread", thread, "--json").data
    assert len(turns) == done["new"]
    assert turns[-1]["messages"][-1]["text"] == answer
    again = tidal("import", str(path), "--format", name, "--json").data
    assert (again["new"], again["grown"], again["known"]) == (0, 0, done["new"])
    assert tidal("history", "--thread", thread, "--json").data == turns


@pytest.mark.parametrize(
    ("write", "file", "tool", "arguments", "result", "failed"),
    [
        (histories.claude_code, "a.jsonl", "Bash", {"command": "make lamp"}, "lamp.c:3: no wick", True),
        (histories.codex, "a.jsonl", "shell", {"command": ["pytest"]}, "2 passed", False),
        (histories.gemini_cli, "a.json", "run_shell_command", {"command": "make kiln"}, "kiln.c:8: no door", True),
        (histories.chatgpt, "a.json", "python", {"input": "depth('harbour')"}, "7 metres", False),
        (histories.claude_ai, "a.json", "search", {"query": "ferry"}, "17:40", False),
    ],
)
def test_tool_calls_come_with_their_results_and_times(
    tidal: Tidal, tmp_path: Path, write: Callable[[Path], Path], file: str, tool: str, arguments: object,
    result: str, failed: bool,
) -> None:  # fmt: skip
    assert tidal("import", str(write(tmp_path / file)), "--json").data["tool_calls"] == 1
    [turn] = tidal("history", "--tool", tool, "--json").data
    [call] = [call for message in turn["messages"] for call in message["tool_calls"]]
    [answer] = [message for message in turn["messages"] if message["role"] == "tool"]
    assert (call["name"], call["arguments"]) == (tool, arguments)
    assert (answer["tool_call_id"], answer["text"], answer["error"]) == (call["id"], result, failed)
    assert turn["occurred_at"].startswith(DAY)
    assert all(message["at"].startswith(DAY) for message in turn["messages"])


def test_a_session_that_went_on_gets_its_new_messages(tidal: Tidal, tmp_path: Path) -> None:
    path = tmp_path / "projects" / "lamps" / "cc-1.jsonl"
    tidal("import", str(histories.claude_code(path)))
    histories.claude_code(path, more=True)
    done = tidal("import", "projects", "--format", "claude-code", "--json").data
    assert (done["grown"], done["new"], done["known"]) == (1, 1, 0)
    first, second = tidal("history", "--thread", "cc-1", "--json").data
    assert [message["text"] for message in first["messages"] if message["role"] == "assistant"][-1] == (
        "I have added the wick."
    )
    assert second["messages"][0]["text"] == "Which oil does it burn?"


def test_what_programs_say_in_the_users_name_is_left_out(tidal: Tidal, tmp_path: Path) -> None:
    histories.claude_code(tmp_path / "all" / "a.jsonl")
    histories.codex(tmp_path / "all" / "b.jsonl")
    tidal("import", "all")
    asked = [
        message["text"]
        for turn in tidal("history", "--json").data
        for message in turn["messages"]
        if message["role"] == "user"
    ]
    assert sorted(asked) == ["Build the lamp, please.", "Do the tests of the dam pass?"]
    assert "pond" not in tidal("history", "--full").out


def test_two_people_speak_by_their_names(tidal: Tidal, tmp_path: Path) -> None:
    assert tidal("import", str(histories.locomo(tmp_path / "boats.json")), "--json").data["new"] == 2
    first, second = tidal("history", "--thread", "boats/session_1", "--json").data
    assert [message["speaker"] for message in first["messages"]] == ["Iris", "Tom"]
    assert second["messages"][0]["text"] == "To the baker."
    assert datetime.fromisoformat(first["occurred_at"]).isoformat() == "2025-05-04T14:15:00+00:00"
    assert "Tom: To whom?" in tidal("history").out


def test_messages_by_line_name_their_threads(tidal: Tidal, tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weigh", "arguments": '{"what": "anchor"}'}}
    said = [
        {"role": "system", "content": "Be kind.", "thread": "a"},
        {"role": "user", "content": "How heavy is the anchor?", "thread": "a", "timestamp": 1772442000},
        {"role": "user", "content": "Paint the hull green.", "thread": "b", "name": "Iris"},
        {"role": "assistant", "content": None, "tool_calls": [call], "thread": "a"},
        {"role": "tool", "tool_call_id": "c1", "content": "90 kg", "thread": "a"},
        {"role": "assistant", "content": "Ninety kilograms.", "thread": "a"},
    ]
    histories.lines(tmp_path / "said.jsonl", said)
    assert tidal("import", "said.jsonl", "--json").data["conversations"] == 2
    [turn] = tidal("history", "--thread", "a", "--json").data
    assert [message["role"] for message in turn["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert turn["occurred_at"].startswith(DAY)
    histories.lines(tmp_path / "said.jsonl", [*said, {"role": "user", "content": "And the chain?", "thread": "a"}])
    assert tidal("import", "said.jsonl", "--json").data["new"] == 1


def test_lists_of_messages_are_conversations(tidal: Tidal, tmp_path: Path) -> None:
    talks = [
        {"messages": [{"role": "user", "content": f"Knot {n}?"}, {"role": "assistant", "content": "A bowline."}]}
        for n in range(3)
    ]
    histories.lines(tmp_path / "talks.jsonl", talks)
    done = tidal("import", "talks.jsonl", "--json").data
    assert (done["conversations"], done["new"]) == (3, 3)
    (tmp_path / "one.json").write_text(json.dumps(talks[0]["messages"]))
    assert tidal("import", "one.json", "--json").data["new"] == 1


def test_an_archive_is_read_as_it_is(tidal: Tidal, tmp_path: Path) -> None:
    inner = histories.chatgpt(tmp_path / "conversations.json")
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.write(inner, "conversations.json")
    assert tidal("import", "export.zip", "--json").data["formats"] == {"chatgpt": 1}


def test_what_is_no_history_is_told(tidal: Tidal, tmp_path: Path) -> None:
    (tmp_path / "letter.json").write_text('{"dear": "reader"}')
    (tmp_path / "broken.json").write_text("[{")
    done = tidal("import", "letter.json", "broken.json", "nowhere.json", "--json")
    assert done.code == 4
    assert {each["file"] for each in done.data["skipped"]} == {"letter.json", "broken.json", "nowhere.json"}
    assert tidal("import").code == 2
    assert tidal("import", "letter.json", "--format", "telegram").code == 2


def test_files_of_a_folder_that_are_no_histories_are_named(tidal: Tidal, tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    histories.chatgpt(folder / "gpt.json")
    (folder / "letter.json").write_text('{"dear": "reader"}')
    whole = (folder / "gpt.json").read_text()
    (folder / "half.json").write_text(f"{whole[:-1]}, {whole[1:-20]}")  # the second conversation is cut
    done = tidal("import", "exports", "--json")
    assert [Path(each).name for each in done.data["passed_over"]] == ["letter.json"]
    [skipped] = done.data["skipped"]
    assert (Path(skipped["file"]).name, skipped["reason"]) == ("half.json", "it is no JSON, or its end is missing")
    assert done.code == 4
    assert "letter.json" in tidal("import", "exports").out


def test_a_turn_that_was_forgotten_stays_so(tidal: Tidal, tmp_path: Path) -> None:
    path = str(histories.codex(tmp_path / "rollout.jsonl"))
    tidal("import", path)
    assert tidal("forget", "--thread", "cx-1", "--yes").code == 0
    assert tidal("import", path, "--json").data["forgotten"] == 1
    assert tidal("history").code == 3
