"""Conversations in JSON: the exports of ChatGPT and claude.ai, messages as chat models take them, LoCoMo's format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from tidal_plugins import Message, ToolCall
from tidal_plugins.apps.histories.conversation import (
    MALFORMED,
    Conversation,
    Skipped,
    Unknown,
    arguments_of,
    blocks_of,
    listed,
    read_tree,
    text_of,
    time_of,
    turns,
)
from tidal_plugins.apps.histories.files import items, lines
from tidal_plugins.model.exchange import reasoning_of
from tidal_plugins.patterns import lazy_re

_CHATGPT_TYPES = ("text", "multimodal_text", "code", "execution_output", "tether_quote", "tether_browsing_display")
"""The types of content that are read. Others are thoughts, and instructions that a user wrote once for all."""


THREADS = ("thread", "thread_id", "conversation_id", "session_id", "conversation", "session")

TIMES = ("at", "timestamp", "created_at", "create_time", "time", "date", "occurred_at")

ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "agent": "assistant",
         "model": "assistant", "tool": "tool", "function": "tool"}  # fmt: skip
"""The roles that are read. System prompts are no part of a conversation."""

PACE = timedelta(seconds=30)
"""Time between two turns of a session: the format dates sessions only."""

_DATES = ("%I:%M %p on %d %B, %Y", "%d %B, %Y", "%d %B %Y")

_SESSION = lazy_re(r"session_(\d+)")


def read_chatgpt(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the conversations of ChatGPT's export, ``conversations.json`` or the archive with it: a tree of messages
    for each, of which the branch that was last shown is current."""
    yield from _exported(path, _tree)


