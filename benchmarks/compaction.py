"""Measure how much evidence a compacted context keeps, at equal tokens, and how long compacting takes.

    python benchmarks/compaction.py --data locomo10.json --data airline.json --data swe_agent.jsonl --json out.json

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
import json
import os
import platform
import re
import shutil
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import locomo, trajectories
from benchmarks.contexts import (
    COUNTER,
    DEEPAGENTS,
    LANGMEM,
    Arm,
    last_messages,
    noded,
    offloaded,
    size,
    summarised,
    trimmed,
)
from benchmarks.edited_files import EditedFile, edited_files, kept
from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.metrics import RESAMPLES, SEED, intervals, shown
from tidal_plugins import (
    Affect,
    Exchange,
    HashingEmbedder,
    Message,
    Settings,
    TidalError,
    TidalMemory,
    ToolCall,
)
from tidal_plugins.compaction.turns import history as split
from tidal_plugins.english.sentences import sentences
from tidal_plugins.errors import ContextOverflow
from tidal_plugins.model.fence import Frames
from tidal_plugins.scoring.text import terms
from tidal_plugins.tuning import Tuning

LIMITS = (1_000, 2_000, 4_000)
"""Limits in tokens for conversations. Trajectories get twice as much, because their messages are longer."""
THRESHOLDS = (0.5, 0.7)
RECALL = 0.25
"""Share of the limit that is reserved for recall."""
POOL = 100
"""Number of passages that recall may return."""
STEPS = 8
"""Number of parts in which a conversation is given; each is compacted on top of the one before."""
JOINED = 5
"""Number of agents' runs that are joined into a session, so that there is a past to compact."""
TRIES, ENOUGH = 4, 0.96
"""Number of tries to move an arm's own limit, and the share of the common limit that is near enough."""
FILLED = Tuning(compaction={"target": 0.8, "compact": 0.85})
"""Settings of «ours»: only the limit bounds the size of a summary, as for the others."""
SPEED_MESSAGES, SPEED_LIMIT = 1_000, 8_000
BARE = "weighing each message once"
QUICK = 1
"""Number of conversations, and of sessions of each file of trajectories, that ``--quick`` measures."""

STATEMENT_WORDS = 60
LEAST_WORDS = 4
ARGUMENT_WORDS = 30
READS = tuple(
    "get search list think calculate transfer find open goto scroll set_cursors ls cat head tail grep file decompile "
    "tshark view read submit".split()
)
"""Beginnings of the names of tools that change nothing."""
ERROR = re.compile(r"^.*(?:error|exception|failed|failure|not found|timed out|traceback).*$", re.IGNORECASE | re.M)

CONSTRAINT = re.compile(
    r"\b(?:must|only|never|always|not|don't|cannot|can't|should|at (?:most|least)|no more|instead|prefer|want|need"
    r"|under|before|after|cheapest|as long as|unless)\b|\d",
    re.IGNORECASE,
)
RUNS = re.compile(r"(?:python3?|pytest|make|tox|npm|go|cargo|bash|sh|\./\S+)\b")
FRAME = re.compile(r"^\((?:Open file|Current directory).*$|^bash-\$.*$", re.MULTILINE)
"""Lines that SWE-agent's shell adds to each result."""

SESSION = "benchmark"
WIDTH = 200
OURS, DEFAULTS = "ours", "ours, as it comes"
KEPT, RECALLED = "kept", "with recall"
ALL, KINDS, APART = "all", ("action", "requirement", "error"), ("constraint", "verdict")
_CITED = re.compile(r"\[(?:ep|mem):[^\]]*\]")


# the evidence


