"""LangGraph adapter: nodes around the model (compact, capsule, recall; record; proactive), and a store."""

from langgraph_tidal.nodes import CapsuleNode, CompactionNode, RecallNode, RecordNode, tidal_pre_model_hook
from langgraph_tidal.proactive import ProactiveNode, needs_answer
from langgraph_tidal.state import TidalState, model_input
from langgraph_tidal.store import TidalStore

__all__ = [
    "CapsuleNode",
    "CompactionNode",
    "model_input",
    "needs_answer",
    "ProactiveNode",
    "RecallNode",
    "RecordNode",
    "tidal_pre_model_hook",
    "TidalState",
    "TidalStore",
]
