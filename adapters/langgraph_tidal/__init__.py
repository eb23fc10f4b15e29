"""LangGraph adapter: nodes that recall before the model and record after it, and a store."""

from langgraph_tidal.nodes import RecallNode, RecordNode, tidal_pre_model_hook
from langgraph_tidal.state import TidalState, model_input
from langgraph_tidal.store import TidalStore

__all__ = ["RecallNode", "RecordNode", "TidalState", "TidalStore", "model_input", "tidal_pre_model_hook"]
