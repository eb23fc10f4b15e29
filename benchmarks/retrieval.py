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
import sqlite3
import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, TypeVar, get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.locomo import ADVERSARIAL, Conversation, Counts, Data, Question, Session, Turn, load, pooled
from benchmarks.metrics import DEPTH, METRICS, RESAMPLES, SEED, difference, quantiles, ranks_of, scores, shown, summary
from tidal_plugins import (
    Affect,
    Exchange,
    Message,
    Note,
    Settings,
    TidalError,
    TidalMemory,
    Whisper,
)
from tidal_plugins.model.entry import GRAPH_CHANNEL, KINDS
from tidal_plugins.retrieval import understand
from tidal_plugins.retrieval.understand import to_query
from tidal_plugins.scoring.context import only_tells
from tidal_plugins.scoring.fusion import reciprocal_rank
from tidal_plugins.settings import Profile
from tidal_plugins.storage.base import Where
from tidal_plugins.testing import FrozenClock
from tidal_plugins.tuning import RecallTuning, Tuning

T = TypeVar("T")
Arm = Callable[[str], list[str]]
"""A function that takes a question and returns the ids of turns, best first."""

POOL = 100
RRF = 60
WIDTH = 140
PLAIN = "plain RRF"
WORDS, FLOOR_KEYWORDS, FLOOR_VECTORS = "FTS5, all words", "keywords only", "vectors only"

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

KEPT = (99, 98, 95, 92, 90, 85, 80, 70, 60, 50)
"""Points of the whisper's curve: the percentage of the answerable questions that stay over the threshold."""

NAMES_STAY = "names stay in the embedded query"


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


class Whispered(NamedTuple):
    """The outcome of two whispers for one question.

    ``sure`` is the confidence with the evidence in the memory, ``unsure`` without it. ``shown`` says whether the first
    whisper showed evidence, ``silent`` whether the second one was empty. ``lines`` counts the memories that the first
    one showed, ``helped`` those of them that are evidence.
    """

    sure: float
    unsure: float
    shown: bool
    silent: bool
    lines: int
    helped: int


WAYS: Final[Mapping[str, Mapping[str, Any]]] = {"two hops": {"hops": 2}, "associations": {"associative": True}}
"""Ways to go on from the hits of a question, and the arguments of recall for them."""


class Beyond(NamedTuple):
    """The outcome of a recall that goes on from its hits.

    ``ten`` and ``all`` are the shares of the evidence among its first ten hits and among all of them; ``plain`` is the
    share among as many hits of a plain recall. ``hits`` and ``queries`` count its additional hits and queries. ``ms``
    and ``plain_ms`` are its milliseconds, and those of a plain recall of ten.
    """

    ten: float
    all: float
    plain: float
    hits: int
    queries: int
    ms: float
    plain_ms: float


@dataclass(slots=True)
class Asked:
    """A question, and the ranks of its evidence by arm."""

    conversation: str
    question: Question
    evidence: list[str]
    ranks: dict[str, list[int | None]] = field(default_factory=dict)
    whispered: dict[str, Whispered] = field(default_factory=dict)
    """The outcomes by profile."""
    beyond: dict[str, Beyond] = field(default_factory=dict)
    """The outcomes by way of going on."""

    def answerable(self, profile: str) -> bool:
        """Return whether recall has evidence among its first three hits, so that a whisper could show it."""
        return scores(self.ranks[profile])[METRICS.index("hit@3")] > 0


@dataclass(slots=True)
class Report:
    """All measurements on one file. ``arms`` and ``steps`` are names in the order of the tables."""

    data: Data
    arms: list[str]
    steps: list[str]
    asked: list[Asked] = field(default_factory=list)
    times: dict[str, list[float]] = field(default_factory=dict)
    statements: dict[str, list[bool]] = field(default_factory=dict)
    """By profile, for each turn that only tells, whether the whisper was silent on it."""

    def rows(self, arm: str, category: str | None = None) -> list[list[float]]:
        """Return the scores by question, of one category or of all but the adversarial ones."""
        return [scores(item.ranks[arm]) for item in self.asked if _counts(item.question.category, category)]

    @property
    def profiles(self) -> list[str]:
        return [arm for arm in self.arms if arm in get_args(Profile)]

    @property
    def categories(self) -> list[str]:
        return sorted({item.question.category for item in self.asked})