def read_claude_ai(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the conversations of claude.ai's export, each a list of messages that name their parents.

    The text of an attachment stands below the message that it came with.
    """
    yield from _exported(path, _listed)


def _exported(
    path: Path, read: Callable[[Any, int], Iterator[Conversation | Skipped]]
) -> Iterator[Conversation | Skipped]:
    for number, item in enumerate(items(path), 1):
        try:
            yield from read(item, number)
        except MALFORMED as error:
            yield Skipped(f"conversation {number}", str(error))


def _tree(item: Any, number: int) -> Iterator[Conversation | Skipped]:
    mapping = item.get("mapping") if isinstance(item, Mapping) else None
    if not isinstance(mapping, Mapping):
        raise ValueError("it has no mapping of messages")
    nodes = {str(id_): node for id_, node in mapping.items() if isinstance(node, Mapping)}
    called: dict[str, str] = {}
    tree = {}
    for id_ in _parents_first(nodes):
        message, parent = _node_message(nodes[id_]), str(nodes[id_].get("parent"))
        call = called.get(parent, "")
        if message and message.role == "tool":
            message = replace(message, tool_call_id=call)
        called[id_] = str(message.id) if message and message.tool_calls else call
        tree[id_] = (parent, [message] if message else [])
    current, left = read_tree(tree, item.get("current_node"))
    if current or left:
        thread = str(item.get("conversation_id") or item.get("id") or (current or left)[0][0].id)
        about = {"program": "chatgpt", "title": str(item.get("title") or "")}
        yield Conversation(thread, current, time_of(item.get("create_time")), about, left)


def _parents_first(nodes: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the ids of nodes, each behind its parent."""
    done: set[str] = set()
    for id_ in nodes:
        line = []
        while id_ in nodes and id_ not in done:
            done.add(id_)
            line.append(id_)
            id_ = str(nodes[id_].get("parent"))
        yield from reversed(line)


def _node_message(node: Mapping[str, Any]) -> Message | None:
    said = node.get("message")
    if not isinstance(said, Mapping):
        return None
    author, content, about = (said.get(name) or {} for name in ("author", "content", "metadata"))
    role, text = author.get("role"), _text(content)
    hidden = about.get("is_visually_hidden_from_conversation") or content.get("content_type") not in _CHATGPT_TYPES
    if hidden or not text.strip() or role not in ("user", "assistant", "tool"):
        return None
    id_, at, recipient = str(said.get("id") or node.get("id")), time_of(said.get("create_time")), said.get("recipient")
    if role == "assistant" and recipient not in (None, "all"):
        return Message("assistant", "", id_, tool_calls=(ToolCall(str(recipient), {"input": text}, id_),), at=at)
    return Message(role, text, id_, at=at)


def _text(content: Mapping[str, Any]) -> str:
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n".join(filter(None, map(_part, parts)))
    return next((text for name in ("text", "result") if isinstance(text := content.get(name), str)), "")


def _part(part: Any) -> str:
    """Return the text of a part, such as what somebody dictated, or the name of what has none."""
    if isinstance(part, str) or not isinstance(part, Mapping):
        return part if isinstance(part, str) else ""
    text, kind = part.get("text"), str(part.get("content_type") or "image")
    return text if isinstance(text, str) else f"[{kind.removesuffix('_pointer').removesuffix('_asset')}]"


def _listed(item: Any, number: int) -> Iterator[Conversation | Skipped]:
    if not isinstance(item, Mapping) or not isinstance(item.get("chat_messages"), list):
        raise ValueError("it has no chat_messages")
    nodes, before = {}, None
    for place, said in enumerate(item["chat_messages"], 1):
        try:
            id_, messages = str(said["uuid"]), list(_said(said))
        except MALFORMED as error:
            yield Skipped(f"conversation {number}, message {place}", str(error))
            continue
        if id_ in nodes:
            yield Skipped(f"conversation {number}, message {place}", "another has its uuid")
            continue
        nodes[id_] = said.get("parent_message_uuid", before), messages  # older exports name no parents
        before = id_
    current, left = read_tree(nodes, item.get("current_leaf_message_uuid"))
    if current or left:
        about = {"program": "claude.ai", "title": str(item.get("name") or "")}
        yield Conversation(str(item.get("uuid")), current, time_of(item.get("created_at")), about, left)


def _said(said: Mapping[str, Any]) -> Iterator[Message]:
    id_, at = str(said.get("uuid")), time_of(said.get("created_at"))
    blocks = blocks_of(said.get("content"))
    if said.get("sender") == "human":
        files = map(_attached, listed(said.get("attachments"), "attachments"))
        text = "\n\n".join([text_of(blocks) or str(said.get("text") or ""), *files])
        if text.strip():
            yield Message("user", text.strip(), id_, at=at)
        return
    if not any(block.get("type") == "tool_use" for block in blocks):
        if text := (text_of(blocks) or str(said.get("text") or "")).strip():
            yield Message("assistant", text, id_, at=at, reasoning=reasoning_of(blocks))
        return
    called = ""
    for number, block in enumerate(blocks):
        part, kind = f"{id_}/{number}", block.get("type")
        if kind == "tool_use":
            called = str(block.get("id") or part)
            call = ToolCall(str(block.get("name") or "unnamed"), arguments_of(block.get("input") or {}), called)
            yield Message("assistant", "", part, tool_calls=(call,), at=at)
        elif kind == "tool_result":
            answers, failed = str(block.get("tool_use_id") or called), bool(block.get("is_error"))
            yield Message("tool", text_of(block.get("content")), part, tool_call_id=answers, error=failed, at=at)
        elif (text := text_of(block).strip()) or reasoning_of([block]):
            yield Message("assistant", text, part, at=at, reasoning=reasoning_of([block]))


def _attached(file: Mapping[str, Any]) -> str:
    return f"[attachment: {file.get('file_name') or 'unnamed'}]\n{file.get('extracted_content') or ''}".strip()


def read_jsonl(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the conversations: by the thread that messages name, else the file is one.

    A message without an id is known by its place, so a file may grow at its end and be imported again. Raises
    ``Unknown`` if no message is found.
    """
    threads: dict[str, list[Message]] = {}
    values = lines(path) if path.suffix.lower() == ".jsonl" else items(path)
    for number, value in enumerate(values):
        if not isinstance(value, Mapping):
            continue
        inner = value.get("messages")
        thread = _first(value, THREADS) or (f"{path.stem}:{number}" if isinstance(inner, list) else path.stem)
        for place, said in enumerate(inner if isinstance(inner, list) else [value]):
            key = f"{number}/{place}" if isinstance(inner, list) else str(number)
            try:
                message = _plain_message(said, f"{path.stem}:{key}") if isinstance(said, Mapping) else None
            except MALFORMED as error:
                yield Skipped(f"message {key}", str(error))
                continue
            if message:
                threads.setdefault(str(thread), []).append(message)
    if not threads:
        raise Unknown("no message with a role and a content is in it")
    for thread, messages in threads.items():
        yield Conversation(thread, turns(messages), messages[0].at, {"program": "messages"})


def _plain_message(said: Mapping[str, Any], place: str) -> Message | None:
    role = ROLES.get(str(said.get("role") or said.get("type") or "").lower())
    text = text_of(said.get("content", said.get("text")))
    calls = tuple(
        _plain_call(call) for call in listed(said.get("tool_calls"), "tool_calls") if isinstance(call, Mapping)
    )
    if role is None or not (text.strip() or calls or role == "tool"):
        return None
    name, at = _first(said, ("speaker", "name")), time_of(_first(said, TIMES))
    id_ = str(said.get("id") or place)
    if role == "tool":
        return Message("tool", text, id_, tool_call_id=str(said.get("tool_call_id") or name), at=at)
    speaker = str(name) if name else None
    return Message("user" if role == "user" else "assistant", text, id_, speaker, calls, at=at)


def _plain_call(call: Mapping[str, Any]) -> ToolCall:
    made = call.get("function") if isinstance(call.get("function"), Mapping) else call
    assert isinstance(made, Mapping)
    given = made.get("arguments", made.get("args", made.get("input", {})))
    return ToolCall(str(made.get("name") or "unnamed"), arguments_of(given), str(call.get("id") or made.get("name")))


def _first(value: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def read_locomo(path: Path) -> Iterator[Conversation]:
    """Yield the sessions, each as a thread. Both people speak as users, by their names."""
    for number, item in enumerate(items(path)):
        if not isinstance(item, Mapping) or not isinstance(item.get("conversation"), Mapping):
            raise Unknown("its items have no conversation with sessions")
        name, said = str(item.get("sample_id") or f"{path.stem}-{number + 1}"), item["conversation"]
        sessions = sorted(
            (match for key in said if (match := _SESSION.fullmatch(key))), key=lambda found: int(found[1])
        )
        for session in sessions:
            at = _date(said.get(f"{session[0]}_date_time"))
            messages = _spoken(said[session[0]], f"{name}:{session[0]}", at)
            if messages:
                yield Conversation(f"{name}/{session[0]}", _exchanged(messages), at, {"program": "locomo"})


def _spoken(turns: Any, name: str, at: datetime | None) -> list[Message]:
    found = []
    for place, turn in enumerate(turns if isinstance(turns, list) else ()):
        speaker, text = str(turn.get("speaker") or ""), str(turn.get("text") or "")
        role: Literal["user", "assistant"] = "assistant" if speaker.lower() == "assistant" else "user"
        known = None if speaker.lower() in ("user", "assistant", "") else speaker
        if text.strip():
            when = at and at + PACE * place
            found.append(Message(role, text, f"{name}:{turn.get('dia_id') or place}", known, at=when))
    return found


def _exchanged(messages: Sequence[Message]) -> list[list[Message]]:
    """Split a session into turns: each begins when the one who spoke first speaks again."""
    found: list[list[Message]] = []
    first = messages[0]
    for message in messages:
        again = (message.role, message.speaker) == (first.role, first.speaker)
        if not found or (again and (found[-1][-1].role, found[-1][-1].speaker) != (first.role, first.speaker)):
            found.append([])
        found[-1].append(message)
    return found


def _date(text: Any) -> datetime | None:
    for form in _DATES:
        try:
            return datetime.strptime(str(text), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
