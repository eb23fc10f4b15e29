"""What a coding agent reads: the capsule and open conflicts, the state of the work after a compaction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidal_plugins.model.fence import inert

if TYPE_CHECKING:
    from tidal_plugins import TidalMemory

MAX_CONFLICTS = 5
"""Open conflicts that a session begins with, the newest: each is a question to the user."""

MAX_CHARS = 160
"""Characters of a value in an open conflict: two lines of a terminal."""


MAX_TURNS = 300
"""Turns of a session that the state of its work is made of, the newest, as for a capsule."""

_DATED = re.compile(r"- \d{4}-\d\d-\d\d: ")
_CITED = re.compile(r"\[ep:\w+\]")


def at_start(memory: TidalMemory, session: str) -> str:
    """Return what a session begins with: the capsule, with the state of the work, and open conflicts."""
    from tidal_plugins.turns import capsule_text

    capsule = capsule_text(memory.capsule.read(thread=session), memory.frames)
    return "\n\n".join(filter(None, [capsule, _conflicts(memory)]))


def after_compaction(memory: TidalMemory, session: str) -> str:
    """Return what a summary of a session should keep: the state of its work, what was done in it, the rules that hold,
    and where the turns that the summary stands for are kept word by word."""
    from tidal_plugins.turns import work_lines

    kept = memory.episodes.list(thread=session)
    if not kept:
        return ""
    capsule = memory.capsule.read()
    own = {f"[{each.citation}]" for each in kept}
    rules = [line for line in capsule["operational_rules"].splitlines() if line.strip()]
    dated = [line for line in capsule["recent_work"].splitlines() if _DATED.match(line)]
    done = [line for line in dated if own.intersection(_CITED.findall(line))]
    cited = " to ".join(dict.fromkeys(f"[{each.citation}]" for each in (kept[0], kept[-1])))
    place = f"- Memory keeps this conversation so far word by word, an episode for each turn: {cited}"
    work = work_lines(kept[-MAX_TURNS:], memory.frames, beside=rules)
    parts = [*work, *done, place, *(["Rules:", *rules] if rules else [])]
    return memory.frames.text("\n".join(parts))


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
