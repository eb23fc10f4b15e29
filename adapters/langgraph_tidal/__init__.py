"""LangGraph adapter: a model that remembers, nodes around a model (compact, capsule, recall; record; proactive), and a
store."""

try:
    from langgraph_tidal.model import memory_model
    from langgraph_tidal.nodes import (
        CapsuleNode,
        CompactionNode,
        ProactiveNode,
        RecallNode,
        RecordNode,
        TidalState,
        model_input,
        needs_answer,
        tidal_pre_model_hook,
    )
    from langgraph_tidal.store import TidalStore
except ModuleNotFoundError as error:
    if (error.name or "").startswith(("tidal", "langchain_tidal", "langgraph_tidal")):
        raise
    raise ImportError(
        f"langgraph_tidal needs {error.name}, which is not installed: pip install 'tidal-plugins[langgraph]'"
    ) from error

__all__ = [
    "CapsuleNode",
    "CompactionNode",
    "memory_model",
    "model_input",
    "needs_answer",
    "ProactiveNode",
    "RecallNode",
    "RecordNode",
    "tidal_pre_model_hook",
    "TidalState",
    "TidalStore",
]
