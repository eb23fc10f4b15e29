"""The page about the command line names commands, options and exit codes that there are."""

from __future__ import annotations

import re
import shlex
from importlib import metadata
from pathlib import Path

from tests.cli.conftest import Tidal
from tidal_plugins.apps.cli.command import Exit

PAGE = (Path(__file__).parents[2] / "docs" / "tasks" / "command-line.md").read_text("utf-8")
SHOWN = sorted(set(re.findall(r"^(?:\$ )?tidal ([a-z]+[^#\n]*)", PAGE, re.M)))


def test_each_command_is_named_and_has_the_options_that_are_shown(tidal: Tidal) -> None:
    for line in SHOWN:
        name, *words = shlex.split(line)
        groups = [words.pop(0)] if name == "presence" else []
        text = tidal(name, *groups, "--help").out
        assert "Usage: tidal" in text
        assert [word for word in words if word.startswith("-") and word not in text] == []
    commands = re.findall(r"^  ([a-z]+)  ", tidal("--help").out.partition("Commands:")[2], re.M)
    assert len(commands) > 20
    assert tidal("--version").out == f"tidal-plugins {metadata.version('tidal-plugins')}\n"
    assert [name for name in commands if f"`{name}`" not in PAGE] == []


def test_the_exit_codes_are_those_of_the_program() -> None:
    table = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.M)}
    assert table == {int(code) for code in Exit}
