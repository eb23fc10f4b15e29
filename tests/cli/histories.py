"""Small conversations in the formats of other programs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

DAY = "2026-03-02T09:00"


def lines(path: Path, values: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values), "utf-8")
    return path


def claude_code(path: Path, *, more: bool = False) -> Path:
    """Write a session of Claude Code with a tool call; with ``more`` the last turn has gone on, and another follows."""
    about = {"sessionId": "cc-1", "cwd": "/home/eva/lamps", "isSidechain": False}

    def event(kind: str, id_: str, content: Any, **marks: Any) -> dict[str, Any]:
        said = {"role": kind, "content": content}
        return {"type": kind, "uuid": id_, "timestamp": f"{DAY}:{id_[1:]}.000Z", "message": said, **about, **marks}

    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make lamp"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "lamp.c:3: no wick", "is_error": True}
    events = [
        {"type": "summary", "summary": "Lamps", "leafUuid": "u09"},
        {"type": "file-history-snapshot", "messageId": "u01", "snapshot": {}},
        event("user", "u01", "<command-name>/clear</command-name>"),
        event("user", "u02", "Caveat: what follows was made by commands", isMeta=True),
        event("user", "u03", "Build the lamp, please.<system-reminder>Be brief.</system-reminder>"),
        event("assistant", "u04", [{"type": "thinking", "thinking": "A lamp, then."}]),
        event("assistant", "u05", [{"type": "text", "text": "I build it."}]),
        event("assistant", "u06", [call]),
        event("user", "u07", [result]),
        event("assistant", "u08", [{"type": "text", "text": "The wick is missing in lamp.c."}]),
        event("user", "u09", "A subagent's own question", isSidechain=True),
    ]
    if more:
        events += [
            event("assistant", "u10", [{"type": "text", "text": "I have added the wick."}]),
            event("user", "u11", [{"type": "text", "text": "Which oil does it burn?"}]),
            event("assistant", "u12", [{"type": "text", "text": "Colza oil."}]),
        ]
    lines(path, events)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"type": "assistant", "half')  # the program writes it at this moment
    return path


def codex(path: Path) -> Path:
    """Write a rollout of Codex with a tool call."""

    def item(second: int, **payload: Any) -> dict[str, Any]:
        return {"timestamp": f"{DAY}:{second:02}.000Z", "type": "response_item", "payload": payload}

    def said(role: str, text: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    output = json.dumps({"output": "2 passed", "metadata": {"exit_code": 0}})
    return lines(
        path,
        [
            {"timestamp": f"{DAY}:00.000Z", "type": "session_meta", "payload": {"id": "cx-1", "cwd": "/home/eva/dam"}},
            item(1, **said("user", "<environment_context>\n<cwd>/home/eva/dam</cwd>\n</environment_context>")),
            item(2, **said("user", "Do the tests of the dam pass?")),
            {"timestamp": f"{DAY}:02.500Z", "type": "event_msg", "payload": {"type": "user_message", "message": "Do"}},
            item(3, type="reasoning", summary=[], encrypted_content="…"),
            item(4, type="function_call", name="shell", arguments='{"command": ["pytest"]}', call_id="call_1"),
            item(5, type="function_call_output", call_id="call_1", output=output),
            item(6, **said("assistant", "Both tests of the dam pass.")),
        ],
    )


def gemini_cli(path: Path) -> Path:
    """Write a chat of Gemini CLI with a tool call: one object, or a record a line where the file is named so."""
    ran = {
        "id": "run-1", "name": "run_shell_command", "args": {"command": "make kiln"}, "status": "error",
        "result": [{"functionResponse": {"id": "run-1", "response": {"output": "kiln.c:8: no door"}}}],
    }  # fmt: skip
    asked = {"id": "g1", "timestamp": f"{DAY}:01Z", "type": "user", "content": [{"text": "Build the kiln, please."}]}
    begun = {"id": "g2", "timestamp": f"{DAY}:02Z", "type": "gemini", "content": "I build it.", "thoughts": []}
    records = [
        asked,
        {"id": "g0", "timestamp": f"{DAY}:01Z", "type": "info", "content": "A new version is there."},
        {**begun, "toolCalls": [ran]},
        {"id": "g3", "timestamp": f"{DAY}:03Z", "type": "gemini", "content": "The door is missing in kiln.c."},
    ]
    about = {"sessionId": "gm-1", "projectHash": "ab12", "startTime": f"{DAY}:00Z"}
    if path.suffix == ".jsonl":
        return lines(path, [about, asked, begun, *records[1:]])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**about, "messages": records}, indent=2), "utf-8")
    return path


def chatgpt(path: Path) -> Path:
    """Write an export of ChatGPT: one conversation, with a branch that an edit has left."""

    def node(id_: str, parent: str | None, role: str, text: str, at: float | None, **more: Any) -> dict[str, Any]:
        said = {"id": f"m-{id_}", "author": {"role": role}, "create_time": at, "recipient": "all"}
        content = {"content_type": "text", "parts": [text]}
        return {"id": id_, "parent": parent, "children": [], "message": {**said, "content": content, **more}}

    code = {"content_type": "code", "text": "depth('harbour')"}
    nodes = [
        {"id": "root", "parent": None, "children": ["a"], "message": None},
        node("a", "root", "system", "", None, metadata={"is_visually_hidden_from_conversation": True}),
        node("left", "a", "user", "How deep is the pond?", 1772442000.0),
        node("b", "a", "user", "How deep is the harbour?", 1772442010.0),
        node("c", "b", "assistant", "", 1772442020.0, content=code, recipient="python"),
        node("d", "c", "tool", "7 metres", 1772442030.0),
        node("e", "d", "assistant", "The harbour is seven metres deep.", 1772442040.0),
    ]
    talk = {
        "id": "gpt-1", "title": "Harbour", "create_time": 1772442000.0, "current_node": "e",
        "mapping": {each["id"]: each for each in nodes},
    }  # fmt: skip
    path.write_text(json.dumps([talk]), "utf-8")
    return path


def claude_ai(path: Path) -> Path:
    """Write an export of claude.ai: one conversation, with an attachment and a tool."""
    asked = {
        "uuid": "h1", "sender": "human", "text": "When does the ferry leave?", "created_at": f"{DAY}:00Z",
        "content": [{"type": "text", "text": "When does the ferry leave?"}],
        "attachments": [{"file_name": "plan.txt", "extracted_content": "Ferry: 17:40 from the west quay."}],
    }  # fmt: skip
    blocks = [
        {"type": "text", "text": "I look it up."},
        {"type": "tool_use", "id": "t1", "name": "search", "input": {"query": "ferry"}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "17:40"}]},
        {"type": "text", "text": "The ferry leaves at 17:40."},
    ]
    answered = {"uuid": "a1", "sender": "assistant", "text": "", "created_at": f"{DAY}:09Z", "content": blocks}
    talk = {"uuid": "ai-1", "name": "Ferry", "created_at": f"{DAY}:00Z", "chat_messages": [asked, answered]}
    path.write_text(json.dumps([talk], indent=1), "utf-8")
    return path


def locomo(path: Path) -> Path:
    """Write a conversation of two people in LoCoMo's format."""
    turns = [("Iris", "I sold the blue boat."), ("Tom", "To whom?"), ("Iris", "To the baker."), ("Tom", "Well done.")]
    session = [{"speaker": name, "dia_id": f"D1:{n}", "text": text} for n, (name, text) in enumerate(turns, 1)]
    talk = {
        "speaker_a": "Iris",
        "speaker_b": "Tom",
        "session_1_date_time": "2:15 pm on 4 May, 2025",
        "session_1": session,
    }
    path.write_text(json.dumps([{"sample_id": "boats", "conversation": talk, "qa": []}]), "utf-8")
    return path