@dataclass(frozen=True, slots=True)
class Fact:
    """A piece of evidence: its content words, and its text unless it was put together by a rule."""

    kind: str
    text: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Asked:
    """Facts that are scored together. ``query`` is the question for recall; it is empty if there is none."""

    name: str
    facts: tuple[int, ...]
    query: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A history, and the facts that a context made of it should keep."""

    name: str
    messages: tuple[Message, ...]
    facts: tuple[Fact, ...]
    asked: tuple[Asked, ...]
    end: datetime | None = None
    files: tuple[EditedFile, ...] = ()


def conversation(given: locomo.Conversation) -> Case:
    """Convert a conversation into a case.

    Consecutive turns of one speaker become one message. The first speaker is the user, unless the file gives roles.
    """
    messages: list[Message] = []
    first = given.turns[0].speaker
    previous: tuple[str, str | None] | None = None
    for session in given.sessions:
        for turn in session.turns:
            role = "assistant" if turn.role == "assistant" or turn.speaker != first else "user"
            if previous == (session.id, turn.speaker or role):
                last = messages.pop()
                messages.append(Message(last.role, f"{last.text}\n{turn.text}", last.id, last.speaker, at=last.at))
            else:
                id_ = f"m{len(messages)}"
                messages.append(Message(role, turn.text, id_, turn.speaker, at=turn.at))  # type: ignore[arg-type]
            previous = (session.id, turn.speaker or role)
    places = {turn.id: place for place, turn in enumerate(given.turns)}
    facts = tuple(_fact("evidence", turn.text) for turn in given.turns)
    asked = [
        Asked(
            question.category,
            tuple(p for id_ in sorted(question.evidence) if facts[p := places[id_]].words),
            question.text,
        )
        for question in given.questions
        if question.category != locomo.ADVERSARIAL
    ]
    return Case(given.name, tuple(messages), facts, tuple(item for item in asked if item.facts), given.end)


def trajectory(run: trajectories.Run) -> Case:
    messages = tuple(
        Message(m.role, m.text, f"m{place}", None, m.tool_calls, m.tool_call_id, m.error)
        for place, m in enumerate(run.messages)
    )
    found = [fact for message in messages for fact in _facts(message)]
    facts = (*found, *_constraints(found), *_verdicts(messages))
    asked = [Asked(kind, tuple(n for n, fact in enumerate(facts) if fact.kind == kind)) for kind in (*KINDS, *APART)]
    everything = Asked(ALL, tuple(range(len(found))))
    files = tuple(edited_files(messages))
    return Case(run.name, messages, facts, tuple(item for item in [everything, *asked] if item.facts), files=files)


def _facts(message: Message) -> Iterator[Fact]:
    for call in message.tool_calls:
        if not call.name.startswith(READS):
            told = list(dict.fromkeys(terms(" ".join(_leaves(call.arguments)))))[:ARGUMENT_WORDS]
            yield Fact("action", "", frozenset([*terms(call.name), *told]))
    if message.role == "user":
        said = [message.text[start:end] for start, end in sentences(message.text)]
        yield from (fact for text in said if len((fact := _fact("requirement", text)).words) >= LEAST_WORDS)
    elif message.role == "tool" and (found := ERROR.search(message.text)) and (fact := _fact("error", found[0])).words:
        yield fact


def _constraints(found: Sequence[Fact]) -> Iterator[Fact]:
    return (
        _fact("constraint", fact.text) for fact in found if fact.kind == "requirement" and CONSTRAINT.search(fact.text)
    )


def _verdicts(messages: Sequence[Message]) -> Iterator[Fact]:
    """Yield what each program said at the end of its last run before the user asked for something else."""
    commands = {call.id: str(call.arguments.get("command", "")).strip() for m in messages for call in m.tool_calls}
    last: dict[str, str] = {}
    for message in messages:
        if message.role == "user":
            yield from (_fact("verdict", line) for line in last.values())
            last = {}
        command = commands.get(message.tool_call_id, "") if message.role == "tool" else ""
        lines = [line for line in FRAME.sub("", message.text).splitlines() if terms(line)]
        if lines and RUNS.match(command):
            last[command] = lines[-1]
    yield from (_fact("verdict", line) for line in last.values())


def _fact(kind: str, text: str) -> Fact:
    return Fact(kind, text.strip(), frozenset(terms(text)))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield str(value)


# the context


class Shown:
    """The statements of a context."""

    def __init__(self, messages: Sequence[Message], *more: str) -> None:
        self.text = "\n".join([message.text for message in messages] + list(more))
        calls = [f"{c.name} {json.dumps(dict(c.arguments))}" for message in messages for c in message.tool_calls]
        self._holding: dict[str, list[int]] = {}
        number = 0
        for text in [*_CITED.sub("\n", self.text).splitlines(), *calls]:
            words = list(dict.fromkeys(terms(text)))
            for start in range(0, max(1, len(words) - STATEMENT_WORDS // 2), STATEMENT_WORDS // 2):
                for word in words[start : start + STATEMENT_WORDS]:
                    self._holding.setdefault(word, []).append(number)
                number += 1

    def states(self, fact: Fact) -> float:
        """Return the largest share of a fact's content words in one statement; 1 if its text stands there verbatim."""
        if fact.text and fact.text in self.text:
            return 1.0
        found = Counter(number for word in fact.words for number in self._holding.get(word, ()))
        return max(found.values(), default=0) / len(fact.words)


