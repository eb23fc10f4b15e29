"""The coding agents that hooks can be installed in: where their settings stand, and which events they name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LIMIT = 10
"""Seconds after which the agent itself ends a hook: far more than a hook takes, which ends itself sooner."""


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


_SAME = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop")

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
