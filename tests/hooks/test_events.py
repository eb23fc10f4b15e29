"""Hooks of coding agents: their sessions are recorded once, and come back in time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli import histories
from tests.hooks import sessions
from tests.hooks.conftest import ROOT, Agent
from tidal_plugins import HashingEmbedder, TidalMemory, ToolCall
from tidal_plugins.apps.histories import reader_of
from tidal_plugins.apps.hooks import recording, root_of

AGENTS: list[tuple[Callable[[Path], Path], str, str, tuple[str, str, str]]] = [
    (histories.claude_code, "cc-1.jsonl", "cc-1", ("UserPromptSubmit", "PreCompact", "Stop")),
    (histories.codex, "rollout-1.jsonl", "cx-1", ("UserPromptSubmit", "PreCompact", "Stop")),
    (histories.gemini_cli, "session-1.json", "gm-1", ("BeforeAgent", "PreCompress", "AfterAgent")),
    (histories.gemini_cli, "session-1.jsonl", "gm-1", ("BeforeAgent", "PreCompress", "AfterAgent")),
]


@pytest.mark.parametrize(("write", "file", "session", "names"), AGENTS, ids=[each[1] for each in AGENTS])
def test_a_session_that_is_replayed_twice_is_there_once(
    agent: Agent, tmp_path: Path, write: Callable[[Path], Path], file: str, session: str, names: tuple[str, str, str]
) -> None:
    prompt, compact, stop = names
    path, found = str(write(tmp_path / file)), []
    for _ in range(2):
        agent.hook("SessionStart", session, source="startup", transcript_path=path)
        agent.hook(prompt, session, prompt="Go on, please.", transcript_path=path)
        agent.hook(stop, session, transcript_path=path, stop_hook_active=False)
        agent.hook(compact, session, transcript_path=path, trigger="auto")
        if write is not histories.codex:  # which has no such event
            agent.hook("SessionEnd", session, transcript_path=path, reason="exit")
        found.append(agent.episodes())
    assert agent.log == ""
    assert found[0] == found[1]
    [episode] = found[0]
    assert episode.thread == session
    assert [message.role for message in episode.messages].count("tool") == 1


LONG: list[tuple[Callable[[Path], Path], tuple[str, ...]]] = [
    (sessions.claude_code, ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")),
    (sessions.codex, ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact")),
    (sessions.gemini_cli, ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd")),
]


@pytest.mark.parametrize(("write", "events"), LONG, ids=["claude-code", "codex", "gemini-cli"])
def test_a_session_that_grows_is_recorded_as_it_was_said_and_once(
    agent: Agent, tmp_path: Path, write: Callable[[Path], Path], events: tuple[str, ...]
) -> None:
    path = write(tmp_path / "long.jsonl")
    whole = path.read_bytes()
    own = {"turn_id": "turn-1", "model": "a model"} if write is sessions.codex else {}
    for part in (len(whole) // 3, len(whole) * 2 // 3, len(whole), len(whole)):
        path.write_bytes(whole[:part])
        for event in events:
            agent.hook(event, "long", transcript_path=str(path), prompt="Go on, please.", source="startup", **own)
    found = agent.episodes()
    assert agent.log == ""
    assert [(each.messages[0].text, each.messages[-1].text) for each in found] == list(sessions.TURNS)
    assert {each.thread for each in found} == {"long"}
    results = [message.text for each in found for message in each.messages if message.role == "tool"]
    assert results == [f"seen {number}" for number in range(len(sessions.TURNS))]
    assert not any(sessions.HIDDEN in message.text for each in found for message in each.messages)
    assert any(message.reasoning == sessions.HIDDEN for each in found for message in each.messages)


def test_another_session_is_reminded_and_the_same_one_is_not(agent: Agent, tmp_path: Path) -> None:
    path = str(histories.claude_code(tmp_path / "cc-1.jsonl"))
    agent.hook("Stop", "cc-1", transcript_path=path)
    asked = {"prompt": "Which part was missing in lamp.c?"}
    assert "The wick is missing in lamp.c." in agent.added("UserPromptSubmit", **asked)
    assert "The wick is missing in lamp.c." in agent.added("BeforeAgent", **asked)
    assert "wick" not in agent.hook("UserPromptSubmit", "cc-1", **asked)
    assert agent.hook("UserPromptSubmit", prompt="thanks!") == ""


def test_what_surfaced_is_noted_with_its_turn(agent: Agent, tmp_path: Path) -> None:
    agent.hook("Stop", "cc-1", transcript_path=str(histories.claude_code(tmp_path / "cc-1.jsonl")))
    text = "Which part was missing in lamp.c?"
    agent.hook("UserPromptSubmit", "later", prompt=text)
    event = {"type": "user", "uuid": "v1", "sessionId": "later", "message": {"role": "user", "content": text}}
    agent.hook("Stop", "later", transcript_path=str(histories.lines(tmp_path / "later.jsonl", [event])))
    [episode] = agent.episodes("later")
    assert episode.surfaced != ()


@pytest.mark.parametrize("kind", ["claude-code", "gemini-cli"])
def test_a_turn_of_hours_is_recorded_in_parts_as_it_goes_on(agent: Agent, tmp_path: Path, kind: str) -> None:
    def result(number: int) -> str:
        return f"Shelf {number} has cups. " * 400

    if kind == "gemini-cli":
        stop, values = "AfterAgent", [{"sessionId": "work", "projectHash": "ab12"}, _asked("Count the cups.")]
        values += [_ran(number, result(number)) for number in range(30)]
    else:
        stop, values = "Stop", [_event("work", "0", "user", "Count the cups.")]
        for number in range(30):
            values.append(_event("work", f"{number}a", "assistant", _call(f"call-{number}", f"shelf-{number}.txt")))
            values.append(_event("work", f"{number}b", "user", _result(f"call-{number}", result(number))))
    whole = histories.lines(tmp_path / "whole.jsonl", values).read_bytes().splitlines(keepends=True)
    path = tmp_path / "work.jsonl"
    for end in (len(whole) // 3, len(whole) // 2, len(whole), len(whole)):
        path.write_bytes(b"".join(whole[:end]))
        agent.hook(stop, "work", transcript_path=str(path))
    found = agent.episodes("work")
    assert len(found) == 3
    assert [message.text for each in found for message in each.messages if message.role == "tool"] == [
        result(number) for number in range(30)
    ]
    for each in found:
        calls = [call.id for message in each.messages for call in message.tool_calls]
        assert calls == [message.tool_call_id for message in each.messages if message.role == "tool"]
    [read] = reader_of(kind)(path)  # as it is imported
    assert [len(turn) for turn in read.turns] == [len(each.messages) for each in found]
    assert agent.log == ""


def _asked(text: str) -> dict[str, object]:
    return {"id": "q", "type": "user", "content": [{"text": text}]}


def _ran(number: int, result: str) -> dict[str, object]:
    response = {"functionResponse": {"id": f"run-{number}", "response": {"output": result}}}
    call = {
        "id": f"run-{number}",
        "name": "read_file",
        "args": {"path": "a"},
        "status": "success",
        "result": [response],
    }
    return {"id": f"a{number}", "type": "gemini", "content": "", "toolCalls": [call]}


def test_a_question_behind_a_result_in_one_line_is_recorded_once(agent: Agent, tmp_path: Path) -> None:
    both = [*_result("call-0"), {"type": "text", "text": "Stop, which lamp is that?"}]
    events = [
        _event("line", "0", "user", "Oil the lamp."),
        _event("line", "1", "assistant", _call("call-0", "lamp.py")),
        _event("line", "2", "user", "[Request interrupted by user for tool use]"),
        _event("line", "3", "user", both),
    ]
    more = [_event("line", "4", "assistant", [{"type": "text", "text": "The one in the hall."}])]
    for values in (events, events + more, events + more):
        agent.hook("Stop", "line", transcript_path=str(histories.lines(tmp_path / "line.jsonl", values)))
    first, second = agent.episodes("line")
    assert [message.role for message in first.messages] == ["user", "assistant", "tool"]
    assert [message.text for message in second.messages] == ["Stop, which lamp is that?", "The one in the hall."]


def test_a_memory_that_somebody_deleted_is_recorded_anew(agent: Agent, tmp_path: Path) -> None:
    path = str(histories.claude_code(tmp_path / "cc-1.jsonl", more=True))
    agent.hook("Stop", "cc-1", transcript_path=path)
    for file in agent.db.parent.glob("tidal.db*"):
        if file.is_file():
            file.unlink()
    agent.hook("Stop", "cc-1", transcript_path=path)
    assert len(agent.episodes("cc-1")) == 2


def test_a_compaction_leaves_where_the_turns_are(agent: Agent, tmp_path: Path) -> None:
    path = str(histories.claude_code(tmp_path / "cc-1.jsonl"))
    told = agent.hook("PreCompact", "cc-1", transcript_path=path, trigger="manual")
    [episode] = agent.episodes("cc-1")
    assert f"[{episode.citation}]" in told
    assert f"[{episode.citation}]" in agent.added("SessionStart", "cc-1", source="compact")
    assert "wick" in agent.hook("UserPromptSubmit", "cc-1", prompt="Which part was missing in lamp.c?")


def test_a_compaction_tells_the_work_of_its_own_session_and_the_rules_of_all(agent: Agent, tmp_path: Path) -> None:
    def path(session: str, *turns: tuple[str, str, str]) -> str:
        events = [
            event
            for number, (asked, file, answered) in enumerate(turns)
            for event in (
                _event(session, f"{number}a", "user", asked),
                _event(session, f"{number}b", "assistant", _call(f"call-{number}", file)),
                _event(session, f"{number}c", "user", _result(f"call-{number}")),
                _event(session, f"{number}d", "assistant", [{"type": "text", "text": answered}]),
            )
        ]
        return str(histories.lines(tmp_path / f"{session}.jsonl", events))

    lamp = path("lamp", ("Make the lamp dimmer.", "lamp.py", "I've made the lamp dim slowly."))
    door = path("door", ("From now on never paint a door red. Oil the hinges.", "door.py", "I've oiled both hinges."))
    agent.hook("Stop", "lamp", transcript_path=lamp)
    agent.hook("Stop", "door", transcript_path=door)
    told = agent.hook("PreCompact", "lamp", transcript_path=lamp)
    assert "lamp.py" in told
    assert not any(other in told for other in ("door.py", "hinges."))
    assert told.count("never paint a door red") == 1
    assert "Rules and decisions" not in agent.hook("PreCompact", "door", transcript_path=door)  # they stand there once


def _event(session: str, id_: str, kind: str, content: object) -> dict[str, object]:
    about = {"type": kind, "uuid": f"{session}-{id_}", "sessionId": session}
    at = datetime.now(UTC).isoformat()  # the work of the last weeks alone is told
    return {**about, "timestamp": at, "message": {"role": kind, "content": content}}


def _call(id_: str, file: str) -> list[dict[str, object]]:
    given = {"file_path": file, "old_string": "a", "new_string": "b"}
    return [{"type": "tool_use", "id": id_, "name": "Edit", "input": given}]


def _result(id_: str, text: str = "The file has been updated.") -> list[dict[str, object]]:
    return [{"type": "tool_result", "tool_use_id": id_, "content": text}]


def test_an_agent_that_starts_no_session_after_a_compaction_is_told_at_the_next_prompt(
    agent: Agent, tmp_path: Path
) -> None:
    path = str(histories.gemini_cli(tmp_path / "session-1.json"))
    assert agent.hook("PreCompress", "gm-1", transcript_path=path, trigger="auto") == ""
    [episode] = agent.episodes("gm-1")
    assert f"[{episode.citation}]" in agent.added("BeforeAgent", "gm-1", prompt="Go on, please.")
    assert agent.hook("BeforeAgent", "gm-1", prompt="thanks!") == ""


def test_a_session_starts_with_the_work_and_with_open_contradictions(agent: Agent) -> None:
    agent.db.parent.mkdir()
    with TidalMemory(agent.db, embedder=HashingEmbedder()) as memory:
        memory.facts["port"] = "8080"
        memory.record("port = 9090, from now on", "Noted.", thread="old")
        ran = ToolCall("Bash", {"command": "pytest tests/test_door.py"}, "1", "1 failed: the door sticks", error=True)
        memory.record("Make the tests of the door pass.", "One still fails.", tools=[ran], thread="old")
        assert memory.facts.conflicts()
    told = agent.added("SessionStart", source="startup")
    assert "<tidal-capsule>" in told
    assert "tests/test_door.py" in told
    assert "port: «8080» or «9090»?" in told


def test_each_project_has_its_own_memory_and_no_repository_takes_it_in(agent: Agent, tmp_path: Path) -> None:
    path = str(histories.claude_code(tmp_path / "cc-1.jsonl"))
    inner = agent.project / "src" / "door"
    inner.mkdir(parents=True)
    agent.hook("Stop", "cc-1", transcript_path=path, cwd=str(inner))
    assert len(agent.episodes()) == 1
    assert (agent.db.parent / ".gitignore").read_text("utf-8") == "*\n"
    other = Agent(agent.home, tmp_path / "lamp")
    other.project.mkdir()
    assert other.hook("UserPromptSubmit", prompt="Which part was missing in lamp.c?") == ""
    shared = ("--db", str(tmp_path / "all.db"), "--scope=team/lamps")
    agent.hook("Stop", "cc-1", *shared, transcript_path=path)
    assert "wick" in other.hook("UserPromptSubmit", "new", *shared, prompt="Which part was missing in lamp.c?")


def git(folder: Path, *words: str) -> None:
    told = ("-c", "user.name=Eva", "-c", "user.email=eva@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *told, *words], cwd=folder, check=True, capture_output=True)


def test_all_worktrees_of_a_repository_have_one_memory(agent: Agent, tmp_path: Path) -> None:
    path = str(histories.claude_code(tmp_path / "cc-1.jsonl"))
    git(agent.project, "init")
    git(agent.project, "commit", "--allow-empty", "-m", "The first lamp")
    tree = tmp_path / "beside"
    git(agent.project, "worktree", "add", str(tree))
    (tree / "src").mkdir()
    agent.hook("Stop", "cc-1", transcript_path=path, cwd=str(tree / "src"))
    assert len(agent.episodes()) == 1
    assert not (tree / ".tidal").exists()
    assert "wick" in agent.hook("UserPromptSubmit", "new", prompt="Which part was missing in lamp.c?")
    git(agent.project, "worktree", "remove", "--force", str(tree))
    assert len(agent.episodes()) == 1


def test_a_submodule_is_a_project_of_its_own_and_so_are_its_worktrees(agent: Agent, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init")
    git(inner, "commit", "--allow-empty", "-m", "A wick")
    git(agent.project, "init")
    git(agent.project, "submodule", "add", str(inner), "wick")
    checkout, tree = agent.project / "wick", tmp_path / "tree"
    git(checkout, "worktree", "add", str(tree))
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--bare", str(inner), str(bare))
    git(bare, "worktree", "add", str(tmp_path / "of-bare"))
    roots = {checkout: checkout, tree: checkout, agent.project: agent.project, tmp_path / "of-bare": bare}
    assert {folder: root_of(str(folder)).resolve() for folder in roots} == roots


def turns(agent: Agent, archived: bool) -> str:
    with TidalMemory(agent.db, read_only=True, embedder=HashingEmbedder()) as memory:
        found = memory.recall("What colour is the hull painted?", include_archived=archived)
        return "\n".join(hit.text for hit in found)


@pytest.mark.parametrize("first", [2, 99], ids=["line by line", "at once"])
@pytest.mark.parametrize(("write", "name"), [(histories.rewound, "cc"), (histories.rolled_back, "cx")])
def test_a_question_that_was_taken_back_leaves_recall(
    agent: Agent, tmp_path: Path, write: Callable[[Path], Path], name: str, first: int
) -> None:
    whole = write(tmp_path / f"{name}-1.jsonl").read_text("utf-8").splitlines(keepends=True)
    path = tmp_path / f"{name}.jsonl"
    for last in range(min(first, len(whole)), len(whole) + 1):
        path.write_text("".join(whole[:last]).replace(f"{name}-1", name), "utf-8")
        agent.hook("Stop", name, transcript_path=str(path))
    assert "turquoise" in turns(agent, archived=False)
    assert "vermilion" not in turns(agent, archived=False)
    assert "vermilion" in turns(agent, archived=True)


def test_a_question_that_was_taken_back_leaves_recall_after_a_hook_was_stopped(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = histories.rewound(tmp_path / "cc.jsonl")
    with monkeypatch.context() as stopped:
        stopped.setattr(recording, "settle", lambda *given: sys.exit())
        agent.hook("Stop", "cc", transcript_path=str(path))
    assert "vermilion" in turns(agent, archived=False)
    agent.hook("Stop", "cc", transcript_path=str(path))
    assert "turquoise" in turns(agent, archived=False)
    assert "vermilion" not in turns(agent, archived=False)


@pytest.mark.slow
def test_the_command_line_starts_hooks_without_its_own_packages(agent: Agent) -> None:
    process = agent.start()
    out, err = process.communicate(b"{}")
    assert (process.returncode, out, err) == (0, b"", b"")
    assert "no session_id" not in agent.log
    heavy = "('typer', 'rich', 'pydantic', 'pydantic_settings', 'numpy')"
    imports = "import sys, tidal_plugins.__main__, tidal_plugins.apps.hooks.running"
    code = f"{imports}; print([name for name in {heavy} if name in sys.modules])"
    path = {"PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}"}
    assert subprocess.check_output([sys.executable, "-c", code], env=path) == b"[]\n"
