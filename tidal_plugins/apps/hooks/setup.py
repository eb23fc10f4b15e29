"""``tidal hook install``, ``remove`` and ``status``: hooks in the settings of a coding agent, whose other keys stay."""

from __future__ import annotations

import argparse
import copy
import difflib
import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidal_plugins.apps import write_whole
from tidal_plugins.apps.hooks import NAMES, log_path, root_of
from tidal_plugins.patterns import lazy_re

LIMIT = 10
"""Seconds after which the agent itself ends a hook: far more than a hook takes, which ends itself sooner."""


_SAME = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop")

_OURS = lazy_re(r"tidal(?:_plugins)?(?:\.exe)?['\"]? hook\b")
"""What the command of one of our hooks has in it."""

REFUSED = 1
"""The exit code when nothing was changed: settings that cannot be read, or a diff that was refused."""

_PASSED = {
    "db": (Path, "the file of the memory (default: .tidal/tidal.db in the project's root)"),
    "scope": (str, "whose memories, such as user/42"),
    "embedder": (str, "minilm, hashing, or the name of a sentence-transformers model"),
    "timeout": (float, "seconds after which a hook gives up (default: 1)"),
    "log": (Path, "where to write what went wrong"),
}


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent. Its settings have an object ``hooks``: for each event a list of groups of commands.

    ``project`` is the file in a project's root, ``file`` the one in the user's ``folder``, in whose stead a variable
    ``home`` may name another. ``events`` are those that are answered. ``unit`` is how many of its units of time a
    second has. ``note`` says what is left to do by hand.
    """

    name: str
    project: Path
    home: str
    folder: Path
    file: str
    events: tuple[str, ...]
    unit: int = 1
    note: str = ""

    def settings(self, root: Path | None) -> Path:
        """Return the file for a project with a root, or for the user."""
        if root is not None:
            return root / self.project
        own = os.environ.get(self.home) if self.home else None
        return (Path(own) if own else Path.home() / self.folder) / self.file


AGENTS: Mapping[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            Path(".claude/settings.local.json"),  # of one person: another machine has its Python elsewhere
            "CLAUDE_CONFIG_DIR",
            Path(".claude"),
            "settings.json",
            (*_SAME, "SessionEnd"),
        ),
        Agent(
            "codex",
            Path(".codex/hooks.json"),
            "CODEX_HOME",
            Path(".codex"),
            "hooks.json",
            _SAME,
            note="Codex asks you to trust new hooks: say /hooks in it.",
        ),
        Agent(
            "gemini-cli",
            Path(".gemini/settings.json"),
            "",
            Path(".gemini"),
            "settings.json",
            ("SessionStart", "BeforeAgent", "PreCompress", "AfterAgent", "SessionEnd"),
            unit=1000,
        ),
    )
}
"""The agents, by the names that ``tidal hook install`` takes."""


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


def _text(settings: object) -> str:
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def _has_ours(group: Any) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and any(map(_is_ours, hooks))


def _is_ours(hook: Any) -> bool:
    return isinstance(hook, dict) and isinstance(hook.get("command"), str) and bool(_OURS.search(hook["command"]))


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands, and return the exit code."""
    given = parser().parse_args(arguments)
    agent = AGENTS[given.agent]
    path = agent.settings(None if given.user else root_of(None))
    try:
        before = read(path)
        if given.action == "status":
            return _status(agent, path, installed(before, agent))
        after = removed(before)
        if given.action == "install":
            after = with_hooks(after, agent, command_line(given))
    except Unreadable as error:
        print(f"tidal: {path}: {error}", file=sys.stderr)
        return REFUSED
    return _change(agent, path, before, after, yes=given.yes)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the commands."""
    words = argparse.ArgumentParser(
        "tidal hook",
        description="Answer the hook of a coding agent: JSON on standard input. Or set the hooks of an agent up.",
        epilog=f"Whatever a hook cannot do costs the agent nothing; {log_path()} says why.",
    )
    actions = words.add_subparsers(dest="action", required=True)
    about = {
        "install": "Write the hooks into the agent's settings; the diff is shown first.",
        "remove": "Take the hooks out of the agent's settings; the diff is shown first.",
        "status": "Say which hooks there are.",
    }
    for action, text in about.items():
        one = actions.add_parser(action, help=text, description=text)
        one.add_argument("agent", choices=AGENTS)
        where = one.add_mutually_exclusive_group()
        where.add_argument("--project", action="store_true", help="in this project, for you alone (the default)")
        where.add_argument("--user", action="store_true", help="in all projects")
        if action != "status":
            one.add_argument("--yes", action="store_true", help="do not ask")
        if action == "install":
            for name, (kind, help_) in _PASSED.items():
                one.add_argument(f"--{name}", type=kind, help=help_)
    return words


def command_line(given: argparse.Namespace) -> str:
    """Return the command of a hook, with the options that were given."""
    beside = Path(sys.executable).with_name("tidal")
    words = [str(beside), "hook"] if beside.exists() else [sys.executable, "-m", "tidal_plugins", "hook"]
    for name in NAMES:
        value = getattr(given, name)
        if value is not None:
            words += [f"--{name}", str(value.expanduser().absolute() if isinstance(value, Path) else value)]
    return shlex.join(words)


def _status(agent: Agent, path: Path, events: Sequence[str]) -> int:
    missing = [event for event in agent.events if event not in events]
    said = "all hooks are there" if not missing else f"no hook for {', '.join(missing)}"
    print(f"{path}: {said}")
    return 0


def _change(agent: Agent, path: Path, before: object, after: object, *, yes: bool) -> int:
    shown = difference(path, before, after)
    if not shown:
        print(f"{path}: nothing to change")
        return 0
    print(shown, end="")
    if not yes:
        if not sys.stdin.isatty():
            print("tidal: nothing was written; --yes writes it", file=sys.stderr)
            return REFUSED
        if not _agreed(f"Write {path}? [y/N] "):
            return REFUSED
    try:
        write_whole(path.resolve(), _text(after))  # a link stays a link
    except OSError as error:
        print(f"tidal: {path}: it cannot be written: {error}", file=sys.stderr)
        return REFUSED
    print(f"{path}: written")
    if agent.note:
        print(agent.note)
    return 0


def _agreed(question: str) -> bool:
    """Ask on the terminal. An input that ends, and Ctrl-C, say no."""
    try:
        return input(question).strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        print()
        return False
