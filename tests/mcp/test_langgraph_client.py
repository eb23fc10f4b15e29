"""An agent in LangGraph that answers from the server, through LangChain's own adapter for MCP."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.frameworks.conftest import ScriptedModel
from tests.mcp.talking import SECOND_LINE, environment

if SECOND_LINE:
    pytest.skip("langchain-mcp-adapters needs the first line of the SDK", allow_module_level=True)
pytest.importorskip("langchain_mcp_adapters", reason="the extra clients brings it: pip install '.[clients]'")

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient


def ask(name: str, **arguments: object) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}", "type": "tool_call"}])


def answer(messages: list) -> str:
    """Answer with the line of the memory that names Odile."""
    found = str(messages[-1].text).splitlines()
    return next(line for line in found if "Odile" in line)


@pytest.mark.slow
async def test_an_agent_answers_from_the_server(default_db: Path) -> None:
    server = {
        "transport": "stdio",
        "command": sys.executable,
        "args": ["-m", "tidal_plugins", "mcp", "--db", str(default_db), "--scope", "user/42"],
        "env": environment(),
    }
    tools = await MultiServerMCPClient({"memory": server}).get_tools()
    model = ScriptedModel(
        replies=[
            ask("memory_search", query="Who works at the harbour office?", limit=3),
            ask("thread_history", thread="trip", page=2),
            ask("thread_history", thread="trip"),
            answer,
        ]
    )
    agent = create_agent(model, tools)
    done = await agent.ainvoke({"messages": [("user", "Where does my cousin work?")]})
    searched, wrong, told = (message for message in done["messages"] if isinstance(message, ToolMessage))
    assert "harbour office in Lisbon" in searched.text
    assert "page" in wrong.text
    assert "turn 1" in told.text
    assert "My cousin Odile works at the harbour office in Lisbon." in done["messages"][-1].text