# measuring


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


class Opener(NamedTuple):
    """A function that opens an arm from the arm's own limit and the size at which it compacts.

    ``fixed`` says that the arm's own limit is not to be moved.
    """

    open: Callable[[int, int], Arm]
    fixed: bool = False


class Compacted(NamedTuple):
    """The last context that an arm made, ``None`` after an error, and the seconds of its slowest step.

    ``share`` is the arm's own limit as a multiple of the common limit.
    """

    context: Sequence[Message] | None
    seconds: float
    share: float = 1.0

    @property
    def tokens(self) -> int:
        return size(self.context or ()).tokens


class Memories:
    """A memory in which a case is recorded. Each arm gets its own copy, so that none sees the work of another."""

    def __init__(self, folder: Path, case: Case, embedder: Any, stack: ExitStack, *, quiet: bool = False) -> None:
        self._folder, self._case, self._embedder, self._stack = folder, case, embedder, stack
        self._quiet = quiet
        self._copies = 0
        with self._open(folder / "0.db", Settings()) as memory:
            memory.record_many(exchanges(case.messages))

    def copy(self, settings: Settings | None = None) -> TidalMemory:
        self._copies += 1
        path = self._folder / f"{self._copies}.db"
        shutil.copy(self._folder / "0.db", path)
        return self._stack.enter_context(self._open(path, settings or Settings()))

    def _open(self, path: Path, settings: Settings) -> TidalMemory:
        end = self._case.end
        clock = {"clock": lambda: end} if end else {}
        if self._quiet:  # the thread that reads what was recorded would be timed too
            settings = settings.model_copy(update={"graph": settings.graph.model_copy(update={"background": False})})
        return TidalMemory(path, embedder=self._embedder, settings=settings, **clock)  # type: ignore[arg-type]


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    return [Exchange(turn.messages, SESSION, turn.key, turn.messages[0].at) for turn in split(messages).turns]


def ours(memory: TidalMemory, limit: int, trigger: int) -> Arm:
    """Open this library's compactor as an arm.

    The compactor reserves room for a whisper, which is not shown here; that room is added to the limit.
    """
    reserve = COUNTER.count(" " * memory.settings.whisper.max_chars)
    compactor = memory.compactor(max_tokens=limit + reserve, counter=COUNTER)
    held: list[Message] = []

    def arm(new: Sequence[Message]) -> Sequence[Message]:
        held.extend(new)
        force = "compact" if size(held).tokens > trigger else None
        return compactor.compact(held, thread=SESSION, force=force).messages  # type: ignore[arg-type]

    return arm


