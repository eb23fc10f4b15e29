"""What remains grows with the limit: there is no limit at which a context suddenly loses much."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path
from shutil import copyfile

import pytest

from tests.compaction.histories import chat, loop, step
from tests.compaction.test_compactor import NOW, payload
from tidal_plugins import Compaction, Exchange, HashingEmbedder, Message, Settings, TidalMemory

QUIET = Settings(graph={"background": False})
LIMITS = 100
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


Compact = Callable[[int], Compaction]


def recorded(history: list[Message], folder: Path) -> Compact:
    """Return a function that compacts a history within a limit, as if for the first time.

    The completed turns are recorded once; each compaction has a copy of the file as it was then.
    """
    numbers = count()

    def opened(path: Path) -> TidalMemory:
        return TidalMemory(path, embedder=HashingEmbedder(), settings=QUIET)

    asked = [place for place, message in enumerate(history) if message.role == "user"]
    with opened(folder / "recorded.db") as memory:
        memory.record_many(Exchange(tuple(history[first:last]), "s") for first, last in pairwise(asked))

    def compacted(max_tokens: int) -> Compaction:
        with opened(copyfile(folder / "recorded.db", folder / f"{next(numbers)}.db")) as memory:
            return memory.compactor(max_tokens=max_tokens).compact(history, thread="s")

    return compacted


@pytest.mark.parametrize("name", HISTORIES)
def test_what_remains_grows_with_the_limit(tmp_path: Path, name: str) -> None:
    history = HISTORIES[name]
    whole = payload(history).tokens
    compacted = recorded(history, tmp_path)
    made = [compacted(whole * (30 + n) // 100) for n in range(LIMITS)]
    sizes = [each.after.tokens for each in made]
    for before, after in pairwise(sizes):
        assert after >= (1 - FALL) * before
    target = Settings().compaction.target
    for each in made:
        more = whole > each.limit.tokens * target  # else the whole is no more than the target
        assert not more or each.after.tokens >= USED * target * each.limit.tokens or _all_told(each, made[-20:])


def _all_told(compaction: Compaction, larger: list[Compaction]) -> bool:
    """Return whether larger limits say no more: there was nothing to fill the room with."""
    return all(compaction.after.tokens >= (1 - FALL) * each.after.tokens for each in larger if each.rebuilt)


def test_files_shrink_before_they_vanish(tmp_path: Path) -> None:
    history = with_files()
    whole = payload(history).tokens
    compacted = recorded(history, tmp_path)
    made = [compacted(int(whole * share)).files for share in (1.0, 0.8, 0.6, 0.4)]
    shown = [sum(len(file.content) for file in files) for files in made]
    assert shown == sorted(shown, reverse=True)
    assert shown[-1] > 0
