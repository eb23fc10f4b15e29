"""An agent lives through several threads, each a process of its own over one memory, and shows what it remembers.

    python examples/demo.py                     Mara, her boat and her tide gauge: five threads, offline
    python examples/demo.py --data FILE         the same on a conversation in LoCoMo's format
    python examples/demo.py --model NAME        with a model for init_chat_model instead of the scripted answers
    python examples/demo.py --store URL         in a PostgreSQL database, and two agents that share it at once

A provider's key in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY) chooses that provider's model where its
LangChain package is installed. The dates are simulated: every process is given the day that it believes in.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import demo_screen as screen
from demo_agent import Agent, NoModel, Turn, choose_model
from demo_pair import Apart, two_at_once
from demo_story import BadFile, Ending, Question, Talk, locomo, mara

from tidal_plugins import Affect, OnnxEmbedder, TidalError, TidalMemory

CALM, AGITATED = Affect(), Affect(valence=-0.8, arousal=0.9)

# What is asked of a conversation from a file, beside its own questions.
MOODY = "What went wrong?"
UNRELATED = "What is the boiling point of helium?"
QUESTIONS = 8
QUESTIONING = "questions"

BY_MAKE = Path("build/demo")
"""The folder that `make demo` keeps the memory in, and `make inspect` opens."""


class Failed(Exception):
    """The demo did not show what it set out to show."""


class Clock:
    """The date that a process believes in; it goes on by a few minutes with every turn."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def tick(self) -> None:
        self.now += timedelta(minutes=4)


def main() -> int:
    options = parse()
    try:
        if options.thread is None:
            return run_all(options)
        run_thread(options)
    except (Apart, BadFile, Failed, NoModel, TidalError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a conversation in LoCoMo's format")
    parser.add_argument("--model", help="a model for init_chat_model, such as openai:gpt-5-mini")
    parser.add_argument("--store", metavar="URL", help="a new PostgreSQL database, instead of a file")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="leave the memory there, in place of an earlier one"
    )
    parser.add_argument("--thread", type=int, help=argparse.SUPPRESS)  # what the processes are started with
    parser.add_argument("--db", help=argparse.SUPPRESS)
    return parser.parse_args()


def run_all(options: argparse.Namespace) -> int:
    """Run the threads one after the other, each in a new process over the same file."""
    threads = 2 if options.data and locomo(options.data) else len(mara()[0])
    with place(options.store, options.keep) as db:
        for number in range(1, threads + 1):
            command = [sys.executable, __file__, *sys.argv[1:], "--thread", str(number), "--db", db]
            if code := subprocess.run(command, check=False).returncode:
                return code
        if options.store:
            two_at_once(db, datetime.now().astimezone())
            screen.say(f"\n{threads} processes one after the other, then two at once, and one database.")
            return 0
        screen.say(f"\n{threads} processes, one file of {Path(db).stat().st_size / 1024:.0f} KiB.")
        if options.keep:
            opens = "make inspect" if options.keep == BY_MAKE else f"tidal inspect {db}"
            screen.say(f"See it in a browser: {opens}")
    return 0


@contextmanager
def place(store: str | None, keep: Path | None) -> Iterator[str]:
    """Yield the database that is given, or a path for the memory, gone at the end unless a folder is to keep it."""
    if store:
        yield store
    elif keep:
        keep.mkdir(parents=True, exist_ok=True)
        for left in keep.glob("agent.db*"):
            left.unlink()
        yield str(keep / "agent.db")
    else:
        with tempfile.TemporaryDirectory(prefix="tidal-demo-") as folder:
            yield str(Path(folder, "agent.db"))


def run_thread(options: argparse.Namespace) -> None:
    if options.data is None:
        live(options.db, options.thread, options.model)
    elif options.thread == 1:
        ingest(options.db, locomo(options.data))
    else:
        question(options.db, locomo(options.data), options.model)


@contextmanager
def opened(db: str, clock: Clock) -> Iterator[TidalMemory]:
    embedder = OnnxEmbedder()
    with screen.bar("loading the embedding model") as step:
        embedder.load()
        step(1, 1)
    with TidalMemory(db, embedder=embedder, clock=clock) as memory:
        yield memory


def date(clock: Clock) -> str:
    return f"process {os.getpid()} · simulated date {clock.now:%A %d %B %Y}"


# Mara's conversation


