"""Two agents in two processes that share one memory at the same time: the end of the demo on PostgreSQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime
from typing import Any

import demo_screen as screen
from demo_agent import Agent, ScriptedModel

from tidal_plugins import OnnxEmbedder, TidalMemory

TOLD = "The ferry to Utsira leaves from berth nine now, not from berth four."
NOTED = "Berth nine it is. I have noted it."
ASKED = "Which berth does the ferry to Utsira leave from?"
ANSWER = "berth nine"


class Apart(Exception):
    """One of the two agents did not know what the other was told."""


class Process:
    """An agent in a process of its own, which answers what it is told until it is ended."""

    def __init__(self, store: str, name: str) -> None:
        pipe = subprocess.PIPE
        self.name = name
        self._process = subprocess.Popen([sys.executable, __file__, store, name], stdin=pipe, stdout=pipe, text=True)
        self.pid: int = self._answer()["pid"]

    def ask(self, question: str) -> dict[str, Any]:
        """Return what surfaced for the agent before its model, and its answer."""
        assert self._process.stdin
        print(json.dumps(question), file=self._process.stdin, flush=True)
        answer: dict[str, Any] = self._answer()
        return answer

    def end(self) -> None:
        self._process.communicate()

    def _answer(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise Apart(f"the process of {self.name} ended")
        return json.loads(line)


def two_at_once(store: str, at: datetime) -> None:
    """Open the memory in two processes, tell one of them something, and ask the other. Raises ``Apart``."""
    one, other = Process(store, "harbour"), Process(store, "travel")
    try:
        title = f"processes {one.pid} and {other.pid} · {at:%d %B %Y}"
        screen.heading("Two agents at once: one is told, the other is asked", title)
        told, answered = one.ask(TOLD), other.ask(ASKED)
    finally:
        one.end()
        other.end()
    screen.say(f"told to {one.name}:  {TOLD}\nit answers:      {told['answer']}")
    screen.say(f"asked of {other.name}:  {ASKED}\nit answers:      {answered['answer']}")
    if ANSWER not in answered["whisper"]:
        raise Apart(f"{other.name} was not shown what {one.name} had been told: {answered['whisper']!r}")
    screen.say(f"{other.name} knew it from {one.name}, over the database alone.")


def main(store: str, name: str) -> None:
    """Be one of the agents: answer each line of the input."""
    embedder = OnnxEmbedder()
    embedder.load()
    with TidalMemory(store, embedder=embedder) as memory:
        agent = Agent(memory, ScriptedModel(lines={TOLD: NOTED}))
        memory.recall(ASKED)  # before the other was told anything
        print(json.dumps({"pid": os.getpid()}), flush=True)
        for line in sys.stdin:
            turn = agent.ask(json.loads(line), name)
            print(json.dumps({"whisper": turn.whisper, "answer": turn.answer}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
