"""Measure how much evidence a compacted context keeps, at equal tokens, and how long compacting takes.

    python benchmarks/compaction.py --data locomo10.json --data airline.json --data swe_agent.jsonl

Every arm gets the same history, the same limit and the same counter, and the same extractive model if it needs one.
Arms leave different amounts of room to grow. Therefore each arm's own limit is moved, in a few tries, until its context
comes as near to the common limit as it can without exceeding it. A context that exceeds the limit, or an error, keeps
nothing. «As it comes» is this library with default settings and an unmoved limit.

A piece of evidence is *kept* if it stands in the context word for word, or if one statement of the context has at least
half of its content words (seven tenths in the columns «.7»). A statement is a line of a message, without its citations,
or a tool call with its arguments. Statements of more than 60 content words are read in pieces. An id alone therefore
says nothing.

Conversations (LoCoMo's format): the first speaker is the user, the second the assistant, and consecutive turns of one
speaker are one message. The evidence is the turns that the questions of categories 1 to 4 name. «With recall» reserves
a quarter of the limit for the passages that this library's recall finds for the question, for every arm alike. A score
is the mean over questions of the share of the evidence that is kept.

Trajectories (lists of OpenAI-style messages, or of SWE-agent): rules find the evidence. An *action* is a call of a tool
that changes something, that is, whose name begins with none of ``READS``; its evidence is the tool's name and the first
30 content words of the arguments. A *requirement* is a sentence of a user with at least four content words. An *error*
is the first line of a tool's result that mentions one. A score is the mean over sessions of the share of the evidence
that is kept. System prompts are left out, because no arm changes them. Two more kinds are counted apart from «kept»: a
*constraint* is a requirement that names a number or a date, or that says what must, may or may not be (``CONSTRAINT``);
a *verdict* is the last line of what a program came to (``RUNS``) when it was run for the last time in its task. «Files»
is how many of the files that SWE-agent edited in a session, and did not delete, are shown as they are at its end: one
message, with its call, names the file and has every edited line of it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import trajectories
from benchmarks.compaction_arms import (
    COUNTER,
    DEEPAGENTS,
    LANGMEM,
    OURS,
    Arm,
    Compacted,
    Memories,
    Opener,
    openers,
    size,
)
from benchmarks.compaction_cases import ALL, APART, KINDS, Asked, Case, Shown, conversation, kept, trajectory, work
from benchmarks.conversations import Conversation, load
from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.tables import RESAMPLES, SEED, intervals, options, shown, table, wide
from tidal_plugins import (
    Affect,
    HashingEmbedder,
    Message,
    TidalError,
    TidalMemory,
)
from tidal_plugins.errors import ContextOverflow
from tidal_plugins.model.delimiters import Delimiters

LIMITS = (1_000, 2_000, 4_000)
"""Limits in tokens for conversations. Trajectories get twice as much, because their messages are longer."""
POOL = 100
"""Number of passages that recall may return."""
STEPS = 8
"""Number of parts in which a conversation is given; each is compacted on top of the one before."""
JOINED = 5
"""Number of agents' runs that are joined into a session, so that there is a past to compact."""
TRIES, ENOUGH = 4, 0.96
"""Number of tries to move an arm's own limit, and the share of the common limit that is near enough."""
QUICK = 1
"""Number of conversations, and of sessions of each file of trajectories, that ``--quick`` measures."""
SPEED_MESSAGES = 1_000
"""Number of messages that are compacted to measure the speed."""


def measured(title: str, cases: list[Case], limits: Sequence[int], embedder: Any, *, steps: int = 1) -> Report:
    report = Report(title, cases, limits=list(limits))
    for case in track(cases, title, console=Console(stderr=True)):
        with TemporaryDirectory(prefix="tidal-benchmark-") as folder, ExitStack() as stack:
            memories = Memories(Path(folder), case, embedder, stack)
            found = recalled(memories.copy(), case)
            for name, opener in openers(memories).items():
                share = 1.0
                for limit in limits:
                    made = _filled(opener, case.messages, limit, share, steps=steps)
                    room = int(RECALL * limit) if any(found) else 0
                    rest = _filled(opener, case.messages, limit - room, made.share, steps=steps) if room else made
                    result = _measured(case, made, limit, rest, room, found)
                    report.results.setdefault((limit, name), []).append(result)
                    share = rest.share
    return report