def _counts(category: str, wanted: str | None) -> bool:
    return category == wanted if wanted is not None else category != ADVERSARIAL


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
            told = [turn.text for turn in session.turns if turn.role == "user" and only_tells(turn.text)]
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


def fill(memory: TidalMemory, sessions: Sequence[Session]) -> None:
    """Record sessions: one exchange for each turn of a person, with the assistant's turns that follow it."""
    exchanges: list[Exchange] = []
    for session in sessions:
        for turns in exchanges_in(session):
            exchanges.append(Exchange(tuple(map(to_message, turns)), session.id, occurred_at=turns[0].at))
    documents = [
        Note(turn.text, thread=session.id, occurred_at=turn.at, metadata={"message": turn.id})
        for session in sessions
        for turn in session.turns
        if turn.role == "document"
    ]
    memory.record_many(exchanges)
    memory.remember(documents)
    memory.supersessions.find()  # the background may not have come to it
    memory.graph.index_pending()  # what the graph says must not take the places of what was said


def exchanges_in(session: Session) -> Iterator[list[Turn]]:
    held: list[Turn] = []
    for turn in session.turns:
        if turn.role == "user" and held:
            yield held
            held = []
        if turn.role != "document":
            held.append(turn)
    if held:
        yield held


def to_message(turn: Turn) -> Message:
    return Message("assistant" if turn.role == "assistant" else "user", turn.text, turn.id, turn.speaker, at=turn.at)


# arms


def recall_arm(memory: TidalMemory, profile: Profile) -> Arm:
    """Return recall as users call it."""

    def ask(question: str) -> list[str]:
        found = memory.recall(question, limit=DEPTH, profile=profile, affect=Affect())
        return [hit.entry.metadata["message"] for hit in found]

    return ask


def channel_arms(memory: TidalMemory, embedder: CachedEmbedder) -> dict[str, Arm]:
    """Return each channel of the store by itself, as a floor. No public call shows one, so this uses internals."""
    storage, scope, where = memory._services.storage, memory.scope, Where(kinds=KINDS, not_channels=[GRAPH_CHANNEL])
    turns = turns_of(memory)

    def keywords(question: str) -> list[str]:
        return [turns[match.id] for match in storage.matching(scope, to_query(question, ()).terms, DEPTH, where)]

    def vectors(question: str) -> list[str]:
        return [turns[match.id] for match in storage.nearest(scope, embedder.embed([question])[0], DEPTH, where)]

    return {FLOOR_KEYWORDS: keywords, FLOOR_VECTORS: vectors}


def turns_of(memory: TidalMemory) -> dict[str, str]:
    """Return the ids of turns by the ids of their entries."""
    found = memory._services.storage.find(memory.scope, Where(kinds=KINDS, not_channels=[GRAPH_CHANNEL]))
    return {entry.id: str(entry.metadata["message"]) for entry in found}


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
    defaults = RecallTuning().model_dump()
    return {name: change for name, change in STEPS if any(defaults[key] != value for key, value in change.items())}


def names_stay(arm: Arm) -> Arm:
    """Return an arm of recall that embeds a question unchanged. No setting does that, so this uses internals."""

    def ask(question: str) -> list[str]:
        vars(understand).update(to_query=lambda text, speakers: replace(to_query(text, speakers), meaning=text))
        try:
            return arm(question)
        finally:
            vars(understand).update(to_query=to_query)

    return ask


# showing


def show(report: Report, console: Console) -> None:
    data, asked = report.data, report.asked
    turns = sum(len(conversation.turns) for conversation in data.conversations)
    adversarial = sum(item.question.category == ADVERSARIAL for item in asked)
    console.rule(f"[bold]{data.name}")
    console.print(
        f"{len(data.conversations)} memories of {turns} turns in all, {len(asked) - adversarial} questions"
        + (f" and {adversarial} adversarial ones, which stand apart." if adversarial else ".")
        + f"\n{data.counts}.\nThe share of the evidence among the first k, in percent, ± half of a 95 % interval "
        f"({RESAMPLES} bootstrap samples of the questions, seed {SEED}). Search times are without the embedding."
    )
    console.print(_quality(report), _by_category(report), _against(report))
    if len(data.conversations) > 1:
        console.print(_arms_by_conversation(report))
    if report.steps:
        console.print(_ablation(report), *_by_conversation(report), *(_beyond(report, way) for way in WAYS))
    for profile in report.profiles:
        if abstention(report, profile):
            console.print(_silence(report, profile))


