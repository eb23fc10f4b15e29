"""The events of coding agents, and what each is answered."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidal_hooks.notes import Notes
from tidal_hooks.options import FOLDER, Options

if TYPE_CHECKING:
    from tidal_plugins import Embedder

START, PROMPT, RECORD, COMPACT = "start", "prompt", "record", "compact"

EVENTS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "BeforeAgent": PROMPT,
    "Stop": RECORD,
    "AfterAgent": RECORD,
    "SessionEnd": RECORD,
    "PreCompact": COMPACT,
    "PreCompress": COMPACT,
}
"""What is done at each event: Claude Code's and Codex's names, and Gemini CLI's. Others are passed over."""

MARGIN = 0.15
"""Seconds before the end at which a hook that records stops to wait for the reading that it caused."""


def answer(payload: Mapping[str, Any], options: Options, until: float) -> str:
    """Return what an agent gets for an event: JSON, or a text, or nothing. ``until`` is when the time is up."""
    event = EVENTS.get(name := str(payload.get("hook_event_name")))
    cwd = payload.get("cwd") if isinstance(payload.get("cwd"), str) else None
    db, session = options.memory_of(cwd), payload.get("session_id")
    if event is None or payload.get("agent_id"):  # what a subagent found stands in the result of its tool
        return ""
    if not isinstance(session, str) or not session:
        raise ValueError("the input has no session_id")
    notes = Notes.of(db, session)
    if event in (START, PROMPT):
        text = _reminder(event, payload, options, db, session, notes)
        output = {"hookEventName": name, "additionalContext": text}
        return json.dumps({"hookSpecificOutput": output}, ensure_ascii=False) if text else ""
    return _recorded(event, payload, options, db, session, notes, until)


def _reminder(event: str, payload: Mapping[str, Any], options: Options, db: Path, session: str, notes: Notes) -> str:
    """Return what memory says at the start of a session or before an answer. The memory is only read."""
    if not db.exists():
        return ""
    model = embedder(options.embedder)
    if event == PROMPT and (load := getattr(model, "load", None)):
        threading.Thread(target=_tried, args=(load,), daemon=True).start()  # while the memory is imported and opened
    from tidal_hooks.texts import after_compaction, at_start
    from tidal_plugins import TidalMemory

    memory = TidalMemory(db, read_only=True, embedder=model, scope=options.scope)
    parts = []
    if notes.compacted and (event == PROMPT or payload.get("source") == "compact"):
        parts.append(after_compaction(memory, session))
        notes.compacted = False
        notes.save()
    elif event == START:
        parts.append(at_start(memory, session))
    prompt = payload.get("prompt")
    if event == PROMPT and isinstance(prompt, str):
        whisper = memory.whisper(prompt, exclude=notes.seen)
        parts.append(str(whisper))
        if whisper:
            notes.show(prompt, whisper.ids)
            notes.save()
    return "\n\n".join(filter(None, parts))


def _tried(load: Callable[[], object]) -> None:
    with suppress(Exception):  # the whisper meets it again
        load()


def _recorded(
    event: str, payload: Mapping[str, Any], options: Options, db: Path, session: str, notes: Notes, until: float
) -> str:
    """Record what was said, and return what a summary of it should keep, if there will be one."""
    from tidal_hooks.recording import record
    from tidal_hooks.texts import after_compaction
    from tidal_plugins import TidalMemory

    path = payload.get("transcript_path")
    if not isinstance(path, str) or not Path(path).is_file():
        raise FileNotFoundError("there is no transcript")
    if options.db is None:
        _prepare(db.parent)
    memory = TidalMemory(db, embedder=embedder(options.embedder), scope=options.scope)
    if event == COMPACT:
        notes.compacted = True
        notes.save()  # first, as the time may run out over a long transcript
    cwd = payload.get("cwd")
    record(memory, Path(path), notes, cwd if isinstance(cwd, str) else None)
    text = ""
    if event == COMPACT:
        notes.seen = []
        notes.save()
        if payload.get("hook_event_name") == "PreCompact" and "turn_id" not in payload:  # Claude Code alone reads it
            text = after_compaction(memory, session)
    memory.close(timeout=max(0.0, until - time.monotonic() - MARGIN))
    return text


def _prepare(folder: Path) -> None:
    """Make the folder of a project's memory, which no repository takes in."""
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if folder.name == FOLDER and not ignore.exists():
        ignore.write_text("*\n", "utf-8")


def embedder(name: str) -> Embedder:
    """Return an embedder by its name."""
    from tidal_plugins import HashingEmbedder, OnnxEmbedder, SentenceTransformerEmbedder

    if name == "minilm":
        return OnnxEmbedder()
    return HashingEmbedder() if name == "hashing" else SentenceTransformerEmbedder(name)
