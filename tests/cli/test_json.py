"""Every command that prints: with ``--json`` its output is JSON, on a memory with something in it and on a new one.

The commands are those that the application lists, so that a new one must be given its arguments here.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from tests.cli import histories
from tests.cli.conftest import Tidal
from tidal_plugins import HashingEmbedder, TidalMemory, ToolCall
from tidal_plugins.apps.cli.main import app

TALKS = {"chat", "mcp", "inspect", "hook", "presence"}
"""The commands that print no result: they talk to a person, to a browser, to a client or to an agent, in its form.
What the commands of ``presence`` print is tested with them."""

ASKED: dict[str, list[list[str]]] = {
    "init": [[]],
    "ingest": [["@notes.md"]],
    "remember": [["The mast is spruce.", "--tag", "boats"]],
    "import": [["@claude.jsonl"]],
    "recall": [["clocks"]],
    "why": [["clocks"]],
    "whisper": [["Where does my cousin Nora repair clocks?"]],
    "history": [[], ["--thread", "monday"], ["--full"]],
    "entity": [[], ["clock.py"]],
    "facts": [[], ["bridge"], ["--conflicts"]],
    "correct": [["<skill.id", "To flash the board, hold BOOT for a second."]],
    "dossier": [[], ["clocks"], ["clocks", "--brief"]],
    "capsule": [[]],
    "sessions": [[]],
    "audit": [["1"]],
    "consolidate": [[]],
    "export": [["@memory.jsonl"]],
    "load": [["@exported.jsonl", "--db", "@new.db"]],
    "stats": [[]],
    "backup": [["@copy.db"]],
    "forget": [["--source", "manual", "--dry-run"], ["--source", "manual", "--yes"]],
    "reembed": [["hashing"]],
    "doctor": [[]],
}
"""Each command with the arguments that it is called with. Those that begin with @ are files, with <
what stands in one."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a memory, a new memory, an export, a text and a history."""
    folder = tmp_path_factory.mktemp("json")
    with TidalMemory(folder / "full.db", embedder=HashingEmbedder()) as memory:
        tool = ToolCall("search", {"query": "clock springs"}, result="Two \x1b[31mshops\u2028 sell them.")
        memory.record("My cousin Nora repairs clocks in Porto.", "In Porto. ☃ \ud83d", thread="monday", tools=[tool])
        memory.record("clock.py depends on springs.py.", "I see.")
        skill = memory.remember("To flash the board, hold BOOT and tap RESET.", kind="skill", source="manual")
        (folder / "skill.id").write_text(skill.id)
        memory.facts["bridge"] = {"open": [1, None, 2.5]}
        memory.facts["bridge"] = "closed"
        with memory.sessions.open(agent="planner", user="eva") as session:
            session.signal("like", memory.recall("clocks")[0].id)
        memory.graph.index_pending()
        memory.export(folder / "exported.jsonl")
    TidalMemory(folder / "empty.db", embedder=HashingEmbedder()).close()
    (folder / "notes.md").write_text("# Boats\n\nThe mast is spruce.\n")
    histories.claude_code(folder / "claude.jsonl")
    return folder


def test_every_command_that_the_application_lists_is_called_here() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    assert group.commands.keys() == ASKED.keys() | TALKS


@pytest.mark.parametrize("store", ["full.db", "empty.db"])
@pytest.mark.parametrize("name", ASKED)
def test_what_is_printed_is_json(tidal: Tidal, tmp_path: Path, template: Path, name: str, store: str) -> None:
    for number, arguments in enumerate(ASKED[name]):
        shutil.copytree(template, folder := tmp_path / f"{number}")
        paths = [str(folder / each[1:]) if each.startswith("@") else each for each in arguments]
        paths = [(folder / each[1:]).read_text() if each.startswith("<") else each for each in paths]
        ran = tidal(name, *(["--db", str(folder / store)] if "--db" not in paths else []), *paths, "--json")
        if ran.out or store == "full.db":
            json.loads(ran.out)
        else:
            assert (ran.code, ran.err.startswith("tidal: ")) == (3, True)
