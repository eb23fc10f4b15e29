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
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.progress import track

from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.filling import exchanges_in, to_message
from benchmarks.living_arms import ARMS, LIVES, Arm, Life
from benchmarks.living_outcomes import Asked, Cost, Report
from benchmarks.living_tables import document, show
from benchmarks.locomo import ADVERSARIAL, PACE, Conversation, Data, Session, load
from benchmarks.metrics import DEPTH, ndcg, recall
from tidal_plugins import (
    Affect,
    Exchange,
    Hit,
    TidalError,
    TidalMemory,
)
from tidal_plugins.tuning import Tuning

WIDTH = 140
TOPICS = 10
"""Number of topics with dossiers beside the two speakers: the most frequent tags of the conversation."""


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


if __name__ == "__main__":
    main()
