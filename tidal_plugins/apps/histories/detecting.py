"""Which format a history is in, by what it looks like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from tidal_plugins.apps.histories import HOMES, Unknown
from tidal_plugins.apps.histories.lines import items, lines

LOOK = 20
"""Lines of a transcript by which its format is told: the first ones may be of any kind."""

SQLITE = b"SQLite format 3\0"

SUFFIXES = frozenset([".jsonl", ".json", ".zip", ".db", ".sqlite", ".sqlite3"])


def files_at(path: Path, format: str | None) -> Iterator[Path]:
    """Yield the files of a history, in order: a file, or those of a folder that may be one. Memories are none."""
    if not path.is_dir():
        if not path.exists():
            raise Unknown("there is no such file or folder")
        yield path
        return
    only = {".jsonl"} if format in HOMES else SUFFIXES
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in only and file.is_file())
    yield from (file for file in files if not _is_memory(file))


def _is_memory(path: Path) -> bool:
    """Return whether a file is a memory of this library, by the header of SQLite files."""
    with path.open("rb") as file:
        header = file.read(72)
    return header.startswith(SQLITE) and header[68:72] == b"tdal"


def format_of(path: Path, remedy: str = "") -> str:
    """Return the name of a file's format. Raises ``Unknown``, which says of a format that is not known what to do."""
    with path.open("rb") as file:
        if file.read(16).startswith(SQLITE):
            return "langgraph"
    if path.suffix.lower() == ".jsonl":
        found = (_of_line(line) for line in islice(lines(path), LOOK))
        name = next((name for name in found if name), None)
    else:
        name = next((_of_item(item) for item in islice(items(path), 1)), None)
    if name is None:
        raise Unknown(f"it is in no format that is known{remedy}")
    return name


def _of_line(line: Mapping[str, Any]) -> str | None:
    kind = line.get("type")
    if kind in ("session_meta", "response_item", "turn_context", "event_msg"):
        return "codex"
    if "sessionId" in line and ("uuid" in line or "message" in line):
        return "claude-code"
    if {"sessionId", "projectHash"} <= line.keys():
        return "gemini-cli"
    if {"id", "timestamp", "instructions"} <= line.keys():
        return "codex"
    return _of_item(line)


def _of_item(item: Any) -> str | None:
    if not isinstance(item, Mapping):
        return None
    if {"sessionId", "messages"} <= item.keys():
        return "gemini-cli"
    if isinstance(item.get("mapping"), Mapping):
        return "chatgpt"
    if isinstance(item.get("chat_messages"), list):
        return "claude-ai"
    if isinstance(item.get("conversation"), Mapping):
        return "locomo"
    return "jsonl" if "role" in item or isinstance(item.get("messages"), list) else None
