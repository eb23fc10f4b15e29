"""Programs that commands of a shell run: those that show files, change none of the work, or rewrite some."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tidal_plugins.actions.action import Action, Read
from tidal_plugins.actions.paths import normal
from tidal_plugins.actions.shell.lexer import Word
from tidal_plugins.patterns import lazy_re

_HARMLESS = frozenset(
    """
    : [ ack ag alias arch awk base64 basename bat batcat cal cat cd cksum clear cmp column comm curl cut date df
    diff dig dirname du echo egrep exit export false fd fg fgrep file find free grep groups hash head help hexdump
    host hostname htop id jobs jq kill last ldd less locale locate ls lsblk lscpu lsof man md5sum mkdir more mypy
    netstat nl nm nproc nslookup objdump od pgrep ping pkill printenv printf promtool ps pwd pyright pytest readelf
    readlink realpath rg rmdir sed seq set sha1sum sha256sum sha512sum shasum sleep sort ss ssh stat strings sum tac
    tail test top touch tr tree true type ulimit umask uname uniq unset uptime users vmstat wait wc which who whoami
    xxd done fi ip ifconfig dpkg apt apt-get brew systemctl service tput stty look zcat zgrep zless rev fmt fold
    expr factor getent pstree w nvidia-smi ffprobe flake8 pylint pyflakes pycodestyle bandit vulture jest vitest
    mocha rspec phpunit unittest nosetests tox nox ctest shellcheck yamllint hadolint actionlint chmod chown
    find_file search_dir search_file submit read local let declare return break continue typeset
    """.split()
)
"""Programs that only look, test, talk to others, or install what is no file of the work. Redirections count all the
same."""

_IN_PLACE = lazy_re(r"-\w*i\w*\b.*|--in-place\b.*")
_WRITES = {
    "sed": rf"{_IN_PLACE.pattern}|(?s:.*/[gpI0-9]*w \S+|w \S+)", "sort": r"-\w*o.*|--output.*",
    "curl": r"-\w*[oO]\w*|--output.*|--remote-name.*", "find": r"-delete|-exec(?:dir)?|-ok(?:dir)?|-fprint\w*|-fls",
    "fd": r"-x|-X|--exec.*", "awk": r"-i|inplace|(?s:.*\b(?:print|printf)\b[^;}]*>\s*[\"\w].*)", "tree": r"-o",
    "xxd": r"-r.*", "uniq": r"[^-].*",
}  # fmt: skip
"""Arguments with which a harmless program writes after all, fully matched."""

_SUBCOMMANDS = {
    "git": "status log diff show blame branch fetch add commit push tag remote config rev-parse ls-files ls-tree "
    "describe grep reflog shortlog cat-file rev-list merge-base help version init notes bisect-log check-ignore",
    "cargo": "test t check c build b clippy bench doc tree metadata nextest audit --version",
    "go": "test vet build version env list doc",
    "npm": "test t ci ls list view outdated audit --version",
    "yarn": "test list why --version", "pnpm": "test list why --version", "bun": "test --version",
    "pip": "install uninstall download list show freeze check --version", "uv": "pip sync venv --version tree",
    "poetry": "show check --version", "conda": "list info env", "node": "--test --version --check",
    "deno": "test check lint",
    "make": "test tests check lint help", "just": "test lint --list", "terraform": "plan validate show version",
    "docker": "ps logs images inspect version info", "ruff": "check --version rule", "dotnet": "test build --version",
    "mvn": "test verify compile", "gradle": "test check", "./gradlew": "test check", "eslint": "", "black": "",
    "isort": "", "prettier": "", "gofmt": "", "stylelint": "", "tsc": "--noEmit", "kubectl": "get describe logs",
    "gh": "issue auth api search status",
}  # fmt: skip
"""Subcommands that change no file of the work, of programs that have others."""

_SCRIPTS = lazy_re(r"(?:test|lint|check|typecheck|type-check|tsc)(?:[:.-](?!fix|write|update)\w+)*")
"""Names of scripts (``npm run lint``) and of targets (``make test-unit``) that only check, wherever they stand."""

_ONLY_CHECKS = lazy_re(r"--check(?:-only)?|--diff|--list-different|--dry-run|--version|--help")
_SHORT_CHECKS = {"make": "-n", "just": "-n -l", "go": "-n"}
"""Short options that only check. Those of other programs may mean anything: ``black -l 100`` tells a length."""
_FIXES = lazy_re(r"--fix.*|--unsafe-fixes|--write|-w|-i|--apply.*|--in-place|--allow-dirty")

_NAMED = frozenset(
    "black isort autopep8 yapf prettier gofmt goimports rustfmt clang-format eslint stylelint shfmt ruff pyupgrade "
    "autoflake docformatter djlint biome dprint perl sed stylua ktlint taplo".split()
)
"""Formatters and the like: they rewrite the files and folders that they are told, or all if they are told none."""

_FLAGS = frozenset("-i -w -q -v --fix --write --in-place --quiet --verbose --preview --unsafe-fixes --".split())
"""Options without a value, so that the next word may be a file."""

_INTERPRETERS = lazy_re(r"python[\d.]*|node|ruby|perl|php|bash|sh|zsh|Rscript|deno|bun|ts-node|tsx")
_WRAPPERS = frozenset("sudo time nohup command nice stdbuf env xvfb-run npx bunx uvx pipx ionice exec builtin".split())
_RUNNERS = {"uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run", "rye": "run",
            "pnpm": "exec", "yarn": "exec", "npm": "exec", "bundle": "exec", "conda": "run"}  # fmt: skip
_QUIETED = frozenset("grep egrep fgrep rg cmp diff git systemctl".split())
"""Programs that test something without a word if an option says so."""
_ASSIGNED = lazy_re(r"^\w+=")
_TAKES_VALUE = frozenset("-n --with --extra --group --python -p -u --env-file".split())

READERS = frozenset("cat bat batcat nl less head tail sed open".split())
_SPAN = lazy_re(r"(\d+)(?:,(\d+|\$))?p;?(?:q|\d+q)?")


def unwrapped(words: Sequence[str]) -> list[str]:
    """Return a command without assignments and without what only runs it: ``sudo``, ``uv run``, ``python -m``."""
    rest = list(words)
    while rest:
        if _ASSIGNED.match(rest[0]):
            rest = rest[1:]
        elif rest[0] in _WRAPPERS:
            rest = _past_options(rest[1:])
        elif rest[0] == "timeout" and len(rest) > 2:
            rest = _past_options(rest[1:])[1:]
        elif len(rest) > 2 and _RUNNERS.get(rest[0]) == rest[1]:
            rest = _past_options(rest[2:])
        elif re.fullmatch(r"python[\d.]*", rest[0]) and rest[1:2] == ["-m"] and len(rest) > 2:
            rest = rest[2:]
        else:
            break
    return rest


def harmless(words: Sequence[str]) -> bool:
    """Return whether a command, unwrapped, changes no file but those that its redirections name."""
    program, arguments = words[0].rsplit("/", 1)[-1] if words[0] != "./gradlew" else words[0], list(words[1:])
    if words[0].startswith("./") and words[0] != "./gradlew":
        return False
    if arguments and all(each in ("--version", "--help", "-V", "-h") for each in arguments):
        return True
    if program == "git":
        return _harmless_git(arguments)
    if program in _SUBCOMMANDS:
        fixes = any(_FIXES.fullmatch(each) for each in arguments)
        short = _SHORT_CHECKS.get(program, "").split()
        checks = any(_ONLY_CHECKS.fullmatch(each) or each in short for each in arguments)
        if program in ("eslint", "gofmt", "prettier", "stylelint"):
            return not fixes
        first = next((each for each in arguments if each != "run"), "")
        scripted = arguments[:1] == ["run"] or program in ("make", "just", "yarn", "pnpm", "bun")
        looks = first in _SUBCOMMANDS[program].split() or (scripted and _SCRIPTS.fullmatch(first) is not None)
        return (checks or looks) and not fixes
    if program not in _HARMLESS:
        return False
    return not any(re.fullmatch(_WRITES[program], each) for each in arguments) if program in _WRITES else True


def probes(words: Sequence[str]) -> bool:
    """Return whether a command, unwrapped, is a test that may fail without printing anything."""
    program = words[0].rsplit("/", 1)[-1] if words else ""
    quiet = any(re.fullmatch(r"-\w*[qs]\w*|--quiet|--silent|--exit-code", each) for each in words[1:])
    return program in ("[", "test", "false") or (program in _QUIETED and quiet)


def rewrites(words: Sequence[str]) -> list[str] | None:
    """Return the files and folders that a command may rewrite, none for all files; ``None`` if nobody knows.

    They are those that it names, if it is a formatter. A program that writes only with some option may write anywhere:
    ``find`` below a folder, ``awk`` and ``sed`` to a file that their script names.
    """
    program = words[0].rsplit("/", 1)[-1]
    scripted = program == "sed" and not any(_IN_PLACE.fullmatch(each) for each in words)
    if program not in _NAMED or scripted:
        return [] if program == "git" else None
    told: list[str] = []
    sure = False
    for before, word in pairwise(words):
        if not word.startswith("-") and word not in ("format", "check", "write"):
            told.append(word)
            sure = sure or not before.startswith("-") or before in _FLAGS  # or else it may be the option's value
    return told if sure else []


def reading(program: str, given: Sequence[Word], shows: bool) -> Iterator[Action]:
    """Yield the reading of a file that a command shows, or that it read without showing it as it is."""
    options = [word.text for word in given if word.text.startswith("-") and word.text != "-"]
    values = [word.text for word in given if not word.text.startswith("-")]
    span = _spanned(program, options, values)
    if span is None or any(word.pattern for word in given):
        for value in values:
            if "." in value or "/" in value:
                yield Read(normal(value), shown=False)
        return
    path, read = span
    if normal(path):
        yield Read(normal(path), *read[:3], numbered=read[3], last=read[4], shown=shows)


def _spanned(
    program: str, options: Sequence[str], values: Sequence[str]
) -> tuple[str, tuple[int | None, int | None, int | None, bool | None, bool]] | None:
    """Return the path that a command shows, and from where, to where, how many, whether numbered, whether the last."""
    numbered = program == "nl" or "-n" in options if program in ("cat", "nl") else program == "open"
    if program == "sed":
        found = _SPAN.fullmatch(values[0]) if options == ["-n"] and len(values) == 2 else None
        if found is None:
            return None
        start = int(found[1])
        end = None if found[2] == "$" else int(found[2] or start)
        return values[1], (start, end, None, False, False)
    if program in ("head", "tail"):
        count = next((option.lstrip("-nc") for option in options if re.fullmatch(r"-n?\+?\d+", option)), None)
        if "-n" in options and len(values) == 2:
            count, values = values[0], values[1:]
        odd = any(not re.fullmatch(r"-n?\+?\d*", option) for option in options)
        if len(values) != 1 or odd or (count is not None and not re.fullmatch(r"\+?\d+", count)):
            return None
        if program == "tail":
            after = int(count[1:]) if count and count.startswith("+") else None
            return values[0], (after, None, None, False, after is None)
        return values[0], (1, None, int(count or 10), False, False)
    if program == "open":
        return (values[0], (None, None, None, True, False)) if values else None  # SWE-agent's own command
    if len(values) != 1 or not set(options) <= {"-n", "-ba", "-b", "-p", "-pp", "--plain", "a"}:
        return None
    if program == "nl" and "-ba" not in options:
        return None  # blank lines have no number then
    return values[0], (None, None, None, numbered, False)


def mentioned(words: Sequence[str]) -> list[str]:
    """Return the words of a command that look like files or folders, but for the program or the script that it runs."""
    rest = words[1:]
    if _INTERPRETERS.fullmatch(words[0].rsplit("/", 1)[-1]):
        script = next((place for place, word in enumerate(rest) if not word.startswith("-")), len(rest))
        rest = rest[script + 1 :] if "-c" not in rest and "-e" not in rest else []
    values = (word.rpartition("=")[2] if word.startswith("-") else word for word in rest)
    return [word for word in values if re.fullmatch(r"[\w@%+~./-]*(?:/[\w@%+.-]+|\w\.\w+)", word) and "//" not in word]


def named(words: Sequence[str]) -> str:
    """Return a short name of a command for a reader: the program, and its subcommand or script."""
    second = words[1] if len(words) > 1 and re.fullmatch(r"[\w./-]{1,60}", words[1]) and words[1][0] != "-" else ""
    return f"{words[0]:.60} {second}".strip()


def _harmless_git(arguments: Sequence[str]) -> bool:
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-C", "-c") else rest[1:]
    if not rest:
        return True
    if rest[0] in ("stash", "worktree", "submodule", "bisect"):
        return rest[1:2] in (["list"], ["show"], ["status"])
    if rest[0] in ("checkout", "switch"):  # a new branch begins with the files as they are
        return len(rest) == 3 and rest[1] in ("-b", "-c", "-B", "-C", "--create")
    if rest[0] == "reset":
        return not any(each in ("--hard", "--merge", "--keep") for each in rest)
    if rest[0] == "apply":
        return any(each in ("--check", "--stat", "--numstat") for each in rest)
    return rest[0] in _SUBCOMMANDS["git"].split()


def _past_options(words: Sequence[str]) -> list[str]:
    rest = list(words)
    while rest and (rest[0].startswith("-") or _ASSIGNED.match(rest[0])):
        rest = rest[2:] if rest[0] in _TAKES_VALUE else rest[1:]
    return rest
