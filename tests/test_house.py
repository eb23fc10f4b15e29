"""The layers, the public names, and the clocks of tests."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tidal_plugins
from tools import package

TESTS = Path(__file__).parent
PROJECT = TESTS.parent / "pyproject.toml"
CLOCK = re.compile(r"\btime\.(time|monotonic|perf_counter|thread_time|process_time)\(")


@pytest.mark.slow
def test_each_room_imports_only_from_the_rows_below_its_own() -> None:
    program = (
        "import importlinter.cli as cli; raise SystemExit(cli.lint_imports())"  # here it would disable every logger
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=TESTS.parent, capture_output=True, text=True)
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


def test_every_extra_for_users_is_tried_by_make_package() -> None:
    extras = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    assert package.IMPORTS.keys() - {"-"} == extras.keys() - package.NOT_FOR_USERS
    [everything] = extras["all"]
    apart = package.IMPORTS.keys() - {"-", "all"} - package.APART
    assert set(everything.partition("[")[2].rstrip("]").split(",")) == apart


def test_tests_read_no_clock() -> None:
    """A machine may be busy: waiting is for events (``tests/waiting.py``), effort is compared (``tests/effort.py``)."""
    files = [file for file in TESTS.rglob("*.py") if file.name not in ("waiting.py", "effort.py", "test_house.py")]
    assert [file for file in files if CLOCK.search(file.read_text("utf-8"))] == []
