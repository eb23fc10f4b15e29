"""The hook before the model of ``create_react_agent``."""

from __future__ import annotations

from typing import Any

from langchain_tidal.turn import Place, Scope
from langgraph_tidal.compaction import CompactionNode
from langgraph_tidal.nodes import MemoryNode, RecallNode
from langgraph_tidal.state import messages_of
from tidal_plugins import TidalMemory


def tidal_pre_model_hook(
    memory: TidalMemory, *, max_tokens: int | None = None, scope: Scope | None = None, **compaction: Any
) -> MemoryNode:
    """Return the ``pre_model_hook`` of ``create_react_agent``; ``RecordNode(memory)`` is its ``post_model_hook``.

    It recalls; with ``max_tokens``, or other options of :class:`CompactionNode`, it compacts before that.
    """
    recall = RecallNode(memory, scope=scope)
    if max_tokens is None and not compaction:
        return recall
    return _Hook(CompactionNode(memory, max_tokens=max_tokens, scope=scope, **compaction), recall, memory, scope)


class _Hook(MemoryNode):
    def __init__(self, compact: CompactionNode, recall: RecallNode, memory: TidalMemory, scope: Scope | None) -> None:
        super().__init__(memory, scope=scope)
        self._compact = compact
        self._recall = recall

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        messages = messages_of(state, self._key)
        view = self._compact._run(place, {self._key: messages})
        return {**view, **self._recall._run(place, {self._key: messages, **view})}
