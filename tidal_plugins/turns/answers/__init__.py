"""Answers of a memory to questions that a model asks by tools: bounded, with cursors, the same at every door.

Each tool is a row of :data:`TOOLS`: its name, its description, its arguments, and the function that answers. The
adapters only declare them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tidal_plugins.errors import InvalidInput
from tidal_plugins.memory import TidalMemory
from tidal_plugins.shown import cut
from tidal_plugins.turns.answers.answer import Answer, Arguments
from tidal_plugins.turns.answers.facts import (
    EntityArguments,
    FactArguments,
    Known,
    Statement,
    entity_lookup,
    fact_search,
)
from tidal_plugins.turns.answers.history import (
    FullText,
    HistoryArguments,
    Search,
    SearchArguments,
    TextArguments,
    Turn,
    memory_get,
    search,
    thread_history,
)

MAX_FAULTS = 5
"""Faults of arguments that a refusal names, and characters of the name of each."""

FAULT_CHARS = 80


@dataclass(frozen=True, slots=True)
class ReadTool:
    """A tool that reads a memory and writes nothing.

    Attributes:
        name: the name that a model calls it by.
        title: its name for people.
        description: when to use it, and what it returns.
        arguments: the model of its arguments.
        answer: the model of its answer.
        ask: answers a memory's question with checked arguments.
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    answer: type[Answer[Any]]
    ask: Callable[[TidalMemory, Any], Answer[Any]]

    def run(self, memory: TidalMemory, arguments: Mapping[str, Any]) -> Answer[Any]:
        """Return the answer of a memory. Raises ``InvalidInput`` for arguments that do not fit, and ``NotFound``."""
        return self.ask(memory, checked(self.arguments, arguments))


def checked(model: type[Arguments], arguments: Mapping[str, Any]) -> Any:
    """Return arguments as a model of them. Raises ``InvalidInput``, which names the faults."""
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        raise InvalidInput(faults(error)) from None


def faults(error: Any) -> str:
    """Return the faults of arguments, for a model to put right, without their values."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    told = [f"{cut('.'.join(map(str, one['loc'])) or 'arguments', FAULT_CHARS)}: {one['msg']}" for one in found]
    return "; ".join([*told[:MAX_FAULTS], *(["…"] if len(told) > MAX_FAULTS else [])])


MEMORY_SEARCH = ReadTool(
    "memory_search",
    "Search memory",
    "Search earlier conversations, notes, documents and facts by meaning and by words. Returns summaries with "
    "citations, best first, each with the chance that it helps, and says so if nothing is close. Narrow it to a "
    "conversation (thread) or to a time (since, until). Read a result in full with memory_get.",
    SearchArguments,
    Search,
    search,
)

HISTORY_TOOLS = (
    ReadTool(
        "thread_history",
        "Read a conversation",
        "Go through earlier conversations in order of time, such as yesterday's. Without a thread it lists the "
        "conversations of a time span, the last one first; with a thread it returns its turns in order.",
        HistoryArguments,
        Answer[Turn],
        thread_history,
    ),
    ReadTool(
        "entity_lookup",
        "Look up a name",
        "Look up a person, place, file, function, package or term by name: what it is, its other names, what is so "
        "since when, what is planned, and what was so until when. Each sentence cites the turn that says so.",
        EntityArguments,
        Answer[Known],
        entity_lookup,
    ),
    ReadTool(
        "fact_search",
        "Search facts",
        "Search what is known as a fact: named values, and relations between things. It answers for now or for another "
        "time (valid_at), and can return what held before (include_superseded). Each fact cites where it was said.",
        FactArguments,
        Answer[Statement],
        fact_search,
    ),
    ReadTool(
        "memory_get",
        "Read memories in full",
        "Read memories verbatim by their citations, 10 at most: a whole turn with its tool calls, a note, a document. "
        "Use it when a summary is not enough.",
        TextArguments,
        Answer[FullText],
        memory_get,
    ),
)
"""The tools that agents of all frameworks may have beside ``search_memory``."""

TOOLS = (MEMORY_SEARCH, *HISTORY_TOOLS)
"""The tools of a server, which has no whisper."""