def openers(memories: Memories) -> dict[str, Opener]:
    arms = {
        OURS: Opener(lambda own, trigger: ours(memories.copy(FILLED), own, trigger)),
        DEFAULTS: Opener(lambda own, trigger: ours(memories.copy(), own, trigger), fixed=True),
        "SummarizationMiddleware, ½ summary": Opener(lambda own, trigger: summarised(own, 0.5, trigger, trims=True)),
        "the same, reads everything": Opener(lambda own, trigger: summarised(own, 0.5, trigger, trims=False)),
        "the same, reads everything, ⅞ summary": Opener(
            lambda own, trigger: summarised(own, 0.875, trigger, trims=False)
        ),
    }
    if LANGMEM:
        arms["langmem SummarizationNode, ½ summary"] = Opener(lambda own, trigger: noded(own, 0.5, trigger))
        arms["langmem SummarizationNode, ⅞ summary"] = Opener(lambda own, trigger: noded(own, 0.875, trigger))
    if DEEPAGENTS:
        arms["deepagents' compaction, ½ summary"] = Opener(lambda own, trigger: offloaded(own, 0.5, trigger))
        arms["deepagents' compaction, ⅞ summary"] = Opener(lambda own, trigger: offloaded(own, 0.875, trigger))
    return arms | {
        "trim_messages": Opener(lambda own, _: trimmed(own), fixed=True),
        "the last messages": Opener(lambda own, _: last_messages(own), fixed=True),
    }


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
    left = room - size([Message("system", Frames(b"-").memories([""]))]).tokens
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


PLACES = "engine room|north pier|chart table|sail loft|bilge|galley|wheelhouse|slipway|fuel dock|the hold".split("|")
THINGS = "pump|winch|compass|rudder cable|tide gauge|heater|battery bank|life raft|radar mast|hatch seal".split("|")
STATES = "leaks slowly|was replaced|needs grease|runs hot|passed the test|is missing a bolt|must stay locked".split("|")


def work(count: int) -> tuple[Message, ...]:
    """Return an invented log of ``count`` messages, in turns of four: a question, a call, its result, an answer."""
    messages: list[Message] = []
    for n in range(count // 4):
        thing, place, state = THINGS[n % 10], PLACES[n // 10 % 10], STATES[n * 3 % 7]
        call = ToolCall("log_state", {"item": thing, "place": place, "state": state, "number": n}, f"call-{n}")
        messages += [
            Message(
                "user", f"Please look at the {thing} in the {place}. I want number {n} done before the tide.", f"u{n}"
            ),
            Message("assistant", f"I will open entry {n} and check it.", f"c{n}", tool_calls=(call,)),
            Message(
                "tool", f"entry {n} saved: {thing}, {place}, {state}\n" + "checked\n" * 20, f"t{n}", None, (), call.id
            ),
            Message("assistant", f"Done: the {thing} in the {place} {state}; I decided to note it as {n}.", f"a{n}"),
        ]
    return tuple(messages)


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
    console = Console(width=max(WIDTH, Console().width))
    if reports:
        console.print(LEGEND)
    for report in reports:
        show(report, console)
    show_speed(times, console)
    console.print(f"Measured in {time.perf_counter() - start:.0f} s.")
    if args.json:
        args.json.write_text(json.dumps(_document(reports, times), indent=1), "utf-8")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--data",
        action="append",
        type=Path,
        metavar="PATH",
        help="LoCoMo or LongMemEval, or trajectories; a file or a folder, as often as you like (TIDAL_BENCH_DATA)",
    )
    parser.add_argument("--limits", nargs="+", type=int, default=list(LIMITS), metavar="N", help="tokens")
    add_embedder(parser)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} conversation and session of each file")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures")
    args = parser.parse_args(argv)
    given = os.environ.get("TIDAL_BENCH_DATA")
    args.data = args.data or ([Path(given)] if given else [])
    if min(args.limits) < 500:
        parser.error("limits of at least 500 tokens")
    return args


