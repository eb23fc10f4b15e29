"""The node at which an agent speaks first: it says what the memory's presence has to say."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langchain_tidal.messages import PRESENCE, finished, turns
from langchain_tidal.run import Scope
from langgraph_tidal.nodes import MemoryNode
from langgraph_tidal.state import compacted, messages_of
from tidal_plugins import InvalidInput, ProactiveMessage, TidalMemory
from tidal_plugins.model.fence import inert
from tidal_plugins.shown import cut, shown
from tidal_plugins.turns import Place

logger = logging.getLogger(__name__)

QUIET: RunnableConfig = {"tags": ["nostream"], "metadata": {"lc_source": PRESENCE}}
"""Config of the call that words a message. Only the message that the node returns is streamed."""

QUOTED = 600
"""Characters of each quoted message that the model is shown."""

REQUEST = """\
The person has not written anything now. You write to them first, because of this:

{text}

It rests on what was said earlier:
{sources}

Write that message to them, in one or two sentences and in your usual tone. Say nothing that is not said here."""
"""What ``model`` is asked for. It stands in the request only."""


class ProactiveNode(MemoryNode):
    """Takes the message that waits in the memory's presence, and says it as the agent's [Tidal §5].

    It is the entry of a graph that is invoked without a new human message, such as
    ``graph.invoke({"messages": []}, config)`` on the person's thread. If a message waits, the node returns it as an
    ``AIMessage``. The id of the message is that of the presence; ``additional_kwargs["tidal_presence"]`` holds its
    ``citations``, ``kind``, ``why`` and ``at``. The node does nothing if somebody waits for an answer, or if
    nothing may be said now. :func:`needs_answer` leads on from it.

    ``RecordNode`` records the message as a turn of its own, in which the person said nothing. What they say next counts
    as their answer.

    Args:
        memory: the memory. Its presence must be allowed: ``memory.presence.allow(zone=…)``. Some scheduler calls
            ``memory.presence.step()``.
        model: a chat model, or a chain from messages to a message, that words the message. It is shown the thread and
            the sentences that the message rests on. If it fails, or calls tools, the memory's own words are said.
            Default: these words.
        scope: the owner, as for the other nodes. Default: that of the memory.
        input_messages_key: the name of the messages in the state.

    A process that is killed after the message was taken and before the graph's checkpoint loses it: nothing is said
    twice.
    """

    def __init__(
        self,
        memory: TidalMemory,
        *,
        model: Runnable[Any, BaseMessage] | None = None,
        scope: Scope | None = None,
        input_messages_key: str = "messages",
    ) -> None:
        super().__init__(memory, scope=scope, input_messages_key=input_messages_key)
        if model is not None and not isinstance(model, Runnable):
            raise InvalidInput(f"model= is a chat model, or a chain that ends with one, got {shown(model)}")
        self._model = model

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        place = self._turns.place(config)
        message = await asyncio.to_thread(self._taken, place, input)
        if message is None or self._model is None:
            return self._said(message)
        try:
            worded = await self._model.ainvoke(await asyncio.to_thread(self._request, place, input, message), QUIET)
        except Exception as error:
            return self._said(message, error)
        except BaseException:  # the run was cancelled, and nothing was said
            await place.memory.presence.agive_back(message)
            raise
        return self._said(message, worded)

    def _run(self, place: Place, state: Any) -> dict[str, Any]:
        message = self._taken(place, state)
        if message is None or self._model is None:
            return self._said(message)
        try:
            worded = self._model.invoke(self._request(place, state, message), QUIET)
        except Exception as error:
            return self._said(message, error)
        except BaseException:
            place.memory.presence.give_back(message)
            raise
        return self._said(message, worded)

    def _taken(self, place: Place, state: Any) -> ProactiveMessage | None:
        return None if needs_answer(state, self._key) else place.memory.presence.take()

    def _request(self, place: Place, state: Any, message: ProactiveMessage) -> list[BaseMessage]:
        sources = place.memory.frames.memories([*_quotes(place.memory, message)])
        return [*compacted(state, self._key), HumanMessage(REQUEST.format(text=message.text, sources=sources))]

    def _said(self, message: ProactiveMessage | None, worded: BaseMessage | Exception | None = None) -> dict[str, Any]:
        """Return the update of the state. Of a model that failed or wants tools, the memory's own words are said."""
        if message is None:
            return {}
        text = worded.text.strip() if isinstance(worded, AIMessage) and not worded.tool_calls else ""
        if worded is not None and not text:  # an error's message may hold what was said, which belongs into no log
            logger.warning("the model gave no words (%s); the memory's own are said", type(worded).__name__)
        about = {
            "citations": list(message.citations),
            "kind": message.kind,
            "why": message.why,
            "at": message.at.isoformat(),
        }
        marks = {"lc_source": PRESENCE, PRESENCE: about}
        return {self._key: [AIMessage(text or message.text, id=message.id, additional_kwargs=marks)]}


def needs_answer(state: Any, input_messages_key: str = "messages") -> bool:
    """Return whether the last message waits for the agent: it is no answer, and there is one.

    Use it behind a :class:`ProactiveNode`::

        graph.add_conditional_edges("proactive", needs_answer, {True: "recall", False: "record"})
    """
    if not isinstance(input_messages_key, str):
        raise InvalidInput(f"input_messages_key must be a name, got {shown(input_messages_key)}")
    history = turns(messages_of(state, input_messages_key))
    return bool(history) and not finished(history[-1])


def _quotes(memory: TidalMemory, message: ProactiveMessage) -> Iterator[str]:
    """Yield the words that a message rests on, one line for each message of the cited turns."""
    for citation in message.citations:
        if citation.startswith("ep:"):
            episode = memory.episodes[citation]
            for said in episode.messages:
                if said.role != "tool" and said.text:
                    yield f"- [{citation}] {episode.occurred_at:%Y-%m-%d}, {said.role}: {cut(inert(said.text), QUOTED)}"
