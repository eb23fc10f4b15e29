"""Commands of a shell: the files that they name, and whether they only look. No shell is simulated.

A content is known where the command holds it (a here-document, a patch) or its result shows it (``cat file``). Whatever
else a command may have changed is a doubt.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from tidal_plugins.actions.calls import Action, Delete, Doubt, Edit, Move, Read, Write, changes
from tidal_plugins.actions.paths import joined, normal
from tidal_plugins.patterns import lazy_re

UNREAD = "a command ran that may have changed files"

_SHOWS = lazy_re(
    r"(?:(?:cat|bat)(?P<numbered> -n)?|(?P<nl>nl -ba)|head(?: -n ?| -)(?P<limit>\d+)|(?P<open>open)"
    r"|sed -n ['\"]?(?P<start>\d+)(?:,(?P<end>\d+|\$))?p['\"]?) +['\"]?(?P<path>[^\s;|&<>*?$'\"]+)['\"]?(?(open) *\d*)"
)
"""Commands whose output is a file, or lines of one. ``open`` is SWE-agent's."""
_WINDOW = lazy_re(
    r"(?s)(?:goto|scroll_up|scroll_down|set_cursors)\b.*|(?P<edit>edit|insert)\b(?P<lines>[ \t]+\d+(?::\d+)?)?[ \t]*\n?"
    r"(?P<text>.*?)\n?(?:end_of_(?:edit|insert)\s*)?"
)
"""SWE-agent's editor, whose results show a part of the file that is open."""

_HEREDOC = lazy_re(r"""(?m)<<-?\s*(["']?)([\w-]+)\1(.*)\n((?:.*\n)*?)\s*\2$""")
_SILENCED = lazy_re(r"\d?>&\d|(?:\d|&)?>>?\s*/dev/(?:null|stdout|stderr)")
_INNER = lazy_re(r"\$\(([^()]*)\)|`([^`]*)`")
_SIGNS = ";&|()<>\n"
_BEFORE = lazy_re(
    r"(?:(?:\w+=\S*|do|done|then|else|fi|if|elif|while|until|time|!|\{|\}|sudo|nohup|command|env|npx|bunx|uvx|exec"
    r"|timeout \S+"
    r"|(?:uv|poetry|pipenv|pdm|hatch|pnpm|yarn|bundle) (?:run|exec)|python[\d.]* -m) )+"
)
"""What stands before a program that runs: keywords, assignments, and programs that only run another."""
_UNSURE = frozenset("|| & if for while until case test [ [[ grep rg diff cmp false ! elif".split())
"""Signs and words after which a command may not have run, without any word of it."""
_QUIET = frozenset("cd export set source mkdir touch chmod true : unset".split())
_FILE = lazy_re(r"[\w@%+~./-]*(?:/[\w@%+.-]+|\w\.\w+)")
_ONLY = frozenset("black isort prettier gofmt rustfmt clang-format eslint stylelint ruff shfmt autopep8".split())
"""Programs that change the files that they name, and no others."""
_IN_PLACE = lazy_re(r"(?:sed|perl) -\w*i")

