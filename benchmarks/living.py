"""Measure what each living mechanism does to recall, to the store's size and to the time of a turn, on conversations.

    python benchmarks/living.py --data locomo10.json --json out.json

Each conversation is lived through in order of time, by the clock of its sessions, through the public API. The first
speaker is the user, the other plays the agent. Memory whispers before each exchange, the ids of the surfaced memories
are recorded with the exchange, and each day ends with a consolidation. All questions are asked at the end, in a neutral
mood. No model is called but the embedder.

Each hit takes one place in a ranking. Facts and dossiers, which the store made itself, take a place too but count for
no turn. Only in the column «quoted» they count for the turns that they are made of.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.filling import exchanges_in, to_message
from benchmarks.locomo import ADVERSARIAL, PACE, Conversation, Data, Question, Session, load
from benchmarks.metrics import DEPTH, RESAMPLES, SEED, intervals, ndcg, quantiles, recall, shown
from tidal_plugins import (
    Affect,
    Exchange,
    Hit,
    TidalError,
    TidalMemory,
)
from tidal_plugins.tuning import Tuning

WIDTH = 140
WORST = -0.5
"""Points of recall@5 that the defaults may cost against all mechanisms off."""
TOPICS = 10
"""Number of topics with dossiers beside the two speakers: the most frequent tags of the conversation."""

COLUMNS = ("recall@5", "quoted@5", "recall@10", "ndcg@10", "all hits")
"""Columns of the tables. ``all hits`` is the share of the evidence among all shown hits, which may be more than ten."""


@dataclass(frozen=True, slots=True)
class Life:
    """One way to live through a conversation."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    surfaced: bool = True
    consolidated: bool = True
    dossiers: bool = False


@dataclass(frozen=True, slots=True)
class Arm:
    """A life, and the way in which its memory is asked."""

    life: str
    recall: Mapping[str, Any] = field(default_factory=dict)
    limit: int = DEPTH
    associative: bool = False
    archived: bool = False
    """Whether archived entries are asked too; decay is off only if they are."""


LIVES: Final[Mapping[str, Life]] = {  # "eager": a fact from each use, for the defaults make hardly any
    "off": Life(surfaced=False, consolidated=False),
    "use": Life(consolidated=False),
    "default": Life(),
    "no use": Life(surfaced=False),
    "no consolidation": Life(consolidated=False),
    "gate": Life({"gate": {"enabled": True}}),
    "eager": Life({"consolidation": {"turns": 1}}),
    "dossiers": Life(dossiers=True),
}
ARMS: Final[Mapping[str, Arm]] = {
    "all off": Arm("off", {"decay": 0.0}, archived=True),
    "archiving alone": Arm("off", {"decay": 0.0}),
    "decay alone": Arm("off"),
    "use and decay alone": Arm("use"),
    "default": Arm("default"),
    "default, nothing surfaced": Arm("no use"),
    "default, decay 0": Arm("default", {"decay": 0.0}),
    "default, archived too": Arm("default", archived=True),
    "default, not consolidated": Arm("no consolidation"),
    "default + 5 of 10 associated": Arm("default", limit=5, associative=True),
    "default + 5 associated": Arm("default", associative=True),
    "default + gate": Arm("gate"),
    "default, eager facts": Arm("eager"),
    "default + dossiers": Arm("dossiers"),
}
MECHANISMS: Final[Sequence[tuple[str, str, str]]] = (
    ("everything that is on by default", "default", "all off"),
    ("archiving, alone", "archiving alone", "all off"),
    ("decay of strength, alone", "decay alone", "archiving alone"),
    ("use, with decay alone", "use and decay alone", "decay alone"),
    ("use, and the facts from it", "default", "default, nothing surfaced"),
    ("decay of strength", "default", "default, decay 0"),
    ("archiving", "default", "default, archived too"),
    ("consolidation, facts", "default", "default, not consolidated"),
    ("associations, hits as many", "default + 5 of 10 associated", "default"),
    ("associations, hits beyond", "default + 5 associated", "default"),
    ("gate", "default + gate", "default"),
    ("eager facts", "default, eager facts", "default"),
    ("dossiers", "default + dossiers", "default"),
)
"""The name of each mechanism, the arm that has it, and the same arm without it."""


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments(argv)
    data, start = load(args.data), time.perf_counter()
    if args.quick:
        data.conversations = data.conversations[:1]
    embedder = CachedEmbedder(EMBEDDERS[args.embedder]())
    console = Console(width=max(WIDTH, Console().width))
    try:
        report = measure(data, embedder)
    except TidalError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    show(report, console)
    console.print(f"Measured in {time.perf_counter() - start:.0f} s ({embedder.id}).")
    if args.json:
        args.json.write_text(json.dumps(document(report, embedder.id), indent=1, ensure_ascii=False), "utf-8")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    given = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=given, required=not given, help="LoCoMo (or TIDAL_BENCH_DATA)")
    parser.add_argument("--quick", action="store_true", help="the first conversation only")
    add_embedder(parser)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures")
    return parser.parse_args(argv)


