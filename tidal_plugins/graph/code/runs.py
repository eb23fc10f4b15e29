"""Test runs: what pytest, jest, vitest, go test and cargo test tell, and the relations that this states and ends."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from tidal_plugins.actions.paths import normal
from tidal_plugins.graph.code.project import CodeFile, Fact, FactKey, Project, Thing
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


MAX_RUN = 200_000
"""Characters of a run's output that are read, the last ones, where results are listed."""
MAX_RESULTS = 500
"""Results that are taken from one run."""


class Result(NamedTuple):
    """A test, or a file of tests (``test`` is empty), that passed or failed.

    ``at`` is the place of the failure as ``path:line``, ``error`` the name of the error, ``line`` the words of the
    output. ``path`` is empty where only the test is named, and a folder for a package of Go.
    """

    path: str
    test: str
    passed: bool
    runner: str
    line: str
    error: str = ""
    at: str = ""


def results(text: str) -> list[Result]:
    """Return what the output of a test run says; nothing for any other text."""
    text = _COLOUR.sub("", text[-MAX_RUN:])
    for mark, reader in _RUNNERS:
        if mark.search(text):
            return list(dict.fromkeys(_first(reader(text))))
    return []


def lists_all(text: str, found: Sequence[Result]) -> bool:
    """Return whether the output names each test that failed, as the number that it tells says."""
    told = [int(count) for count in re.findall(r"\b(\d+) (?:failed|errors?)\b", _last_count(text))]
    if all(one.passed for one in found) or found[0].runner == "go test":
        return True
    named = {one.line for one in found if not one.passed and (one.test or one.line.startswith("ERROR "))}
    return bool(told) and len(named) >= sum(told)


def _last_count(text: str) -> str:
    """Return the line of a run that says how many tests failed."""
    lines = _COUNTED.findall(text[-MAX_RUN:])
    return lines[-1] if lines else ""


def _first(found: Iterator[Result]) -> Iterator[Result]:
    return (each for each, _ in zip(found, range(MAX_RESULTS), strict=False))


def _pytest(text: str) -> Iterator[Result]:
    text = _CAPTURED.sub("", text)  # what a test printed says nothing of others
    begun, summed = _PYTEST_FAILURES.search(text), [found.start() for found in _PYTEST_SUMMARY.finditer(text)]
    listed = begun.start() if begun else summed[-1] if summed else len(text)
    told = [one for one in _PYTEST_ONE.finditer(text) if _is_told(one, listed, summed)]
    if summed:  # it lists all that failed; a test may have printed the others
        sure = {(one["path"], _test_name(one)) for one in told if one["early"] == "FAILED" and not one["worker"]}
        told = [one for one in told if one["late"] != "FAILED" or (one["path"], _test_name(one)) in sure]
    places = _places(text, told)
    failed = set()
    for found in told:
        passed = (found["early"] or found["late"]) in ("PASSED", "XPASS", "XFAIL")
        name = _test_name(found)
        at, error = ("", "") if passed else places.get((found["path"], name), ("", ""))
        message = _ERROR.match(found["message"] or "")
        failed |= set() if passed else {found["path"]}
        error = message[1] if message else error
        yield Result(normal(found["path"]), name, passed, "pytest", found[0].strip(), error, at)
    files = dict[str, str]()
    for found in _PYTEST_FILE.finditer(text, 0, listed):
        files[found["path"]] = files.get(found["path"], "") + found["signs"]
    for path, signs in files.items():
        bad = path in failed or not {"F", "E"}.isdisjoint(signs)
        if not bad or path in failed or not summed:  # else a test printed it
            yield Result(normal(path), "", not bad, "pytest", path)
    for path in sorted(failed - files.keys()):
        yield Result(normal(path), "", False, "pytest", path)


def _is_told(one: re.Match[str], listed: int, summed: list[int]) -> bool:
    """Return whether a line stands where a run tells results: tests may print what looks like one."""
    if one["late"] or one["worker"]:
        return one.start() <= listed
    return not summed or one.start() > summed[-1]


