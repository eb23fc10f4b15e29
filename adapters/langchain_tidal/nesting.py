"""Runs inside of runs: a subagent that a tool calls hears an agent, not the user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

TOOLS = re.compile(r"(^|[^a-z])tools?([^a-z]|$)", re.I)
"""The name of a node that runs tools. LangChain, LangGraph and deepagents call it ``tools``."""


def in_tool(config: RunnableConfig) -> bool:
    """Return whether a run takes place inside a tool of another run.

    LangGraph's checkpoint namespace names the nodes that a run is in, outermost first. A graph that gets a thread of
    its own begins a new namespace, and the metadata keep the one around it. An agent that is itself a node of a graph
    shares the messages of that graph, and hears the user.
    """
    namespaces = (
        _values(config, "configurable").get("checkpoint_ns"),
        _values(config, "metadata").get("checkpoint_ns"),
    )
    nodes = [part.partition(":")[0] for namespace in namespaces for part in str(namespace or "").split("|")]
    return any(map(TOOLS.search, nodes))


def nested_thread(config: RunnableConfig) -> str | None:
    """Return the thread of a nested run: that of the run around it and the agent's name, or one of its own."""
    settings, metadata = _values(config, "configurable"), _values(config, "metadata")
    thread = settings.get("thread_id")
    if thread is not None and thread != metadata.get("thread_id", thread):
        return str(thread)
    name = metadata.get("lc_agent_name") or "subagent"
    return f"{'run' if thread is None else thread}/{name}"


def _values(config: RunnableConfig, part: str) -> Mapping[str, Any]:
    found: Any = config.get(part)
    return found or {}