# living


@dataclass(slots=True)
class Cost:
    """The costs of the lives of one kind: milliseconds without the embedding, and bytes."""

    whispers: list[float] = field(default_factory=list)
    records: list[float] = field(default_factory=list)
    consolidations: list[float] = field(default_factory=list)
    turns: int = 0
    size: int = 0
    surfaced: int = 0
    facts: int = 0
    ephemeral: list[int] = field(default_factory=lambda: [0, 0])
    """Number of entries that the write gate kept for a while only, and of all that passed it."""
    errors: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Clock:
    """A clock that shows the conversation's time, which each step sets."""

    at: datetime

    def __call__(self) -> datetime:
        return self.at


def live(life: Life, conversation: Conversation, path: Path, embedder: CachedEmbedder, cost: Cost) -> None:
    """Live through a conversation into a new memory at ``path``."""
    clock = Clock(conversation.sessions[0].at)
    settings = Tuning(**{"storage": {"durability": "fast"}, **life.settings})
    timed = _Stopwatch(embedder)
    with TidalMemory(path, embedder=embedder, settings=settings, clock=clock) as memory:
        for _, sessions in groupby(conversation.sessions, key=lambda session: session.at.date()):
            for session in sessions:
                _attend(memory, _with_agent(session, conversation), life, clock, timed, cost)
            if life.dossiers:
                for topic in topics(memory):
                    memory.dossiers.refresh(topic)
            if life.consolidated:
                done = timed(cost.consolidations, memory.maintenance.run)
                cost.facts += len(done.facts)
                cost.errors += done.errors
        admitted = memory.maintenance.admitted()
    cost.turns += len(conversation.turns)
    cost.size += path.stat().st_size
    cost.ephemeral[0] += admitted.ephemeral
    cost.ephemeral[1] += sum(admitted)


def _attend(memory: TidalMemory, session: Session, life: Life, clock: Clock, timed: _Stopwatch, cost: Cost) -> None:
    for turns in exchanges_in(session):
        clock.at = turns[0].at
        asked, surfaced = "\n".join(turn.text for turn in turns if turn.role == "user"), []
        if life.surfaced and asked:
            whisper = timed(cost.whispers, partial(memory.whisper, asked))
            surfaced = [hit.id for hit in whisper.hits]
        cost.surfaced += len(surfaced)
        clock.at = turns[-1].at + PACE
        exchange = Exchange(tuple(map(to_message, turns)), session.id, None, turns[0].at, surfaced)
        timed(cost.records, partial(memory.record_many, [exchange]))


def _with_agent(session: Session, conversation: Conversation) -> Session:
    """Return a session in which the second speaker of the conversation plays the agent."""
    speakers = list(dict.fromkeys(turn.speaker for turn in conversation.turns if turn.speaker))
    agents = speakers[1:2]
    turns = (replace(turn, role="assistant") if turn.speaker in agents else turn for turn in session.turns)
    return replace(session, turns=tuple(turns))


def topics(memory: TidalMemory) -> list[str]:
    """Return topics for an agent's dossiers: the speakers, and the most frequent tags up to now."""
    count: dict[str, int] = {}
    speakers: dict[str, None] = {}
    for episode in memory.episodes.list():
        speakers.update({message.speaker: None for message in episode.messages if message.speaker})
        for id_ in episode.entries:
            for tag in memory.get(id_).tags:
                count[tag] = count.get(tag, 0) + 1
    often = sorted(count, key=lambda tag: (-count[tag], tag))
    return list(dict.fromkeys([*(name.lower() for name in speakers), *often[:TOPICS]]))