def _places(text: str, told: list[re.Match[str]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return where the tests of files failed, and the errors. A test that two files have failed where its own did."""
    heads = [(found.start(), found["test"] or "") for found in _PYTEST_HEAD.finditer(text)]
    starts = [start for start, _ in heads]
    by_test: dict[str, list[tuple[str, str, str]]] = {}
    for found in _PYTEST_AT.finditer(text):
        number = bisect_left(starts, found.start())
        at = f"{normal(found['path'])}:{found['line']}"
        by_test.setdefault(heads[number - 1][1] if number else "", []).append((found["path"], at, found["error"] or ""))
    paths: dict[str, set[str]] = {}
    for one in told:
        paths.setdefault(_test_name(one), set()).add(one["path"])
    places = {}
    for name, many in paths.items():
        for path in many:
            last = next((e for e in reversed(by_test.get(name, ())) if len(many) == 1 or e[0] == path), None)
            if last and name:
                places[path, name] = last[1:]
    return places


def _test_name(found: re.Match[str]) -> str:
    return found["test"].split("[")[0].replace("::", ".") if found["test"] else ""


def _jest(text: str) -> Iterator[Result]:
    runner = "vitest" if re.search(r"(?m)^[ \t]*(?:RUN\s+v\d|❯|Test Files )", text) else "jest"
    failed = {found["path"] for found in _JEST_FILE.finditer(text) if found["status"] in ("FAIL", "❯", "×")}
    file = ""
    for found in _JEST.finditer(text):
        if found["path"]:
            file = normal(found["path"])
            if not found["name"]:
                yield Result(file, "", found["path"] not in failed, runner, found[0].strip())
            else:
                yield Result(file, found["name"].split(" > ")[-1].strip(), False, runner, found[0].strip())
        elif found["bullet"]:
            name = found["bullet"].split(" › ")[-1].strip()
            rest = text[found.end() : found.end() + 3_000].split("\n  ● ")[0]
            at, error = _JEST_AT.search(rest), _JEST_ERROR.search(rest)
            place = f"{normal(at['path'])}:{at['line']}" if at else ""
            yield Result(file, name, False, runner, found[0].strip(), error[1] if error else "", place)


def _go(text: str) -> Iterator[Result]:
    for found in _GO_TEST.finditer(text):
        rest = text[found.end() : found.end() + 2_000].split("\n--- ")[0]
        at = _GO_AT.search(rest) if found["status"] == "FAIL" else None
        place = f"{at['path']}:{at['line']}" if at else ""
        yield Result("", found["test"], found["status"] == "PASS", "go test", found[0].strip(), "", place)
    for found in _GO_PACKAGE.finditer(text):
        yield Result(f"{found['package']}/", "", found["status"] == "ok", "go test", found[0].strip())


def _cargo(text: str) -> Iterator[Result]:
    places = {found["test"]: f"{normal(found['path'])}:{found['line']}" for found in _CARGO_AT.finditer(text)}
    for found in _CARGO_TEST.finditer(text):
        name, passed = found["test"], found["status"] == "ok"
        at = "" if passed else places.get(name, "")
        yield Result("", name.rpartition("::")[2], passed, "cargo test", found[0].strip(), "panic" if at else "", at)


_COLOUR = lazy_re(r"\x1b\[[0-9;]*m")
_ERROR = lazy_re(r"\s*-?\s*((?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Failure))\b")
_PYTEST_ONE = lazy_re(
    r"(?m)^(?P<worker>\[gw\d+\] \[ *\d+%\] )?(?:(?P<early>FAILED|ERROR|PASSED|XPASS) )?"
    r"(?P<path>[\w./\\-]+\.py)(?:::(?P<test>[\w:.]+(?:\[[^\]\n]*\])?))?"
    r"(?(early)(?P<message> - [^\n]{0,300})?|\s+(?P<late>PASSED|FAILED|ERROR|XPASS|XFAIL)\b)"
)
_PYTEST_FILE = lazy_re(r"(?m)^(?P<path>[\w./\\-]+\.py) (?P<signs>[.FEsxX]+)(?:\s+\[ *\d+%\])?\s*$")
_CAPTURED = lazy_re(r"(?m)^-+ Captured [^\n]* -+\n(?:(?!={3,} |_{3,} |-{3,} )[^\n]*\n)*")
_PYTEST_FAILURES = lazy_re(r"(?m)^=+ (?:FAILURES|ERRORS) =+$")
_PYTEST_SUMMARY = lazy_re(r"(?m)^=+ short test summary info =+$")
_COUNTED = lazy_re(
    r"(?m)^(?:=+ )?(?:\d+ [a-z]+,? )+in [\d.]+s\b[^\n]*|^[ \t]*Tests:?[ \t]+\d[^\n]*|^test result: [^\n]*"
)
_PYTEST_HEAD = lazy_re(
    r"(?m)^_{3,} (?:ERROR at \w+ of )?(?P<test>[\w.]+)(?:\[[^\n]*\])? _{3,}$|^={3,} [A-Z][^\n]* ={3,}$"
)
"""The head of a test that failed, or of a part of the output, in which the next place need not be that test's."""
_PYTEST_AT = lazy_re(r"(?m)^(?P<path>[\w./\\-]+\.py):(?P<line>\d+): (?P<error>[\w.]+)?")
_JEST = lazy_re(
    r"(?m)^[ \t]*(?:PASS|FAIL|[✓❯×])\s+(?P<path>[\w./@\\-]+\.(?:test|spec)\.[cm]?[jt]sx?)"
    r"(?: > (?P<name>[^\n]+)|[^\n]*)$"
    r"|^  ● (?P<bullet>[^\n]+)$"
)
_JEST_FILE = lazy_re(r"(?m)^[ \t]*(?P<status>PASS|FAIL|[✓❯×])\s+(?P<path>[\w./@\\-]+\.(?:test|spec)\.[cm]?[jt]sx?)")
_JEST_AT = lazy_re(
    r"(?m)(?:at [^\n]{0,200}?\(?|❯ )"
    r"(?P<path>(?!node:|internal/|node_modules)[\w./@\\-]{1,300}?\.[cm]?[jt]sx?):(?P<line>\d+)"
)
_JEST_ERROR = lazy_re(r"\b([A-Z]\w*Error)\b")
_GO_TEST = lazy_re(r"(?m)^[ \t]*--- (?P<status>FAIL|PASS): (?P<test>Test\w+)(?:/\S*)? \(")
_GO_AT = lazy_re(r"(?m)^[ \t]+(?P<path>[\w./-]+\.go):(?P<line>\d+):")
_GO_PACKAGE = lazy_re(r"(?m)^(?P<status>ok|FAIL)\s+(?P<package>[\w./-]+/[\w./-]+)\s+(?:[\d.]+s|\(cached\))")
_CARGO_TEST = lazy_re(r"(?m)^test (?P<test>[\w:]+) \.\.\. (?P<status>ok|FAILED)$")
_CARGO_AT = lazy_re(
    r"thread '(?P<test>[\w:]+)'[^\n]{0,40} panicked at (?:'[^\n]*', )?(?P<path>[\w./\\-]+\.rs):(?P<line>\d+)"
)
_RUNNERS = (
    (lazy_re(r"(?m)^test [\w:]+ \.\.\. (?:ok|FAILED)$"), _cargo),
    (lazy_re(r"(?m)^[ \t]*--- (?:FAIL|PASS): Test|^(?:ok|FAIL)\s+[\w.-]+/[\w./-]+\s+(?:[\d.]+s|\(cached\))"), _go),
    (
        lazy_re(r"(?m)^=+ (?:test session starts|short test summary info|[^\n]*\b\d+ (?:passed|failed|errors?)\b)"),
        _pytest,
    ),
    (lazy_re(r"(?m)^[ \t]*(?:PASS|FAIL|[✓❯×])\s+[\w./@\\-]+\.(?:test|spec)\.[cm]?[jt]sx?"), _jest),
)
