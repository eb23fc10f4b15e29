"""Hooks as agents run them: a process for each event, with its JSON on standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.forking import forker
from tidal_plugins import Episode, HashingEmbedder, TidalMemory

ROOT = Path(__file__).parents[2]

PREPARE = """
import tempfile, threading, tidal_hooks.events, tidal_hooks.recording, tidal_hooks.running, tidal_hooks.texts
from tidal_plugins import HashingEmbedder, TidalMemory
with tempfile.TemporaryDirectory() as folder:
    memory = TidalMemory(f"{folder}/a.db", embedder=HashingEmbedder())
    memory.record("Is the kiln free on Friday?", "The kiln is free.")
    memory.whisper("When is the kiln free?")
    tidal_hooks.texts.at_start(memory, "new", threading.TIMEOUT_MAX)
    memory.close(timeout=120)
"""
"""Imports what hooks import when they run."""


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
            "TIDAL_HOOK_TIMEOUT": "120",
        }
        return kept | own

    def start(self, *options: str, module: str = "tidal_hooks") -> subprocess.Popen[bytes]:
        """Start a hook as an agent does."""
        words = [sys.executable, "-m", module, *(["hook"] if module == "tidal_cli" else []), *options]
        pipe = subprocess.PIPE
        return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=self.environment, cwd=self.project)

    def give(self, given: bytes, *options: str) -> str:
        """Run a hook with these bytes in a process of its own, and return what it prints.

        It succeeds, and says nothing else.
        """
        hook = forker(PREPARE)
        ran = hook.run("-m", "tidal_hooks", *options, env=self.environment, cwd=self.project, given=given)
        assert (ran.returncode, ran.stderr.decode()) == (0, "")
        return ran.stdout.decode()

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
