"""Measure how well recall finds the evidence of questions on conversations, and what each step of it adds.

    python benchmarks/retrieval.py --data locomo10.json --json out.json

Each conversation becomes a memory of its own, through the public API. Each turn is indexed as «speaker: utterance», and
the clock stands just after the last turn, so that decay plays no part. Questions are asked unchanged, in a neutral
mood. No model is called but the embedder.

A file of RealMem's (``benchmarks/realmem.py``) is lived through: each turn that goes on with a project is asked at its
time, over the sessions before its own.

`benchmarks/data` has conversations of our own, free to use, with the turns that answer each question. `chats.json` has
chats with an assistant and a handbook. `domains.json` has five conversations of other kinds: errands, code and plans
with an assistant, two sisters, three flatmates. Its questions are in the asker's own words, and were written before any
was asked.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.progress import track

from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.filling import fill
from benchmarks.locomo import Conversation, Counts, Data, Question, load, pooled
from benchmarks.metrics import DEPTH, RESAMPLES, SEED, quantiles, ranks_of, summary
from benchmarks.retrieval_arms import (
    FLOOR_KEYWORDS,
    FLOOR_VECTORS,
    NAMES_STAY,
    PLAIN,
    WORDS,
    Arm,
    channel_arms,
    names_stay,
    plain_arms,
    recall_arm,
    turns_of,
    variants,
)
from benchmarks.retrieval_outcomes import (
    WAYS,
    Asked,
    Beyond,
    Report,
    Whispered,
    abstention,
)
from benchmarks.retrieval_tables import show
from tidal_plugins import (
    Affect,
    Settings,
    TidalError,
    TidalMemory,
    Whisper,
)
from tidal_plugins.retrieval.understand import to_query
from tidal_plugins.settings import Profile
from tidal_plugins.testing import FrozenClock
from tidal_plugins.tuning import RecallTuning, Tuning

T = TypeVar("T")
WIDTH = 140


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments(argv)
    sets = [load(path) for path in args.data]
    if args.pool:
        sets = [joined(sets)]
    console = Console(width=max(WIDTH, Console().width))  # a narrow terminal may wrap lines, but no figure is cut
    embedder = CachedEmbedder(EMBEDDERS[args.embedder]())
    try:
        reports = [measure(limited(data, args.limit_questions), embedder, args) for data in sets]
    except TidalError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    for report in reports:
        show(report, console)
    timing = quantiles(embedder.single)
    console.print(f"Embedding one query ({embedder.id}): p50 {timing['p50_ms']:.1f} ms, p95 {timing['p95_ms']:.1f} ms.")
    if args.json:
        args.json.write_text(json.dumps(_document(reports, embedder, args), indent=1, ensure_ascii=False), "utf-8")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    profiles = get_args(Profile)
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--data", nargs="+", type=Path, required=True, metavar="FILE", help="LoCoMo, LongMemEval or RealMem"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures, and every question's ranks")
    parser.add_argument("--profiles", nargs="+", choices=profiles, default=list(profiles), metavar="PROFILE")
    parser.add_argument("--ablation", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--pool", action="store_true", help="put everything into one memory")
    parser.add_argument("--limit-questions", type=int, metavar="N", help="ask about N of each file's questions")
    add_embedder(parser)
    return parser.parse_args(argv)


def joined(sets: Sequence[Data]) -> Data:
    """Join all data sets into one conversation of one file, for a harder haystack."""
    counts = sum((data.counts for data in sets), Counts())
    parts = [conversation for data in sets for conversation in data.conversations]
    return Data(" + ".join(data.name for data in sets) + ", pooled", [pooled("pool", parts)], counts)


def limited(data: Data, most: int | None) -> Data:
    """Keep ``most`` questions, spread evenly, and the conversations that they are about."""
    total = sum(len(conversation.questions) for conversation in data.conversations)
    if most is None or most >= total:
        return data
    chosen = {position * total // max(1, most) for position in range(most)}
    kept, start = [], 0
    for conversation in data.conversations:
        questions = tuple(q for place, q in enumerate(conversation.questions, start) if place in chosen)
        start += len(conversation.questions)
        if questions:
            kept.append(Conversation(conversation.name, conversation.sessions, questions))
    return Data(data.name, kept, data.counts)


# measuring


def measure(data: Data, embedder: CachedEmbedder, args: argparse.Namespace) -> Report:
    steps = [NAMES_STAY, *variants()] if args.ablation and "balanced" in args.profiles else []
    report = Report(data, [WORDS, FLOOR_KEYWORDS, FLOOR_VECTORS, PLAIN, *args.profiles], steps)
    with TemporaryDirectory(prefix="tidal-benchmark-") as folder:
        label = f"{data.name}: importing and asking"
        for number, conversation in enumerate(track(data.conversations, label, console=Console(stderr=True))):
            _measure_one(report, conversation, embedder, Path(folder, f"{number}.db"), args.profiles)
            _tell(report, conversation, embedder, Path(folder, f"{number}-told.db"), args.profiles)
    return report


def _measure_one(
    report: Report, conversation: Conversation, embedder: CachedEmbedder, path: Path, profiles: Sequence[Profile]
) -> None:
    clock = FrozenClock()
    with ExitStack() as stack:

        def opened(settings: Settings | None = None) -> TidalMemory:
            return stack.enter_context(TidalMemory(path, embedder=embedder, settings=settings, clock=clock))

        memory = opened()
        recalls: dict[str, Arm] = {profile: recall_arm(memory, profile) for profile in profiles}
        if report.steps:
            recalls[NAMES_STAY] = names_stay(recall_arm(memory, "balanced"))
            changed = {name: Tuning(recall=change) for name, change in variants().items()}
            recalls |= {name: recall_arm(opened(settings), "balanced") for name, settings in changed.items()}
        whispering: dict[str, TidalMemory] = {
            profile: opened(Settings(recall={"profile": profile})) for profile in profiles
        }
        for at, known, new in conversation.moments():
            clock.set(at)
            fill(memory, new)
            arms = {**plain_arms(known, embedder), **channel_arms(memory, embedder), **recalls}
            for arm in arms.values():
                arm(known.turns[0].text)  # so that no question pays for what is loaded once
            report.asked += (
                _ask(question, known.name, report, embedder, memory, arms, whispering) for question in known.questions
            )


def _tell(
    report: Report, conversation: Conversation, embedder: CachedEmbedder, path: Path, profiles: Sequence[Profile]
) -> None:
    """Whisper for the turns of the second half that only tell, over the sessions before, and note the silences."""
    clock, settings = FrozenClock(), {profile: Settings(recall={"profile": profile}) for profile in profiles}
    sessions, half = conversation.sessions, len(conversation.sessions) // 2
    with ExitStack() as stack:
        memories = {
            profile: stack.enter_context(TidalMemory(path, embedder=embedder, settings=settings[profile], clock=clock))
            for profile in profiles
        }
        for number, session in enumerate(sessions):
            clock.set(session.at)
            told = [turn.text for turn in session.turns if turn.role == "user" and to_query(turn.text, ()).only_tells]
            for profile, memory in memories.items() if half and number >= half else ():
                report.statements.setdefault(profile, []).extend(not memory.whisper(text) for text in told)
            fill(next(iter(memories.values())), [session])


def _ask(
    question: Question,
    name: str,
    report: Report,
    embedder: CachedEmbedder,
    memory: TidalMemory,
    arms: Mapping[str, Arm],
    whispering: Mapping[str, TidalMemory],
) -> Asked:
    """Ask one question of every arm and of every whisper, and note the times."""
    item = Asked(name, question, sorted(question.evidence))
    for arm, ask in arms.items():
        ranking, took = _timed(ask, question.text, embedder)
        item.ranks[arm] = ranks_of(item.evidence, ranking)
        report.times.setdefault(arm, []).append(took)
    entries = {turn: id_ for id_, turn in turns_of(memory).items()}
    item.whispered = {profile: whispered(opened, item, entries) for profile, opened in whispering.items()}
    if report.steps:
        item.beyond = {way: beyond(memory, item, embedder, asked) for way, asked in WAYS.items()}
    return item


def beyond(memory: TidalMemory, item: Asked, embedder: CachedEmbedder, asked: Mapping[str, Any]) -> Beyond:
    """Compare a recall that goes on from its hits with a plain one, and with one that shows as many hits."""

    def found(limit: int = DEPTH, **asked: Any) -> tuple[list[str | None], int]:
        recall = memory.recall(item.question.text, limit=limit, affect=Affect(), **asked)
        return [hit.entry.metadata.get("message") for hit in recall], len(recall.hops)

    def share(ids: Sequence[str | None]) -> float:
        return len(set(item.evidence).intersection(ids)) / len(item.evidence)

    (several, queries), ms = _timed(lambda _: found(**asked), "", embedder)
    (ten, _), plain_ms = _timed(lambda _: found(), "", embedder)
    many, _ = found(limit=len(several) or 1)
    return Beyond(share(several[:DEPTH]), share(several), share(many), len(several) - len(ten), queries, ms, plain_ms)


def whispered(memory: TidalMemory, item: Asked, entries: Mapping[str, str]) -> Whispered:
    """Whisper for a question with its evidence in the memory, and without it. ``entries`` has ids by turn."""
    evidence = [entries[id_] for id_ in item.evidence if id_ in entries]
    full = memory.whisper(item.question.text)
    empty = memory.whisper(item.question.text, exclude=evidence)
    sure, unsure = (_confidence(whisper) for whisper in (full, empty))
    helped = len(set(evidence) & set(full.ids))
    return Whispered(sure, unsure, not evidence or helped > 0, not empty, len(full.ids), helped)


def _confidence(whisper: Whisper) -> float:
    return whisper.recall.confidence if whisper.recall is not None else 0.0


def _timed(arm: Callable[[str], T], question: str, embedder: CachedEmbedder) -> tuple[T, float]:
    """Call an arm; return its result and the milliseconds that it took without the embedding."""
    embedding, start = embedder.seconds, time.perf_counter()
    ranking = arm(question)
    return ranking, 1000 * (time.perf_counter() - start - (embedder.seconds - embedding))


def _document(reports: Sequence[Report], embedder: CachedEmbedder, args: argparse.Namespace) -> dict[str, Any]:
    return {
        "embedder": embedder.id,
        "embedding": quantiles(embedder.single),
        "settings": RecallTuning().model_dump(),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "bootstrap": {"resamples": RESAMPLES, "seed": SEED, "over": "questions"},
        "files": [_figures(report) for report in reports],
    }


def _figures(report: Report) -> dict[str, Any]:
    return {
        "file": report.data.name,
        "conversations": len(report.data.conversations),
        "turns": sum(len(conversation.turns) for conversation in report.data.conversations),
        "questions": len(report.asked),
        **asdict(report.data.counts),
        "arms": {arm: _arm_figures(report, arm) for arm in report.arms},
        "abstention": {profile: abstention(report, profile) for profile in report.profiles},
        "ablation": {arm: _arm_figures(report, arm) for arm in report.steps},
        "asked": [
            {
                "conversation": item.conversation,
                "question": item.question.text,
                "category": item.question.category,
                "evidence": item.evidence,
                "ranks": item.ranks,
                "beyond": {way: found._asdict() for way, found in item.beyond.items()},
            }
            for item in report.asked
        ],
    }


def _arm_figures(report: Report, arm: str) -> dict[str, Any]:
    overall = report.rows(arm)
    return {
        "overall": summary(overall) if overall else {},
        "categories": {category: summary(report.rows(arm, category)) for category in report.categories},
        "search": quantiles(report.times[arm]),
    }


if __name__ == "__main__":
    main()