_LOOKS = frozenset(
    "[ [[ ack ag awk basename bat bg cal cat cd chmod chown cmp column comm curl cut date df diff dig dirname du echo "
    "egrep env exit export false fd fg fgrep file find find_file for free git grep groups head help hexdump host "
    "hostname htop id jobs jq kill ldd less ls lsof man md5sum mkdir more mypy netstat nl nproc nslookup od pgrep ping "
    "pip printenv printf ps pwd pyright pytest read readlink realpath rg rmdir search_dir search_file seq set sha1sum "
    "sha256sum shasum sleep sort source ssh stat strings submit tac tail test top touch tox tr tree true type ulimit "
    "umask uname uniq unset uptime wait wc which who whoami xargs xxd nvidia-smi apt apt-get brew flake8 pylint jest "
    "vitest mocha rspec unittest nox ctest yamllint kubectl psql systemctl openssl promtool : gh case".split()
)
"""Programs that only look, test, talk to others, or install what is no file of the work."""
_WRITES = lazy_re(
    r"(?:awk .*>|curl .*-\w*[oO]\b|find .*-(?:delete|exec|ok|fprint)|fd .*-[xX]\b|sort .*-\w*o|uniq \S+ \S|xxd -r"
    r"|xargs .*\b(?:rm|mv|sed|perl)\b|pip .*-t\b|git reset .*--(?:hard|merge|keep))"
)
"""With these options they write after all."""
_LOOKING = lazy_re(
    r"git (?:(?:checkout|switch) -[bc] \S+$|reset\b|(?:stash|worktree|submodule) (?:list|show|status))|sed -n [\d,$]+p"
)
_CHECKS = {
    "git": "status log diff show blame branch fetch add commit push tag remote config rev-parse ls-files describe grep "
    "reflog shortlog rev-list merge-base init check-ignore notes help --version",
    "cargo": "test check build clippy bench doc tree", "go": "test vet build list", "make": "test tests check lint -n",
    "npm": "test ci ls install", "yarn": "test", "pnpm": "test", "bun": "test", "uv": "pip sync tree", "ruff": "check",
    "docker": "ps logs images inspect version", "terraform": "plan validate show", "dotnet": "test build",
    "mvn": "test verify", "gradle": "test check", "node": "--test", "tsc": "--noEmit", "just": "test lint",
}  # fmt: skip
_SCRIPT = lazy_re(r"(?:test|lint|check|typecheck)(?:[:.-](?!fix|write|update)\w+)*")
_DRY = lazy_re(r"--check(?:-only)?|--diff|--list-different|--dry-run|--version|--help|-V")
_MENDS = lazy_re(r"--fix.*|--unsafe-fixes|--write|--in-place|-w|-i")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did to files, in order. ``alone``: one program ran, beside those that print nothing.

    ``left`` says that the shell may be in another folder afterwards.
    """

    actions: tuple[Action, ...]
    alone: bool = True
    left: bool = False


@dataclass(slots=True)
class _Simple:
    """A simple command: its words, the files of its redirections, and the text that a here-document feeds it."""

    words: list[str] = field(default_factory=list)
    writes: list[tuple[str, bool]] = field(default_factory=list)
    fed: str | None = None
    piped: bool = False


def read_command(text: str, folder: str | None = "") -> Ran:
    """Return what a command does to files. ``folder`` is the one in which it runs; ``None`` if nobody knows."""
    text = text.strip()
    if found := _WINDOW.fullmatch(text):
        return Ran((_window(found) if found["edit"] else Read("", numbered=True),))
    try:
        commands, signs = _parsed(text)
    except ValueError:  # unbalanced quotes
        return Ran((Doubt("", UNREAD),), alone=False, left="cd " in text)
    loud = [each for each in commands if each.words and each.words[0] not in _QUIET]
    sure = signs.isdisjoint(_UNSURE)
    did: list[Action] = []
    left = False
    for each in commands:
        if each.words[:1] in (["cd"], ["pushd"], ["popd"]):
            target = normal(each.words[1]) if len(each.words) == 2 else ""
            plain = folder is not None and target and "$" not in target and each.words[0] == "cd"
            folder, left = joined(folder or "", target) if plain else None, True
            folder = "" if folder == "." else folder
            continue
        alone = [each] == loud and not each.piped and not each.writes
        for action in _simple(each, text if alone else ""):
            did += _placed(action if sure else _unsure(action, _called(each.words)), folder)
    return Ran(tuple(did), len(loud) == 1, left)


def _parsed(text: str) -> tuple[list[_Simple], set[str]]:
    """Split a command at its signs. What ``$(…)`` runs is a command of its own. Return the first words too."""
    bodies: list[str | None] = []

    def taken(found: re.Match[str]) -> str:
        open_ = not found[1] and re.search(r"[$`]", found[4])  # the shell fills it
        bodies.append(None if open_ else found[4])
        return f"<<{len(bodies) - 1} {found[3]}\n"

    lexer = shlex.shlex(_SILENCED.sub(" ", _HEREDOC.sub(taken, f"{text}\n")), posix=True, punctuation_chars=_SIGNS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    now = _Simple()
    commands, signs = [now], set[str]()
    comment, sign = False, ""
    for token in lexer:
        if set(token) <= set(_SIGNS):
            comment, sign = comment and "\n" not in token, token.strip()
            if not comment and ("<" not in sign and ">" not in sign):
                signs.add(sign)
                commands.append(now := _Simple(piped=sign == "|"))
            continue
        comment = comment or token.startswith("#")
        if comment:
            continue
        if ">" in sign:
            now.writes.append((token, ">>" in sign))
        elif sign.startswith("<<") and token.isdecimal() and int(token) < len(bodies):
            now.fed = bodies[int(token)]
        elif "<" not in sign:
            now.words.append(token)
            for inner in _INNER.findall(token) if "git commit" not in text or "rm " in token else ():
                commands += _parsed(inner[0] or inner[1])[0]
        sign = ""
    for each in commands:
        signs.update(each.words[:1])
        found = _BEFORE.match(" ".join([*each.words, ""]))
        each.words = each.words[len(found[0].split()) if found else 0 :]
    return [each for each in commands if each.words or each.writes], signs


def _window(found: re.Match[str]) -> Edit:
    """Return an edit in SWE-agent's editor: of lines by their numbers, or ``edit 'old' 'new'``."""
    with suppress(ValueError):
        words = [] if found["lines"] else shlex.split(found["text"])
        if len(words) in (2, 3) and found["edit"] == "edit":
            return Edit("", words[0], words[1], words[2:] == ["True"])
    return Edit("", None, found["text"])


