"""A coding agent of LangChain over many turns in a context that holds a few: nothing is lost, nothing overflows."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.sqlite import SqliteSaver

from langchain_tidal import TidalCompaction, TidalMemoryMiddleware
from tests.journeys.coder import Coder, Script
from tests.journeys.parcels import Project
from tests.journeys.questions import View, questions
from tidal_plugins import DiskFiles, HashingEmbedder, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

MAX_TOKENS = 5_000
SEED = 5
OFTEN_RIGHT = {"the last figure that the user told", "the content of the file edited before"}
"""Questions without an answer at times: an old remark makes way for what the work needs, and of the files that
come back renamed notes may take the place of an edited one."""
RARELY = 0.05
"""Share of the compactions after which any other question may lack its answer: which do depends on where a context
happens to be full."""
SETTINGS = Settings(storage={"durability": "fast"})


class Watch(AgentMiddleware[Any, Any, Any]):
    """Stands next to the model, measures what it is shown, and asks the questions after each compaction."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        self.request = ""
        self.requests: list[str] = []
        self.calls: list[tuple[int, int, list[str]]] = []
        """For each call the tokens, how often the request stands there, and the calls of tools without a result."""
        self.contexts: list[str | None] = []
        self.asked: list[dict[str, bool]] = []
        self.wrong: list[tuple[str, str]] = []
        self.kept: list[Any] = []
        self.recorded: list[str | None] = []

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        schemas = sum(len(json.dumps(convert_to_openai_tool(each))) for each in request.tools)
        tokens = count_tokens_approximately(request.messages, use_usage_metadata_scaling=False) + schemas // 4
        shown = sum(m.text.endswith(self.request) for m in request.messages if isinstance(m, HumanMessage))
        self.calls.append((tokens, shown, unpaired(request.messages)))
        marks = [message.additional_kwargs.get("tidal_compaction") for message in request.messages]
        id_ = next(filter(None, marks), None)
        if id_ and id_ not in self.contexts:
            view = View(request.messages)
            answers = dict(questions(view, self.script, self.request))
            self.asked.append(answers)
            self.wrong += [(question, view.text) for question, right in answers.items() if not right]
        self.contexts.append(id_)
        return handler(request)


def unpaired(messages: Sequence[Any]) -> list[str]:
    """Return the ids of calls without a result right after them, and of results without such a call."""
    wrong: list[str] = []
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id in waiting:
            waiting.remove(message.tool_call_id)
        elif isinstance(message, ToolMessage):
            wrong.append(message.tool_call_id)
        else:
            wrong += waiting
            waiting = [str(call["id"]) for call in message.tool_calls] if isinstance(message, AIMessage) else []
    return wrong + waiting


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder whose name is as long in every run: paths stand in what the tools say, and a context is full at
    another message if they are longer."""
    with TemporaryDirectory(prefix="coding-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def watch(folder: Path, pytestconfig: pytest.Config) -> Watch:
    """Return what was asked while the agent lived, in two halves: each opens the memory and the checkpoints anew."""
    project, clock = Project(folder / "parcel-service"), FrozenClock()
    script = Script(project, SEED)
    watch, model = Watch(script), Coder()
    config: Any = {"configurable": {"thread_id": "parcels"}, "recursion_limit": 500}
    turns = script.turns(300 if pytestconfig.getoption("all") else 60)
    for half in (30, None):
        with (
            TidalMemory(folder / "agent.db", embedder=HashingEmbedder(), settings=SETTINGS, clock=clock) as memory,
            SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver,
        ):
            compaction = TidalCompaction(memory, max_tokens=MAX_TOKENS, files=DiskFiles(project.root))
            middleware = [compaction, TidalMemoryMiddleware(memory), watch]
            agent = create_agent(model, project.tools(), middleware=middleware, checkpointer=saver)
            for turn in itertools.islice(turns, half):
                watch.request, model.turn = str(next(turn)), turn
                watch.requests.append(watch.request)
                agent.invoke({"messages": [HumanMessage(watch.request)]}, config, durability="exit")
                clock.advance(minutes=2)
            watch.kept = agent.get_state(config).values["messages"]
            watch.recorded = [episode.query for episode in memory.episodes.list(thread="parcels")]
    return watch


@pytest.mark.timeout(1_800)  # 300 turns on a busy machine
def test_a_coding_agent_sees_the_state_of_its_work_and_loses_nothing(watch: Watch) -> None:
    twenty_questions_are_answered_after_each_compaction(watch)
    every_call_fits_and_has_its_request_and_its_tool_pairs(watch)
    the_checkpoints_and_the_memory_keep_every_turn_verbatim(watch)


def twenty_questions_are_answered_after_each_compaction(watch: Watch) -> None:
    assert len(watch.asked) > len(watch.requests) / 15
    assert all(len(answers) == 20 for answers in watch.asked)
    wrong = Counter(question for question, _ in watch.wrong)
    assert all(count <= RARELY * len(watch.asked) for name, count in wrong.items() if name not in OFTEN_RIGHT), wrong
    assert wrong.total() <= 0.02 * 20 * len(watch.asked), wrong


def every_call_fits_and_has_its_request_and_its_tool_pairs(watch: Watch) -> None:
    tokens = [each for each, _, _ in watch.calls]
    assert MAX_TOKENS / 2 < max(tokens) <= MAX_TOKENS
    assert {shown for _, shown, _ in watch.calls} == {1}
    assert [wrong for _, _, wrong in watch.calls if wrong] == []
    assert len(set(watch.contexts)) < len(watch.contexts) / 3, "rebuilt now and then, not at every call"


def the_checkpoints_and_the_memory_keep_every_turn_verbatim(watch: Watch) -> None:
    assert [message.text for message in watch.kept if isinstance(message, HumanMessage)] == watch.requests
    assert not [message for message in watch.kept if "lc_source" in message.additional_kwargs]
    assert watch.recorded == watch.requests
