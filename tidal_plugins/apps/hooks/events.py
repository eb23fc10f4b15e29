"""The events of coding agents, and what each is answered."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidal_plugins.apps import embedder_of
from tidal_plugins.apps.hooks.notes import Notes
from tidal_plugins.apps.hooks.options import FOLDER, Options

if TYPE_CHECKING:
    from tidal_plugins import TidalMemory
    from tidal_plugins.protocols import Embedder

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

MARGIN_TEXT = 0.25
"""Seconds before the end at which a hook stops to wait for a capsule. The state of the work is read in its stead, in
some 0.05 s, while the capsule still takes its share of the processor."""

NEWEST = 70
"""Entries, the newest ones and those that matter for good, of which a hook makes a capsule. Of 390 long answers it
takes 0.9 s of processor time, more than a hook has, of the newest 70 a fifth."""


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
        text = _reminder(event, payload, options, db, session, notes, until)
        output = {"hookEventName": name, "additionalContext": text}
        return json.dumps({"hookSpecificOutput": output}, ensure_ascii=False) if text else ""
    return _recorded(event, payload, options, db, session, notes, until)


def _reminder(
    event: str, payload: Mapping[str, Any], options: Options, db: Path, session: str, notes: Notes, until: float
) -> str:
    """Return what memory says at the start of a session or before an answer. The memory is only read."""
    if not db.exists():
        return ""
    model = embedder_of(options.embedder)
    if event == PROMPT and (load := getattr(model, "load", None)):
        threading.Thread(target=_tried, args=(load,), daemon=True).start()  # while the memory is imported and opened
    from tidal_plugins.apps.hooks.texts import after_compaction, at_start

    memory = _opened(db, options, model, read_only=True)
    parts = []
    prompt = payload.get("prompt")
    if event == PROMPT and isinstance(prompt, str):
        whisper = memory.whisper(prompt, exclude=notes.seen)
        parts.append(str(whisper))
        if whisper:
            notes.show(prompt, whisper.ids)
            notes.save()
    if notes.compacted and (event == PROMPT or payload.get("source") == "compact"):
        parts.insert(0, after_compaction(memory, session, until - MARGIN_TEXT))
        notes.compacted = False
        notes.save()
    elif event == START:
        parts.append(at_start(memory, session, until - MARGIN_TEXT))
    return "\n\n".join(filter(None, parts))


def _opened(db: Path, options: Options, model: Embedder, *, read_only: bool = False) -> TidalMemory:
    from tidal_plugins import Settings, TidalMemory

    settings = Settings.model_construct(tuning={"capsule.newest": NEWEST})
    return TidalMemory(db, read_only=read_only, embedder=model, scope=options.scope, settings=settings)


def _tried(load: Callable[[], object]) -> None:
    with suppress(Exception):  # the whisper meets it again
        load()


def _recorded(
    event: str, payload: Mapping[str, Any], options: Options, db: Path, session: str, notes: Notes, until: float
) -> str:
    """Record what was said, and return what a summary of it should keep, if there will be one."""
    from tidal_plugins.apps.hooks.recording import record
    from tidal_plugins.apps.hooks.texts import after_compaction

    path = payload.get("transcript_path")
    if not isinstance(path, str) or not Path(path).is_file():
        raise FileNotFoundError("there is no transcript")
    if options.db is None:
        _prepare(db.parent)
    memory = _opened(db, options, embedder_of(options.embedder))
    if event == COMPACT:
        notes.compacted = True
        notes.save()  # first, as the time may run out over a long transcript
    cwd = payload.get("cwd")
    record(memory, Path(path), notes, cwd if isinstance(cwd, str) else None)
    if event == COMPACT:
        notes.seen = []
        notes.save()
        if payload.get("hook_event_name") == "PreCompact" and "turn_id" not in payload:  # Claude Code alone reads it
            return after_compaction(memory, session, until - MARGIN_TEXT)  # what is left to be read has its time later
    memory.close(timeout=max(0.0, until - time.monotonic() - MARGIN))
    return ""


def _prepare(folder: Path) -> None:
    """Make the folder of a project's memory, which no repository takes in."""
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if folder.name == FOLDER and not ignore.exists():
        ignore.write_text("*\n", "utf-8")
