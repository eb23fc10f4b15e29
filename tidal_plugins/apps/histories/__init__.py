"""Histories: the files in which other programs keep conversations, each read into the same form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from tidal_plugins.apps.histories.conversation import Conversation, Skipped, Unknown

Reader = Callable[[Path], Iterator[Conversation | Skipped]]

FORMATS = {
    "claude-code": "transcripts of Claude Code",
    "codex": "rollouts of Codex",
    "gemini-cli": "chats of Gemini CLI",
    "chatgpt": "ChatGPT's export",
    "claude-ai": "claude.ai's export",
    "jsonl": "messages, one a line or in a list",
    "locomo": "conversations in LoCoMo's format",
    "langgraph": "checkpoints of LangGraph's SqliteSaver",
}
"""The formats, by the names that ``--format`` takes. The module of each has its name."""

HOMES = {"claude-code": Path("~/.claude/projects"), "codex": Path("~/.codex/sessions")}
"""Where programs keep their transcripts."""


def reader_of(name: str) -> Reader:
    """Return the reader of a format."""
    read: Reader = import_module(f"tidal_plugins.apps.histories.{name.replace('-', '_')}").read
    return read


__all__ = ["FORMATS", "HOMES", "Conversation", "Reader", "Skipped", "Unknown", "reader_of"]
