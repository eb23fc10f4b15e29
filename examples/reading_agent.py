"""A LangChain agent whose own model reads along for the graph. Runs offline: the model is a stand-in."""

import json
import tempfile
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage

from langchain_tidal import TidalMemoryMiddleware
from tidal_plugins import TidalMemory

TURN = "Ines is with the harbour office now, and I've put down roots in Porto."


def statement(subject: str, predicate: str, object: str, type: str, quote: str) -> str:
    """Return a line that a model answers with when it is asked what the turn says."""
    kinds = {"subject_type": "person", "object_type": type}
    return json.dumps(
        {"message": 1, "subject": subject, "predicate": predicate, "object": object, "quote": quote, **kinds}
    )


def main() -> None:
    read = [
        statement("Ines", "works_at", "the harbour office", "organisation", "Ines is with the harbour office"),
        statement("I", "lives_in", "Porto", "place", "I've put down roots in Porto"),
        statement("Ines", "owns", "the harbour", "possession", "Ines owns the harbour"),  # which nobody said
    ]
    model = FakeListChatModel(responses=["Good to hear.", "\n".join(read)])  # put your chat model here
    with tempfile.TemporaryDirectory() as folder, TidalMemory(Path(folder) / "agent.db") as memory:
        agent = create_agent(model, middleware=[TidalMemoryMiddleware(memory, reader="agent")])
        agent.invoke({"messages": [HumanMessage(TURN)]}, {"configurable": {"thread_id": "monday"}})
        memory.graph.index_pending()  # the background would do it when six turns are there, or after five minutes
        for relation in memory.graph.relations():
            for evidence in memory.graph.evidence(relation):
                print(f"{memory.graph.sentence(relation)}: «{evidence.quote}», read by the {evidence.reader}")
        used = memory.stats().reader
        print(f"{used.turns} turn, {used.calls} call, {used.kept} statements kept, {used.refused} refused")


if __name__ == "__main__":
    main()