def _measured(
    case: Case, made: Compacted, limit: int, rest: Compacted, room: int, found: Sequence[Sequence[str]]
) -> Result:
    """Score a context by itself and, if there is ``room``, a smaller one together with the recalled passages."""
    total = size(made.context or ())
    result = Result(total.tokens, total.bytes, made.seconds, made.context is not None and total.tokens <= limit)
    shown = [Shown(made.context)] if made.context and result.fits else []
    result.rows[KEPT] = [_scores(case, asked, shown) for asked in case.asked]
    result.files = sum(kept(file, made.context) for file in case.files) if made.context and result.fits else 0
    if room:
        shown = [Shown(rest.context)] if rest.context and rest.tokens <= limit - room else []
        result.rows[RECALLED] = [
            _scores(case, asked, [*shown, Shown((), *_chosen(lines, room, shown))])
            for asked, lines in zip(case.asked, found, strict=True)
        ]
    return result


def _filled(opener: Opener, messages: Sequence[Message], limit: int, share: float = 1.0, *, steps: int) -> Compacted:
    """Return the largest context within a limit that an arm makes while its own limit is moved.

    The first try gives the arm ``share`` of the limit.
    """
    best: Compacted | None = None
    for _ in range(1 if opener.fixed else TRIES):
        made = _compacted(opener.open(int(share * limit), limit), messages, steps=steps)._replace(share=share)
        if best is None or best.tokens > limit or best.tokens < made.tokens <= limit:
            best = made
        if made.context is None or ENOUGH * limit <= made.tokens <= limit:
            break
        share *= max(0.5, min(2.0, (1 + ENOUGH) / 2 * limit / max(1, made.tokens)))
    assert best is not None
    return best


