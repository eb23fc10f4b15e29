"""What the compaction benchmark compacts: conversations, sessions of an agent's work, and the evidence in them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from posixpath import basename, join
from typing import Any

from benchmarks import conversations, trajectories
from tidal_plugins import (
    Message,
    ToolCall,
)
from tidal_plugins.english.sentences import sentences
from tidal_plugins.scoring.text import terms

STATEMENT_WORDS = 60
LEAST_WORDS = 4
ARGUMENT_WORDS = 30
READS = tuple(
    "get search list think calculate transfer find open goto scroll set_cursors ls cat head tail grep file decompile "
    "tshark view read submit".split()
)
"""Beginnings of the names of tools that change nothing."""
ERROR = re.compile(r"^.*(?:error|exception|failed|failure|not found|timed out|traceback).*$", re.IGNORECASE | re.M)

CONSTRAINT = re.compile(
    r"\b(?:must|only|never|always|not|don't|cannot|can't|should|at (?:most|least)|no more|instead|prefer|want|need"
    r"|under|before|after|cheapest|as long as|unless)\b|\d",
    re.IGNORECASE,
)
RUNS = re.compile(r"(?:python3?|pytest|make|tox|npm|go|cargo|bash|sh|\./\S+)\b")
FRAME = re.compile(r"^\((?:Open file|Current directory).*$|^bash-\$.*$", re.MULTILINE)
"""Lines that SWE-agent's shell adds to each result."""