def checkpoints(path: Path) -> Path:
    """Write the checkpoints of a LangGraph agent that answered twice in a thread."""
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import START, MessagesState, StateGraph

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"You said: {state['messages'][-1].text}", id=f"a{len(state['messages'])}")]}

    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
        app = graph.compile(checkpointer=SqliteSaver(connection))
        for number, text in enumerate(["The mill has a new wheel.", "The old one is firewood."]):
            asked = {"messages": [HumanMessage(text, id=f"h{number}")]}
            app.invoke(asked, {"configurable": {"thread_id": "mill"}})
    return path


# what people do to their histories


def transcript(path: Path, *events: dict[str, Any]) -> Path:
    """Write a transcript of Claude Code: events in order, each a second later and behind the one before it."""
    before, written = None, []
    for second, event in enumerate(events):
        own = {"uuid": f"e{second}", "parentUuid": before, "sessionId": path.stem}
        written.append(own | {"timestamp": f"{DAY}:{second:02}.000Z"} | event)
        before = written[-1]["uuid"]
    return lines(path, written)


def asked(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def answered(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": content}, **more}


def queued(prompt: Any) -> dict[str, Any]:
    return {"type": "attachment", "attachment": {"type": "queued_command", "prompt": prompt}}


def rewound(path: Path) -> Path:
    return transcript(
        path,
        asked("Which paint for the hull?"),
        answered("Copper paint."),
        asked("Paint it vermilion."),
        answered("It is vermilion now."),
        asked("Paint it turquoise.", parentUuid="e1"),
        answered("It is turquoise now."),
    )


def edited_first(path: Path) -> Path:
    return transcript(
        path,
        asked("Paint it vermilion."),
        answered("Vermilion it is."),
        asked("Paint it turquoise.", parentUuid=None),
        answered("Done."),
    )


def interrupted(path: Path) -> Path:
    return transcript(
        path, asked("Which hull?"), answered("The long one."), asked("Paint it vermilion."),
        asked("Paint it turquoise.", parentUuid="e1"), answered("It is turquoise now."),
    )  # fmt: skip


def regenerated(path: Path) -> Path:
    """Write an export of claude.ai with two answers to one question; the newer one is shown."""
    talk: list[dict[str, Any]] = [
        {"uuid": "h1", "sender": "human", "text": "Which colour for the hull?", "parent_message_uuid": "0-root"},
        {"uuid": "a1", "sender": "assistant", "text": "Paint it vermilion.", "parent_message_uuid": "h1"},
        {"uuid": "a2", "sender": "assistant", "text": "Paint it turquoise.", "parent_message_uuid": "h1"},
    ]
    for second, each in enumerate(talk):
        each["created_at"] = f"{DAY}:{second:02}Z"
    path.write_text(json.dumps([{"uuid": path.stem, "chat_messages": talk}]), "utf-8")
    return path


def rolled_back(path: Path) -> Path:
    """Write a rollout of Codex in which a question was taken back."""

    def item(text: str, role: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        said = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"timestamp": f"{DAY}:01Z", "type": "response_item", "payload": said}

    back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    return lines(
        path,
        [
            {"type": "session_meta", "payload": {"id": path.stem}},
            item("Which hull?", "user"), item("The long one.", "assistant"),
            item("Paint it vermilion.", "user"), item("It is vermilion now.", "assistant"),
            back, item("Paint it turquoise.", "user"), item("It is turquoise now.", "assistant"),
        ],
    )  # fmt: skip


def edited_chat(path: Path, *, current: str | None = None, children: bool = True) -> Path:
    """Write an export of ChatGPT with an edited question, and no word of which branch was shown last."""

    def node(id_: str, parent: str | None, role: str, text: str, at: float, *below: str) -> dict[str, Any]:
        message = {"id": f"m-{id_}", "author": {"role": role}, "create_time": 1772442000.0 + at}
        content = {"content_type": "text", "parts": [text]}
        more = {"children": list(below)} if children else {}
        return {"id": id_, "parent": parent, "message": {**message, "content": content}, **more}

    nodes = [
        node("a", None, "user", "Which hull?", 0, "b"), node("b", "a", "assistant", "The long one.", 1, "c", "e"),
        node("c", "b", "user", "Paint it vermilion.", 2, "d"), node("d", "c", "assistant", "It is vermilion now.", 3),
        node("e", "b", "user", "Paint it turquoise.", 4, "f"), node("f", "e", "assistant", "It is turquoise now.", 5),
    ]  # fmt: skip
    talk = {"id": path.stem, "mapping": {each["id"]: each for each in nodes}, "current_node": current}
    path.write_text(json.dumps([talk]), "utf-8")
    return path
