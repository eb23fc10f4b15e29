"""Verdicts: what a command came to, in one line: tests with their counts, builds, linters, git, exit codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tidal_plugins.patterns import lazy_re

_GLANCE = 6_000
"""Characters of each end of an output that are read: the verdict stands at the end, a build's first error before it."""
_MAX_LINE, _MAX_OUTPUT, _MAX_NAMED = 160, 200, 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a command came to. ``tests`` is the test runner, empty for another command."""

    text: str
    failed: bool
    tests: str = ""


def verdict(output: str, *, failed: bool) -> Verdict:
    """Return the verdict of a command's output. ``failed`` says whether the tool reported a failure."""
    text = _plain(output)
    for runner, read in _RUNNERS:
        if counted := read(text):
            counts, bad = counted
            return Verdict(_with_names(counts, text) if bad else counts, bad, runner)
    lines = list(dict.fromkeys(line for line in map(str.strip, text.splitlines()) if line))
    told = [line for line in lines if _OUTCOME.search(line) and not _NOISE.match(line)]
    wrong = [line for line in lines if _WRONG.search(line) and not _NOISE.match(line)]
    bad = failed or bool(wrong and not told)
    code = _EXIT.search(text)
    if bad:
        chosen = [*(wrong or told)[-2:]] or lines[-1:] or ["no message"]
        if code and not _EXIT.search(" ".join(chosen)):
            chosen.append(f"exit code {code[1]}")
        return Verdict(_joined(chosen), True)
    if not told and len(" ".join(lines)) > _MAX_OUTPUT:
        told = lines[-1:]
    return Verdict(_joined(told[-3:] or lines), False)


_CODE_ENDS = lazy_re(r"(?<=[;{(\[,:]); |; (?=[})\]])")
"""Where lines of code are joined that need no sign between them."""


def check_key(command: str) -> tuple[str, frozenset[str]] | None:
    """Return which check a command runs and on what, or ``None`` for a command that is no check.

    A later run of the same check on the same things, or on everything, replaces what an earlier one found. A command
    that switches to another branch first is a check of its own.
    """
    found = _CHECKS.search(command)
    if found is None:
        return None
    words = command[found.end() :].partition("&&")[0].partition("|")[0].partition(";")[0].split()
    targets = frozenset(word for word in words if not word.startswith("-") and ("/" in word or "." in word[1:]))
    branch = _SWITCH.search(command[: found.start()])
    name = " ".join(found[0].split())
    return (f"{name} on {branch[1]}" if branch else name), targets


def _plain(output: str) -> str:
    text = output if len(output) <= 2 * _GLANCE else f"{output[:_GLANCE]}\n{output[-_GLANCE:]}"
    return _COLOURS.sub("", text).replace("\r", "")


def _joined(lines: list[str]) -> str:
    short = [line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1].rstrip()}…" for line in lines]
    text = _CODE_ENDS.sub(" ", "; ".join(short))
    return text if len(text) <= 2 * _MAX_LINE else f"{text[: 2 * _MAX_LINE - 1].rstrip()}…"


def _with_names(counts: str, text: str) -> str:
    """Return the counts of a failed run with the names of the failing tests, and the reason of the first."""
    names: dict[str, str] = {}
    for match in _FAILING.finditer(text):
        name = next(group for group in match.groups()[:-1] if group)
        names.setdefault(name.strip().rpartition("/")[2][:80], (match["why"] or "").strip())
    reason = next(filter(None, names.values()), "") or _last_error(text)
    shown = ", ".join(f"`{name}`" for name in list(names)[:_MAX_NAMED])
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    told = f"{counts}: {shown}{more}" if names else counts
    return f"{told} ({reason[:120].rstrip()})" if reason else told


def _last_error(text: str) -> str:
    found = [match[1].strip() for match in _ERROR.finditer(text)]
    return found[-1] if found else ""


def _summed(pattern: str, *names: str) -> Callable[[str], tuple[str, bool] | None]:
    """Return a reader of a runner whose lines count ``names``; the last of them counts what failed."""
    form = lazy_re(pattern, re.MULTILINE)

    def read(text: str) -> tuple[str, bool] | None:
        rows = [match.groupdict() for match in form.finditer(text)]
        if not rows:
            return None
        sums = {name: sum(int(row.get(name) or 0) for row in rows) for name in names}
        return ", ".join(f"{sums[name]} {name}" for name in names if sums[name]) or "0 passed", bool(sums["failed"])

    return read


def _pytest(text: str) -> tuple[str, bool] | None:
    found = list(_PYTEST.finditer(text))
    if not found:
        return None
    counts = re.sub(r",? ?\d+ (?:warnings?|deselected)", "", found[-1]["counts"]).strip(", ") or found[-1]["counts"]
    return counts, bool(re.search(r"failed|error", counts))


def _unittest(text: str) -> tuple[str, bool] | None:
    ran = re.search(r"^Ran (\d+) tests? in ", text, re.MULTILINE)
    if ran is None:
        return None
    bad = re.search(r"^FAILED \((.+)\)", text, re.MULTILINE)
    return (f"{ran[1]} tests: {bad[1]}", True) if bad else (f"{ran[1]} passed", False)


