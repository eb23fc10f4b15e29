"""Read agents' runs for the benchmarks: message lists as OpenAI's API takes them, and trajectories of SWE-agent.

``load`` takes a ``.json`` list of ``{"traj": [message, …]}``, or a ``.jsonl`` file of ``{"traj": {"history": …}}``, and
returns the same classes. System prompts
and demonstrations are left out. Any mistake in a file ends the program with one line that says where it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from tidal_plugins import Message, ToolCall

PEEK = 100_000
"""Number of first characters that show what a file is."""


@dataclass(frozen=True, slots=True)
class Run:
    """A task from its first request to its end."""

    name: str
    messages: tuple[Message, ...]


def load(path: str | Path) -> list[Run]:
    """Read a file of either format, or exit with a message that says what is wrong with it."""
    path = Path(path)
    try:
        text = path.read_text("utf-8")
        items = list(map(json.loads, text.splitlines())) if path.suffix == ".jsonl" else json.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"{path} cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise SystemExit(f"{path} is not JSON: {error}") from None
    try:
        runs = [Run(f"{path.stem}-{number}", _messages(item["traj"])) for number, item in enumerate(items)]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise SystemExit(f"{path} holds no trajectories: {type(error).__name__} {error}") from None
    runs = [run for run in runs if run.messages]
    if not runs:
        raise SystemExit(f"{path} holds no trajectory with a message: there is nothing to measure")
    return runs


def holds(path: str | Path) -> bool:
    """Return whether a readable file seems to hold trajectories."""
    try:
        return '"traj"' in Path(path).read_text("utf-8")[:PEEK]
    except (OSError, UnicodeDecodeError):
        return False


def joined(runs: Sequence[Run], size: int) -> list[Run]:
    """Join runs into shifts of ``size`` tasks, without last words of the user that nobody answers."""
    groups = [runs[start : start + size] for start in range(0, len(runs), size)]
    return [Run(f"{group[0].name}+{len(group) - 1}", _numbered(group)) for group in groups]


def _numbered(runs: Sequence[Run]) -> tuple[Message, ...]:
    return tuple(_marked(message, f"{place}.") for place, run in enumerate(runs) for message in _answered(run.messages))


def _answered(messages: Sequence[Message]) -> Sequence[Message]:
    end = len(messages)
    while end and messages[end - 1].role == "user":
        end -= 1
    return messages[:end]


def _marked(message: Message, mark: str) -> Message:
    calls = tuple(replace(call, id=f"{mark}{call.id}") for call in message.tool_calls)
    answered = message.tool_call_id and f"{mark}{message.tool_call_id}"
    return replace(message, tool_calls=calls, tool_call_id=answered)


def _messages(given: Any) -> tuple[Message, ...]:
    if isinstance(given, list):
        return tuple(_paired(_openai(given)))
    return tuple(_paired(_swe_agent(given["history"])))


def _openai(given: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    for item in given:
        role, text = item["role"], item.get("content") or ""
        if role == "tool":
            failed = text.startswith("Error")
            yield Message("tool", text, tool_call_id=item["tool_call_id"], error=failed)
        elif role in ("user", "assistant"):
            yield Message(role, text, tool_calls=tuple(map(_call, item.get("tool_calls") or ())))


def _call(given: Mapping[str, Any]) -> ToolCall:
    arguments = given["function"]["arguments"]
    return ToolCall(given["function"]["name"], json.loads(arguments or "{}"), given["id"])


def _swe_agent(steps: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    """Yield the messages of SWE-agent's steps.

    A step is a thought and a command. Its result comes as a message of the user in some versions, of a tool in others.
    """
    asked: str | None = None
    for place, step in enumerate(steps):
        if step["role"] == "system" or step.get("is_demo"):
            continue
        text = str(step.get("thought", step["content"]) or "").strip()
        if step["role"] == "assistant":
            command = str(step.get("action") or "").strip()
            asked = f"call-{place}" if command else None
            name = command.split()[0] if command else ""
            yield Message("assistant", text, tool_calls=(ToolCall(name, {"command": command}, asked),) if asked else ())
        elif asked:
            yield Message("tool", text, tool_call_id=asked)
            asked = None
        else:
            yield Message("user", text)


def _paired(messages: Iterator[Message]) -> Iterator[Message]:
    """Yield the messages with unique ids of calls, without calls that have no result.

    Runs use the same id for several calls, and may end between a call and its result.
    """
    held = list(messages)
    ids: dict[str | None, str] = {}
    for place, message in enumerate(held):
        if message.role == "tool":
            if message.tool_call_id in ids:
                yield replace(message, tool_call_id=ids.pop(message.tool_call_id))
            continue
        ids = {call.id: f"{call.id}-{place}" for call in message.tool_calls}
        answered = {result.tool_call_id for result in takewhile(lambda later: later.role == "tool", held[place + 1 :])}
        calls = tuple(replace(call, id=ids[call.id]) for call in message.tool_calls if call.id in answered)
        if message.text or calls:
            yield replace(message, tool_calls=calls)