def live(db: str, number: int, model_name: str | None) -> None:
    """Live through one thread of Mara's conversation; after the last one, put the three questions."""
    threads, ending = mara()
    thread, name, clock = threads[number - 1], f"thread-{number}", Clock(threads[number - 1].date)
    model, title = choose_model(model_name, thread.turns)
    screen.heading(f"Thread {number} of {len(threads)}: {thread.title}", f"{date(clock)} · {title}")
    with opened(db, clock) as memory:
        agent = Agent(memory, model)
        if thread.notes:
            with screen.bar(f"remembering {', '.join(note.source or '' for note in thread.notes)}") as step:
                memory.remember(thread.notes, progress=step)
        for words in thread.turns:
            converse(memory, agent, words, name, clock)
        if number == len(threads):
            close(memory, agent, ending, name, clock)


def converse(memory: TidalMemory, agent: Agent, words: str, thread: str, clock: Clock, speaker: str = "Mara") -> Turn:
    clock.tick()
    turn = agent.ask(words, thread)
    screen.turn(memory, turn, speaker)
    if len(turn.whisper) > memory.settings.whisper.most_chars:
        raise Failed(f"a whisper of {len(turn.whisper)} characters is over its budget: {turn.whisper}")
    return turn


def close(memory: TidalMemory, agent: Agent, ending: Ending, thread: str, clock: Clock) -> None:
    if not moods(memory, ending.feeling):
        raise Failed("calm and agitated recall brought up the same")
    if abstain(memory, agent, ending.unrelated, thread, clock).whisper:
        raise Failed("something surfaced for a question that the memory knows nothing about")
    screen.heading("A question that only thread 1 can answer", "nothing of it was said since")
    turn = converse(memory, agent, ending.last, thread, clock)
    first = [memory.get(id_) for id_ in turn.ids if memory.get(id_).thread == "thread-1"]
    if not any(ending.expected in entry.text and entry.citation in turn.whisper for entry in first):
        raise Failed("the memory of thread 1 that answers the last question did not surface")
    screen.say(f"It surfaced from thread 1, {(memory.now() - first[0].occurred_at).days} days ago in another process.")


# A conversation from a file


def ingest(db: str, talk: Talk) -> None:
    clock = Clock(talk.end)
    screen.heading(
        f"Process 1 of 2: reading {talk.name}", f"simulated date {clock.now:%d %B %Y} · process {os.getpid()}"
    )
    with opened(db, clock) as memory, screen.bar("recording exchanges") as step:
        memory.record_many(talk.exchanges, progress=step)


def question(db: str, talk: Talk, model_name: str | None) -> None:
    clock = Clock(talk.end)
    model, title = choose_model(model_name, {})
    screen.heading("Process 2 of 2: questions", f"{date(clock)} · {title}")
    with opened(db, clock) as memory:
        agent, asked = Agent(memory, model), talk.questions[:QUESTIONS]
        found = [probe(memory, agent, item, clock) for item in asked]
        surfaced, searched = (sum(column) for column in zip(*found, strict=True))
        screen.say(
            f"\nOf {len(asked)} questions the evidence surfaced for {surfaced}, "
            f"and a search has it among its first ten for {searched}.",
            style="bold",
        )
        moods(memory, MOODY)
        abstain(memory, agent, UNRELATED, QUESTIONING, clock)


def probe(memory: TidalMemory, agent: Agent, item: Question, clock: Clock) -> tuple[bool, bool]:
    """Ask a question of the file; return whether its evidence surfaced, and whether a search brings it up."""
    searched = evidence(memory, memory.recall(item.text, limit=10).ids) & item.evidence
    turn = converse(memory, agent, item.text, QUESTIONING, clock, "question")
    surfaced = evidence(memory, turn.ids) & item.evidence
    verdict = "surfaced" if surfaced else "did not surface, a search has it" if searched else "was not found"
    screen.say(f"expected «{item.answer}»; its evidence ({', '.join(sorted(item.evidence))}) {verdict}")
    return bool(surfaced), bool(searched)


def evidence(memory: TidalMemory, ids: Sequence[str]) -> set[str]:
    """Return the file's own ids of the turns that these memories were made from."""
    return {str(memory.get(id_).metadata["message"]) for id_ in ids}


# What both end with


def moods(memory: TidalMemory, question: str) -> bool:
    """Ask one question calm and agitated, and return whether the moods changed what comes up."""
    screen.heading(f"Calm and agitated: «{question}»", "the same question and memory; only the agent's mood differs")
    calm, agitated = (memory.recall(question, affect=affect, limit=4) for affect in (CALM, AGITATED))
    screen.side_by_side(memory, [calm, agitated])
    return calm.ids != agitated.ids


def abstain(memory: TidalMemory, agent: Agent, question: str, thread: str, clock: Clock) -> Turn:
    screen.heading("A question that has nothing to do with anything", "what is not near enough stays unsaid")
    return converse(memory, agent, question, thread, clock, "question")


if __name__ == "__main__":
    sys.exit(main())
