"""LangGraph adapter: nodes that recall before the model and record after it."""

from langgraph_tidal.nodes import RecallNode, RecordNode, tidal_pre_model_hook
from langgraph_tidal.state import TidalState, model_input

__all__ = ["RecallNode", "RecordNode", "TidalState", "model_input", "tidal_pre_model_hook"]