class _Stopwatch:
    """Times calls in milliseconds, without the embedding."""

    def __init__(self, embedder: CachedEmbedder) -> None:
        self._embedder = embedder

    def __call__(self, times: list[float], call: Callable[[], Any]) -> Any:
        embedding, start = self._embedder.seconds, time.perf_counter()
        value = call()
        times.append(1000 * (time.perf_counter() - start - (self._embedder.seconds - embedding)))
        return value


# asking


@dataclass(slots=True)
class Asked:
    """A question, and the scores of each arm on it, in the order of ``COLUMNS``."""

    question: Question
    scores: dict[str, list[float]] = field(default_factory=dict)


@dataclass(slots=True)
class Report:
    data: Data
    asked: list[Asked] = field(default_factory=list)
    costs: dict[str, Cost] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)

    def rows(self, arm: str, category: str | None = None) -> list[list[float]]:
        return [item.scores[arm] for item in self.asked if category in (None, item.question.category)]

    @property
    def categories(self) -> list[str]:
        return sorted({item.question.category for item in self.asked})


def measure(data: Data, embedder: CachedEmbedder) -> Report:
    report = Report(data, costs={name: Cost() for name in LIVES})
    steps = [(conversation, life) for conversation in data.conversations for life in LIVES]
    asked: dict[str, list[Asked]] = {}
    for conversation in data.conversations:
        asked[conversation.name] = [Asked(q) for q in conversation.questions if q.category != ADVERSARIAL]
        report.asked += asked[conversation.name]
    with TemporaryDirectory(prefix="tidal-benchmark-") as folder:
        label = f"{data.name}: living and asking"
        for number, (conversation, life) in enumerate(track(steps, label, console=Console(stderr=True))):
            path = Path(folder, f"{number}.db")
            live(LIVES[life], conversation, path, embedder, report.costs[life])
            for name, arm in ARMS.items():
                if arm.life == life:
                    times = report.times.setdefault(name, [])
                    _ask(name, arm, path, conversation, asked[conversation.name], embedder, times)
    return report


def _ask(
    name: str,
    arm: Arm,
    path: Path,
    conversation: Conversation,
    asked: Sequence[Asked],
    embedder: CachedEmbedder,
    times: list[float],
) -> None:
    clock, timed = Clock(conversation.end + timedelta(minutes=1)), _Stopwatch(embedder)
    settings = Tuning(**{**LIVES[arm.life].settings, "recall": arm.recall})
    with TidalMemory(path, embedder=embedder, settings=settings, clock=clock) as memory:
        said = {id_: str(memory.get(id_).metadata["message"]) for e in memory.episodes.list() for id_ in e.entries}

        def ask(question: str) -> Sequence[Hit]:
            return memory.recall(
                question,
                limit=arm.limit,
                associative=arm.associative,
                include_archived=arm.archived,
                affect=Affect(),
            )

        ask(conversation.turns[0].text)  # so that no question pays for what is loaded once
        for item in asked:
            hits = timed(times, partial(ask, item.question.text))
            item.scores[name] = scores(item.question.evidence, hits, said)


def scores(evidence: frozenset[str], hits: Sequence[Hit], said: Mapping[str, str]) -> list[float]:
    """Return the scores of one question, in the order of ``COLUMNS``. ``said`` maps the ids of entries to turns."""
    turns = [{said[hit.id]} if hit.id in said else set() for hit in hits]
    quoted = [{said[id_] for id_ in _made_of(hit) if id_ in said} for hit in hits]
    ranks = _ranks(evidence, turns)
    first = [rank if rank is not None and rank <= DEPTH else None for rank in ranks]
    return [
        recall(ranks, 5),
        recall(_ranks(evidence, quoted), 5),
        recall(ranks, 10),
        ndcg(first),
        recall(ranks, len(hits)),
    ]


def _ranks(evidence: frozenset[str], places: Sequence[set[str]]) -> list[int | None]:
    return [next((n for n, turns in enumerate(places, 1) if id_ in turns), None) for id_ in sorted(evidence)]


def _made_of(hit: Hit) -> Iterator[str]:
    yield hit.id
    sources = hit.entry.metadata.get("sources", ())
    yield from sources if isinstance(sources, (list, tuple)) else ()


# showing


