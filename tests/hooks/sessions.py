"""Sessions of ten turns in the formats of coding agents, with all that they write beside what was said."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.cli.histories import DAY, lines

TURNS = (
    ("Which clay is in the shed?", "Red clay and a bag of porcelain are in the shed."),
    ("Weigh the porcelain, please.", "The bag weighs nine kilograms."),
    ("How many cups does it make?", "Some thirty cups of three hundred grams."),
    ("Draw a cup with a wide handle.", "The drawing is in cup.svg."),
    ("Is the kiln free on Friday?", "The kiln is free from Friday noon."),
    ("Book it until Sunday.", "It is booked until Sunday evening."),
    ("What does the cobalt glaze cost?", "A jar of cobalt glaze costs eighteen francs."),
    ("Order two jars of it.", "Two jars are ordered."),
    ("Write the plan into plan.md.", "The plan is in plan.md."),
    ("Anything that is still missing?", "A new shelf for the kiln is still missing."),
)
HIDDEN = "This was never said aloud."
"""Stands in thoughts, in notices of the program and in what a subagent was told."""

COMPACTED = 5
"""The turn before which the context was compacted."""


def claude_code(path: Path) -> Path:
    """Write a session of Claude Code. Each block of an answer is an event of its own."""
    events: list[dict[str, Any]] = [{"type": "summary", "summary": HIDDEN, "leafUuid": "t0-0"}]
    for number, (asked, answered) in enumerate(TURNS):
        if number == COMPACTED:
            boundary = {"type": "system", "subtype": "compact_boundary", "content": HIDDEN, "level": "info"}
            summary = {"type": "user", "isCompactSummary": True, "isVisibleInTranscriptOnly": True}
            events += [boundary, {**summary, "message": {"role": "user", "content": HIDDEN}}]
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": f"look {number}"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"seen {number}"}
        usage = {"input_tokens": 9, "cache_read_input_tokens": 900, "output_tokens": 30}
        given: list[tuple[str, Any, dict[str, Any]]] = [
            ("user", asked, {"promptId": f"p{number}"}),
            ("assistant", [{"type": "thinking", "thinking": HIDDEN, "signature": "Eq8"}], {}),
            ("assistant", [{"type": "text", "text": "I look."}], {}),
            ("assistant", [call], {}),
            ("user", HIDDEN, {"isSidechain": True}),
            ("assistant", [{"type": "text", "text": HIDDEN}], {"isSidechain": True}),
            ("user", [result], {"toolUseResult": {"stdout": f"seen {number}", "interrupted": False}}),
            ("user", f"<system-reminder>{HIDDEN}</system-reminder>", {"isMeta": True}),
            ("assistant", [{"type": "text", "text": answered}], {}),
        ]
        events.append({"type": "file-history-snapshot", "messageId": f"t{number}-0", "snapshot": {}})
        for place, (kind, content, more) in enumerate(given):
            said = {"role": kind, "content": content, **({"usage": usage} if kind == "assistant" else {})}
            about = {"parentUuid": f"t{number}-{place - 1}", "isSidechain": False, "userType": "external"}
            events.append({**about, "type": kind, "uuid": f"t{number}-{place}", "message": said, **more})
        events.append({"type": "system", "subtype": "turn_duration", "content": HIDDEN})
        events.append({"type": "queue-operation", "operation": "dequeue"})
    return _written(path, events, {"sessionId": "long", "cwd": "/home/eva/cups", "version": "2.1.12"})


def codex(path: Path) -> Path:
    """Write a rollout of Codex: what was said stands in it twice, as an item and as an event."""
    held: list[tuple[str, dict[str, Any]]] = [("session_meta", {"id": "long", "cwd": "/home/eva/cups"})]
    held.append(("response_item", _said("developer", HIDDEN)))
    held.append(("response_item", _said("user", f"<environment_context>{HIDDEN}</environment_context>")))
    for number, (asked, answered) in enumerate(TURNS):
        if number == COMPACTED:
            held.append(("compacted", {"message": HIDDEN, "replacement_history": [_said("user", HIDDEN)]}))
            held.append(("event_msg", {"type": "context_compacted"}))
        call = {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": f"look {number}"})}
        held += [
            ("event_msg", {"type": "task_started", "turn_id": f"turn-{number}"}),
            ("turn_context", {"turn_id": f"turn-{number}", "cwd": "/home/eva/cups", "summary": "auto"}),
            ("response_item", _said("user", asked)),
            ("event_msg", {"type": "user_message", "message": asked}),
            ("event_msg", {"type": "agent_reasoning", "text": HIDDEN}),
            ("response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": HIDDEN}]}),
            ("response_item", {**call, "call_id": f"call_{number}"}),
            (
                "response_item",
                {"type": "function_call_output", "call_id": f"call_{number}", "output": f"seen {number}"},
            ),
            ("event_msg", {"type": "token_count", "info": {"total_token_usage": {"total_tokens": 900}}}),
            ("event_msg", {"type": "agent_message", "message": answered}),
            ("response_item", _said("assistant", answered)),
            ("event_msg", {"type": "task_complete", "last_agent_message": answered}),
        ]
    return _written(path, ({"type": kind, "payload": payload} for kind, payload in held), {})


def gemini_cli(path: Path) -> Path:
    """Write a chat of Gemini CLI, a record a line: an answer is written again as its tools return."""
    held: list[dict[str, Any]] = [{"sessionId": "long", "projectHash": "ab12", "kind": "main"}]
    for number, (asked, answered) in enumerate(TURNS):
        if number == COMPACTED:
            held.append({"id": f"i{number}", "type": "info", "content": HIDDEN})
        answer = {
            "id": f"a{number}", "type": "gemini", "content": "I look.", "model": "gemini-2.5-pro",
            "thoughts": [{"subject": HIDDEN, "description": HIDDEN}], "tokens": {"input": 9, "output": 3, "total": 12},
        }  # fmt: skip
        call = {"id": f"run-{number}", "name": "read_file", "args": {"path": f"look-{number}"}, "status": "success"}
        response = {"functionResponse": {"id": f"run-{number}", "response": {"output": f"seen {number}"}}}
        held += [
            {"id": f"q{number}", "type": "user", "content": [{"text": asked}]},
            answer,
            {**answer, "toolCalls": [{**call, "status": "executing"}]},
            {**answer, "toolCalls": [{**call, "result": [response]}]},
            {"$set": {"lastUpdated": f"{DAY}:59Z", "memoryScratchpad": {"note": HIDDEN}}},
            {"id": f"b{number}", "type": "gemini", "content": answered, "thoughts": []},
        ]
    return _written(path, held, {})


def _said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _written(path: Path, values: Iterable[dict[str, Any]], about: dict[str, Any]) -> Path:
    """Write events, each some seconds after the one before."""
    times = (f"2026-03-02T09:{second // 60:02}:{second % 60:02}.000Z" for second in range(0, 3000, 5))
    return lines(path, [{"timestamp": at, **about, **value} for at, value in zip(times, values, strict=False)])
