"""Histories: the files in which other programs keep conversations, each read into the same form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from tidal_plugins.apps.histories.conversation import Conversation, Skipped, Unknown

Reader = Callable[[Path], Iterator[Conversation | Skipped]]

FORMATS = {
    "claude-code": "transcripts",
    "codex": "transcripts",
    "gemini-cli": "transcripts",
    "chatgpt": "chats",
    "claude-ai": "chats",
    "jsonl": "chats",
    "locomo": "chats",
    "langgraph": "langgraph",
}
"""The formats, by the names that ``--format`` takes, and the module with the reader of each."""

HOMES = {"claude-code": Path("~/.claude/projects"), "codex": Path("~/.codex/sessions")}
"""Where programs keep their transcripts."""


def reader_of(name: str) -> Reader:
    """Return the reader of a format."""
    module = import_module(f"tidal_plugins.apps.histories.{FORMATS[name]}")
    read: Reader = getattr(module, f"read_{name.replace('-', '_')}")
    return read


__all__ = ["FORMATS", "HOMES", "Conversation", "Reader", "Skipped", "Unknown", "reader_of"]
