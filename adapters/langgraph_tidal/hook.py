"""The hook before the model of ``create_react_agent``."""

from __future__ import annotations

from typing import Any

from langchain_tidal.turn import Place, Scope
from langgraph_tidal.compaction import CompactionNode
from langgraph_tidal.nodes import MemoryNode, RecallNode
from langgraph_tidal.state import messages_of, value
from tidal_plugins import InvalidInput, Policy, TidalMemory


def tidal_pre_model_hook(
    memory: TidalMemory,
    *,
    compact: CompactionNode | None = None,
    scope: Scope | None = None,
    policy: Policy | str | None = None,
    agent: str | None = None,
) -> MemoryNode:
    """Return the ``pre_model_hook`` of ``create_react_agent``; ``RecordNode(memory)`` is its ``post_model_hook``.

    It recalls, after ``compact`` where one is given; ``policy`` and ``agent`` are those of ``RecallNode``. Raises
    ``InvalidInput`` for a ``compact`` that rewrites the history.
    """
    recall = RecallNode(memory, scope=scope, policy=policy, agent=agent)
    return recall if compact is None else _Hook(compact, recall, memory, scope)


class _Hook(MemoryNode):
    def __init__(self, compact: CompactionNode, recall: RecallNode, memory: TidalMemory, scope: Scope | None) -> None:
        if compact.rewrites:
            raise InvalidInput("a hook shows the model less, and leaves the history: do without output_messages_key=")
        super().__init__(memory, scope=scope)
        self._compact = compact
        self._recall = recall

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        messages = messages_of(state, self._key)
        view = self._compact._run(place, {self._key: messages})
        seen = {self._key: messages, **view, "recalled": value(state, "recalled")}
        return {**view, **self._recall._run(place, seen)}
