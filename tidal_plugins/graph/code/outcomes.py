"""Outcomes: the relations that a test run states, and those of earlier runs that it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from tidal_plugins.graph.code.code_file import CodeFile, FactKey
from tidal_plugins.graph.code.facts import Fact, Thing
from tidal_plugins.graph.code.project import Project
from tidal_plugins.graph.code.runs import Result, lists_all, results
from tidal_plugins.patterns import lazy_re

_ALL_PASSED = lazy_re(r"(?m)^(?:=+ )?\d+ passed(?:, \d+ (?:skipped|xfailed|xpassed|warnings?|deselected))* in [\d.]+s")
_SHOWS = lazy_re(
    r"\s*(?:cd|cat|bat|less|more|head|tail|grep|egrep|rg|sed|awk|cut|sort|uniq|wc|jq|ls|find|echo|printf|git|gh|glab|"
    r"curl|wget|docker|kubectl|journalctl)\b|\s*\Z"
)
"""Commands that show texts: a run in them is of another time or place."""
_BETWEEN = lazy_re(r"&&|\|\|?|[;\n]")
_CHOSEN = lazy_re(
    r"::\w|\s(?:-t|--testNamePattern|--grep|-run|--exact|-k|-x|--exitfirst|--maxfail|--bail)\b|go test\b[^\n;&]*\|"
)
"""Options with which not all tests of a file run, or all that failed are listed."""
_PART = lazy_re(r"\b[1-9]\d* (?:deselected|filtered out)\b|\bstopping after\b|\bInterrupted\b")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run says of one file of tests: the relations that hold now, with the words that say so, and those that
    hold no more."""

    file: CodeFile
    fresh: tuple[tuple[Fact, str], ...]
    ended: tuple[FactKey, ...]


def outcomes(text: str, command: str, project: Project) -> Iterator[Outcome]:
    """Yield what a run with this output says of each file of tests. The files' runs are those of now afterwards."""
    if all(_SHOWS.match(part) for part in _BETWEEN.split(command)):
        return
    by_path: dict[str, list[Result]] = {}
    found_all = results(text)
    whole = not _CHOSEN.search(command) and not _PART.search(text) and lists_all(text, found_all)
    for one in found_all:
        path = _path(one, project)
        if path.endswith("/"):
            for failing in [each for each in project.failing if one.passed and _inside(each, path)]:
                by_path.setdefault(failing, []).append(one._replace(path=failing))
        elif path:
            by_path.setdefault(path, []).append(one)
    if not by_path and project.failing and _ALL_PASSED.search(text[-2_000:]):
        named = re.findall(r"[\w./-]+\.\w+", command)
        chosen = [path for path in project.failing if not named or any(path.endswith(each) for each in named)]
        last = text.strip().rpartition("\n")[2]
        tests = [name.replace("::", ".") for name in re.findall(r"(?<=\w)::((?:\w+::)*\w+)", command)]
        if not whole and not tests:
            return
        by_path = {path: [Result(path, test, True, "pytest", last) for test in tests or [""]] for path in chosen}
    for path, found in by_path.items():
        yield _outcome(path, found, project, whole=whole)


def _outcome(path: str, found: Sequence[Result], project: Project, *, whole: bool) -> Outcome:
    """Return what the results of one file say. Unless ``whole``, they say nothing of the tests that are not named."""
    file = project.file(path) or CodeFile(path)
    failing = {key[0]: key for key in file.runs if key[2] == "fails" and key[1] != "file"}
    bad = {_test(one, file).name: one for one in found if one.test and not one.passed}
    good = {_test(one, file).name: one for one in found if one.test and one.passed}
    fresh: list[tuple[Fact, str]] = []
    about = next((one for one in found if not one.test), found[0])
    over = [name for name in failing if name not in bad and (whole or name in good)]
    left = [key for key in file.runs if key[0] in failing.keys() - bad.keys() - set(over)]
    if bad or left or not about.passed:
        about = next(iter(bad.values()), about)
        fresh.append((_status(Thing(path, "file"), about._replace(passed=False)), about.line))
    elif not about.test or (over and whole):
        fresh.append((_status(Thing(path, "file"), about), about.line))
    for one in found:
        if one.test and not one.passed:
            fresh += _failed(one, _test(one, file), path)
    line = about.line
    for name in over:
        said = good[name].line if name in good else line
        fresh.append((Fact(Thing(*failing[name][:2]), "passes", Thing(about.runner, "tool"), -1), said))
    before = set(file.runs)
    file.runs = [*dict.fromkeys([*left, *(fact.key for fact, _ in fresh)])]
    project.put_run(file, failing=any(key[2] == "fails" for key in file.runs))
    new = tuple((fact, line) for fact, line in fresh if fact.key not in before)
    return Outcome(file, new, tuple(before.difference(file.runs)))


def _failed(one: Result, thing: Thing, path: str) -> Iterator[tuple[Fact, str]]:
    yield _status(thing, one), one.line
    if one.error:
        yield Fact(thing, "raises", Thing(one.error, "error"), -1), one.line
    if one.at:
        yield Fact(thing, "fails_at", Thing(_at(one.at, path), "location"), -1), one.line


def _status(thing: Thing, one: Result) -> Fact:
    return Fact(thing, "passes" if one.passed else "fails", Thing(one.runner, "tool"), -1)


def _test(one: Result, file: CodeFile) -> Thing:
    return Thing(file.names.get(one.test, one.test), "function")


def _path(one: Result, project: Project) -> str:
    """Return the file of a result: the one that it names, or else the one that is known to define the test."""
    if one.path:
        return one.path if one.path.endswith("/") else project.place(one.path)
    held = project.owners(one.test)
    if len(held) == 1:
        return next(iter(held))
    return project.place(one.at.rpartition(":")[0]) if one.at else ""


def _at(at: str, path: str) -> str:
    """Return a place with the folder of its file, where a run names only the file."""
    file = at.rpartition(":")[0]
    here = PurePosixPath(path)
    return f"{path}:{at.rpartition(':')[2]}" if "/" not in file and here.name == file else at


def _inside(path: str, package: str) -> bool:
    """Return whether a file stands in the folder of a package of Go, whose path begins with that of its module."""
    folder = PurePosixPath(path).parent.as_posix()
    return folder == "." or package.rstrip("/").endswith(folder)
