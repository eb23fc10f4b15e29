"""``tidal import``: histories of other programs, with times, threads and tool calls, and none twice."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli import histories
from tests.cli.conftest import Tidal
from tests.cli.histories import answered, asked, queued, transcript

DAY = "2026-03-02"

FORMATS: list[tuple[str, str, Callable[[Path], Path], str, str, tuple[Any, ...]]] = [
    ("claude-code", "cc-1.jsonl", histories.claude_code, "cc-1", "The wick is missing in lamp.c.",
     ("Bash", {"command": "make lamp"}, "lamp.c:3: no wick", True)),
    ("codex", "rollout-1.jsonl", histories.codex, "cx-1", "Both tests of the dam pass.",
     ("shell", {"command": ["pytest"]}, "2 passed", False)),
    ("gemini-cli", "session-1.json", histories.gemini_cli, "gm-1", "The door is missing in kiln.c.",
     ("run_shell_command", {"command": "make kiln"}, "kiln.c:8: no door", True)),
    ("gemini-cli", "session-1.jsonl", histories.gemini_cli, "gm-1", "The door is missing in kiln.c.",
     ("run_shell_command", {"command": "make kiln"}, "kiln.c:8: no door", True)),
    ("chatgpt", "conversations.json", histories.chatgpt, "gpt-1", "The harbour is seven metres deep.",
     ("python", {"input": "depth('harbour')"}, "7 metres", False)),
    ("claude-ai", "conversations.json", histories.claude_ai, "ai-1", "The ferry leaves at 17:40.",
     ("search", {"query": "ferry"}, "17:40", False)),
    ("langgraph", "saved.sqlite", histories.checkpoints, "mill", "You said: The old one is firewood.", ()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "write", "thread", "answer", "call"), FORMATS, ids=lambda case: None)
def test_each_format_is_told_read_with_its_calls_and_times_and_known_again(
    tidal: Tidal, tmp_path: Path, name: str, file: str, write: Any, thread: str, answer: str, call: Any
) -> None:  # fmt: skip
    path = write(tmp_path / file)
    done = tidal("import", str(path), "--json").data
    assert done["formats"] == {name: 1}
    assert (done["conversations"], done["known"], done["skipped"], done["tool_calls"]) == (1, 0, [], len(call) // 4)
    turns = tidal("history", "--thread", thread, "--json").data
    assert len(turns) == done["new"]
    assert turns[-1]["messages"][-1]["text"] == answer
    if call:
        [turn] = tidal("history", "--tool", call[0], "--json").data
        [asked] = [asked for message in turn["messages"] for asked in message["tool_calls"]]
        [told] = [message for message in turn["messages"] if message["role"] == "tool"]
        assert (asked["name"], asked["arguments"], told["text"], told["error"]) == call
        assert told["tool_call_id"] == asked["id"]
        assert turn["occurred_at"].startswith(DAY)
        assert all(message["at"].startswith(DAY) for message in turn["messages"])
    again = tidal("import", str(path), "--format", name, "--json").data
    assert (again["new"], again["grown"], again["known"]) == (0, 0, done["new"])
    assert tidal("history", "--thread", thread, "--json").data == turns


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


# what people and programs do to their histories


def said(tidal: Tidal, thread: str) -> list[str]:
    """Return what is said in a thread, in all its branches."""
    turns = tidal("history", "--thread", thread, "--json").data
    return [message["text"] for turn in turns for message in turn["messages"]]


def found(tidal: Tidal, query: str) -> str:
    """Return the texts that a recall brings up."""
    return "\n".join(hit["text"] for hit in tidal("recall", query, "--json").data["hits"])


@pytest.mark.parametrize(
    "prompt",
    [
        "Use metres, never feet, on every page.",
        [{"type": "text", "text": "Use metres, never feet, on every page."}],
        "<system-reminder>Be brief.</system-reminder>Use metres, never feet, on every page.",
    ],
)
def test_what_was_typed_while_the_agent_worked_is_said(tidal: Tidal, tmp_path: Path, prompt: Any) -> None:
    notice = queued("<task-notification>done</task-notification>")
    path = transcript(
        tmp_path / "q.jsonl",
        asked("Draw the harbour."),
        answered("I begin."),
        queued(prompt),
        notice,
        answered("Done."),
    )
    assert tidal("import", str(path)).code == 0
    assert said(tidal, "q") == ["Draw the harbour.", "I begin.", "Use metres, never feet, on every page.", "Done."]


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        (
            "<command-name>/review</command-name><command-args>the lighthouse page</command-args>",
            "/review the lighthouse page",
        ),
        ("<command-message>x</command-message><command-args>the buoys</command-args>", "the buoys"),
        ("<command-name>/clear</command-name>\n<command-args></command-args>", None),
    ],
)
def test_words_behind_a_command_are_said(tidal: Tidal, tmp_path: Path, typed: str, text: str | None) -> None:
    path = transcript(tmp_path / "c.jsonl", asked(typed), answered("The page is fine."))
    assert tidal("import", str(path)).code == 0
    assert said(tidal, "c") == ["The page is fine."] if text is None else [text, "The page is fine."]


BRANCHED: dict[str, Callable[[Path], Path]] = {
    "rewound.jsonl": histories.rewound,
    "edited-first.jsonl": histories.edited_first,
    "interrupted.jsonl": histories.interrupted,
    "regenerated.json": histories.regenerated,
    "rolled-back.jsonl": histories.rolled_back,
    "no-current.json": histories.edited_chat,
    "gone-current.json": lambda path: histories.edited_chat(path, current="nowhere"),
    "no-children.json": lambda path: histories.edited_chat(path, children=False),
    "current.json": lambda path: histories.edited_chat(path, current="f"),
}


@pytest.mark.parametrize("name", BRANCHED)
def test_the_branch_that_was_shown_last_is_current_and_others_leave_recall(
    tidal: Tidal, tmp_path: Path, name: str
) -> None:
    path = BRANCHED[name](tmp_path / name)
    for _ in range(2):
        assert tidal("import", str(path)).code == 0
        assert "turquoise" in found(tidal, "What colour is the hull painted?")
        assert "vermilion" not in found(tidal, "What colour is the hull painted?")
        assert sum("vermilion" in text for text in said(tidal, path.stem)) >= 1


def test_a_branch_that_is_shown_again_is_in_recall_again(tidal: Tidal, tmp_path: Path) -> None:
    for current, other, last in (("turquoise", "vermilion", "f"), ("vermilion", "turquoise", "d")):
        assert tidal("import", str(histories.edited_chat(tmp_path / "hull.json", current=last))).code == 0
        assert current in found(tidal, "What colour is the hull painted?")
        assert other not in found(tidal, "What colour is the hull painted?")


def test_a_fork_is_a_session_of_its_own_and_repeats_nothing(tidal: Tidal, tmp_path: Path) -> None:
    def item(text: str, role: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        said = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"timestamp": f"{DAY}T09:00:01Z", "type": "response_item", "payload": said}

    shared = [item("Which hull?", "user"), item("The long one.", "assistant")]
    parent = {"type": "session_meta", "payload": {"id": "old"}}
    fork = {"type": "session_meta", "payload": {"id": "new", "forked_from_id": "old"}}
    histories.lines(tmp_path / "rollout-1.jsonl", [parent, *shared])
    histories.lines(tmp_path / "rollout-2.jsonl", [fork, parent, *shared, item("And the mast?", "user")])
    done = tidal("import", str(tmp_path), "--format", "codex", "--json").data
    assert (done["new"], done["known"]) == (2, 1)
    assert said(tidal, "old") == ["Which hull?", "The long one."]
    assert said(tidal, "new") == ["And the mast?"]


@pytest.mark.parametrize("named", [True, False])
def test_a_fork_of_claude_code_repeats_nothing(tidal: Tidal, tmp_path: Path, named: bool) -> None:
    events = [asked("Which hull?"), answered("The long one.")]
    transcript(tmp_path / "a-old.jsonl", *events)
    more = {"forkedFrom": {"sessionId": "a-old", "messageUuid": "e1"}} if named else {}
    transcript(
        tmp_path / "b-new.jsonl",
        *[event | more for event in events],
        asked("And the mast?"),
        answered("Of larch."),
    )
    done = tidal("import", str(tmp_path), "--json").data
    assert (done["new"], done["known"]) == (2, 1)
    assert said(tidal, "b-new") == ["And the mast?", "Of larch."]


def test_an_export_in_several_files_is_read_whole(tidal: Tidal, tmp_path: Path) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for number in range(3):
            talk = histories.edited_chat(tmp_path / f"part-{number}.json").read_text("utf-8")
            file.writestr(f"conversations-{number:03}.json", talk)
    assert tidal("import", str(archive), "--json").data["conversations"] == 3


def test_what_was_dictated_is_said_and_a_picture_is_named(tidal: Tidal, tmp_path: Path) -> None:
    path = histories.edited_chat(tmp_path / "voice.json")
    [talk] = json.loads(path.read_text("utf-8"))
    spoken = {"content_type": "audio_transcription", "text": "The buoy by the mole is adrift."}
    parts = [
        spoken,
        {"content_type": "image_asset_pointer"},
        {"content_type": "real_time_user_audio_video_asset_pointer"},
    ]
    talk["mapping"]["e"]["message"]["content"] = {"content_type": "multimodal_text", "parts": parts}
    path.write_text(json.dumps([talk]), "utf-8")
    assert tidal("import", str(path)).code == 0
    [text] = [text for text in said(tidal, "voice") if "buoy" in text]
    assert text == "The buoy by the mole is adrift.\n[image]\n[real_time_user_audio_video]"


GOOD = {"role": "user", "content": "The mole is green."}
BAD: dict[str, tuple[str, Callable[[Path], list[Any]]]] = {
    "chatgpt": ("mapping", lambda path: [*chat("one", path), {"mapping": None}, 7, *chat("two", path)]),
    "claude-ai": ("chat_messages", lambda path: [*ai("one"), {"chat_messages": None}, {"uuid": "x"}, *ai("two")]),
    "claude-ai-message": ("message", lambda path: [*ai("one", 7, {"sender": "human"}), *ai("two")]),
    "jsonl": (
        "tool_calls",
        lambda path: [GOOD, {"role": "assistant", "content": "x", "tool_calls": 5}, {**GOOD, "thread": "two"}],
    ),
}


def chat(name: str, path: Path) -> list[Any]:
    [talk] = json.loads(histories.edited_chat(path.with_name(f"{name}.tmp")).read_text("utf-8"))
    return [{**talk, "id": name}]


def ai(name: str, *more: Any) -> list[Any]:
    said = {"uuid": f"{name}-1", "sender": "human", "text": "The mole is green.", "created_at": f"{DAY}T09:00:00Z"}
    return [{"uuid": name, "chat_messages": [*more, said]}]


@pytest.mark.parametrize("name", BAD)
def test_an_item_that_cannot_be_read_is_named_and_the_rest_is_read(tidal: Tidal, tmp_path: Path, name: str) -> None:
    told, write = BAD[name]
    path = tmp_path / "history.json"
    path.write_text(json.dumps(write(path)), "utf-8")
    done = tidal("import", str(path), "--json")
    assert done.code == 4
    assert done.data["new"] >= 2
    assert any(told in f"{each['file']} {each['reason']}" for each in done.data["skipped"])


@pytest.mark.parametrize("given", ["make lamp", '{"command": "make lamp"}', 5, None, ["make", "lamp"]])
def test_a_call_whose_arguments_are_no_object_loses_nothing(tidal: Tidal, tmp_path: Path, given: Any) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": given}
    path = transcript(
        tmp_path / "s.jsonl",
        asked("Build the lamp."),
        answered([call]),
        asked("And the door."),
        answered("Both stand."),
    )
    assert tidal("import", str(path)).code == 0
    assert [text for text in said(tidal, "s") if text] == ["Build the lamp.", "And the door.", "Both stand."]


def test_a_folder_with_the_memory_itself_is_imported_without_it(tidal: Tidal, tmp_path: Path) -> None:
    histories.rewound(tmp_path / "hull.jsonl")
    assert tidal("init").code == 0
    done = tidal("import", ".", "--json")
    assert done.code == 0
    assert (done.data["skipped"], done.data["passed_over"], done.data["conversations"]) == ([], [], 1)


def test_lines_that_stand_twice_in_a_transcript_leave_nothing(tidal: Tidal, tmp_path: Path) -> None:
    path = histories.rewound(tmp_path / "hull.jsonl")
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines, *lines]), "utf-8")
    assert tidal("import", str(path)).code == 0
    assert "turquoise" in found(tidal, "Which colour is painted?")
    assert "vermilion" not in found(tidal, "Which colour is painted?")


def test_messages_that_name_each_other_as_parents_are_read(tidal: Tidal, tmp_path: Path) -> None:
    path = histories.edited_chat(tmp_path / "hull.json")
    [talk] = json.loads(path.read_text("utf-8"))
    talk["mapping"]["e"]["parent"] = "f"
    path.write_text(json.dumps([talk]), "utf-8")
    assert tidal("import", str(path)).code == 0
    assert "Paint it turquoise." in said(tidal, "hull")


def test_a_message_with_the_uuid_of_another_is_named(tidal: Tidal, tmp_path: Path) -> None:
    path = histories.claude_ai(tmp_path / "conversations.json")
    talks = json.loads(path.read_text("utf-8"))
    talks[0]["chat_messages"].append({**talks[0]["chat_messages"][0], "text": "Another.", "content": []})
    path.write_text(json.dumps(talks), "utf-8")
    result = tidal("import", str(path))
    assert result.code == 4
    assert "another has its uuid" in result.out + result.err
