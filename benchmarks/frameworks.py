"""Measure the time and the model input that memory adds to an agent's turn, beside the frameworks' own memories.

    python benchmarks/frameworks.py --turns 200 --json out.json

The same LangGraph agent runs without memory, with this library's nodes, and with nodes that search and put into
LangGraph's SqliteStore and into TidalStore. LlamaIndex's VectorMemoryBlock is called as an agent would call it. All of
them take each turn one after the other, in changing order, with one embedder and a model that answers at once, so that
noise of the machine affects all alike. Look at the ratios: times differ from machine to machine.

With ``--puts N`` it also times N rounds of puts into InMemoryStore, SqliteStore and TidalStore, and the search after.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))  # run by its path, from a checkout
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from rich.console import Console
from rich.table import Table

from benchmarks.embedders import EMBEDDERS, add_embedder
from benchmarks.puts import loading_connection, measure_puts, show_puts
from langgraph_tidal import RecallNode, RecordNode, TidalState, TidalStore, model_input
from tidal_plugins import TidalError, TidalMemory

Turn = Callable[[str, str], str]
"""A function that takes the user's text and the model's coming answer, and returns the text shown to the model."""

NONE, NODES, SQLITE, STORE, BLOCK = (
    "no memory",
    "RecallNode, RecordNode",
    "SqliteStore",
    "TidalStore",
    "VectorMemoryBlock",
)
FOUND = 3
"""Number of memories that each agent shows at most; it is the whisper's own default."""
IN_MEMORY = "InMemoryStore"
WARM = 5
"""Number of first turns that are left out of the figures, while imports, the model and the page cache warm up."""

WHO = "my sister|our harbour pilot|the carpenter|my neighbour|the choir leader|our cook|the surveyor|my cousin".split(
    "|"
)
DID = "repaired|painted|lost|borrowed|sold|found|measured|wrapped|catalogued|raffled".split("|")
WHAT = "the brass sextant|a cedar canoe|the kitchen clock|an old cello|the weather vane|a box of maps".split("|")
WHEN = "before the regatta|last winter|on the first dry day|after the storm|during the fair".split("|")


class Timed:
    """An embedder that adds up the seconds it takes."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self.id, self.dimensions, self.seconds = embedder.id, embedder.dimensions, 0.0

    def embed(self, texts: Sequence[str]) -> Any:
        start = time.perf_counter()
        try:
            return self._embedder.embed(texts)
        finally:
            self.seconds += time.perf_counter() - start


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--turns", type=int, default=200, metavar="N", help="turns of the conversation")
    parser.add_argument(
        "--puts", type=int, default=0, metavar="N", help="rounds of puts into the stores (default: none)"
    )
    add_embedder(parser)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures")
    args = parser.parse_args(argv)
    if args.turns < WARM + 4:
        parser.error(f"at least {WARM + 4} turns")
    try:
        embedder = EMBEDDERS[args.embedder]()
        figures = measure(Timed(embedder), args.turns)
        puts = measure_stores(Timed(embedder), args.puts) if args.puts else {}
    except TidalError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    show(figures, args.turns)
    if puts:
        show_puts(puts, STORE)
    if args.json:
        machine = {"machine": platform.platform(), "python": platform.python_version(), "embedder": args.embedder}
        args.json.write_text(
            json.dumps({**machine, "turns": args.turns, "agents": figures, "puts": puts}, indent=2) + "\n"
        )


def measure(embedder: Timed, turns: int) -> dict[str, dict[str, Any]]:
    """Return by agent: the times of its turns, the embedder's part, and the characters shown beside the user's text."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        agents = open_agents(embedder, Path(folder), stack)
        seconds: dict[str, list[float]] = {name: [] for name in agents}
        embedding: dict[str, list[float]] = {name: [] for name in agents}
        added: dict[str, list[int]] = {name: [] for name in agents}
        names = list(agents)
        for number, (said, answer) in enumerate(conversation(turns)):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                start, embedded = time.perf_counter(), embedder.seconds
                shown = agents[name](said, answer)
                seconds[name].append(time.perf_counter() - start)
                embedding[name].append(embedder.seconds - embedded)
                added[name].append(len(shown) - len(said))
    return {name: summary(seconds[name][WARM:], embedding[name][WARM:], added[name][WARM:]) for name in agents}


