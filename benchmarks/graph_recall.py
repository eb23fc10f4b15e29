"""Measure whether the relations of the graph help recall to find the evidence of questions.

    python benchmarks/graph_recall.py --data locomo10.json

Each conversation becomes a memory, and each question is asked three times: of the turns alone, as recall does by
default; of the turns and the graph's relations in one ranking; and of both in two rankings that are fused by reciprocal
rank. A relation among the hits stands for the turns that it was read in, at its rank.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.conversations import ADVERSARIAL, Data, fill, load
from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.tables import DEPTH, difference, options, ranks_of, scores, shown, summary
from tidal_plugins import Affect, Hit, TidalMemory
from tidal_plugins.model.entry import FACT, KINDS
from tidal_plugins.scoring.ranking import reciprocal_rank
from tidal_plugins.testing import FrozenClock

Arm = Callable[[str], list[str]]

WIDE = 3 * DEPTH
"""Number of hits that are asked for: a relation may stand for a turn that is among them already."""

RRF = 60
"""Constant of the reciprocal rank fusion, as in its paper."""

ALONE, ONE, FUSED = "turns alone", "one ranking", "two rankings, fused"
SHOWN = ("recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10")


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--data", nargs="+", type=Path, required=True, metavar="FILE", help="as retrieval.py reads it")
    add_embedder(parser)
    args = parser.parse_args(argv)
    embedder = CachedEmbedder(EMBEDDERS[args.embedder]())
    for path in args.data:
        data = load(path)
        rows, relations = measured(data, embedder)
        show(data, rows, relations)


def measured(data: Data, embedder: CachedEmbedder) -> tuple[dict[str, list[list[float]]], int]:
    """Return the scores of each question by arm, and how many relations were read."""
    rows: dict[str, list[list[float]]] = {}
    relations = 0
    with TemporaryDirectory(prefix="tidal-benchmark-") as folder:
        for number, conversation in enumerate(track(data.conversations, data.name, console=Console(stderr=True))):
            clock = FrozenClock()
            with TidalMemory(Path(folder, f"{number}.db"), embedder=embedder, clock=clock) as memory:
                for at, known, new in conversation.moments():
                    clock.set(at)
                    fill(memory, new)
                    for question in known.questions:
                        for name, ask in arms(memory).items() if question.category != ADVERSARIAL else ():
                            ranks = ranks_of(sorted(question.evidence), ask(question.text))
                            rows.setdefault(name, []).append(scores(ranks))
                relations += len(memory.graph.relations(limit=None))
    return rows, relations


def arms(memory: TidalMemory) -> dict[str, Arm]:
    def asked(question: str, kinds: Sequence[str] | None = None) -> list[str]:
        found = memory.recall(question, kinds=kinds, limit=WIDE, affect=Affect())
        return list(dict.fromkeys(turn for hit in found for turn in turns_of(memory, hit)))

    def fused(question: str) -> list[str]:
        rankings = [asked(question), asked(question, [FACT])]
        places = [{turn: place for place, turn in enumerate(ranking, 1)} for ranking in rankings]
        worth = {
            turn: reciprocal_rank([place.get(turn, 0) for place in places], k=RRF)
            for turn in dict.fromkeys([*rankings[0], *rankings[1]])
        }
        return sorted(worth, key=lambda turn: -worth[turn])

    return {ALONE: asked, ONE: lambda question: asked(question, sorted(KINDS)), FUSED: fused}


def turns_of(memory: TidalMemory, hit: Hit) -> Iterator[str]:
    """Yield the turn of a hit, or the turns that a relation was read in."""
    if "message" in hit.entry.metadata:
        yield str(hit.entry.metadata["message"])
    elif relation := hit.entry.metadata.get("relation"):
        for piece in memory.graph.evidence(relation):
            if piece.entry and (entry := memory.get(piece.entry)):
                yield str(entry.metadata["message"])


def show(data: Data, rows: dict[str, list[list[float]]], relations: int) -> None:
    questions = len(rows[ALONE])
    table = Table(title=f"{data.name}: {questions} questions, {relations} relations", title_justify="left")
    for column in ("arm", *SHOWN):
        table.add_column(column)
    for name, own in rows.items():
        figures = summary(own)
        table.add_row(name, *(shown(figures[column]) for column in SHOWN))
    table.add_section()
    for name in (ONE, FUSED):
        figures = difference(rows[name], rows[ALONE])
        table.add_row(f"{name}, against {ALONE}", *(shown(figures[column], signed=True) for column in SHOWN))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
