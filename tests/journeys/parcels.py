"""A project in a folder, with tests and a git repository, and the tools of a coding agent that works on it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, tool

MODULES = "zones rates labels depots routes drivers".split()
RUN_TESTS = "python -m unittest -q"
_IDENTITY = {"GIT_AUTHOR_NAME": "Coder", "GIT_AUTHOR_EMAIL": "coder@example.com"}
_ENVIRONMENT = {
    **os.environ,
    **_IDENTITY,
    **{name.replace("AUTHOR", "COMMITTER"): value for name, value in _IDENTITY.items()},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
}


def module(name: str, fee: int) -> str:
    return (
        f'"""{name.capitalize()} of the parcel service."""\n\nHEAVY = 12\n\n\n'
        f'def fee(weight):\n    """Return the fee in cents."""\n    if weight > HEAVY:\n        return weight * 41\n'
        f'    return {fee}\n\n\ndef label(code):\n    return "{name}-" + code\n'
    )


def check(name: str, fee: int) -> str:
    return (
        f"import unittest\n\nfrom parcel import {name}\n\n\nclass {name.capitalize()}Test(unittest.TestCase):\n"
        f"    def test_{name}_fee(self):\n        self.assertEqual({name}.fee(1), {fee})\n\n"
        f'    def test_{name}_label(self):\n        self.assertEqual({name}.label("x"), "{name}-x")\n'
    )


@dataclass(frozen=True, slots=True)
class Tested:
    """A run of the tests: how many ran, the names of those that failed, and the code that they ran on."""

    count: int
    failing: tuple[str, ...]
    code: dict[str, str]


class Project:
    """The folder, and what is true of it. The tools act on it; nothing here is told to the agent otherwise."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tested: Tested | None = None
        self.open: list[str] = []
        self.last_edited: list[str] = []
        """Files that a tool wrote or edited, the last one last."""
        self.made: list[str] = []
        """Files that were created, by a tool or by renaming, the last one last."""
        self.gone: list[str] = []
        """Files that were deleted or renamed, the last one last."""
        for folder in ("parcel", "tests", "docs"):
            (root / folder).mkdir(parents=True)
            (root / folder / "__init__.py").touch()
        for place, name in enumerate(MODULES):
            self.path(f"parcel/{name}.py").write_text(module(name, 10 + place), "utf-8")
            self.path(f"tests/test_{name}.py").write_text(check(name, 10 + place), "utf-8")
        self.shell("git init -q -b main && git add -A && git commit -qm 'Start the parcel service'")

    def path(self, name: str) -> Path:
        return self.root / name

    def text(self, name: str) -> str:
        return self.path(name).read_text("utf-8")

    def files(self, folder: str) -> list[str]:
        found = sorted(self.root.joinpath(folder).glob("*.*"))
        return [path.relative_to(self.root).as_posix() for path in found if path.name != "__init__.py"]

    def code(self) -> dict[str, str]:
        """Return everything that the tests run on."""
        return {name: self.text(name) for folder in ("parcel", "tests") for name in self.files(folder)}

    @property
    def branch(self) -> str:
        return self.shell("git branch --show-current").strip()

    @property
    def commit(self) -> str:
        return self.shell("git rev-parse --short HEAD").strip()

    def shell(self, command: str) -> str:
        """Run a command in the folder, and return what it prints, with its exit code if that is not 0."""
        done = subprocess.run(
            ["sh", "-c", command], cwd=self.root, env=_ENVIRONMENT, capture_output=True, text=True, timeout=500
        )
        ended = f"[exit code {done.returncode}]\n" if done.returncode else ""
        return f"{done.stdout}{done.stderr}{ended}"

    # what the agent's tools do

    def ran(self, command: str) -> str:
        before = {name for folder in ("parcel", "tests", "docs") for name in self.files(folder)}
        output = self.shell(command)
        after = {name for folder in ("parcel", "tests", "docs") for name in self.files(folder)}
        if command == RUN_TESTS:
            (count,) = re.findall(r"^Ran (\d+) tests", output, re.MULTILINE)
            names = re.findall(r"^(?:FAIL|ERROR): (\w+) ", output, re.MULTILINE)
            self.tested = Tested(int(count), tuple(names), self.code())
        if not command.startswith("git"):
            for path in sorted(before - after):
                self.gone.append(path)
            for path in sorted(after - before):
                self.made.append(path)
        return output

    def wrote(self, path: str, *, new: bool) -> None:
        self.last_edited = [*(each for each in self.last_edited if each != path), path]
        self.made += [path] if new else []

    def tools(self) -> list[BaseTool]:
        @tool
        def read_file(file_path: str) -> str:
            """Read a file, with the numbers of its lines."""
            lines = self.text(file_path).splitlines()
            return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 1))

        @tool
        def write_file(file_path: str, content: str) -> str:
            """Write a file."""
            new = not self.path(file_path).exists()
            self.path(file_path).write_text(content, "utf-8")
            self.wrote(file_path, new=new)
            return f"File created successfully at: {file_path}" if new else f"Updated {file_path}"

        @tool
        def edit_file(file_path: str, old_string: str, new_string: str) -> str:
            """Replace a text that stands in a file once."""
            text = self.text(file_path)
            if text.count(old_string) != 1:
                return f"Error: found {text.count(old_string)} matches of the string to replace"
            self.path(file_path).write_text(text.replace(old_string, new_string), "utf-8")
            self.wrote(file_path, new=False)
            return f"The file {file_path} has been updated."

        @tool
        def bash(command: str) -> str:
            """Run a command in the project's folder."""
            return self.ran(command)

        @tool
        def write_todos(todos: list[dict[str, Any]]) -> str:
            """Keep the list of what is to do."""
            self.open = [todo["content"] for todo in todos if todo["status"] != "completed"]
            return f"Updated the list: {len(self.open)} open"

        return [read_file, write_file, edit_file, bash, write_todos]
