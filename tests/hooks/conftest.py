"""Hooks as agents run them: each event comes as JSON on standard input."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tidal_plugins import Episode, HashingEmbedder, TidalMemory
from tidal_plugins.apps.hooks import main

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Agent:
    """An agent that works in a project."""

    home: Path
    project: Path

    @property
    def db(self) -> Path:
        return self.project / ".tidal" / "tidal.db"

    @property
    def log(self) -> str:
        path = self.home / "hooks.log"
        return path.read_text("utf-8") if path.exists() else ""

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TIDAL_", "CLAUDE_"))}
        own = {
            "HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "adapters")]),
            "TIDAL_EMBEDDER": "hashing",
            "TIDAL_HOOK_LOG": str(self.home / "hooks.log"),
            "TIDAL_HOOK_TIMEOUT": "3600",
        }
        return kept | own

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        """Start a hook as an agent does."""
        words = [sys.executable, "-m", "tidal_plugins", "hook", *options]
        pipe = subprocess.PIPE
        return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=self.environment, cwd=self.project)

    def give(self, given: bytes, *options: str) -> str:
        """Run a hook with these bytes, as its process does, and return what it prints."""
        given_, printed, root = io.BytesIO(given), io.BytesIO(), logging.getLogger()
        handlers = list(root.handlers)
        streams = {"stdin": io.TextIOWrapper(given_), "stdout": io.TextIOWrapper(printed, write_through=True)}
        with patch.dict(os.environ, self.environment, clear=True), chdir(self.project), patch.multiple(sys, **streams):
            assert main(options) == 0
        for handler in set(root.handlers) - set(handlers):  # a process would end here
            root.removeHandler(handler)
        return printed.getvalue().decode()

    def hook(self, event: str, session: str = "new", *options: str, **fields: Any) -> str:
        about = {"hook_event_name": event, "session_id": session, "cwd": str(self.project)}
        return self.give(json.dumps({**about, **fields}).encode(), *options)

    def added(self, event: str, session: str = "new", **fields: Any) -> str:
        """Return the context that a hook adds."""
        output = json.loads(self.hook(event, session, **fields))["hookSpecificOutput"]
        assert output["hookEventName"] == event
        return str(output["additionalContext"])

    def episodes(self, thread: str | None = None) -> list[Episode]:
        with TidalMemory(self.db, read_only=True, embedder=HashingEmbedder()) as memory:
            return memory.episodes.list(thread=thread)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    (tmp_path / "kiln" / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    return Agent(tmp_path / "home", tmp_path / "kiln")