def _compacted(arm: Arm, messages: Sequence[Message], *, steps: int) -> Compacted:
    """Compact in ``steps`` parts of about as many messages, each of which begins with a message of the user."""
    asked = [at for at in range(1, len(messages)) if messages[at].role == "user"]
    stops = [asked[step * len(asked) // steps] for step in range(1, steps)] if asked else []
    made = Compacted(None, 0.0)
    for begin, end in pairwise([0, *stops, len(messages)]):
        start = time.perf_counter()
        try:
            context: Sequence[Message] | None = arm(messages[begin:end])
        except ContextOverflow as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            context = None
        made = Compacted(context, max(made.seconds, time.perf_counter() - start))
    return made


def _scores(case: Case, asked: Asked, shown: Sequence[Shown]) -> list[float]:
    best = [max((each.states(case.facts[fact]) for each in shown), default=0.0) for fact in asked.facts]
    return [statistics.fmean(share >= threshold for share in best) for threshold in THRESHOLDS]


def recalled(memory: TidalMemory, case: Case) -> list[list[str]]:
    """Return the lines that recall finds for each question, best first, in the form that a whisper shows."""
    lines = []
    for asked in case.asked:
        hits = memory.recall(asked.query, limit=POOL, affect=Affect()) if asked.query else ()
        lines.append([f"- [{hit.entry.citation}] {hit.entry.speaker}: {hit.passage}" for hit in hits])
    return lines


def _chosen(lines: Sequence[str], room: int, shown: Sequence[Shown]) -> list[str]:
    """Return the lines that fit into the room, frame included, without those that the context shows anyway."""
    left = room - size([Message("system", Delimiters(b"-").memories([""]))]).tokens
    chosen = []
    for line in lines:
        cost = COUNTER.count(f"{line}\n")
        if cost <= left and not any(line.partition(": ")[2] in each.text for each in shown):
            chosen.append(line)
            left -= cost
    return chosen


# speed


def speed(repeats: int = 3) -> dict[str, dict[str, float]]:
    """Return the median seconds, those of the processor, and the tokens of each arm for ``SPEED_MESSAGES`` messages.

    The turns are recorded, and nothing runs beside it. The time of ``BARE`` tells how fast the machine is: that of the
    least that any compaction does, which is to weigh each message once.
    """
    case = Case("speed", work(SPEED_MESSAGES), (), ())
    seconds: dict[str, list[tuple[float, float]]] = {}
    tokens: dict[str, int] = {}
    with TemporaryDirectory(prefix="tidal-benchmark-") as folder, ExitStack() as stack:
        memories = Memories(Path(folder), case, HashingEmbedder(), stack, quiet=True)
        arms = openers(memories) | {BARE: Opener(lambda _, __: lambda new: new if size(new).tokens else [])}
        for _ in range(repeats):
            for name, opener in arms.items():
                arm = opener.open(SPEED_LIMIT, SPEED_LIMIT)
                cpu = time.process_time()
                made = _compacted(arm, case.messages, steps=1)
                seconds.setdefault(name, []).append((made.seconds, time.process_time() - cpu))
                tokens[name] = made.tokens
    return {
        name: {
            "seconds": statistics.median(wall for wall, _ in times),
            "cpu_seconds": statistics.median(cpu for _, cpu in times),
            "tokens": tokens[name],
        }
        for name, times in seconds.items()
    }


# the command


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments(argv)
    conversations, runs = files(args.data)
    limits = args.limits
    embedder = CachedEmbedder(EMBEDDERS[args.embedder]())
    reports = []
    start = time.perf_counter()
    try:
        if conversations:
            cases = [conversation(each) for each in conversations][: QUICK if args.quick else None]
            reports.append(measured("Conversations, compacted at once", cases, limits, embedder))
            middle = [sorted(limits)[len(limits) // 2]]
            title = f"Conversations, compacted {STEPS} times, each on top of the time before"
            reports.append(measured(title, cases, middle, embedder, steps=STEPS))
        for name, each in runs.items():
            cases = [trajectory(run) for run in trajectories.joined(each, JOINED)][: QUICK if args.quick else None]
            title = f"{name}: sessions of {JOINED} tasks, compacted at once"
            reports.append(measured(title, cases, [2 * limit for limit in limits], HashingEmbedder()))
        times = speed(1 if args.quick else 3)
    except TidalError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    console = wide(200)
    if reports:
        console.print(LEGEND)
    for report in reports:
        show(report, console)
    show_speed(times, SPEED_MESSAGES, console)
    console.print(f"Measured in {time.perf_counter() - start:.0f} s.")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = options(__doc__)
    parser.add_argument(
        "--data",
        action="append",
        type=Path,
        metavar="PATH",
        help="LoCoMo, or trajectories; a file or a folder, as often as you like (TIDAL_BENCH_DATA)",
    )
    parser.add_argument("--limits", nargs="+", type=int, default=list(LIMITS), metavar="N", help="tokens")
    add_embedder(parser)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} conversation and session of each file")
    args = parser.parse_args(argv)
    given = os.environ.get("TIDAL_BENCH_DATA")
    args.data = args.data or ([Path(given)] if given else [])
    if min(args.limits) < 500:
        parser.error("limits of at least 500 tokens")
    return args


def files(paths: Sequence[Path]) -> tuple[list[Conversation], dict[str, list[trajectories.Run]]]:
    """Load the conversations, and the runs by file of trajectories. Other files in a folder are passed over."""
    conversations: list[Conversation] = []
    runs: dict[str, list[trajectories.Run]] = {}
    for path in paths:
        inside = path.is_dir()
        for each in sorted(path.glob("*.json*")) if inside else [path]:
            try:
                if trajectories.holds(each):
                    runs[each.name] = trajectories.load(each)
                else:
                    conversations += load(each).conversations
            except SystemExit as error:
                if not inside:
                    raise
                print(f"passed over: {error}", file=sys.stderr)
    return conversations, runs


# the tables


THRESHOLDS = (0.5, 0.7)
RECALL = 0.25
"""Share of the limit that is reserved for recall."""
SPEED_LIMIT = 8_000
BARE = "weighing each message once"
KEPT, RECALLED = "kept", "with recall"


@dataclass(slots=True)
class Result:
    """The outcome of one arm for one case at one limit.

    ``rows`` has by column a list for each item of ``Case.asked``: a score for each threshold.
    """

    tokens: int
    bytes: int
    seconds: float
    fits: bool
    rows: dict[str, list[list[float]]] = field(default_factory=dict)
    files: int = 0
    """How many of the edited files are shown as they are at the end."""


@dataclass(slots=True)
class Report:
    """All measurements on one kind of history: results by limit and arm, one for each case."""

    title: str
    cases: list[Case]
    limits: list[int]
    results: dict[tuple[int, str], list[Result]] = field(default_factory=dict)

    @property
    def arms(self) -> list[str]:
        return list(dict.fromkeys(arm for _, arm in self.results))

    @property
    def columns(self) -> list[str]:
        return list(next(iter(self.results.values()))[0].rows)

    def rows(self, limit: int, arm: str, column: str, threshold: int = 0, name: str | None = None) -> list[list[float]]:
        """Return the scores of the facts asked under ``name``.

        Without a name, these are the scores of every question, or of everything in a session.
        """
        return [
            [row[threshold]]
            for case, result in zip(self.cases, self.results[limit, arm], strict=True)
            for asked, row in zip(case.asked, result.rows[column], strict=True)
            if asked.name == name or (name is None and (asked.query or asked.name == ALL))
        ]


LEGEND = (
    f"Kept: the context says it word for word, or one statement has {THRESHOLDS[0]:.0%} (.7: {THRESHOLDS[1]:.0%}) of "
    f"its content words; a cited id says nothing. Recall: kept, or found by our recall in {RECALL:.0%} of the same "
    "limit, the context having the rest. Ours − it: ours with recall against the arm as it is; both with: the arm has "
    "our recall too."
)


def show(report: Report, console: Console) -> None:
    console.rule(f"[bold]{report.title}")
    before = [size(case.messages) for case in report.cases]
    console.print(
        f"{len(report.cases)} histories of {sum(len(case.messages) for case in report.cases)} messages in all, "
        f"{statistics.fmean(each.tokens for each in before):,.0f} tokens and "
        f"{statistics.fmean(each.bytes for each in before):,.0f} bytes each on average. {_asked(report)} "
        f"Percent ± half of a 95 % interval ({RESAMPLES} bootstrap samples of the "
        f"{'questions' if RECALLED in report.columns else 'sessions'}, seed {SEED}); «ours −» are paired."
    )
    for limit in report.limits:
        console.print(_table(report, limit))
    if not (LANGMEM and DEEPAGENTS):
        console.print("langmem or deepagents is not installed: pip install -c constraints.txt 'tidal-plugins[bench]'")


def _asked(report: Report) -> str:
    names = Counter(asked.name for case in report.cases for asked in case.asked)
    if any(asked.query for case in report.cases for asked in case.asked):
        return f"{sum(names.values())} questions."
    facts = Counter(fact.kind for case in report.cases for fact in case.facts)
    return (
        f"Evidence: {facts['action']} actions (calls of tools that change something, with their arguments), "
        f"{facts['requirement']} requirements (sentences of users), {facts['error']} errors (lines of results). Apart: "
        f"{facts['constraint']} constraints (of the requirements), {facts['verdict']} verdicts (of programs)."
    )


def _table(report: Report, limit: int) -> Table:
    """Build the table of one limit, with a row for each arm.

    «ours − it» is the difference to the arm as it is: with recall if there are questions, which no peer has. «both
    with» gives the peer our recall too.
    """
    kinds = [
        kind for kind in (*KINDS, *APART) if any(asked.name == kind for case in report.cases for asked in case.asked)
    ]
    with_recall = RECALLED in report.columns
    edited = sum(len(case.files) for case in report.cases)
    more = ["recall", "recall .7", "ours − it", "both with"] if with_recall else [*(f"{kind}s" for kind in kinds)]
    more += ["files"] if edited else []
    columns = ("arm", "tokens", "kB", "ms", "fit", "kept", "kept .7", "ours − it, kept", *more)
    found = table(f"At {limit:,} tokens", *columns)
    for arm in report.arms:
        results = report.results[limit, arm]
        cells = [
            f"{statistics.fmean(each.tokens for each in results):,.0f}",
            f"{statistics.fmean(each.bytes for each in results) / 1000:.1f}",
            f"{statistics.median(each.seconds for each in results) * 1000:.0f}",
            f"{sum(each.fits for each in results)}/{len(results)}",
            _mean(report, limit, arm, KEPT),
            _mean(report, limit, arm, KEPT, 1),
            _margin(report, limit, arm, KEPT, KEPT),
        ]
        if with_recall:
            cells += [_mean(report, limit, arm, RECALLED), _mean(report, limit, arm, RECALLED, 1)]
            cells += [_margin(report, limit, arm, RECALLED, KEPT), _margin(report, limit, arm, RECALLED, RECALLED)]
        else:
            cells += [_mean(report, limit, arm, KEPT, name=kind) for kind in kinds]
        cells += [f"{sum(each.files for each in results)}/{edited}"] if edited else []
        found.add_row(arm, *cells)
    return found


def _mean(report: Report, limit: int, arm: str, column: str, threshold: int = 0, name: str | None = None) -> str:
    return shown(intervals(report.rows(limit, arm, column, threshold, name))[0])


def _margin(report: Report, limit: int, arm: str, mine: str, theirs: str) -> str:
    if arm == OURS and mine == theirs:
        return ""
    return shown(intervals(report.rows(limit, OURS, mine), report.rows(limit, arm, theirs))[0], signed=True)


def show_speed(times: Mapping[str, Mapping[str, float]], messages: int, console: Console) -> None:
    columns = ("arm", "tokens", "ms", "ms of the processor", "against ours", f"against {BARE}")
    found = table(f"Compacting {messages:,} recorded messages to {SPEED_LIMIT:,} tokens", *columns)
    for arm, row in times.items():
        ratios = (row["cpu_seconds"] / max(times[other]["cpu_seconds"], 1e-6) for other in (OURS, BARE))
        milliseconds = (f"{1000 * row[name]:.0f}" for name in ("seconds", "cpu_seconds"))
        found.add_row(arm, f"{row['tokens']:,}", *milliseconds, *(f"{ratio:.2f}" for ratio in ratios))
    console.print(found)


if __name__ == "__main__":
    main()
