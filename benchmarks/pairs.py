"""What holds now: whether a later text takes the place of an earlier one, and look-alikes that both hold.

    python benchmarks/pairs.py --data benchmarks/data/pairs.jsonl --fails

Each line is a case: an ``earlier`` and a ``later`` text, the ``question`` about their value, and what must be shown as
holding (``now``) or as former (``old``); of a look-alike, ``old`` still holds. A case has a memory of its own, with
other entries between its two texts, once as notes and once as turns. No model is called but the embedder.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.tables import options
from tidal_plugins import Recall, Settings, TidalMemory, Whisper
from tidal_plugins.testing import FrozenClock

Case = Mapping[str, Any]

START = datetime(2026, 11, 2, 9, tzinfo=UTC)
APART = timedelta(days=2)
DEPTH = 5
"""Hits of a recall that are looked at."""
KINDS = {"pair": "pairs", "lookalike": "look-alikes"}
WAYS = ("notes", "turns")
DOORS = ("whisper", "recall")

BETWEEN = (
    "The tomatoes on the balcony have their first flowers.",
    "Reading a novel about lighthouse keepers at the moment, slow but lovely.",
    "The train to Basel was an hour late and nobody said why.",
    "Baked a rye loaf; the crust came out better than last time.",
    "The neighbour's drums start at eight every evening.",
    "Watched a documentary on octopuses, they can open jars.",
    "The printer jams whenever somebody prints on both sides.",
    "Found my grandfather's stamps in a shoe box under the bed.",
    "The unit tests of the parser take four minutes, mostly fixtures.",
    "It rained so hard that the cellar stairs were wet.",
    "The museum had a room full of clocks, all a little wrong.",
    "Lent the drill to Ferdinand, it needs a new chuck.",
    "My knee hurts after the long descent on the gravel path.",
    "A heron stood in the pond for half an hour.",
    "The soup needed more salt and a bit of lemon.",
)
"""Entries that have nothing to do with any case."""


def main(argv: Sequence[str] | None = None) -> None:
    """Print how many cases come out right, and with ``--fails`` what was shown for the others."""
    parser = options(__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="FILE")
    parser.add_argument("--fails", action="store_true", help="print each case that fails, with what was shown")
    parser.add_argument("--only", action="append", metavar="ID", help="this case only; may be given again")
    add_embedder(parser)
    args = parser.parse_args(argv)
    cases = [case for case in load(args.data) if not args.only or case["id"] in args.only]
    embedder, console = CachedEmbedder(EMBEDDERS[args.embedder]()), Console(width=160)
    right: Counter[tuple[str, str, str]] = Counter()
    for case in cases:
        for way, door, good, shown in judged(case, embedder):
            right[case["kind"], way, door] += good
            if args.fails and not good:
                console.print(f"{case['id']} {way} {door}: {case['question']}\n  {case['earlier']}\n  {case['later']}")
                console.print("\n".join(f"    {line}" for line in shown), markup=False, highlight=False)
    console.print(table(right, Counter(case["kind"] for case in cases)))


def load(path: Path) -> list[Case]:
    """Return the cases of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def judged(case: Case, embedder: CachedEmbedder) -> Iterator[tuple[str, str, bool, Sequence[str]]]:
    """Yield for notes and turns, whispers and recalls, whether a case comes out right, and what was shown."""
    for way in WAYS:
        with TemporaryDirectory() as folder:
            clock = FrozenClock(START)
            settings = Settings(graph={"enabled": False, "background": False})
            with TidalMemory(Path(folder) / "memory.db", embedder=embedder, settings=settings, clock=clock) as memory:
                _live(memory, clock, case, way)
                whisper, recall = memory.whisper(case["question"]), memory.recall(case["question"], limit=DEPTH)
            for door, shown in zip(DOORS, (list(_whispered(whisper)), list(_recalled(recall))), strict=True):
                hidden = whisper.recall.dropped if whisper.recall and door == "whisper" else ()
                dropped = case["kind"] == "lookalike" and any(one.stage == "supersession" for one in hidden)
                dropped = dropped and not any(_has(line, case["old"]) for line, _ in shown)
                good = not dropped and is_right(case, shown)
                yield way, door, good, [line if holds else f"[former] {line}" for line, holds in shown]


def is_right(case: Case, shown: Iterable[tuple[str, bool]]) -> bool:
    """Return whether what was shown, and whether as holding, is right.

    A pair needs one of its new values, and none of the old ones as what holds. A look-alike's earlier text may be left
    out, where the question does not bring it up, but never be shown as former.
    """
    lines = list(shown)
    if case["kind"] == "pair":
        stale = any(holds and _has(line, case["old"]) and not _has(line, case["now"]) for line, holds in lines)
        return any(holds and _has(line, case["now"]) for line, holds in lines) and not stale
    return not any(not holds and _has(line, case["old"]) for line, holds in lines)


def table(right: Mapping[tuple[str, str, str], int], cases: Mapping[str, int]) -> Table:
    """Return the table of the cases that came out right."""
    found = Table("", *(f"{way}, {door}" for way in WAYS for door in DOORS), title="What holds now")
    for kind, name in KINDS.items():
        cells = [f"{right.get((kind, way, door), 0)} of {cases.get(kind, 0)}" for way in WAYS for door in DOORS]
        found.add_row(name, *cells)
    return found


def _live(memory: TidalMemory, clock: FrozenClock, case: Case, way: str) -> None:
    texts = [case["earlier"], *BETWEEN, case["later"]]
    for place, text in enumerate(texts):
        if way == "notes":
            memory.remember(text)
        else:
            memory.record(text, thread=f"talk {place}")
        clock.advance(seconds=APART.total_seconds() / (len(texts) - 1))
    memory.supersessions.find()


def _recalled(recall: Recall) -> Iterator[tuple[str, bool]]:
    """Yield the texts of a recall, and whether each is given as what holds."""
    for hit in recall:
        yield hit.text, not hit.why.superseded_by


def _whispered(whisper: Whisper) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a whisper, and whether each is given as what holds. A value after «(was» is former."""
    for line in whisper.text.splitlines()[1:-1]:
        head, _, said = line.partition(": ")
        said, _, former = said.partition(" (was ")
        yield said, not head.endswith(", was")
        if former:
            yield former, False


def _has(line: str, texts: Iterable[str]) -> bool:
    return any(text.casefold() in line.casefold() for text in texts)


if __name__ == "__main__":
    main()
