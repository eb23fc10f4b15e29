"""ChatGPT's export: ``conversations.json``, a tree of messages for each conversation, or the archive with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tidal_plugins import Message, ToolCall
from tidal_plugins.apps.histories.conversation import MALFORMED, Conversation, Skipped, read_tree, time_of
from tidal_plugins.apps.histories.files import items

_SAID = ("text", "multimodal_text", "code", "execution_output", "tether_quote", "tether_browsing_display")
"""The types of content that are read. Others are thoughts, and instructions that a user wrote once for all."""


def read(path: Path) -> Iterator[Conversation | Skipped]:
    """Yield the conversations, each with the branch that was last shown, and those that an edit has left."""
    for number, item in enumerate(items(path), 1):
        try:
            yield from _conversation(item)
        except MALFORMED as error:
            yield Skipped(f"conversation {number}", str(error))


def _conversation(item: Any) -> Iterator[Conversation]:
    mapping = item.get("mapping") if isinstance(item, Mapping) else None
    if not isinstance(mapping, Mapping):
        raise ValueError("it has no mapping of messages")
    nodes = {str(id_): node for id_, node in mapping.items() if isinstance(node, Mapping)}
    called: dict[str, str] = {}
    tree = {}
    for id_ in _parents_first(nodes):
        message, parent = _message(nodes[id_]), str(nodes[id_].get("parent"))
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
        return "\n".join(filter(None, map(_part, parts)))
    return next((text for name in ("text", "result") if isinstance(text := content.get(name), str)), "")


def _part(part: Any) -> str:
    """Return the text of a part, such as what somebody dictated, or the name of what has none."""
    if isinstance(part, str) or not isinstance(part, Mapping):
        return part if isinstance(part, str) else ""
    text, kind = part.get("text"), str(part.get("content_type") or "image")
    return text if isinstance(text, str) else f"[{kind.removesuffix('_pointer').removesuffix('_asset')}]"
