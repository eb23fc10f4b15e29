"""The memory of a run: where it remembers, what surfaces before a turn, and what it records after one."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from pydantic import BaseModel, ValidationError

from langchain_tidal.messages import finished, question, text_of, to_exchange, turn_key, turns, with_whispers
from tidal_plugins import Affect, Exchange, InvalidInput, TidalMemory
from tidal_plugins.model.entry import user_of
from tidal_plugins.turns import (
    CACHE,
    Cache,
    Nested,
    Place,
    Recent,
    Recorder,
    SessionConfig,
    Surfaced,
    checked_cache,
    checked_memory,
    checked_nested,
    in_scope,
    surface,
)
from tidal_plugins.turns.answers import faults

Scope = tuple[str, ...] | Callable[[Any, RunnableConfig], tuple[str, ...]]
"""A scope, or a function of the run's context and config that returns one."""

MAX_WHISPERS = 64
"""Turns whose whisper is kept for their next steps."""


TOOL_NODE = re.compile(r"(^|[^a-z])tools?([^a-z]|$)", re.I)
"""The name of a node that runs tools. LangChain, LangGraph and deepagents call it ``tools``."""


class Recalled(TypedDict):
    """The ids that surfaced in a turn: plain, so that any checkpointer keeps it. ``turn`` is the human message's id."""

    turn: str | None
    ids: list[str]


class TurnMemory:
    """Recalls once per user turn, and records every turn once.

    ``scope`` defaults to the memory's own; the thread is that of the run. With a ``session``, recall uses the signals
    of the thread's session under its policy. ``nested`` says what is recorded of a run inside a tool of another one,
    ``cache`` where whispers stand.
    """

    def __init__(
        self,
        memory: TidalMemory,
        scope: Scope | None = None,
        session: SessionConfig | None = None,
        nested: Nested = "apart",
        cache: Cache = CACHE,
    ) -> None:
        self._nested = checked_nested(nested)
        self._cache = checked_cache(cache)
        self._memory = checked_memory(memory)
        self._scope = scope
        self._session = session
        self._whispers = Recent[Surfaced](MAX_WHISPERS)
        self._recorder = Recorder()

    def place(self, config: RunnableConfig | None = None) -> Place:
        """Return the place of the run with this config; without one, of the run that this is called in."""
        return place_of(self._memory, self._scope, ensure_config() if config is None else config, self._nested)

    def whisper(
        self, place: Place, history: Sequence[list[BaseMessage]], messages: Sequence[BaseMessage]
    ) -> tuple[list[BaseMessage], Surfaced, bool]:
        """Return the messages of a call with their whispers, that of the last turn of a history, and whether it was
        worked out just now.

        The turns of the ``messages`` are what the model sees anyway, and do not surface.
        """
        seen, turn = turns(messages), history[-1][0].id
        known = self._whispers.get((place.key, turn)) if turn else None
        surfaced = surface(
            place,
            question(history[-1]),
            config=self._session,
            known=known,
            history=[place.heard(to_exchange(turn, place.thread)) for turn in history],
            shown=_positions(history, seen),
            shown_texts={text_of(message) for each in seen for message in each},
            cache=self._cache,
        )
        self._whispers.put((place.key, turn), surfaced)
        fresh = known is None or surfaced.whisper is not known.whisper
        return with_whispers(messages, history, surfaced, self._cache), surfaced, fresh

    def record(
        self,
        place: Place,
        history: Sequence[list[BaseMessage]],
        recalled: Recalled | None = None,
        *,
        ended: bool = False,
        catch_up: bool = True,
    ) -> None:
        """Record every turn that is over and not recorded yet; without ``catch_up`` the last one only.

        The last turn is over when it ends with an answer, or when the run that it belongs to has ``ended``. Message
        ids make it idempotent, and so do the words where the ids are new: retries, replays and histories that are
        passed whole record nothing twice.
        """
        if place.nested and self._nested == "skip":
            return

        def convert(turn: list[BaseMessage]) -> Exchange | None:
            surfaced = _surfaced(recalled, turn) if turn[0].id or turn is history[-1] else ()
            return place.heard(to_exchange(turn, place.thread, surfaced))

        end = len(history) if ended or (history and finished(history[-1])) else len(history) - 1
        start = 0 if catch_up else len(history) - 1
        self._recorder.record(place, history, range(start, max(start, end)), mark=_mark, convert=convert)


@contextmanager
def named_faults(kind: type[BaseModel]) -> Iterator[None]:
    """Raise ``InvalidInput``, with the fields that there are, for fields of a model that do not fit."""
    try:
        yield
    except ValidationError as error:
        unknown = [str(one["loc"][0]) for one in error.errors() if one["type"] == "extra_forbidden"]
        known = f"; known are {', '.join(kind.model_fields)}" if unknown else ""
        inside = ", and what stands in it goes beside the memory: k=3" if "search_kwargs" in unknown else ""
        raise InvalidInput(f"{kind.__name__}: {faults(error)}{inside}{known}") from None


