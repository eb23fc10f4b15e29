"""claude.ai's export: ``conversations.json``, a list of messages for each conversation, or the archive with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidal_plugins import Message, ToolCall
from tidal_plugins.apps.histories.conversation import Conversation, Unknown, arguments_of, text_of, time_of, turns
from tidal_plugins.apps.histories.lines import items


def read(path: Path) -> Iterator[Conversation]:
    """Yield the conversations. The text of an attachment stands below the message that it came with."""
    for item in items(path):
        if not isinstance(item, Mapping) or not isinstance(item.get("chat_messages"), list):
            raise Unknown("its conversations have no chat_messages")
        messages = [message for said in item["chat_messages"] for message in _messages(said)]
        if messages:
            about = {"program": "claude.ai", "title": str(item.get("name") or "")}
            yield Conversation(str(item.get("uuid")), turns(messages), time_of(item.get("created_at")), about)


def _messages(said: Mapping[str, Any]) -> Iterator[Message]:
    id_, at = str(said.get("uuid")), time_of(said.get("created_at"))
    content = said.get("content")
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    if said.get("sender") == "human":
        text = "\n\n".join(
            [text_of(blocks) or str(said.get("text") or ""), *map(_attached, said.get("attachments") or ())]
        )
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
