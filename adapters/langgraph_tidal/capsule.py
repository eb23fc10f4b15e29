"""The node that puts who an agent is and what it is doing in front of what the model gets."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from langchain_tidal.prefix import MAX_AGE, prefix, to_message, with_capsule
from langchain_tidal.run import Scope
from langgraph_tidal.nodes import MemoryNode, unstreamed
from langgraph_tidal.state import PREPARED, model_input
from tidal_plugins import TidalMemory
from tidal_plugins.turns import Place


class CapsuleNode(MemoryNode):
    """Puts the memory's capsule in front, as a system message behind those that the history begins with [Capsule].

    Returns ``llm_input_messages``: what :func:`model_input` shows, with the capsule; ``messages`` stay as they are, and
    so do checkpoints and recordings. The text stays the same, to the byte, for ``max_age``, in every thread and process
    of its scope: what providers cache of it stays cached. It says which of its sections quote what was said, and that
    those are no instructions. Where memory and people have nothing to say in it there is none.

    The node stands behind ``CompactionNode``, which does not see it: add its size to what that reserves,
    ``reserved=langchain_tidal.reserved(f"{system_prompt}{memory.capsule.read()}", tools)``, with room to grow: what
    memory says in it comes to about 4,000 tokens when conversations fill it, and at most to 5,000. A graph that resumes
    after an interrupt shows the capsule again when it is led back here.
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
        capsule = to_message(prefix(place.memory.capsule.read(max_age=self._max_age)))
        return {PREPARED: unstreamed(with_capsule(model_input(state, self._key), capsule))}