def place_of(memory: TidalMemory, scope: Scope | None, config: RunnableConfig, nested: Nested = "user") -> Place:
    """Return the place of the run with this config: its scope, its thread, and the user that it names.

    Unless ``nested`` is ``user``, a run inside a tool of another run has a thread of its own.
    """
    here, settings = scoped(memory, scope, config), config.get("configurable", {})
    thread, user = settings.get("thread_id"), _user(run_context()) or settings.get("user_id") or user_of(here.scope)
    apart = nested != "user" and in_tool(config)
    thread = nested_thread(config) if apart else None if thread is None else str(thread)
    return Place(here, thread, None if user is None else str(user), apart)


def scoped(memory: TidalMemory, scope: Scope | None, config: RunnableConfig) -> TidalMemory:
    """Return the memory in a scope that is given, or that a function makes of the run's context and config."""
    if not callable(scope):
        return in_scope(memory, scope)
    made = scope(run_context(), config)
    return in_scope(memory, () if made is None else made)  # a run whose scope is unknown must not see the default one


def run_context() -> Any:
    """Return the context of the graph run that this is called in; ``None`` outside one."""
    try:
        from langgraph.runtime import get_runtime

        return get_runtime().context
    except (AttributeError, ImportError, KeyError, RuntimeError):
        return None


def recalled(turn: str | None, surfaced: Surfaced, earlier: Recalled | None) -> Recalled:
    """Return the ids that surfaced in a turn, with those that the run's state has of it."""
    before = earlier["ids"] if earlier and turn is not None and earlier.get("turn") == turn else []
    return Recalled(turn=turn, ids=list(dict.fromkeys([*before, *surfaced.ids])))


def event(turn: str | None, surfaced: Surfaced) -> dict[str, Any]:
    """Return the event of a recall for the run's custom stream."""
    whisper = surfaced.whisper
    affect = whisper.recall.affect if whisper.recall else Affect()
    told = {
        "turn": turn,
        "ids": list(whisper.ids),
        "why": [str(hit.why) for hit in whisper.hits],
        "whisper": whisper.text,
        "degraded": list(whisper.degraded),
        "valence": affect.valence,
        "arousal": affect.arousal,
    }
    return {"tidal_recall": told}


def _mark(turn: Sequence[BaseMessage]) -> Hashable | None:
    return tuple(message.id for message in turn) if turn_key(turn) else None


def _positions(history: Sequence[list[BaseMessage]], seen: Sequence[list[BaseMessage]]) -> set[int]:
    """Return which turns of a history are among those that the model sees. Turns without ids are all seen."""
    keys = {turn_key(turn) for turn in seen}
    return {place for place, turn in enumerate(history) if (key := turn_key(turn)) is None or key in keys}


def _user(context: Any) -> Any:
    """Return the user that a run's context names, as LangGraph's own examples do."""
    return context.get("user_id") if isinstance(context, Mapping) else getattr(context, "user_id", None)


def _surfaced(recalled: Recalled | None, turn: Sequence[BaseMessage]) -> Sequence[str]:
    """Return the ids that recall showed, if this was the turn that it ran for last."""
    return recalled.get("ids", ()) if recalled and recalled.get("turn") == turn[0].id else ()


def in_tool(config: RunnableConfig) -> bool:
    """Return whether a run takes place inside a tool of another run.

    LangGraph's checkpoint namespace names the nodes that a run is in, outermost first. A graph that gets a thread of
    its own begins a new namespace, and the metadata keep the one around it. An agent that is itself a node of a graph
    shares the messages of that graph, and hears the user.
    """
    namespaces = (
        _values(config, "configurable").get("checkpoint_ns"),
        _values(config, "metadata").get("checkpoint_ns"),
    )
    nodes = [part.partition(":")[0] for namespace in namespaces for part in str(namespace or "").split("|")]
    return any(map(TOOL_NODE.search, nodes))


def nested_thread(config: RunnableConfig) -> str | None:
    """Return the thread of a nested run: that of the run around it and the agent's name, or one of its own."""
    settings, metadata = _values(config, "configurable"), _values(config, "metadata")
    thread = settings.get("thread_id")
    if thread is not None and thread != metadata.get("thread_id", thread):
        return str(thread)
    name = metadata.get("lc_agent_name") or "subagent"
    return f"{'run' if thread is None else thread}/{name}"


def _values(config: RunnableConfig, part: str) -> Mapping[str, Any]:
    found: Any = config.get(part)
    return found or {}