COLUMNS = ("recall@1", "recall@3", "recall@5", "recall@10", "hit@10", "mrr@10", "ndcg@10")


def _quality(report: Report) -> Table:
    table = _table("All categories but the adversarial one", "arm", *COLUMNS, "search p50 / p95 ms")
    for arm in report.arms if report.rows(report.arms[0]) else []:
        figures, took = summary(report.rows(arm)), quantiles(report.times[arm])
        table.add_row(arm, *(shown(figures[name]) for name in COLUMNS), f"{took['p50_ms']:.2f} / {took['p95_ms']:.2f}")
    return table


def _by_category(report: Report) -> Table:
    table = _table("By category", "category", "arm", *COLUMNS)
    for category in report.categories:
        for number, arm in enumerate(report.arms):
            rows = report.rows(arm, category)
            figures = summary(rows)
            label = "" if number else f"{category} ({len(rows)})"
            table.add_row(label, arm, *(shown(figures[name]) for name in COLUMNS))
        table.add_section()
    return table


def _arms_by_conversation(report: Report) -> Table:
    names = ("recall@5", "recall@10", "ndcg@10")
    table = _table("By conversation", "conversation", "arm", *names)
    for conversation in report.data.conversations:
        own = [item for item in report.asked if item.conversation == conversation.name]
        asked = [item for item in own if _counts(item.question.category, None)]
        for number, arm in enumerate(report.arms if asked else []):
            label = "" if number else f"{conversation.name} ({len(asked)})"
            table.add_row(label, arm, *_means([scores(item.ranks[arm]) for item in asked], names))
        table.add_section()
    return table


def _against(report: Report) -> Table:
    """Build the table of differences between arms.

    Differences are paired by question, which is more precise than two separate intervals.
    """
    names = ("recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10")
    table = _table("Differences, question by question", "arm", "against", *names)
    for profile in report.profiles if report.rows(PLAIN) else []:
        for base in (FLOOR_KEYWORDS, FLOOR_VECTORS, PLAIN):
            figures = difference(report.rows(profile), report.rows(base))
            table.add_row(profile, base, *(shown(figures[name], signed=True) for name in names))
        table.add_section()
    return table


def _ablation(report: Report) -> Table:
    names = ("recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10")
    table = _table("balanced, one step changed, and what that does to it", "change", *names, "Δ recall@5", "Δ ndcg@10")
    for arm in ["balanced", *report.steps] if report.rows("balanced") else []:
        figures = summary(report.rows(arm))
        change = difference(report.rows(arm), report.rows("balanced"))
        deltas = [shown(change[name], signed=True) if arm != "balanced" else "" for name in ("recall@5", "ndcg@10")]
        table.add_row(arm, *(f"{figures[name]['mean']:.1f}" for name in names), *deltas)
    return table


class Held(NamedTuple):
    """The scores of a conversation with ``balanced``, and with the step that is best on all the others."""

    name: str
    own: list[list[float]]
    chosen: str
    rows: list[list[float]]


def held_out(report: Report) -> list[Held]:
    """Cross-validate by conversation: score on each the weights that are best on all the others, by nDCG@10.

    Return nothing if there is only one conversation.
    """
    arms, parts = ["balanced", *report.steps], dict[str, list[Asked]]()
    for item in report.asked:
        if _counts(item.question.category, None):
            parts.setdefault(item.conversation, []).append(item)
    found = []
    for name, asked in parts.items() if len(parts) > 1 else ():
        others = [item for other, items in parts.items() if other != name for item in items]
        best = max(arms, key=lambda arm: fmean(scores(item.ranks[arm])[-1] for item in others))
        own, rows = ([scores(item.ranks[arm]) for item in asked] for arm in ("balanced", best))
        found.append(Held(name, own, best, rows))
    return found


def _by_conversation(report: Report) -> list[Table]:
    names, held = ("recall@5", "recall@10", "ndcg@10"), held_out(report)
    if not held:
        return []
    table = _table(
        "balanced by conversation, and with the step that is best on all the others (cross-validated)",
        "conversation", *names, "best on the others", *names,
    )  # fmt: skip
    for part in held:
        cells = [_means(rows, names) for rows in (part.own, part.rows)]
        table.add_row(f"{part.name} ({len(part.own)})", *cells[0], part.chosen, *cells[1])
    own, rows = ([row for part in held for row in getattr(part, side)] for side in ("own", "rows"))
    table.add_section()
    table.add_row(f"all ({len(own)})", *_means(own, names), "", *_means(rows, names))
    return [table]


