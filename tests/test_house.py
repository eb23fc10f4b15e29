"""The layers, and the public names."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import tidal_plugins


@pytest.mark.slow
def test_each_room_imports_only_from_the_rows_below_its_own() -> None:
    program = (
        "import importlinter.cli as cli; raise SystemExit(cli.lint_imports())"  # here it would disable every logger
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[1], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_public_names_are_sorted_and_complete_and_say_what_they_are() -> None:
    found = {
        name: value for name, value in vars(tidal_plugins).items() if name[0] != "_" and not inspect.ismodule(value)
    }
    assert list(tidal_plugins.__all__) == sorted({*tidal_plugins.__all__, *found}, key=str.casefold)
    for name in tidal_plugins.__all__:
        value = getattr(tidal_plugins, name)
        told = not callable(value) or (value.__doc__ and not value.__doc__.startswith(f"{name}("))
        assert told, f"{name} has no docstring, or only the signature that dataclasses generate"
