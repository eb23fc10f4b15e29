"""Twenty questions about the state of an agent's work, answered from the messages that a model is shown alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from tests.journeys.coder import TASKS, Script
from tests.journeys.parcels import RUN_TESTS, Project

_ROW = re.compile(r"^ {0,6}(\d+)\t(.*)$")
EDITED = "edited, and not read"
"""Stands for a file that the agent edits in a step that it sees, without having read it."""
_DOUBTS = ("may be out of date", "may have changed since")


class View:
    """What a model is shown: the text, the files in it by path, and those of them that the compaction put back."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self.messages = messages
        self.text = "\n".join(message.text for message in messages)
        self.files: dict[str, str] = {}
        self.restored: dict[str, str] = {}
        self.ran: dict[str, str] = {}
        """The last output of each command, of those that are shown word for word."""
        self.made: list[str] = []
        """Files that were made in steps that are shown word for word."""
        self.gone: list[str] = []
        """Files that were deleted or renamed in such steps."""
        self.changes = 0
        """Number of the changes in such steps after the last run of the tests."""
        self.open: list[str] | None = None
        calls = {str(call["id"]): call for m in messages if isinstance(m, AIMessage) for call in m.tool_calls}
        for message in messages:
            call = calls.get(message.tool_call_id) if isinstance(message, ToolMessage) else None
            if call and "lc_source" in message.additional_kwargs:
                self.restored[call["args"]["file_path"]] = message.text
            if call:
                self._read(call["name"], call["args"], message.text)

    def _read(self, tool: str, given: dict[str, Any], result: str) -> None:
        """Read a step that is shown word for word."""
        path = str(given.get("file_path", ""))
        if tool == "write_file":
            self.files[path] = given["content"]
            self.made += [path] if "created" in result else []
        elif tool == "edit_file" and path not in self.files:
            self.files[path] = EDITED
        elif tool == "edit_file":
            self.files[path] = _plain(self.files[path]).replace(given["old_string"], given["new_string"])
        elif tool == "read_file":
            self.files[path] = result
        elif tool == "bash":
            self.ran[given["command"]] = result
        elif tool == "write_todos":
            self.open = [str(todo["content"]) for todo in given["todos"] if todo["status"] != "completed"]
        command = str(given.get("command", ""))
        self.changes += tool in ("write_file", "edit_file") or command.startswith(("mv ", "rm ", "ruff ", "git switch"))
        verb, *names = command.split()[:3] or [""]
        self.gone += names[: 1 if verb == "mv" else 2] if verb in ("mv", "rm") else []
        self.made += names[1:] if verb == "mv" else []
        if given.get("command") == RUN_TESTS:
            self.changes = 0

    @property
    def branch(self) -> str:
        """Return the branch that the state of the work names, or a command after it."""
        text = "\n".join([self.line("Branch"), *self.ran.values()])
        found = re.findall(r"^`([^`]+)`|^Switched to (?:a new )?branch '([^']+)'", text, re.MULTILINE)
        return "".join(found[-1]) if found else "main"

    def line(self, label: str) -> str:
        """Return a line of the state of the work, or an empty one."""
        found = re.search(rf"^{label}: (.+)$", self.text, re.MULTILINE)
        return found[1] if found else ""


