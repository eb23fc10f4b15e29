"""Helpers for tests of code: calls of an agent's tools, and what the graph holds of them."""

from __future__ import annotations

from typing import Any

from tidal_plugins import TidalMemory, ToolCall


def read(path: str, text: str) -> ToolCall:
    """Return a reading of a whole file, with numbers before its lines."""
    lines = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.rstrip("\n").split("\n"), 1))
    return ToolCall("Read", {"file_path": path}, result=lines)


def wrote(path: str, text: str) -> ToolCall:
    return ToolCall("Write", {"file_path": path, "content": text}, result=f"File created successfully at: {path}")


def edited(path: str, old: str, new: str) -> ToolCall:
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    return ToolCall("Edit", arguments, result=f"The file {path} has been updated.")


def ran(command: str, output: str) -> ToolCall:
    return ToolCall("Bash", {"command": command}, result=output)


def worked(memory: TidalMemory, *calls: ToolCall, said: str = "go on", answer: str = "done", **given: Any) -> str:
    """Record a turn with these calls, read it for the graph, and return its episode's id."""
    episode = memory.record(said, answer, tools=calls, **given)
    memory.graph.index_pending()
    return episode.id


def sentences(memory: TidalMemory, *predicates: str) -> set[str]:
    """Return the relations that hold, as sentences, of these predicates or of all."""
    found = [one for one in memory.graph.relations() if not predicates or one.predicate in predicates]
    return set(memory.graph.sentences(found).values())


def ended(memory: TidalMemory, entity: str) -> set[str]:
    """Return the relations of an entity that are known as ended, as sentences."""
    found = [
        one
        for one in memory.graph.timeline(entity)
        if one.superseded_at is None and one.valid_until is not None and one.valid_until <= memory.now()
    ]
    return set(memory.graph.sentences(found).values())


def affected(memory: TidalMemory, name: str) -> set[str]:
    return {each.entity.name for each in memory.graph.impact(name)}