def _go(text: str) -> tuple[str, bool] | None:
    packages = re.findall(r"^(ok|FAIL)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\)|\[)", text, re.MULTILINE)
    tests = re.findall(r"^\s*--- (PASS|FAIL): ", text, re.MULTILINE)
    if not packages and not tests:
        return None
    bad = packages.count("FAIL"), tests.count("FAIL")
    if any(bad):
        return (f"{bad[1]} failed" if bad[1] else f"{bad[0]} package{'s' * (bad[0] > 1)} failed"), True
    return (f"{len(tests)} passed" if tests else f"ok, {len(packages)} package{'s' * (len(packages) > 1)}"), False


def _sides(pattern: str) -> Callable[[str], tuple[str, bool] | None]:
    form = lazy_re(pattern, re.MULTILINE)

    def read(text: str) -> tuple[str, bool] | None:
        found = form.search(text)
        counts = " ".join(found[1].split()) if found else ""
        return (counts, "fail" in counts and not re.search(r"\b0 fail", counts)) if found else None

    return read


_COLOURS = lazy_re(r"\x1b\[[0-9;]*[A-Za-z]")
_COUNT = r"\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|warnings?|deselected|rerun)"
_PYTEST = lazy_re(rf"^=*\s*(?P<counts>(?:{_COUNT}(?:, )?)+) in [\d.:]+ ?m?s?", re.MULTILINE)
_RUNNERS: tuple[tuple[str, Callable[[str], tuple[str, bool] | None]], ...] = (
    ("pytest", _pytest),
    ("cargo test", _summed(r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed", "passed", "failed")),
    ("jest", _sides(r"^\s*Tests:?\s+((?:\d+ \w+(?:, | \| )?)+)")),
    ("go test", _go),
    ("unittest", _unittest),
    ("rspec", _sides(r"^(\d+ examples?, \d+ failures?)")),
    ("mocha", _summed(r"^\s*(?:(?P<passed>\d+) passing|(?P<failed>\d+) failing)\b", "passed", "failed")),
    (
        "dotnet test",
        _summed(r"Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+)", "passed", "failed"),
    ),
    ("maven", _sides(r"^(?:\[\w+\] )?(Tests run: \d+, Failures: \d+, Errors: \d+)(?!.* in )")),
    ("phpunit", _sides(r"^(OK \(\d+ tests?|Tests: \d+, Assertions: \d+, Failures: \d+)")),
)
_FAILING = lazy_re(
    r"^(?:(?:FAILED|ERROR) (\S+::\S+)|(?:FAIL|ERROR): (\w+)(?: \(.*\))?"
    r"|\s*--- FAIL: (\S+)(?: \([\d.]+s\))?|test (\S+) \.\.\. FAILED"
    r"|\s*● (.+)"
    r"|\s+✕ (.+?)(?: \(\d+ ms\))?|rspec (\S+))(?: - (?P<why>.+))?$",
    re.MULTILINE,
)
_ERROR = lazy_re(r"^(?:E\s+)?(\w*(?:Error|Exception)\b: .+)$", re.MULTILINE)
_OUTCOME = lazy_re(
    r"\bBUILD (?:SUCCESS|FAILED|FAILURE)|^Compiled |Build (?:succeeded|failed)|^Finished .*target"
    r"|Successfully (?:built|installed)"
    r"|^added \d+ packages|All checks passed|^Found \d+ |no issues found|\d+ files? (?:would be )?(?:re)?formatted"
    r"|^\s*(?:SUCCESS|FAILED|PASSED|OK|DONE)\b|✖ \d+ problems?|\d+ (?:problems?|vulnerabilit)"
    r"|^Switched to |^\[[\w/.-]+(?: \([\w-]+\))? [0-9a-f]{7,}\] |\d+ files? changed"
    r"|^(?:Merge made|Fast-forward|Already )"
    r"|^HEAD is now at |^Your branch is |^rm '|->|^(?:Created|Updated|Deleted|Deployed|Applied|Published)\b"
    r"|\b\d+(?:/\d+)? \w+ (?:updated|created|deleted|applied|delivered|queued|ready|restarted)\b"
    r"|^(?:queued|delivered|failed|updated|created|deleted|applied|skipped) \d"
)
_WRONG = lazy_re(
    r"\b(?:error|fatal|failed|failure|exception|denied|refused|conflict)\b|\b\w*(?:Error|Exception)\b"
    r"|command not found|No such file|✗|✖ \d+|could not|cannot |timed? ?out",
    re.IGNORECASE,
)
_NOISE = lazy_re(r"warning\b|\bnpm notice|.*\b(?:0|no) (?:errors?|failures?|failed|problems?)\b", re.IGNORECASE)
_EXIT = lazy_re(r"\b(?:exit(?:ed)?(?: with)?|return) (?:code|status):? ([1-9]\d*)", re.IGNORECASE)
_CHECKS = lazy_re(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ruff check|ruff format|mypy|pyright|flake8|eslint|"
    r"tsc|clippy|go (?:test|vet|build)|cargo (?:test|build|check)|npm (?:test|run \w+)|yarn (?:test|build|lint)|"
    r"pnpm (?:test|build|lint)|make(?: \w+)?|mvn \w+|gradlew? \w+|dotnet (?:test|build)|promtool check \w+|"
    r"terraform (?:validate|plan)|[\w-]+ (?:check|lint|validate|test))\b"
)
_SWITCH = lazy_re(r"git (?:switch|checkout)(?: -\S+)* ([\w./-]+)")