def questions(view: View, script: Script, request: str) -> Iterator[tuple[str, bool]]:
    """Yield each question and whether the view answers it rightly."""
    project = script.project
    asked = [message.text for message in view.messages if message.type == "human"]
    yield "the request in hand", asked[-1].endswith(request)
    yield "the branch", view.branch == project.branch
    named = re.findall(r"commit ([0-9a-f]{7,})", view.line("Branch"))
    shown = re.findall(r"^\[\S+ ([0-9a-f]{7,})\]", "\n".join(view.ran.values()), re.MULTILINE)
    yield "no other commit than the last", (shown or named)[-1:] in ([], [project.commit])
    yield from _tested(view, project)
    open_ = view.line("Open") if view.open is None else "; ".join(view.open)
    told = [item for item in TASKS if item in open_]
    yield "what is to do, and nothing else", told == [item for item in TASKS if item in project.open]
    for name, said in script.limits.items():
        yield f"the limit of {name}", said.rstrip(".") in view.text
    yield "the decisions in force", all(said.rstrip(".") in view.text for said in script.decisions.values())
    holding = "\n".join(line for line in view.text.splitlines() if ", was: " not in line)
    yield (
        "no outdated limit or decision",
        not any(old.rstrip(".") in holding for old, new in script.outdated.items() if new != request),
    )
    yield "the last figure that the user told", not script.facts or script.facts[-1] in view.text
    yield from _files(view, project)


def _tested(view: View, project: Project) -> Iterator[tuple[str, bool]]:
    line, tested, output = view.line("Tests"), project.tested, view.ran.get(RUN_TESTS)
    if tested is None:
        return
    bad = len(tested.failing)
    verdict = f"{tested.count} tests: failures={bad}" if bad else f"{tested.count} passed"
    if output is not None:  # in the steps that the model sees word for word
        line = f"{verdict} {output}" if f"Ran {tested.count} tests" in output else ""
    yield "the last verdict of the tests", verdict in line
    yield "the tests that fail", all(name in line for name in tested.failing[:3]) and (bad > 0 or "test_" not in line)
    yield "whether the code is another since", view.changes > 0 or "since" in line or tested.code == project.code()


def _files(view: View, project: Project) -> Iterator[tuple[str, bool]]:
    here, _, elsewhere = view.line("Files").partition("; on ")  # what was done on other branches stands behind
    told, touches = _touches(f"{here}; {elsewhere}"), _touches(here)
    there = [path for path in project.made if project.path(path).exists()]
    gone = [path for path in project.gone if not project.path(path).exists()]
    yield "the files made last", all((path, "created") in told or path in view.made for path in there[-2:])
    yield "the files that went last", all((path, "deleted") in told or path in view.gone for path in gone[-2:])
    yield (
        "no file that is not there",
        all(project.path(path).exists() or path in view.gone for path, what in touches if what != "deleted"),
    )
    work = [path for path in project.last_edited if project.path(path).exists()]
    for place in (1, 2):
        if len(work) >= place:
            yield (
                f"the content of the file edited {'last' if place == 1 else 'before'}",
                _right(view.files.get(work[-place], ""), work[-place], project),
            )
    yield "no file shown otherwise than it is", all(_right(text, path, project) for path, text in view.restored.items())


def _touches(line: str) -> set[tuple[str, str]]:
    groups = re.findall(r"(edited|created|deleted) ((?:`[^`]+`,? ?)+)", line)
    return {(path, what) for what, names in groups for path in re.findall(r"`([^`]+)`", names)}


def _plain(text: str) -> str:
    """Return the text of a file that was shown as a whole, without the numbers of its lines."""
    rows = [_ROW.match(line) for line in text.splitlines()]
    return "".join(f"{row[2]}\n" for row in rows if row) if rows and all(rows) else text


def _right(text: str, path: str, project: Project) -> bool:
    """Return whether a shown file is what stands on the disk, in whole or in part, or is marked as doubtful."""
    head, _, body = text.partition("\n") if text.startswith("[") else ("", "", text)
    if text == EDITED or any(doubt in head for doubt in _DOUBTS):
        return True
    if not project.path(path).exists():
        return False
    now = project.text(path)
    rows = [_ROW.match(line) for line in body.splitlines()]
    numbered = {int(row[1]): row[2] for row in rows if row}
    lines = now.splitlines()
    if numbered:
        return all(number <= len(lines) and lines[number - 1] == line for number, line in numbered.items())
    return body.rstrip("\n") == now.rstrip("\n")
