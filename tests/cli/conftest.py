"""A command line in a folder of its own, with an embedder that needs no model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tidal_plugins.apps.cli.main import app


@dataclass(frozen=True)
class Ran:
    """What a command printed, and its exit code."""

    out: str
    err: str
    code: int

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Tidal = Callable[..., Ran]


@pytest.fixture
def tidal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tidal:
    """Return a function that runs a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDAL_EMBEDDER", "hashing")
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("TIDAL_DB", "TIDAL_SCOPE", "TIDAL_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    runner = CliRunner()

    def run(*arguments: str, given: str | None = None) -> Ran:
        result = runner.invoke(app, arguments, input=given, catch_exceptions=False)
        return Ran(result.stdout, result.stderr, result.exit_code)

    return run
