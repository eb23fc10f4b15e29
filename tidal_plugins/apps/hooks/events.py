"""The events of coding agents, and what each is answered."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tidal_plugins.apps import cut, embedder_of
from tidal_plugins.apps.hooks import FOLDER, Options
from tidal_plugins.apps.hooks.recording import Notes, record
from tidal_plugins.model.delimiters import inert
from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    from tidal_plugins import Episode, TidalMemory
    from tidal_plugins.protocols import Embedder


T = TypeVar("T")

logger = logging.getLogger(__name__)

MAX_CONFLICTS = 5
"""Open conflicts that a session begins with, the newest: each is a question to the user."""

VALUE_CHARS = 160
"""Characters of a value in an open conflict: two lines of a terminal."""


MAX_TURNS = 300
"""Turns of a session that the state of its work is made of, the newest, as for a capsule."""

_DATED = lazy_re(r"- \d{4}-\d\d-\d\d: ")
_CITED = lazy_re(r"\[ep:\w+\]")

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
    tells = event == START or notes.compacted
    memory = _opened(db, options, model, read_only=True, tuning={"capsule.newest": NEWEST} if tells else {})
    parts = []
    prompt = payload.get("prompt")
    if event == PROMPT and isinstance(prompt, str):
        whisper = memory.whisper(prompt, exclude=notes.seen)
        parts.append(str(whisper))
        if whisper.degraded:
            logger.warning("the whisper goes without %s: tidal doctor tells more", ", ".join(whisper.degraded))
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


def _opened(
    db: Path, options: Options, model: Embedder, tuning: Mapping[str, int], *, read_only: bool = False
) -> TidalMemory:
    """Return the memory. Any ``tuning`` is checked against the weights of all parts, which takes their import."""
    from tidal_plugins import Settings, TidalMemory

    settings = Settings.model_construct(tuning=tuning)
    return TidalMemory(db, read_only=read_only, embedder=model, scope=options.scope, settings=settings)


def _tried(load: Callable[[], object]) -> None:
    with suppress(Exception):  # the whisper meets it again
        load()


def _recorded(
    event: str, payload: Mapping[str, Any], options: Options, db: Path, session: str, notes: Notes, until: float
) -> str:
    """Record what was said, and return what a summary of it should keep, if there will be one."""

    path = payload.get("transcript_path")
    if not isinstance(path, str) or not Path(path).is_file():
        raise FileNotFoundError("there is no transcript")
    if options.db is None:
        _prepare(db.parent)
    memory = _opened(db, options, embedder_of(options.embedder), {"capsule.newest": NEWEST} if event == COMPACT else {})
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


def at_start(memory: TidalMemory, session: str, until: float) -> str:
    """Return what a session begins with: the capsule, with the state of the work, and open conflicts.

    Where the capsule is not made ``until`` a time of ``time.monotonic``, the state of the work stands in its place.
    """
    from tidal_plugins.turns import capsule_text, work_lines

    capsule = within(lambda: memory.capsule.read(thread=session), until)
    if capsule is not None:
        text = capsule_text(capsule, memory.delimiters)
    else:
        logger.warning("the capsule was not made in time: the state of the work alone is told")
        worked = next(
            (each for each in memory.episodes.list(limit=MAX_TURNS, newest_first=True) if each.tool_calls), None
        )
        turns = _newest(memory, worked.thread) if worked and worked.thread else []
        text = memory.delimiters.text("\n".join(work_lines(turns, memory.delimiters)))
    return "\n\n".join(filter(None, [text, _conflicts(memory)]))


def after_compaction(memory: TidalMemory, session: str, until: float) -> str:
    """Return what a summary of a session should keep: the state of its work, what was done in it, the rules that hold,
    and where the turns that the summary stands for are kept word by word.

    What was done and the rules are left out where the capsule, which tells them, is not made ``until`` a time.
    """
    from tidal_plugins.turns import work_lines

    kept = memory.episodes.list(thread=session)
    if not kept:
        return ""
    capsule = within(memory.capsule.read, until)
    if capsule is None:
        logger.warning("the capsule was not made in time: the state of the work alone is told")
    own = {f"[{each.citation}]" for each in kept}
    rules = [line for line in capsule["operational_rules"].splitlines() if line.strip()] if capsule else []
    dated = [line for line in capsule["recent_work"].splitlines() if _DATED.match(line)] if capsule else []
    done = [line for line in dated if own.intersection(_CITED.findall(line))]
    cited = " to ".join(dict.fromkeys(f"[{each.citation}]" for each in (kept[0], kept[-1])))
    place = f"- Memory keeps this conversation so far word by word, an episode for each turn: {cited}"
    work = work_lines(kept[-MAX_TURNS:], memory.delimiters, beside=rules)
    parts = [*work, *done, place, *(["Rules:", *rules] if rules else [])]
    return memory.delimiters.text("\n".join(parts))


def within(make: Callable[[], T], until: float) -> T | None:
    """Return what is made, or ``None`` if that takes longer than ``until``; it goes on then, until the process ends."""
    made: list[T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            one = make()
            if time.monotonic() <= until:
                made.append(one)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(0.0, until - time.monotonic()))
    if failed:
        raise failed[0]
    return made[0] if made else None


def _newest(memory: TidalMemory, thread: str) -> list[Episode]:
    return memory.episodes.list(thread=thread, limit=MAX_TURNS, newest_first=True)[::-1]


def _conflicts(memory: TidalMemory) -> str:
    found = memory.facts.conflicts()[-MAX_CONFLICTS:]
    lines = [
        f"- {cut(inert(str(each.key)), VALUE_CHARS)}: «{cut(inert(str(each.fact)), VALUE_CHARS)}»"
        f" or {'not ' * each.negated}«{cut(inert(str(each.claim)), VALUE_CHARS)}»? [{each.citation}]"
        for each in found
    ]
    return memory.delimiters.text("\n".join(["Open contradictions, to ask the user about:", *lines])) if lines else ""
