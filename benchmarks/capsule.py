"""How much a capsule compresses a memory as it grows, and how long it takes to read one [Capsule].

    python benchmarks/capsule.py                                     1,000, 10,000 and 100,000 turns
    python benchmarks/capsule.py --turns 400 --data file.json        of a file that benchmarks/presence.py reads

The turns are those of the conversations, told again and again with other numbers, over as many days as it takes at
forty turns a day. No model is called: vectors are made of words, and a sentence that differs by its numbers alone is
tagged once. Reading takes what it takes once the jobs have tagged what was recorded, in seconds of the processor.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from benchmarks.presence import read
from benchmarks.tables import options, table, timed, wide
from tidal_plugins import Exchange, HashingEmbedder, Settings, TidalMemory
from tidal_plugins.language.tagger import tag
from tidal_plugins.model.exchange import turn
from tidal_plugins.model.sentence import SentenceTags
from tidal_plugins.testing import NOON, FrozenClock

OWN = Path(__file__).with_name("data") / "domains.json"
A_DAY = 40
"""Turns of one day: each of an agent's life of some months has as many."""
READINGS = 5


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--turns", nargs="+", type=int, default=[1_000, 10_000, 100_000], metavar="N")
    parser.add_argument("--data", type=Path, default=OWN, metavar="FILE", help="conversations")
    args = parser.parse_args(argv)
    shown = table(
        "A capsule of a growing memory",
        "turns",
        "characters",
        "capsule",
        "lines",
        "ratio",
        "first read, s",
        "again, s",
        left=0,
    )
    with TemporaryDirectory(prefix="tidal-capsule-") as folder:
        clock, settings = FrozenClock(NOON), Settings(graph={"enabled": False, "supersession": False})
        parts: dict[str, Any] = {"embedder": HashingEmbedder(64), "emotion": None, "tagger": Tagger()}
        with TidalMemory(Path(folder, "m.db"), **parts, settings=settings, clock=clock) as memory:
            told, done = said(args.data), 0
            for size in sorted(args.turns):
                memory.record_many(islice(told, size - done))
                memory.graph.index_pending()
                done = size
                clock.set(NOON + timedelta(days=done / A_DAY))
                first, *others = timed(lambda _: memory.capsule.read(), range(READINGS), time.process_time)
                capsule = memory.capsule.read()
                text, ratio = str(capsule), capsule.ratio or 0.0
                lines = len(text.splitlines())
                figures = (size, ratio * len(text), len(text), lines)
                shown.add_row(
                    *(f"{each:,.0f}" for each in figures),
                    f"{ratio:,.0f} : 1",
                    f"{first / 1000:.2f}",
                    f"{min(others) / 1000:.2f}",
                )
    wide(100).print(shown)


class Tagger:
    """Tags each sentence once, whatever numbers it has."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], SentenceTags] = {}

    def tag(self, sentences: Sequence[str], roles: Sequence[str]) -> Sequence[SentenceTags]:
        bare = [(re.sub(r"\d+", "0", text), role) for text, role in zip(sentences, roles, strict=True)]
        if new := list(dict.fromkeys(each for each in bare if each not in self._known)):
            texts, spoken = zip(*new, strict=True)
            self._known.update(zip(new, tag(texts, spoken), strict=True))
        return [self._known[each] for each in bare]


def said(path: Path) -> Iterator[Exchange]:
    """Yield turns without end, a day's in a thread of its own."""
    stories = [one for story in read(path) for one in story.turns]
    for number in count():
        one = stories[number % len(stories)]
        again = number // len(stories)
        user, agent = (_again(text, again) for text in (one.user, one.agent))
        at = NOON + timedelta(days=number / A_DAY)
        yield Exchange(turn(user, agent), thread=f"day {number // A_DAY}", occurred_at=at)


def _again(text: str, again: int) -> str:
    """Return a text with other numbers, so that no turn repeats another one."""
    told = re.sub(r"\b\d{1,2}\b", lambda found: str((int(found[0]) + again) % 97), text)
    return f"{told} ({again})" if again else told


if __name__ == "__main__":
    main()