def summary(seconds: Sequence[float], embedding: Sequence[float], added: Sequence[int]) -> dict[str, Any]:
    quarter = len(added) // 4
    return {
        "median_ms": statistics.median(seconds) * 1000,
        "p95_ms": statistics.quantiles(seconds, n=20)[-1] * 1000,
        "embedding_ms": statistics.median(embedding) * 1000,
        "last_quarter_ms": statistics.median(seconds[-quarter:]) * 1000,
        "added_chars": [round(statistics.mean(added[at * quarter : (at + 1) * quarter])) for at in range(4)],
        "most_chars": max(added),
    }


def conversation(turns: int) -> list[tuple[str, str]]:
    """Return statements and, every second turn, a question about an earlier one; no two statements are alike."""
    said = []
    for n in range(turns):
        at = n - 1 if n % 2 == 0 else n // 3
        who, did, what, when = (
            words[at * step % len(words)] for words, step in ((WHO, 1), (DID, 3), (WHAT, 5), (WHEN, 7))
        )
        if n % 2:
            said.append((f"What was it that {who} {did} {when}?", f"That was {what}, as you told me."))
        else:
            said.append((f"Number {n} of my notes: {who} {did} {what} {when}.", f"I will keep in mind {what} for you."))
    return said


def measure_stores(embedder: Timed, rounds: int) -> dict[str, dict[str, float]]:
    """Return the median milliseconds of puts and of a search, by store."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        memory = stack.enter_context(TidalMemory(Path(folder) / "store.db", embedder=embedder))
        index: Any = {"dims": embedder.dimensions, "embed": rows_of(embedder), "fields": ["text"]}
        stores: dict[str, BaseStore] = {
            STORE: TidalStore(memory, index={"fields": ["text"]}),
            IN_MEMORY: InMemoryStore(index=index),
        }
        if store := sqlite_store(embedder, Path(folder), stack):
            stores[SQLITE] = store
        return measure_puts(stores, rounds)


# the agents


def open_agents(embedder: Timed, folder: Path, stack: ExitStack) -> dict[str, Turn]:
    def memory(name: str) -> TidalMemory:
        return stack.enter_context(TidalMemory(folder / f"{name}.db", embedder=embedder))

    nodes = memory("nodes")
    agents = {
        NONE: agent([]),
        NODES: agent([("recall", RecallNode(nodes)), MODEL, ("record", RecordNode(nodes))]),
        STORE: agent(around(TidalStore(memory("store"), index={"fields": ["text"]}))),
    }
    if store := sqlite_store(embedder, folder, stack):
        agents[SQLITE] = agent(around(store))
    if block := vector_block(embedder):
        agents[BLOCK] = block
    return agents


def answering(state: TidalState, config: RunnableConfig) -> dict[str, Any]:
    shown = model_input(state)[-1].text
    return {"messages": [AIMessage(config["configurable"]["answer"], response_metadata={"shown": shown})]}


MODEL = ("model", answering)


def agent(steps: Sequence[tuple[str, Any]]) -> Turn:
    steps = list(steps) or [MODEL]
    app = StateGraph(TidalState).add_sequence(steps).add_edge(START, steps[0][0]).compile()
    threads = iter(range(10**9))

    def turn(said: str, answer: str) -> str:
        config: Any = {"configurable": {"thread_id": str(next(threads)), "answer": answer}}
        result = app.invoke({"messages": [HumanMessage(said)]}, config)
        return str(result["messages"][-1].response_metadata["shown"])

    return turn


def around(store: BaseStore) -> list[tuple[str, Any]]:
    """Return the nodes that LangGraph's guides suggest: one searches before the model, one puts after it."""
    numbers = iter(range(10**9))

    def search(state: TidalState) -> dict[str, Any]:
        message = state["messages"][-1]
        found = store.search(("memories", "user"), query=message.text, limit=FOUND)
        text = "\n".join([*(str(item.value["text"]) for item in found), message.text])
        return {"llm_input_messages": [HumanMessage(text, id=message.id)]}

    def put(state: TidalState) -> dict[str, Any]:
        text = "\n".join(message.text for message in state["messages"])
        store.put(("memories", "user"), str(next(numbers)), {"text": text})
        return {}

    return [("search", search), MODEL, ("put", put)]