def files(paths: Sequence[Path]) -> tuple[list[locomo.Conversation], dict[str, list[trajectories.Run]]]:
    """Load the conversations, and the runs by file of trajectories. Other files in a folder are passed over."""
    conversations: list[locomo.Conversation] = []
    runs: dict[str, list[trajectories.Run]] = {}
    for path in paths:
        inside = path.is_dir()
        for each in sorted(path.glob("*.json*")) if inside else [path]:
            try:
                if trajectories.holds(each):
                    runs[each.name] = trajectories.load(each)
                else:
                    conversations += locomo.load(each).conversations
            except SystemExit as error:
                if not inside:
                    raise
                print(f"passed over: {error}", file=sys.stderr)
    return conversations, runs


# the tables

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
    table = Table(title=f"At {limit:,} tokens", title_justify="left")
    edited = sum(len(case.files) for case in report.cases)
    more = ["recall", "recall .7", "ours − it", "both with"] if with_recall else [*(f"{kind}s" for kind in kinds)]
    more += ["files"] if edited else []
    for column in ("arm", "tokens", "kB", "ms", "fit", "kept", "kept .7", "ours − it, kept", *more):
        table.add_column(column, justify="left" if column == "arm" else "right", no_wrap=True)
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
        table.add_row(arm, *cells)
    for name, installed in (("langmem SummarizationNode", LANGMEM), ("deepagents' compaction", DEEPAGENTS)):
        if not installed:
            table.add_row(name, "not installed")
    return table


def _mean(report: Report, limit: int, arm: str, column: str, threshold: int = 0, name: str | None = None) -> str:
    return shown(intervals(report.rows(limit, arm, column, threshold, name))[0])


def _margin(report: Report, limit: int, arm: str, mine: str, theirs: str) -> str:
    if arm == OURS and mine == theirs:
        return ""
    return shown(intervals(report.rows(limit, OURS, mine), report.rows(limit, arm, theirs))[0], signed=True)


def show_speed(times: Mapping[str, Mapping[str, float]], console: Console) -> None:
    table = Table(
        title=f"Compacting {SPEED_MESSAGES:,} recorded messages to {SPEED_LIMIT:,} tokens", title_justify="left"
    )
    for column in ("arm", "tokens", "ms", "ms of the processor", "against ours", f"against {BARE}"):
        table.add_column(column, justify="left" if column == "arm" else "right", no_wrap=True)
    for arm, row in times.items():
        ratios = (row["cpu_seconds"] / max(times[other]["cpu_seconds"], 1e-6) for other in (OURS, BARE))
        milliseconds = (f"{1000 * row[name]:.0f}" for name in ("seconds", "cpu_seconds"))
        table.add_row(arm, f"{row['tokens']:,}", *milliseconds, *(f"{ratio:.2f}" for ratio in ratios))
    console.print(table)


def _document(reports: Sequence[Report], times: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "machine": platform.platform(),
        "python": platform.python_version(),
        "thresholds": THRESHOLDS,
        "recall_share": RECALL,
        "bootstrap": {"resamples": RESAMPLES, "seed": SEED},
        "reports": [
            {"title": report.title, "histories": [case.name for case in report.cases], "arms": _figures(report)}
            for report in reports
        ],
        "speed": times,
    }


def _figures(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "limit": limit,
            "arm": arm,
            "tokens": [result.tokens for result in results],
            "bytes": [result.bytes for result in results],
            "seconds": [result.seconds for result in results],
            "fits": [result.fits for result in results],
            "files": [result.files for result in results],
            "scores": {
                column: [intervals(report.rows(limit, arm, column, n))[0] for n in range(len(THRESHOLDS))]
                for column in report.columns
            },
        }
        for (limit, arm), results in report.results.items()
    ]


if __name__ == "__main__":
    main()