ALL, KINDS, APART = "all", ("action", "requirement", "error"), ("constraint", "verdict")
_CITED = re.compile(r"\[(?:ep|mem):[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Fact:
    """A piece of evidence: its content words, and its text unless it was put together by a rule."""

    kind: str
    text: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Asked:
    """Facts that are scored together. ``query`` is the question for recall; it is empty if there is none."""

    name: str
    facts: tuple[int, ...]
    query: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A history, and the facts that a context made of it should keep."""

    name: str
    messages: tuple[Message, ...]
    facts: tuple[Fact, ...]
    asked: tuple[Asked, ...]
    end: datetime | None = None
    files: tuple[EditedFile, ...] = ()


def conversation(given: conversations.Conversation) -> Case:
    """Convert a conversation into a case.

    Consecutive turns of one speaker become one message. The first speaker is the user, unless the file gives roles.
    """
    messages: list[Message] = []
    first = given.turns[0].speaker
    previous: tuple[str, str | None] | None = None
    for session in given.sessions:
        for turn in session.turns:
            role = "assistant" if turn.role == "assistant" or turn.speaker != first else "user"
            if previous == (session.id, turn.speaker or role):
                last = messages.pop()
                messages.append(Message(last.role, f"{last.text}\n{turn.text}", last.id, last.speaker, at=last.at))
            else:
                id_ = f"m{len(messages)}"
                messages.append(Message(role, turn.text, id_, turn.speaker, at=turn.at))  # type: ignore[arg-type]
            previous = (session.id, turn.speaker or role)
    places = {turn.id: place for place, turn in enumerate(given.turns)}
    facts = tuple(_fact("evidence", turn.text) for turn in given.turns)
    asked = [
        Asked(
            question.category,
            tuple(p for id_ in sorted(question.evidence) if facts[p := places[id_]].words),
            question.text,
        )
        for question in given.questions
        if question.category != conversations.ADVERSARIAL
    ]
    return Case(given.name, tuple(messages), facts, tuple(item for item in asked if item.facts), given.end)


def trajectory(run: trajectories.Run) -> Case:
    messages = tuple(
        Message(m.role, m.text, f"m{place}", None, m.tool_calls, m.tool_call_id, m.error)
        for place, m in enumerate(run.messages)
    )
    found = [fact for message in messages for fact in _facts(message)]
    facts = (*found, *_constraints(found), *_verdicts(messages))
    asked = [Asked(kind, tuple(n for n, fact in enumerate(facts) if fact.kind == kind)) for kind in (*KINDS, *APART)]
    everything = Asked(ALL, tuple(range(len(found))))
    files = tuple(edited_files(messages))
    return Case(run.name, messages, facts, tuple(item for item in [everything, *asked] if item.facts), files=files)


def _facts(message: Message) -> Iterator[Fact]:
    for call in message.tool_calls:
        if not call.name.startswith(READS):
            told = list(dict.fromkeys(terms(" ".join(_leaves(call.arguments)))))[:ARGUMENT_WORDS]
            yield Fact("action", "", frozenset([*terms(call.name), *told]))
    if message.role == "user":
        said = [message.text[start:end] for start, end in sentences(message.text)]
        yield from (fact for text in said if len((fact := _fact("requirement", text)).words) >= LEAST_WORDS)
    elif message.role == "tool" and (found := ERROR.search(message.text)) and (fact := _fact("error", found[0])).words:
        yield fact


def _constraints(found: Sequence[Fact]) -> Iterator[Fact]:
    return (
        _fact("constraint", fact.text) for fact in found if fact.kind == "requirement" and CONSTRAINT.search(fact.text)
    )


def _verdicts(messages: Sequence[Message]) -> Iterator[Fact]:
    """Yield what each program said at the end of its last run before the user asked for something else."""
    commands = {call.id: str(call.arguments.get("command", "")).strip() for m in messages for call in m.tool_calls}
    last: dict[str, str] = {}
    for message in messages:
        if message.role == "user":
            yield from (_fact("verdict", line) for line in last.values())
            last = {}
        command = commands.get(message.tool_call_id, "") if message.role == "tool" else ""
        lines = [line for line in FRAME.sub("", message.text).splitlines() if terms(line)]
        if lines and RUNS.match(command):
            last[command] = lines[-1]
    yield from (_fact("verdict", line) for line in last.values())


def _fact(kind: str, text: str) -> Fact:
    return Fact(kind, text.strip(), frozenset(terms(text)))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield str(value)


class Shown:
    """The statements of a context."""

    def __init__(self, messages: Sequence[Message], *more: str) -> None:
        self.text = "\n".join([message.text for message in messages] + list(more))
        calls = [f"{c.name} {json.dumps(dict(c.arguments))}" for message in messages for c in message.tool_calls]
        self._holding: dict[str, list[int]] = {}
        number = 0
        for text in [*_CITED.sub("\n", self.text).splitlines(), *calls]:
            words = list(dict.fromkeys(terms(text)))
            for start in range(0, max(1, len(words) - STATEMENT_WORDS // 2), STATEMENT_WORDS // 2):
                for word in words[start : start + STATEMENT_WORDS]:
                    self._holding.setdefault(word, []).append(number)
                number += 1

    def states(self, fact: Fact) -> float:
        """Return the largest share of a fact's content words in one statement; 1 if its text stands there verbatim."""
        if fact.text and fact.text in self.text:
            return 1.0
        found = Counter(number for word in fact.words for number in self._holding.get(word, ()))
        return max(found.values(), default=0) / len(fact.words)


PLACES = "engine room|north pier|chart table|sail loft|bilge|galley|wheelhouse|slipway|fuel dock|the hold".split("|")
THINGS = "pump|winch|compass|rudder cable|tide gauge|heater|battery bank|life raft|radar mast|hatch seal".split("|")
STATES = "leaks slowly|was replaced|needs grease|runs hot|passed the test|is missing a bolt|must stay locked".split("|")


def work(count: int) -> tuple[Message, ...]:
    """Return an invented log of ``count`` messages, in turns of four: a question, a call, its result, an answer."""
    messages: list[Message] = []
    for n in range(count // 4):
        thing, place, state = THINGS[n % 10], PLACES[n // 10 % 10], STATES[n * 3 % 7]
        call = ToolCall("log_state", {"item": thing, "place": place, "state": state, "number": n}, f"call-{n}")
        messages += [
            Message(
                "user", f"Please look at the {thing} in the {place}. I want number {n} done before the tide.", f"u{n}"
            ),
            Message("assistant", f"I will open entry {n} and check it.", f"c{n}", tool_calls=(call,)),
            Message(
                "tool", f"entry {n} saved: {thing}, {place}, {state}\n" + "checked\n" * 20, f"t{n}", None, (), call.id
            ),
            Message("assistant", f"Done: the {thing} in the {place} {state}; I decided to note it as {n}.", f"a{n}"),
        ]
    return tuple(messages)


# the files that SWE-agent's runs edited, and whether a context shows them
#
# This reads the trajectories by itself, and shares no code with the compaction that it judges: after each of its
# editor's commands SWE-agent shows the lines around the change. The last such lines are what the file holds at the end.


_WINDOW = re.compile(r"\[File: (.+?) \((\d+) lines total\)\]\n((?:.*\n?)*)")
_LINE = re.compile(r"(\d+):(.*)")
_NUMBER = re.compile(r"^ *\d+[:\t]", re.MULTILINE)
_FOLDER = re.compile(r"\(Current directory: (.+?)\)")
_EDITOR = ("edit", "insert")


@dataclass(slots=True)
class EditedFile:
    """A file at the end of a session: the lines that are known, and the numbers of those that were edited."""

    path: str
    lines: dict[int, str] = field(default_factory=dict)
    total: int = 0
    edited: set[int] = field(default_factory=set)

    @property
    def blocks(self) -> list[str]:
        """Return the edited lines, those that follow each other as one text."""
        blocks: list[list[str]] = []
        for number in sorted(self.edited):
            if number - 1 in self.edited and blocks:
                blocks[-1].append(self.lines[number])
            else:
                blocks.append([self.lines[number]])
        return [text for block in blocks if (text := "\n".join(map(str.rstrip, block)).strip("\n"))]


def edited_files(messages: Sequence[Message]) -> list[EditedFile]:
    """Return the files that a session edited and did not delete, as they are at its end."""
    results = {message.tool_call_id: _clean(message.text) for message in messages if message.role == "tool"}
    files: dict[str, EditedFile] = {}
    for message in messages:
        for call in message.tool_calls:
            command, result = str(call.arguments.get("command", "")), results.get(call.id, "")
            folder = next(iter(_FOLDER.findall(result)), "/")
            verb, *rest = command.split(None, 1) or [""]
            if verb == "rm":
                for name in " ".join(rest).split():
                    files.pop(join(folder, name), None)
            elif (shown := _WINDOW.search(result)) and "have NOT been applied" not in result:
                path = join(folder, shown[1])
                lines = {int(n): line for n, line in map(_split, shown[3].splitlines()) if n}
                file = EditedFile(path) if verb == "create" else files.get(path, EditedFile(path))
                _take(file, lines, int(shown[2]), edits=verb in _EDITOR)
                files[path] = file
    return [file for file in files.values() if file.blocks]


def kept(file: EditedFile, messages: Sequence[Message]) -> bool:
    """Return whether one message of a context shows everything that was edited in a file, as it is at the end.

    A tool's result counts with the call that it answers, which may name the file.
    """
    calls = {call.id: call for message in messages for call in message.tool_calls}
    for message in messages:
        told = [*message.tool_calls, *filter(None, [calls.get(message.tool_call_id)])]
        arguments = [str(value) for call in told for value in call.arguments.values()]
        text = _NUMBER.sub("", "\n".join([message.text, *arguments]))
        lines = "\n".join(map(str.rstrip, text.splitlines()))
        if basename(file.path) in text and all(block in lines for block in file.blocks):
            return True
    return False


def _take(file: EditedFile, lines: Mapping[int, str], total: int, *, edits: bool) -> None:
    """Take in the lines that a command shows; with ``edits``, the ones that differ from those before are edited."""
    if not lines:
        return
    first, last = min(lines), max(lines)
    shift = total - file.total if file.total else 0
    if edits:
        above = [n for n in sorted(lines) if n in file.lines and file.lines[n] != lines[n]]
        below = [n for n in sorted(lines) if n - shift in file.lines and file.lines[n - shift] != lines[n]]
        start, end = (above[0], below[-1]) if above and below else (0, -1)
        file.edited = {n if n < start else n + shift for n in file.edited if n < start or n + shift > end}
        file.edited |= set(range(start, end + 1))
        known = {n: line for n, line in file.lines.items() if n < first}
        file.lines = known | {n + shift: line for n, line in file.lines.items() if n + shift > last}
    elif any(file.lines.get(n, line) != line for n, line in lines.items()) or file.total not in (0, total):
        file.lines, file.edited = {}, set()  # another task, with the file as it was before
    file.lines |= lines
    file.total = total


def _split(line: str) -> tuple[int, str]:
    found = _LINE.match(line)
    return (int(found[1]), found[2]) if found else (0, "")


def _clean(text: str) -> str:
    text = text.replace("\r\n", "\n")
    return re.sub(r"<<<<< (?:START|END) CURSOR >>>>>\n", "", text)
