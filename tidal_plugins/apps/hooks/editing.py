"""Edits of an agent's settings: a file of JSON in which other hooks and other keys stay as they are."""

from __future__ import annotations

import copy
import difflib
import json
import os
from pathlib import Path
from typing import Any

from tidal_plugins.apps.hooks.agents import LIMIT, Agent
from tidal_plugins.patterns import lazy_re

_OURS = lazy_re(r"tidal(?:_plugins)?(?:\.exe)?['\"]? hook\b")
"""What the command of one of our hooks has in it."""


class Unreadable(Exception):
    """Settings are no object of JSON, or their hooks are in no form that is known."""


def read(path: Path) -> dict[str, Any]:
    """Return settings; none if there is no file. Raises ``Unreadable``."""
    try:
        found = json.loads(path.read_text("utf-8-sig") or "{}")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Unreadable(f"it cannot be read as JSON, and stays as it is: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("hooks", {}), dict):
        raise Unreadable("it is no object with hooks in it, and stays as it is")
    if not all(isinstance(groups, list) for event, groups in found.get("hooks", {}).items() if event[:1].isupper()):
        raise Unreadable("its hooks are in no form that is known, and stay as they are")
    return found


def installed(settings: dict[str, Any], agent: Agent) -> list[str]:
    """Return the events of an agent that have one of our hooks."""
    hooks = settings.get("hooks", {})
    return [event for event in agent.events if any(map(_has_ours, hooks.get(event, ())))]


def removed(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings without our hooks, and without what is empty then."""
    new = copy.deepcopy(settings)
    for event, groups in list(new.get("hooks", {}).items()):
        if not isinstance(groups, list) or not any(map(_has_ours, groups)):
            continue
        for group in filter(_has_ours, groups):
            group["hooks"] = [hook for hook in group["hooks"] if not _is_ours(hook)]
        new["hooks"][event] = [group for group in groups if not isinstance(group, dict) or group.get("hooks") != []]
        if not new["hooks"][event]:
            del new["hooks"][event]
    if "hooks" in new and not new["hooks"] and settings["hooks"]:
        del new["hooks"]
    return new


def with_hooks(settings: dict[str, Any], agent: Agent, command: str) -> dict[str, Any]:
    """Return settings with our hook at each event of an agent, after the hooks that stand there."""
    new = copy.deepcopy(settings)
    hooks = new.setdefault("hooks", {})
    for event in agent.events:
        hook = {"type": "command", "command": command, "timeout": LIMIT * agent.unit}
        hooks.setdefault(event, []).append({"hooks": [hook]})
    return new


def difference(path: Path, before: object, after: object) -> str:
    """Return how a file would change, as a unified diff; empty if it would not."""
    old, new = (_text(each).splitlines(keepends=True) if each else [] for each in (before, after))
    return "".join(difflib.unified_diff(old, new, str(path), str(path)))


def write(path: Path, settings: object) -> None:
    """Write settings, whole or not at all. A link stays a link, and the file's rights stay as they are."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(_text(settings), "utf-8")
    if path.exists():
        new.chmod(path.stat().st_mode & 0o777)
    new.replace(path)


def _text(settings: object) -> str:
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def _has_ours(group: Any) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and any(map(_is_ours, hooks))


def _is_ours(hook: Any) -> bool:
    return isinstance(hook, dict) and isinstance(hook.get("command"), str) and bool(_OURS.search(hook["command"]))
