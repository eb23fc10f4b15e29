"""Code that others wrote over a ``BaseStore``, run over ours: files of deepagents and the tools of LangMem."""

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langgraph_tidal import TidalStore
from tests.frameworks.conftest import ScriptedModel
from tidal_plugins import Settings, TidalMemory

FILES = ("files",)
LOG = "".join(f"{n:05} the tide gauge at pier {n % 7} reads {n % 90} cm\n" for n in range(6_000))
"""Some 280 kB, as a log or a table that an agent saves."""


@pytest.fixture
def memory(tmp_path, embedder):
    settings = Settings(graph={"background": False})
    with TidalMemory(tmp_path / "agent.db", embedder=embedder, settings=settings) as memory:
        yield memory


@pytest.fixture
def store(memory):
    return TidalStore(memory)


@pytest.fixture
def backends():
    return pytest.importorskip("deepagents.backends", reason="deepagents is of the extra clients")


def call(name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


class TestDeepagents:
    def test_an_agent_gets_the_answers_that_it_gets_over_langgraphs_own_store(self, backends, store):
        from deepagents import create_deep_agent

        def results(store):
            replies = [
                call("write_file", file_path="/memories/log.txt", content=LOG),
                call("edit_file", file_path="/memories/log.txt", old_string="00007 the", new_string="00007 THE"),
                call("read_file", file_path="/memories/log.txt", offset=7, limit=1),
                call("ls", path="/memories/"),
                call("grep", pattern="THE", path="/memories/"),
                "Done.",
            ]
            backend = backends.CompositeBackend(
                default=backends.StateBackend(),
                routes={"/memories/": backends.StoreBackend(namespace=lambda runtime: FILES)},
            )
            agent = create_deep_agent(
                model=ScriptedModel(replies=replies), backend=backend, store=store, checkpointer=InMemorySaver()
            )
            config = {"configurable": {"thread_id": "monday"}}
            said = agent.invoke({"messages": [{"role": "user", "content": "Keep the log."}]}, config)["messages"]
            return [message.text for message in said if message.type == "tool"]

        ours = results(store)
        assert ours == results(InMemoryStore())
        assert len(ours) == 5
        assert not any("rror" in text for text in ours)
