"""What a coding agent reads: the capsule and open conflicts, the state of the work after a compaction."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from tidal_plugins.model.fence import inert
from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    from tidal_plugins import Episode, TidalMemory

T = TypeVar("T")

logger = logging.getLogger(__name__)

MAX_CONFLICTS = 5
"""Open conflicts that a session begins with, the newest: each is a question to the user."""

MAX_CHARS = 160
"""Characters of a value in an open conflict: two lines of a terminal."""


MAX_TURNS = 300
"""Turns of a session that the state of its work is made of, the newest, as for a capsule."""

_DATED = lazy_re(r"- \d{4}-\d\d-\d\d: ")
_CITED = lazy_re(r"\[ep:\w+\]")


def at_start(memory: TidalMemory, session: str, until: float) -> str:
    """Return what a session begins with: the capsule, with the state of the work, and open conflicts.

    Where the capsule is not made ``until`` a time of ``time.monotonic``, the state of the work stands in its place.
    """
    from tidal_plugins.turns import capsule_text, work_lines

    capsule = within(lambda: memory.capsule.read(thread=session), until)
    if capsule is not None:
        text = capsule_text(capsule, memory.frames)
    else:
        logger.warning("the capsule was not made in time: the state of the work alone is told")
        worked = next(
            (each for each in memory.episodes.list(limit=MAX_TURNS, newest_first=True) if each.tool_calls), None
        )
        turns = _newest(memory, worked.thread) if worked and worked.thread else []
        text = memory.frames.text("\n".join(work_lines(turns, memory.frames)))
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
    work = work_lines(kept[-MAX_TURNS:], memory.frames, beside=rules)
    parts = [*work, *done, place, *(["Rules:", *rules] if rules else [])]
    return memory.frames.text("\n".join(parts))


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
        f"- {_short(each.key)}: «{_short(each.fact)}»"
        f" or {'not ' * each.negated}«{_short(each.claim)}»? [{each.citation}]"
        for each in found
    ]
    return memory.frames.text("\n".join(["Open contradictions, to ask the user about:", *lines])) if lines else ""


def _short(value: object) -> str:
    text = inert(str(value))
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}…"