def _simple(command: _Simple, text: str) -> Iterator[Action]:
    """Yield what a simple command does. ``text`` is the whole command, where its result is that of this one."""
    words = command.words or [":"]
    program, given = words[0].rsplit("/", 1)[-1], words[1:]
    if program == "git" and given[:1] in (["rm"], ["mv"], ["apply"]):
        program, given = given[0], given[1:]
    paths = [word for word in given if not word.startswith("-")]
    known = command.fed if program in ("cat", "tee") and not command.piped else None
    for path, appends in command.writes:
        yield Write(path, known, appends)
    if program in ("rm", "unlink"):
        yield from map(Delete, () if "--cached" in given else paths)
    elif program in ("mv", "cp"):
        *sources, to = paths or [""]
        many = len(sources) > 1 or to.endswith("/")
        yield from (Move(each, f"{to}/{each.rpartition('/')[2]}" if many else to, program == "cp") for each in sources)
    elif program == "tee":
        yield from (Write(path, known, "-a" in given) for path in paths)
    elif program in ("apply_patch", "applypatch", "patch", "apply") and (patch := command.fed or _last(given, "\n")):
        yield from changes(patch)
    elif program == "create":
        yield from (Write(path, "\n") for path in paths)  # SWE-agent's own command
    elif found := _SHOWS.fullmatch(text):
        start, end, limit = (int(n) if n and n.isdecimal() else None for n in found.group("start", "end", "limit"))
        end = start if start and found["end"] is None else end
        yield Read(found["path"], start, end, limit, bool(found["numbered"] or found["nl"] or found["open"]))
    elif not _looks(program, words):
        named = [
            word.rpartition("=")[2] for word in given[program.startswith(("python", "node", "ruby", "bash", "sh")) :]
        ]
        named = [word for word in named if _FILE.fullmatch(word) and "//" not in word]
        restored = words[:2] in (["git", "checkout"], ["git", "restore"])
        yield from (Doubt(word, f"{_called(words)} ran on it since") for word in named)
        if not named or not (restored or program in _ONLY or _IN_PLACE.match(" ".join(words))):
            yield Doubt("", f"{_called(words)} ran since, which may change any file")


def _looks(program: str, words: Sequence[str]) -> bool:
    """Return whether a command changes no file but those of its redirections."""
    given = words[1:]
    if program == "git":
        given = given[2:] if given[:1] in (["-C"], ["-c"]) else given
    text = " ".join([program, *given])
    if words[0].startswith("./") or _WRITES.match(text):
        return False
    checks = any(map(_DRY.fullmatch, given))
    if _LOOKING.match(text):
        return True
    if program in _CHECKS or program in _ONLY:
        first = next((each for each in given if each != "run"), "")
        scripts = given[:1] == ["run"] or program in ("make", "just", "yarn", "pnpm", "bun")
        looks = first in _CHECKS.get(program, "").split() or (scripts and _SCRIPT.fullmatch(first) is not None)
        return (checks or looks) and not any(map(_MENDS.fullmatch, given))
    return checks or program in _LOOKS


def _unsure(action: Action, name: str) -> Action:
    """Return a doubt in place of a change that may not have happened."""
    if isinstance(action, Read | Doubt):
        return action
    path = action.to if isinstance(action, Move) and action.copied else action.path
    return Doubt(path, f"{name} may have changed it")


def _placed(action: Action, folder: str | None) -> Iterator[Action]:
    """Yield an action with its paths in its folder, or a doubt where they cannot be told."""
    if action == Doubt("", getattr(action, "reason", "")):
        yield action
        return
    paths = {"path": normal(action.path)} | ({"to": normal(action.to)} if isinstance(action, Move) else {})
    strange = r"[$`~]" if isinstance(action, Delete) else r"[$`~*?\[]"
    if not all(paths.values()) or any(re.search(strange, path) for path in paths.values()):
        yield Doubt("", "a command changed a file that it does not name")
    elif folder is not None or all(path.startswith("/") for path in paths.values()):
        here = joined(folder or "", paths["path"])
        if isinstance(action, Move):
            yield Move(here, joined(folder or "", paths["to"]), action.copied)
        else:
            yield replace(action, path=here)
    elif not isinstance(action, Read):
        yield Doubt("", "a command changed a file in a folder that it does not name")


def _last(given: Sequence[str], sign: str) -> str | None:
    return given[-1] if given and sign in given[-1] else None


def _called(words: Sequence[str]) -> str:
    """Return a short name of a command for a reader: the program, and its subcommand or script."""
    second = words[1] if len(words) > 1 and re.fullmatch(r"[\w./]{1,60}", words[1]) else ""
    return f"{words[0]:.60} {second}".strip() if words else "a command"
