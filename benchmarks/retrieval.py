"""Measure how well recall finds the evidence of questions on conversations, and what each step of it adds.

    python benchmarks/retrieval.py --data locomo10.json

Each conversation becomes a memory of its own, through the public API. It is lived through: the memory whispers before
each turn, the turn is recorded at its own time with what surfaced, and there is maintenance after each session, so that
feelings, decay, use and what was superseded are as they would be. What was not used for more than half a year is
archived then, and no recall finds it. Questions are asked unchanged, with the defaults and in the mood that the memory
is in: just after the last turn, or at their own time. Each turn of RealMem's that goes on with a project is asked at
its time, over the sessions before its own. No model is called but the embedder.

`benchmarks/data` has conversations of our own, free to use, with the turns that answer each question. `chats.json` has
chats with an assistant and a handbook. `domains.json` has five conversations of other kinds: errands, code and plans
with an assistant, two sisters, three flatmates. Its questions are in the asker's own words, and were written before any
was asked.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, get_args

from tidal_plugins.retrieval.weights import RecallTuning

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.progress import track

from benchmarks.conversations import Conversation, Data, Question, Session, exchanges_in, fill, load, to_message
from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.retrieval_tables import (
    FLOOR_KEYWORDS,
    FLOOR_VECTORS,
    PLAIN,
    WAYS,
    WORDS,
    Asked,
    Beyond,
    Report,
    Whispered,
    show,
)
from benchmarks.tables import DEPTH, options, quantiles, ranks_of, wide
from tidal_plugins import (
    Settings,
    TidalError,
    TidalMemory,
    Whisper,
)
from tidal_plugins.model.entry import GRAPH_CHANNEL, KINDS
from tidal_plugins.retrieval import pipeline
from tidal_plugins.retrieval.understand import to_query
from tidal_plugins.scoring.ranking import reciprocal_rank
from tidal_plugins.settings import Profile
from tidal_plugins.storage.base import Where
from tidal_plugins.testing import FrozenClock

T = TypeVar("T")


def main(argv: Sequence[str] | None = None) -> None:
    profiles = get_args(Profile)
    parser = options(__doc__)
    parser.add_argument("--data", nargs="+", type=Path, required=True, metavar="FILE", help="LoCoMo or RealMem")
    parser.add_argument("--profiles", nargs="+", choices=profiles, default=list(profiles), metavar="PROFILE")
    parser.add_argument("--ablation", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--limit-questions", type=int, metavar="N", help="ask about N of each file's questions")
    add_embedder(parser)
    args = parser.parse_args(argv)
    sets, console = [load(path) for path in args.data], wide(140)
    embedder = CachedEmbedder(EMBEDDERS[args.embedder]())
    try:
        reports = [measure(limited(data, args.limit_questions), embedder, args) for data in sets]
    except TidalError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    for report in reports:
        show(report, console)
    timing = quantiles(embedder.single)
    console.print(f"Embedding one query ({embedder.id}): p50 {timing['p50_ms']:.1f} ms, p95 {timing['p95_ms']:.1f} ms.")


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
            changed = {
                name: Settings(tuning={f"recall.{key}": value for key, value in change.items()})
                for name, change in variants().items()
            }
            recalls |= {name: recall_arm(opened(settings), "balanced") for name, settings in changed.items()}
        whispering: dict[str, TidalMemory] = {
            profile: opened(Settings(recall={"profile": profile})) for profile in profiles
        }
        for at, known, new in conversation.moments():
            live(memory, clock, new)
            clock.set(at)
            arms = {**plain_arms(known, embedder), **channel_arms(memory, embedder), **recalls}
            for arm in arms.values():
                arm(known.turns[0].text)  # so that no question pays for what is loaded once
            report.asked += (
                _ask(question, known.name, report, embedder, memory, arms, whispering) for question in known.questions
            )


def live(memory: TidalMemory, clock: FrozenClock, sessions: Sequence[Session]) -> None:
    """Live through sessions: the memory whispers before each turn, which is recorded with what surfaced, and there is
    maintenance after each session."""
    for session in sessions:
        for turns in exchanges_in(session):
            clock.set(turns[0].at)
            surfaced = memory.whisper(turns[0].text).ids
            clock.set(turns[-1].at)
            memory.record(messages=list(map(to_message, turns)), thread=session.id, surfaced=surfaced)
        fill(memory, [replace(session, turns=tuple(turn for turn in session.turns if turn.role == "document"))])
        memory.maintenance.run()


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
        recall = memory.recall(item.question.text, limit=limit, **asked)
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


# the ways to rank turns for a question


Arm = Callable[[str], list[str]]
"""A function that takes a question and returns the ids of turns, best first."""

POOL = 100
RRF = 60

STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("no keywords", {"keywords": 0.0}),
    ("no length normalisation", {"brevity": 1e9}),
    ("no speaker match", {"speaker": 0.0}),
    ("assistant counts in full", {"assistant": 0.0}),
    ("no passage discount", {"passages": 0.0}),
    ("no recency of turns that go on", {"recency": 0.0}),
    ("no thread", {"thread": 0.0}),
    ("no neighbours", {"neighbours": 0.0}),
    ("long messages lean on others too", {"turn": 1e9}),
    ("who tells counts no more than who asks", {"time_mention": 0.0}),
    ("no thread, no neighbours, no time mention", {"thread": 0.0, "neighbours": 0.0, "time_mention": 0.0}),
    ("no times", {"time": 0.0}),
    ("no decay", {"decay": 0.0}),
    ("thread × 0.15", {"thread": 0.15}),
    ("thread × 0.4", {"thread": 0.4}),
    ("neighbours × 0.1", {"neighbours": 0.1}),
    ("neighbours × 0.2", {"neighbours": 0.2}),
    ("neighbours of the 10 best", {"reach": 10}),
    ("keywords × 0.3", {"keywords": 0.3}),
    ("keywords × 0.5", {"keywords": 0.5}),
    ("keywords × 0.7", {"keywords": 0.7}),
    ("importance × 0", {"importance": 0.0}),
    ("importance × 0.25", {"importance": 0.25}),
    ("importance × 0.5", {"importance": 0.5}),
    ("importance × 1", {"importance": 1.0}),
)
"""Settings of recall for ``balanced`` without each of its steps, and with more or less of some."""

NAMES_STAY = "names stay in the embedded query"


def recall_arm(memory: TidalMemory, profile: Profile) -> Arm:
    """Return recall as users call it."""

    def ask(question: str) -> list[str]:
        found = memory.recall(question, limit=DEPTH, profile=profile)
        return [str(hit.entry.metadata.get("message")) for hit in found]

    return ask


def channel_arms(memory: TidalMemory, embedder: CachedEmbedder) -> dict[str, Arm]:
    """Return each channel of the store by itself, as a floor. No public call shows one, so this uses internals."""
    storage, scope, where = memory._services.storage, memory.scope, Where(kinds=KINDS, not_channels=[GRAPH_CHANNEL])
    turns = turns_of(memory)

    def keywords(question: str) -> list[str]:
        found = storage.matching(scope, to_query(question, ()).terms, DEPTH, where)
        return [turns.get(match.id, "") for match in found]

    def vectors(question: str) -> list[str]:
        found = storage.nearest(scope, embedder.embed([question])[0], DEPTH, where)
        return [turns.get(match.id, "") for match in found]

    return {FLOOR_KEYWORDS: keywords, FLOOR_VECTORS: vectors}


def turns_of(memory: TidalMemory) -> dict[str, str]:
    """Return the ids of turns by the ids of their entries."""
    found = memory._services.storage.find(memory.scope, Where(kinds=KINDS, not_channels=[GRAPH_CHANNEL]))
    return {entry.id: str(entry.metadata["message"]) for entry in found if "message" in entry.metadata}


def plain_arms(conversation: Conversation, embedder: CachedEmbedder) -> dict[str, Arm]:
    """Return textbook search over whole turns: FTS5 with all their words, exact cosine, and RRF of the two."""
    ids = [turn.id for turn in conversation.turns]
    texts = [f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text for turn in conversation.turns]
    matrix = embedder.embed(texts)
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE turns USING fts5 (text)")
    table.executemany("INSERT INTO turns (rowid, text) VALUES (?, ?)", enumerate(texts))

    def words(question: str) -> list[str]:
        cleaned = "".join(c if c.isalnum() else " " for c in question).split()
        wanted = " OR ".join(f'"{word}"' for word in cleaned)
        sql = f"SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT {POOL}"
        return [ids[row] for (row,) in table.execute(sql, (wanted,))] if wanted else []

    def vectors(question: str) -> list[str]:
        near = matrix @ embedder.embed([question])[0]
        return [ids[row] for row in (-near).argsort(kind="stable")[:POOL]]

    def both(question: str) -> list[str]:
        places = [{id_: place for place, id_ in enumerate(arm(question), 1)} for arm in (words, vectors)]
        ids = {id_ for place in places for id_ in place}
        fused = {id_: reciprocal_rank([place.get(id_, 0) for place in places], k=RRF) for id_ in ids}
        return sorted(fused, key=lambda id_: -fused[id_])

    return {WORDS: words, PLAIN: both}


def variants() -> dict[str, dict[str, Any]]:
    """Return the ablations that differ from the defaults."""
    defaults = asdict(Settings()[RecallTuning])
    return {name: change for name, change in STEPS if any(defaults[key] != value for key, value in change.items())}


def names_stay(arm: Arm) -> Arm:
    """Return an arm of recall that embeds a question unchanged. No setting does that, so this uses internals."""

    def ask(question: str) -> list[str]:
        vars(pipeline).update(to_query=lambda text, speakers: replace(to_query(text, speakers), meaning=text))
        try:
            return arm(question)
        finally:
            vars(pipeline).update(to_query=to_query)

    return ask


if __name__ == "__main__":
    main()
