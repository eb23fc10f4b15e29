"""What supersedes what on conversations: every link that is found, for reading, and what it changes in recall.

    python benchmarks/supersession.py --data locomo10.json --sample 40

Each conversation becomes a memory of its own, through the public API. The links are printed with both texts, so that
a reader can say which are right. Then every question is asked twice, with supersessions and without: the share of the
recalls and whispers that change, and the time that finding took for each turn. No model is called but the embedder.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.text import Text

from benchmarks.embedders import CachedEmbedder
from benchmarks.filling import exchanges_in, to_message
from benchmarks.locomo import Conversation, load
from benchmarks.metrics import SEED
from tidal_plugins import Affect, Exchange, OnnxEmbedder, TidalMemory
from tidal_plugins.tuning import Tuning

SHOWN = 400
"""Characters of a text that are printed."""
DEPTH = 10


@dataclass(slots=True)
class Report:
    """What was found in the conversations of one file."""

    links: list[tuple[str, str, str]] = field(default_factory=list)
    """Each link in words, with the later and the earlier text."""
    turns: int = 0
    seconds: float = 0.0
    questions: int = 0
    recalls: int = 0
    whispers: int = 0


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", nargs="+", type=Path, required=True, metavar="FILE", help="LoCoMo or LongMemEval")
    parser.add_argument("--sample", type=int, metavar="N", help="print N links of each file, drawn at random")
    args = parser.parse_args(argv)
    embedder, console = CachedEmbedder(OnnxEmbedder()), Console()
    for path in args.data:
        report = Report()
        for conversation in load(path).conversations:
            _measure(conversation, embedder, report)
        _show(path.name, report, args.sample, console)


def _measure(conversation: Conversation, embedder: CachedEmbedder, report: Report) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with _opened(path, conversation, embedder, enabled=True) as memory:
            for session in conversation.sessions:
                memory.record_many(
                    Exchange(tuple(map(to_message, turns)), session.id) for turns in exchanges_in(session)
                )
            begun = time.perf_counter()
            memory.supersessions.find()
            report.seconds += time.perf_counter() - begun
            report.turns += len(conversation.turns)
            for link in memory.supersessions.list():
                texts = memory.get(link.later).text, memory.get(link.earlier).text
                report.links.append((f"{link.replacement.confidence:.2f} {link}", *texts))
            asked = _asked(memory, conversation)
        with _opened(path, conversation, embedder, enabled=False) as memory:
            plain = _asked(memory, conversation)
    report.questions += len(asked)
    report.recalls += sum(one[0] != other[0] for one, other in zip(asked, plain, strict=True))
    report.whispers += sum(one[1] != other[1] for one, other in zip(asked, plain, strict=True))


def _opened(path: Path, conversation: Conversation, embedder: CachedEmbedder, *, enabled: bool) -> TidalMemory:
    settings = Tuning(graph={"enabled": False, "background": False}, supersession={"enabled": enabled})
    return TidalMemory(path, embedder=embedder, settings=settings, clock=lambda: conversation.end)


def _asked(memory: TidalMemory, conversation: Conversation) -> list[tuple[tuple[str, ...], str]]:
    calm = Affect()
    return [
        (memory.recall(item.text, limit=DEPTH, affect=calm).ids, memory.whisper(item.text, affect=calm).text)
        for item in conversation.questions
    ]


def _show(name: str, report: Report, sample: int | None, console: Console) -> None:
    links = report.links
    if sample is not None and sample < len(links):
        links = random.Random(SEED).sample(links, sample)
    console.rule(name)
    for said, later, earlier in links:
        console.print(Text(f"{said}\n  later:   {_cut(later)}\n  earlier: {_cut(earlier)}\n"))
    each = 1000 * report.seconds / report.turns
    console.print(f"{len(report.links)} links in {report.turns} turns, found in {each:.2f} ms a turn.")
    if report.questions:
        recalls, whispers = (100 * count / report.questions for count in (report.recalls, report.whispers))
        console.print(f"Of {report.questions} recalls {recalls:.1f} % change, of as many whispers {whispers:.1f} %.")


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


if __name__ == "__main__":
    main()
