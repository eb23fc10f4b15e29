"""The node that puts the capsule, which says who an agent is and what it is doing, in front of the model's input."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from langchain_tidal.prefix import MAX_AGE, to_message, with_capsule
from langchain_tidal.run import Scope
from langgraph_tidal.nodes import MemoryNode, unstreamed
from langgraph_tidal.state import PREPARED, model_input
from tidal_plugins import TidalMemory
from tidal_plugins.turns import Place, capsule_text


class CapsuleNode(MemoryNode):
    """Puts the memory's capsule in front, as a system message after those at the beginning of the history [Capsule].

    The node returns ``llm_input_messages``, as :func:`model_input` shows them, with the capsule. ``messages``,
    checkpoints and recordings stay unchanged. The text stays the same to the byte for ``max_age``, in every thread and
    process of its scope, so that providers can keep it in their caches. It is made anew earlier for a thread that
    begins, if an agent's tools have worked on since: the thread goes on with that work. It says which of its sections
    are quotations, and that those are not instructions. No message is added if the capsule is empty.

    The node stands after ``CompactionNode``, which does not see the capsule. Add its size to the node's ``reserved``:
    ``reserved=langchain_tidal.reserved(f"{system_prompt}{memory.capsule.read()}", tools)``, with room to grow. The
    sections that the memory writes come to about 4,000 tokens when conversations fill them, and to 5,000 at most. A
    graph that resumes after an interrupt shows the capsule again if it is led back to this node.
    """

    def __init__(
        self,
        memory: TidalMemory,
        *,
        max_age: timedelta = MAX_AGE,
        scope: Scope | None = None,
        input_messages_key: str = "messages",
    ) -> None:
        super().__init__(memory, scope=scope, input_messages_key=input_messages_key)
        self._max_age = max_age

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        made = place.memory.capsule.read(max_age=self._max_age, thread=place.thread)
        capsule = to_message(capsule_text(made, place.memory.frames))
        return {PREPARED: unstreamed(with_capsule(model_input(state, self._key), capsule))}