def _means(rows: Sequence[Sequence[float]], names: Sequence[str]) -> list[str]:
    return [f"{100 * fmean(row[METRICS.index(name)] for row in rows):.1f}" for name in names]


def _beyond(report: Report, way: str) -> Table:
    table = _table(
        f"Recall with {way}: its first ten hits, all of them, and as many of a plain recall",
        "category", "recall@10", "of all", "of as many", "hits beside", "queries", "p50 ms", "plain p50 ms", "times",
    )  # fmt: skip
    for category in [*report.categories, None]:
        rows = [item.beyond[way] for item in report.asked if item.beyond and _counts(item.question.category, category)]
        if rows:
            shares = [f"{100 * fmean(values):.1f}" for values in zip(*(row[:3] for row in rows), strict=True)]
            counts = [f"{fmean(values):.2f}" for values in zip(*(row[3:5] for row in rows), strict=True)]
            took, plain = [row.ms for row in rows], [row.plain_ms for row in rows]
            medians = [f"{quantiles(times)['p50_ms']:.2f}" for times in (took, plain)]
            label = category or "all but the adversarial"
            times = f"{fmean(took) / fmean(plain):.2f}"
            table.add_row(f"{label} ({len(rows)})", *shares, *counts, *medians, times)
    return table


def abstention(report: Report, profile: str) -> dict[str, Any]:
    """Return how well the whisper's confidence tells a memory with the evidence from one without it.

    ``kept`` is the percentage of the questions that recall answers among its first three hits on which the whisper
    shows evidence. ``precision`` is the percentage of the memories shown that are evidence. ``silent`` is the
    percentage of all questions on which it says nothing once their evidence is out of the memory. ``statements`` is the
    percentage of the turns that only tell on which it says nothing, ``None`` if there are none. All are for the default
    settings. ``curve`` has both for further thresholds, and ``area`` is the area under the curve.
    """
    asked = [
        (item.answerable(profile), item.whispered[profile])
        for item in report.asked
        if profile in item.whispered and _counts(item.question.category, None)
    ]
    with_evidence = sorted(whisper.sure for answerable, whisper in asked if answerable)
    without = sorted(whisper.unsure for _, whisper in asked)
    if not with_evidence:
        return {}
    curve = [
        {"kept": kept, "threshold": least, "silent": 100 * sum(value < least for value in without) / len(without)}
        for kept in KEPT
        for least in [with_evidence[len(with_evidence) * (100 - kept) // 100]]
    ]
    above = sum(bisect_left(without, value) + bisect_right(without, value) for value in with_evidence)
    return {
        "threshold": Tuning().whisper.threshold * Tuning().whisper.share(profile),
        "kept": 100 * fmean(whisper.shown for answerable, whisper in asked if answerable),
        "precision": 100 * sum(whisper.helped for _, whisper in asked) / max(1, sum(w.lines for _, w in asked)),
        "silent": 100 * fmean(whisper.silent for _, whisper in asked),
        "statements": 100 * fmean(told) if (told := report.statements.get(profile)) else None,
        "area": above / 2 / len(with_evidence) / len(without),
        "curve": curve,
    }


def _silence(report: Report, profile: str) -> Table:
    """Build the table of the whisper's curve, with a column for each of its points."""
    figures = abstention(report, profile)
    title = (
        f"The whisper, {profile}: area under the curve {figures['area']:.3f}; "
        f"with its threshold of {figures['threshold']:.3g}\n"
        f"it shows evidence on {figures['kept']:.1f} % of what recall answers among its first three,\n"
        f"and is silent on {figures['silent']:.1f} % of all once their evidence is out of the memory;\n"
        f"{figures['precision']:.1f} % of the lines that it shows are evidence"
    )
    if figures["statements"] is not None:
        told = len(report.statements[profile])
        title += f";\nit is silent on {figures['statements']:.1f} % of {told} turns that only tell"
    table = _table(title, "shown, %", *(f"{point['kept']}" for point in figures["curve"]))
    table.add_row("threshold", *(f"{point['threshold']:.2f}" for point in figures["curve"]))
    table.add_row("silent, %", *(f"{point['silent']:.1f}" for point in figures["curve"]))
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        text = column in ("arm", "category", "against", "change")
        table.add_column(column, justify="left" if text else "right", no_wrap=True)
    return table


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