def sqlite_store(embedder: Timed, folder: Path, stack: ExitStack) -> SqliteStore | None:
    """Open LangGraph's store on a file, or return ``None`` where no connection can load sqlite-vec."""
    connection = loading_connection(folder / "sqlite-store.db", stack)
    if connection is None:
        return None
    index: Any = {"dims": embedder.dimensions, "embed": rows_of(embedder), "text_fields": ["text"]}
    store = SqliteStore(connection, index=index)  # it ignores the documented name, fields
    store.setup()
    return store


def rows_of(embedder: Timed) -> Callable[[Sequence[str]], list[list[float]]]:
    return lambda texts: [[float(x) for x in row] for row in embedder.embed(texts)]


def vector_block(embedder: Timed) -> Turn | None:
    """Open LlamaIndex's block over a vector store in memory: one process, nothing on disk."""
    try:
        from llama_index.core.base.llms.types import ChatMessage
        from llama_index.core.embeddings import BaseEmbedding
        from llama_index.core.memory import VectorMemoryBlock
        from llama_index.core.vector_stores import SimpleVectorStore
    except ImportError:
        return None

    class Embedding(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return [float(x) for x in embedder.embed([text])[0]]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    class Texts(SimpleVectorStore):
        """The vector store of LlamaIndex's core, which keeps vectors only, extended by the texts."""

        stores_text: bool = True

        def add(self, nodes: Any, **kwargs: Any) -> Any:
            kept.update({node.node_id: node for node in nodes})
            return super().add(nodes, **kwargs)

        def query(self, query: Any, **kwargs: Any) -> Any:
            result = super().query(query, **kwargs)
            result.nodes = [kept[id_] for id_ in result.ids or []]
            return result

    kept: dict[str, Any] = {}
    block = VectorMemoryBlock(vector_store=Texts(), embed_model=Embedding(), similarity_top_k=FOUND)

    def turn(said: str, answer: str) -> str:
        async def calls() -> str:
            user = ChatMessage(role="user", content=said)
            found = await block.aget([user])
            await block.aput([user, ChatMessage(role="assistant", content=answer)])
            return f"{found}{said}"

        return asyncio.run(calls())

    return turn


# the table


def show(figures: dict[str, dict[str, Any]], turns: int) -> None:
    """Print the figures of each agent.

    The added time is relative to no memory. The block ran outside of a graph, so all of its time is added.
    """
    base, ours = figures[NONE]["median_ms"], figures[NODES]["median_ms"]
    table = Table(title=f"What memory adds to a turn, over {turns} turns")
    columns = ("median ms", "p95 ms", "added ms", "of it embedding", "against ours", "last quarter / all")
    for column in ("agent", *columns, "added characters, by quarter", "most"):
        table.add_column(column, justify="left" if column == "agent" else "right")
    for name, row in figures.items():
        added = row["median_ms"] - (0 if name == BLOCK else base)
        row |= {"added_ms": added, "against_ours": added / (ours - base)}
        table.add_row(
            name,
            f"{row['median_ms']:.1f}",
            f"{row['p95_ms']:.1f}",
            "" if name == NONE else f"{added:.1f}",
            "" if name == NONE else f"{row['embedding_ms']:.1f}",
            "" if name == NONE else f"{row['against_ours']:.2f}",
            f"{row['last_quarter_ms'] / row['median_ms']:.2f}",
            "  ".join(map(str, row["added_chars"])),
            str(row["most_chars"]),
        )
    console = Console()
    console.print(table)
    for name in (SQLITE, BLOCK):
        if name not in figures:
            console.print(f"{name} was left out: what it needs is not installed.")


if __name__ == "__main__":
    main()
