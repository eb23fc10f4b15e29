"""A coding agent of LangGraph over 300 turns: after each compaction it sees the state of its work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_tidal import TidalCompaction, TidalMemoryMiddleware
from tests.journeys.coder import Coder, Script
from tests.journeys.parcels import Project
from tests.journeys.questions import View, questions
from tidal_plugins import DiskFiles, HashingEmbedder, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

pytestmark = pytest.mark.slow

TURNS = 300
MAX_TOKENS = 5_000
SEED = 5
OFTEN_RIGHT = {"the last figure that the user told", "the content of the file edited before"}
"""Questions without an answer at times: an old remark makes way for what the work needs, and of the files that
come back renamed notes may take the place of an edited one."""
SETTINGS = Settings(storage={"durability": "fast"})


class Watch(AgentMiddleware[Any, Any, Any]):
    """Stands next to the model, and asks the questions after each compaction."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        self.request = ""
        self.seen: str | None = None
        self.asked: list[dict[str, bool]] = []
        self.wrong: list[tuple[str, str]] = []

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        marks = [message.additional_kwargs.get("tidal_compaction") for message in request.messages]
        id_ = next(filter(None, marks), None)
        if id_ and id_ != self.seen:
            self.seen = id_
            view = View(request.messages)
            answers = dict(questions(view, self.script, self.request))
            self.asked.append(answers)
            self.wrong += [(question, view.text) for question, right in answers.items() if not right]
        return handler(request)


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Watch:
    """Return what was asked while the agent lived."""
    return lived(tmp_path_factory.mktemp("coding"))


def lived(folder: Path, seed: int = SEED, turns: int = TURNS) -> Watch:
    project = Project(folder / "parcel-service")
    script, clock = Script(project, seed), FrozenClock()
    watch, model = Watch(script), Coder()
    with TidalMemory(folder / "agent.db", embedder=HashingEmbedder(), settings=SETTINGS, clock=clock) as memory:
        compaction = TidalCompaction(memory, max_tokens=MAX_TOKENS, files=DiskFiles(project.root))
        agent = create_agent(
            model,
            project.tools(),
            middleware=[compaction, TidalMemoryMiddleware(memory), watch],
            checkpointer=InMemorySaver(),
        )
        config: Any = {"configurable": {"thread_id": "parcels"}, "recursion_limit": 500}
        for turn in script.turns(turns):
            watch.request, model.turn = str(next(turn)), turn
            agent.invoke({"messages": [HumanMessage(watch.request)]}, config, durability="exit")
            clock.advance(minutes=2)
    return watch


def test_twenty_questions_are_answered_after_each_compaction(watch: Watch) -> None:
    assert len(watch.asked) > 30
    assert all(len(answers) == 20 for answers in watch.asked)
    wrong = Counter(question for question, _ in watch.wrong)
    assert wrong.keys() <= OFTEN_RIGHT, wrong
    assert wrong.total() <= 0.02 * 20 * len(watch.asked), wrong
