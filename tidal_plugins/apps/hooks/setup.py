"""``tidal hook install``, ``remove`` and ``status``: hooks in the settings of a coding agent."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from tidal_plugins.apps.hooks.agents import AGENTS, Agent
from tidal_plugins.apps.hooks.editing import Unreadable, difference, installed, read, removed, with_hooks, write
from tidal_plugins.apps.hooks.options import NAMES, log_path, root_of

REFUSED = 1
"""The exit code when nothing was changed: settings that cannot be read, or a diff that was refused."""


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


_PASSED = {
    "db": (Path, "the file of the memory (default: .tidal/tidal.db in the project's root)"),
    "scope": (str, "whose memories, such as user/42"),
    "embedder": (str, "minilm, hashing, or the name of a sentence-transformers model"),
    "timeout": (float, "seconds after which a hook gives up (default: 1)"),
    "log": (Path, "where to write what went wrong"),
}


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
        write(path, after)
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
