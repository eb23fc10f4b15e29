"""claude.ai's export: ``conversations.json``, a list of messages for each conversation, or the archive with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidal_plugins import Message, ToolCall
from tidal_plugins.apps.histories.conversation import (
    MALFORMED,
    Conversation,
    Skipped,
    arguments_of,
    blocks_of,
    listed,
    read_tree,
    text_of,
    time_of,
)
from tidal_plugins.apps.histories.files import items


def read(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the conversations, each with the branch that was last shown, and those that were left.

    The text of an attachment stands below the message that it came with.
    """
    for number, item in enumerate(items(path), 1):
        try:
            yield from _conversation(item, number)
        except MALFORMED as error:
            yield Skipped(f"conversation {number}", str(error))


def _conversation(item: Any, number: int) -> Iterator[Conversation | Skipped]:
    if not isinstance(item, Mapping) or not isinstance(item.get("chat_messages"), list):
        raise ValueError("it has no chat_messages")
    nodes, before = {}, None
    for place, said in enumerate(item["chat_messages"], 1):
        try:
            id_, messages = str(said["uuid"]), list(_messages(said))
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


def _messages(said: Mapping[str, Any]) -> Iterator[Message]:
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
            yield Message("assistant", text, id_, at=at)
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
        elif text := text_of(block).strip():
            yield Message("assistant", text, part, at=at)


def _attached(file: Mapping[str, Any]) -> str:
    return f"[attachment: {file.get('file_name') or 'unnamed'}]\n{file.get('extracted_content') or ''}".strip()
