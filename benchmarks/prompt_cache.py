"""Measure how much of each prompt a provider finds in its cache, by the place of the whisper.

    python benchmarks/prompt_cache.py --data tau_airline.json --data swe_agent.jsonl

Each history is lived again, call by call, through the nodes of LangGraph with each ``cache=``: what the model was shown
then is what is compared. Agents' runs (message lists as OpenAI's API takes them, or trajectories of SWE-agent) are
joined into sessions, one thread each; the project's own coding journey comes with it. Earlier sessions are what the
whisper has to tell of. Nothing is compacted.

*Shared* is the part of a prompt, in tokens, that stands in whole messages at its beginning that the call before sent
too, and *at a new turn* the same for the first call of each turn. *Anew* are the tokens behind it. *Behind the whisper*
are the tokens that a model reads after the whisper of the turn and before it answers, in the middle call. *Repeated*
is the share of whisper lines whose memory the prompt shows in an earlier whisper too.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))  # run by its path, from a checkout
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from benchmarks import trajectories
from benchmarks.embedders import EMBEDDERS, CachedEmbedder, add_embedder
from benchmarks.tables import options, table, wide
from langchain_tidal.context import size_of
from langgraph_tidal import RecallNode, RecordNode
from tidal_plugins import Message, Settings, TidalError, TidalMemory, ToolCall
from tidal_plugins.protocols import Embedder
from tidal_plugins.turns import Cache

JOURNEY = "coding journey"
TURNS, SESSION = 60, 15
"""Turns of the journey, and of one of its sessions."""

SEED = 5
MARK = "<tidal-memory>"


@dataclass(slots=True)
class Figures:
    """What was sent over all calls of a data set, in tokens."""

    calls: int = 0
    sent: int = 0
    shared: int = 0
    begun: list[float] = field(default_factory=list)
    behind: list[int] = field(default_factory=list)
    whispers: int = 0
    lines: int = 0
    repeated: int = 0

    def add(self, prompt: Sequence[BaseMessage], before: Sequence[BaseMessage], *, begins: bool) -> None:
        """Count a call, after the call before it in the same thread."""
        sizes = [size_of(message).tokens for message in prompt]
        same = itertools.takewhile(lambda pair: sent(pair[0]) == sent(pair[1]), zip(prompt, before, strict=False))
        shared = sum(sizes[: sum(1 for _ in same)])
        self.calls, self.sent, self.shared = self.calls + 1, self.sent + sum(sizes), self.shared + shared
        if before and begins:
            self.begun.append(shared / sum(sizes))

    def whispered(self, prompt: Sequence[BaseMessage], whisper: str, *, begins: bool) -> None:
        """Count where the whisper of the turn stands."""
        place = next((n for n in reversed(range(len(prompt))) if whisper in prompt[n].text), None)
        if not whisper or place is None:
            return
        rest = prompt[place].text.partition(whisper)[2]
        self.behind.append(size_of(HumanMessage(rest)).tokens + sum(size_of(m).tokens for m in prompt[place + 1 :]))
        if begins:
            lines = [line for line in whisper.splitlines() if line.startswith("- [")]
            earlier = "\n".join(message.text for message in prompt[:place] if MARK in message.text)
            self.whispers, self.lines = self.whispers + 1, self.lines + len(lines)
            self.repeated += sum(line[: line.index("]")] in earlier for line in lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--data", action="append", default=[], metavar="FILE", help="agents' runs; repeat for more")
    parser.add_argument("--runs", type=int, default=24, metavar="N", help="runs of each file")
    parser.add_argument("--joined", type=int, default=4, metavar="N", help="runs that make a session")
    parser.add_argument("--turns", type=int, default=TURNS, metavar="N", help="turns of the coding journey")
    add_embedder(parser)
    args = parser.parse_args(argv)
    embedder = CachedEmbedder(EMBEDDERS[args.embedder]())
    histories: dict[str, list[Sequence[Message]]] = {JOURNEY: [*journey(args.turns)]}
    for path in args.data:
        runs = trajectories.joined(trajectories.load(path)[: args.runs], args.joined)
        histories[Path(path).stem] = [run.messages for run in runs]
    for name, sessions in histories.items():
        turns = sum(message.role == "user" for messages in sessions for message in messages)
        title = f"{name}: {len(sessions)} sessions, {turns} turns"
        columns = (
            "cache",
            "calls",
            "tokens a call",
            "shared %",
            "at a new turn %",
            "anew a call",
            "behind whisper",
        )
        shown = table(title, *columns, "whispers", "repeated %")
        for cache in get_args(Cache):
            try:
                found = measure(sessions, cache, embedder)
            except TidalError as error:
                raise SystemExit(f"{type(error).__name__}: {error}") from error
            shown.add_row(cache, *cells(found))
        wide(140).print(shown)


def cells(found: Figures) -> list[str]:
    """Return the cells of a row."""
    begun = 100 * statistics.mean(found.begun) if found.begun else 0
    return [
        f"{found.calls:,}",
        f"{found.sent / found.calls:,.0f}",
        f"{100 * found.shared / found.sent:.1f}",
        f"{begun:.1f}",
        f"{(found.sent - found.shared) / found.calls:,.0f}",
        f"{statistics.median(found.behind) if found.behind else 0:,.0f}",
        f"{found.whispers}",
        f"{100 * found.repeated / found.lines if found.lines else 0:.0f}",
    ]


def measure(sessions: Sequence[Sequence[Message]], cache: Cache, embedder: Embedder) -> Figures:
    """Return the figures of sessions that are lived one after the other, each in a thread of its own."""
    found, settings = Figures(), Settings(storage={"durability": "fast"})
    with (
        TemporaryDirectory() as folder,
        TidalMemory(Path(folder, "m.db"), embedder=embedder, settings=settings) as memory,
    ):
        recall, record = RecallNode(memory, cache=cache), RecordNode(memory)
        for number, session in enumerate(sessions):
            live(list(to_langchain(session)), f"session-{number}", recall, record, found)
    return found


def live(history: Sequence[BaseMessage], thread: str, recall: RecallNode, record: RecordNode, found: Figures) -> None:
    """Call the nodes as a graph would, before and after each message of the assistant."""
    config: Any = {"configurable": {"thread_id": thread}}
    before: list[BaseMessage] = []
    for place, message in enumerate(history):
        if not isinstance(message, AIMessage) or place == 0:
            continue
        said = list(history[:place])
        update = recall.invoke({"messages": said}, config)
        prompt, begins = update["llm_input_messages"], isinstance(said[-1], HumanMessage)
        found.add(prompt, before, begins=begins)
        found.whispered(prompt, whisper_of(prompt), begins=begins)
        before = prompt
        state = {"messages": [*said, message], "recalled": update["recalled"]}
        if not message.tool_calls:
            record.invoke(state, config)


def whisper_of(prompt: Sequence[BaseMessage]) -> str:
    """Return the whisper of the open turn: that of the last human message, or behind it."""
    asked = [message.text for message in prompt if isinstance(message, HumanMessage)][-1:]
    for text in asked:
        start, end = text.find(MARK), text.find("</tidal-memory ")
        if start >= 0:
            return text[start : text.index(">", end) + 1]
    return ""


def sent(message: BaseMessage) -> Any:
    """Return what a provider reads of a message."""
    calls = [(call["name"], call["args"], call["id"]) for call in getattr(message, "tool_calls", ())]
    return message.type, message.content, json.dumps(calls), getattr(message, "tool_call_id", None)


def to_langchain(messages: Sequence[Message]) -> Iterator[BaseMessage]:
    """Yield messages as LangChain has them, with the ids that a graph gives them."""
    for number, message in enumerate(messages):
        if message.role == "user":
            yield HumanMessage(message.text, id=f"m{number}")
        elif message.role == "tool":
            yield ToolMessage(message.text, tool_call_id=str(message.tool_call_id), id=f"m{number}")
        else:
            calls = [{"name": call.name, "args": dict(call.arguments), "id": call.id} for call in message.tool_calls]
            yield AIMessage(message.text, tool_calls=calls, id=f"m{number}")


def journey(turns: int) -> list[list[Message]]:
    """Return the coding journey of the tests in sessions: a script, with real tools in a real folder."""
    from tests.journeys.coder import Script
    from tests.journeys.parcels import Project

    sessions: list[list[Message]] = []
    with TemporaryDirectory(prefix="coding-") as folder:
        project = Project(Path(folder, "parcel-service"))
        tools = {tool.name: tool for tool in project.tools()}
        for number, turn in enumerate(Script(project, SEED).turns(turns)):
            if number % SESSION == 0:
                sessions.append([])
            said = sessions[-1]
            said.append(Message("user", str(next(turn))))
            for step in turn:
                if isinstance(step, str):
                    said.append(Message("assistant", step))
                    continue
                first = len(said)
                calls = [ToolCall(name, given, f"call-{first}-{n}") for n, (name, given) in enumerate(step)]
                said.append(Message("assistant", "", tool_calls=tuple(calls)))
                for call in calls:
                    said.append(Message("tool", tools[call.name].invoke(dict(call.arguments)), tool_call_id=call.id))
    return sessions


if __name__ == "__main__":
    main()
