"""What remains grows with the limit: there is no limit at which a context suddenly loses much."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.compaction.histories import chat, loop, step
from tests.compaction.test_compactor import NOW, payload
from tidal_plugins import Compaction, Message, TidalMemory
from tidal_plugins.compaction.files import CompactionTuning
from tidal_plugins.settings import Settings

FALL = 0.1
"""Share of its size that a context may lose while the limit grows."""
USED = 0.8
"""Share of the target that is used wherever there is something to fill it with."""


def with_files() -> list[Message]:
    parts = {
        f"src/part{n}.py": "\n".join(f"def part{n}_{line}():\n    return {line}" for line in range(24))
        for n in range(5)
    }
    readings = [
        m for n, (path, text) in enumerate(parts.items()) for m in step(900 + n, ("Read", {"path": path}, text))
    ]
    looked = Message("user", "Read the parts.", "look")
    return [*chat(0, 16), looked, *readings, Message("assistant", "I read all five parts.", "read"), NOW]


HISTORIES = {
    "turns and files": with_files(),
    "turns, and a long one that goes on": [*chat(0, 10), NOW, *loop(0, 24, words=15)],
    "a long turn that goes on": [NOW, *loop(0, 40, words=20)],
}


def compacted(memory: TidalMemory, history: list[Message], max_tokens: int) -> Compaction:
    """Compact a history within a limit, for the first time."""
    return memory.scoped(str(max_tokens)).compactor(max_tokens=max_tokens).compact(history, thread="s")


@pytest.mark.parametrize("name", HISTORIES)
def test_what_remains_grows_with_the_limit(memory: TidalMemory, pytestconfig: pytest.Config, name: str) -> None:
    history = HISTORIES[name]
    whole = payload(history).tokens
    step = 1 if pytestconfig.getoption("all") else 5
    made = [compacted(memory, history, whole * (30 + n) // 100) for n in range(0, 100, step)]
    for before, after in pairwise(each.after.tokens for each in made):
        assert after >= (1 - FALL) * before
    target = Settings()[CompactionTuning].target
    largest = made[-20 // step :]
    for each in made:
        more = whole > each.limit.tokens * target  # else the whole is no more than the target
        assert not more or each.after.tokens >= USED * target * each.limit.tokens or _all_told(each, largest)


def _all_told(compaction: Compaction, larger: list[Compaction]) -> bool:
    """Return whether larger limits say no more: there was nothing to fill the room with."""
    return all(compaction.after.tokens >= (1 - FALL) * each.after.tokens for each in larger if each.rebuilt)


def test_files_shrink_before_they_vanish(memory: TidalMemory) -> None:
    history = with_files()
    whole = payload(history).tokens
    made = [compacted(memory, history, int(whole * share)).files for share in (1.0, 0.8, 0.6, 0.4)]
    shown = [sum(len(file.content) for file in files) for files in made]
    assert shown == sorted(shown, reverse=True)
    assert shown[-1] > 0
