"""ChatGPT's export: ``conversations.json``, a tree of messages for each conversation, or the archive with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidal_plugins import Message, ToolCall
from tidal_plugins.apps.histories.conversation import Conversation, Unknown, time_of, turns
from tidal_plugins.apps.histories.lines import items

_SAID = ("text", "multimodal_text", "code", "execution_output", "tether_quote", "tether_browsing_display")
"""The types of content that are read. Others are thoughts, and instructions that a user wrote once for all."""


def read(path: Path) -> Iterator[Conversation]:
    """Yield the conversations, each as it was last shown: branches that were left by an edit are left out."""
    for item in items(path):
        if not isinstance(item, Mapping) or not isinstance(item.get("mapping"), Mapping):
            raise Unknown("its conversations have no mapping of messages")
        messages = [message for node in _shown(item) if (message := _message(node))]
        if messages:
            thread = str(item.get("conversation_id") or item.get("id") or messages[0].id)
            about = {"program": "chatgpt", "title": str(item.get("title") or "")}
            yield Conversation(thread, turns(_paired(messages)), time_of(item.get("create_time")), about)


def _shown(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the nodes from the first to the current one."""
    mapping, found, seen = item["mapping"], [], set()
    name = item.get("current_node") or next((key for key, node in mapping.items() if not node.get("children")), None)
    while name in mapping and name not in seen:
        seen.add(name)
        found.append(mapping[name])
        name = mapping[name].get("parent")
    return found[::-1]


def _message(node: Mapping[str, Any]) -> Message | None:
    said = node.get("message")
    if not isinstance(said, Mapping):
        return None
    author, content, about = (said.get(name) or {} for name in ("author", "content", "metadata"))
    role, text = author.get("role"), _text(content)
    hidden = about.get("is_visually_hidden_from_conversation") or content.get("content_type") not in _SAID
    if hidden or not text.strip() or role not in ("user", "assistant", "tool"):
        return None
    id_, at, recipient = str(said.get("id") or node.get("id")), time_of(said.get("create_time")), said.get("recipient")
    if role == "assistant" and recipient not in (None, "all"):
        return Message("assistant", "", id_, tool_calls=(ToolCall(str(recipient), {"input": text}, id_),), at=at)
    return Message(role, text, id_, at=at)


def _text(content: Mapping[str, Any]) -> str:
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n".join(part if isinstance(part, str) else "[image]" for part in parts if part)
    return next((text for name in ("text", "result") if isinstance(text := content.get(name), str)), "")


def _paired(messages: list[Message]) -> Iterator[Message]:
    """Yield the messages with each result of a tool naming the last call."""
    from dataclasses import replace

    called: str | None = None
    for message in messages:
        called = message.id if message.tool_calls else called
        yield replace(message, tool_call_id=called) if message.role == "tool" else message
