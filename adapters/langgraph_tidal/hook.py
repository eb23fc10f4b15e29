"""The hook before the model of ``create_react_agent``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_tidal.run import Scope
from langgraph_tidal.capsule import CapsuleNode
from langgraph_tidal.compaction import CompactionNode
from langgraph_tidal.nodes import MemoryNode, RecallNode
from langgraph_tidal.state import messages_of, value
from tidal_plugins import InvalidInput, Policy, TidalMemory
from tidal_plugins.shown import shown
from tidal_plugins.turns import Nested, Place


def tidal_pre_model_hook(
    memory: TidalMemory,
    *,
    compact: CompactionNode | None = None,
    capsule: CapsuleNode | None = None,
    scope: Scope | None = None,
    policy: Policy | str | None = None,
    agent: str | None = None,
    nested: Nested = "apart",
) -> MemoryNode:
    """Return the ``pre_model_hook`` of ``create_react_agent``; ``RecordNode(memory)`` is its ``post_model_hook``.

    It recalls, after ``compact`` and ``capsule`` where they are given; ``scope`` is that of all, ``policy``, ``agent``
    and ``nested`` those of ``RecallNode``. Raises ``InvalidInput`` for a ``compact`` that rewrites the history.
    """
    for name, node, kind in (("compact", compact, CompactionNode), ("capsule", capsule, CapsuleNode)):
        if node is not None and not isinstance(node, kind):
            raise InvalidInput(f"{name} is a {kind.__name__} or None, got {shown(node)}")
    if compact and compact.rewrites:
        raise InvalidInput("a hook shows the model less, and leaves the history: do without output_messages_key=")
    recall = RecallNode(memory, scope=scope, policy=policy, agent=agent, nested=nested)
    before = [node for node in (compact, capsule) if node]
    return _Hook([*before, recall], memory, scope, nested) if before else recall


class _Hook(MemoryNode):
    """Nodes one after the other, in one step of the graph."""

    def __init__(self, nodes: Sequence[MemoryNode], memory: TidalMemory, scope: Scope | None, nested: Nested) -> None:
        super().__init__(memory, scope=scope, nested=nested)
        self._nodes = nodes

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        messages, view = messages_of(state, self._key), dict[str, Any]()
        for node in self._nodes:
            seen = {self._key: messages, **view, "recalled": value(state, "recalled")}
            view |= node._run(place, seen)
        return view
