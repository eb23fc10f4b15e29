"""What a coding agent reads: the capsule and open conflicts, the state of the work after a compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidal_plugins.model.fence import inert

if TYPE_CHECKING:
    from tidal_plugins import TidalMemory

MAX_CONFLICTS = 5
"""Open conflicts that a session begins with, the newest: each is a question to the user."""

MAX_CHARS = 160
"""Characters of a value in an open conflict: two lines of a terminal."""


def at_start(memory: TidalMemory, session: str) -> str:
    """Return what a session begins with: the capsule, with the state of the work, and open conflicts."""
    from tidal_plugins.turns import capsule_text

    capsule = capsule_text(memory.capsule.read(thread=session), memory.frames)
    return "\n\n".join(filter(None, [capsule, _conflicts(memory)]))


def after_compaction(memory: TidalMemory, session: str) -> str:
    """Return the state of the work, and where the turns that a summary stands for are kept word by word."""
    kept = memory.episodes.list(thread=session)
    work = [line for line in memory.capsule.read()["recent_work"].splitlines() if line.strip()]
    if not kept:
        return ""
    cited = " to ".join(dict.fromkeys(f"[{each.citation}]" for each in (kept[0], kept[-1])))
    place = f"- Memory keeps this conversation so far word by word, an episode for each turn: {cited}"
    return memory.frames.text("\n".join([*work, place]))


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