def show(report: Report, console: Console) -> None:
    data = report.data
    console.rule(f"[bold]{data.name}")
    console.print(
        f"{len(data.conversations)} lives of {sum(len(c.turns) for c in data.conversations)} turns in all, "
        f"{len(report.asked)} questions of the categories 1 to 4.\nIn percent, ± half of a 95 % interval ({RESAMPLES} "
        f"bootstrap samples of the questions, seed {SEED}). Times are without the embedding."
    )
    if report.asked:
        console.print(_quality(report), _mechanisms(report), _by_category(report))
    console.print(_costs(report))
    if report.asked:
        console.print(verdict(report))


def _quality(report: Report) -> Table:
    table = _table("All questions", "arm", *COLUMNS, "search p50 / p95 ms")
    for arm in ARMS:
        took = quantiles(report.times[arm])
        figures = map(shown, intervals(report.rows(arm)))
        table.add_row(arm, *figures, f"{took['p50_ms']:.2f} / {took['p95_ms']:.2f}")
    return table


def _mechanisms(report: Report) -> Table:
    """Build the table of what each mechanism adds.

    Differences are paired by question, which is more precise than two separate intervals.
    """
    table = _table("What a mechanism adds, question by question", "mechanism", *COLUMNS)
    for name, with_it, without in MECHANISMS:
        figures = intervals(report.rows(with_it), report.rows(without))
        table.add_row(name, *(shown(figure, signed=True) for figure in figures))
    return table


def _by_category(report: Report) -> Table:
    table = _table("By category: recall@5", "mechanism", *report.categories)
    table.add_row("all off", *(shown(intervals(report.rows("all off", name))[0]) for name in report.categories))
    table.add_row("default", *(shown(intervals(report.rows("default", name))[0]) for name in report.categories))
    table.add_section()
    for name, with_it, without in MECHANISMS:
        pairs = [(report.rows(with_it, category), report.rows(without, category)) for category in report.categories]
        table.add_row(name, *(shown(intervals(*pair)[0], signed=True) for pair in pairs))
    return table


def _costs(report: Report) -> Table:
    times = ("whisper p50 / p95 ms", "record p50 / p95 ms", "consolidate p50 / p95 ms")
    table = _table("The store, and a turn", "life", "bytes a turn", "surfaced a turn", "facts", "ephemeral", *times)
    for name, cost in report.costs.items():
        took = [quantiles(each) for each in (cost.whispers, cost.records, cost.consolidations)]
        table.add_row(
            name,
            f"{cost.size / max(1, cost.turns):,.0f}",
            f"{cost.surfaced / max(1, cost.turns):.2f}",
            str(cost.facts),
            f"{cost.ephemeral[0] / cost.ephemeral[1]:.1%}" if cost.ephemeral[1] else "",
            *(f"{each['p50_ms']:.1f} / {each['p95_ms']:.1f}" if each["p50_ms"] >= 0 else "" for each in took),
        )
    return table


def verdict(report: Report) -> str:
    """Say whether the defaults cost no more recall than allowed, and which steps failed."""
    change = intervals(report.rows("default"), report.rows("all off"))[0]
    kept = "keeps to" if change["mean"] >= WORST else "BREAKS"
    failed = sorted({error for cost in report.costs.values() for error in cost.errors})
    return (
        f"What is on by default {kept} the rule: {shown(change, signed=True)} points of recall@5 against all off "
        f"({WORST:+} at worst)." + "".join(f"\nA step of a consolidation failed: {error}" for error in failed)
    )


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def document(report: Report, embedder: str) -> dict[str, Any]:
    return {
        "file": report.data.name,
        "embedder": embedder,
        "bootstrap": {"resamples": RESAMPLES, "seed": SEED, "over": "questions"},
        "arms": {arm: _figures(intervals(report.rows(arm))) for arm in ARMS if report.asked},
        "mechanisms": {
            name: _figures(intervals(report.rows(with_it), report.rows(without)))
            for name, with_it, without in MECHANISMS
            if report.asked
        },
        "costs": {name: _cost(cost) for name, cost in report.costs.items()},
        "asked": [{"question": item.question.text, "scores": item.scores} for item in report.asked],
    }


def _figures(values: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    return dict(zip(COLUMNS, values, strict=True))


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "turns": cost.turns,
        "bytes": cost.size,
        "surfaced": cost.surfaced,
        "facts": cost.facts,
        "ephemeral": cost.ephemeral,
        "whisper": quantiles(cost.whispers),
        "record": quantiles(cost.records),
        "consolidate": quantiles(cost.consolidations),
        "errors": cost.errors,
    }


if __name__ == "__main__":
    main()
