"""Commands of a shell, read into what they do to files. Whatever is not understood is a doubt, never a guess."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidal_plugins.actions.action import (
    ANYWHERE,
    Action,
    Append,
    Change,
    Delete,
    Doubt,
    Edit,
    Move,
    Place,
    Read,
    ReplaceLines,
    Write,
    doubted,
    placed,
)
from tidal_plugins.actions.patches import changes
from tidal_plugins.actions.paths import normal
from tidal_plugins.actions.shell.lexer import Simple, Unreadable, Word, simple_commands
from tidal_plugins.actions.shell.programs import (
    READERS,
    harmless,
    mentioned,
    named,
    probes,
    reading,
    rewrites,
    unwrapped,
)
from tidal_plugins.patterns import lazy_re

UNREAD = "a command ran that may have changed files"

Folders = tuple[str, ...]
"""The folders in which a command may run; ``""`` is the one in which everything began."""

_QUIET = frozenset("cd export set source mkdir touch chmod true : unset".split())
"""Programs that print nothing, so that the output is that of the one beside them."""

_EDIT_LINES = lazy_re(
    r"(?:edit|insert)(?:[ \t]+(\d+):(\d+)|[ \t]+\d+)?[ \t]*\n(.*?)\n?(?:end_of_(?:edit|insert)\s*)?\Z", re.DOTALL
)
"""An edit of SWE-agent's editor, of the lines that it names or of those at its cursors."""
_MAX_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did to files, in order, and the folders in which the shell may be afterwards.

    ``alone`` says that it ran one program, beside those that print nothing.
    """

    actions: tuple[Action, ...]
    folders: Folders
    alone: bool = True


def read_command(text: str, folders: Folders = ("",), *, depth: int = 0) -> Ran:
    """Read a command that ran in one of these folders."""
    if found := _EDIT_LINES.fullmatch(text.strip()):
        start, end = (int(found[1]), int(found[2]) + 1) if found[1] else (0, 0)
        return Ran((ReplaceLines("", start, end, found[3]),), folders)
    if re.match(r"(?:edit|insert)\b", text.strip()):
        return Ran((_editor_edit(text),), folders)
    try:
        commands = simple_commands(text)
    except Unreadable:
        moved = re.search(r"\b(?:cd|pushd|popd)\b", text) is not None
        return Ran((Doubt("", UNREAD),), (*folders, ANYWHERE) if moved and ANYWHERE not in folders else folders, False)
    found_: list[Action] = []
    alone = sum(_program(each) not in _QUIET for each in commands) == 1
    begun = folders
    for place, each in enumerate(commands):
        sure = _certain(commands, place)
        words = unwrapped([word.text for word in each.words])
        if words and words[0] in ("cd", "pushd", "popd"):
            folders = _entered(each, words, folders)
            continue
        actions = list(_simple(each, words, alone, depth))
        if not sure:
            actions = [part for action in actions for part in doubted(action, f"{_called(words)} may have changed it")]
            actions = [action for action in actions if not isinstance(action, Read)]
        found_ += [part for action in actions for part in placed(action, folders)]
    return Ran(tuple(found_), tuple(dict.fromkeys([*begun, *folders])), alone)


def _certain(commands: Sequence[Simple], place: int) -> bool:
    """Return whether a simple command has run if no word of a failure says otherwise: a test may fail without one."""
    if commands[place].after == "&" or any(each.before == "||" or each.maybe for each in commands):
        return False
    while place and commands[place].before == "&&":
        place -= 1
        if probes(unwrapped([word.text for word in commands[place].words])):
            return False
    return True


def _called(words: Sequence[str]) -> str:
    return named(words) if words and words[0] not in ("done", "fi", ":") else "a command"


def _program(command: Simple) -> str:
    words = unwrapped([word.text for word in command.words])
    return words[0] if words else ":"


def _entered(command: Simple, words: Sequence[str], folders: Folders) -> Folders:
    """Return where the shell is after ``cd``. It may be anywhere if that cannot be told."""
    target = normal(words[1]) if len(words) == 2 and words[0] == "cd" else ""
    if not target or not all(word.plain for word in command.words) or words[1] == "-":
        return (ANYWHERE,)
    return tuple(dict.fromkeys(path for each in folders for path in _below(each, target)))


def _below(folder: str, target: str) -> list[str]:
    if target.startswith(("/", "~")):
        return [target]
    path = normal(f"{folder}/{target}") if folder else target
    return [ANYWHERE] if folder == ANYWHERE else ["" if path == "." else path]


def _simple(command: Simple, words: Sequence[str], alone: bool, depth: int) -> Iterator[Action]:
    for inner in command.inner:
        if depth >= _MAX_DEPTH:
            yield Doubt("", UNREAD)
        else:
            ran = read_command(inner, depth=depth + 1).actions
            yield from (action for action in ran if isinstance(action, Change | Doubt))
    target = next((word for sign, word in reversed(command.redirects) if sign in (">", "1>", ">|", ">>", "1>>")), None)
    appends = any(sign.endswith(">>") for sign, _ in command.redirects)
    for sign, word in command.redirects:
        if word is not target:
            yield from _written(word, None, appends=sign.endswith(">>"))
    if words:
        yield from _done(command, words, alone and target is None and command.after != "|")
    if target is not None:
        yield from _written(target, _output(command, words), appends=appends)


def _written(target: Word, text: str | None, *, appends: bool) -> Iterator[Action]:
    path = normal(target.text)
    if path.startswith("/dev/") or re.fullmatch(r"\d+|-", target.text):
        return
    if not path or not target.plain or target.pattern:
        yield Doubt("", "a command wrote to a file that it does not name")
    elif appends:
        yield Doubt(path, "a command appended to it") if text is None else Append(path, text)
    else:
        yield Write(path, text)


def _output(command: Simple, words: Sequence[str]) -> str | None:
    """Return what a command prints, if the command itself says so."""
    if not words or words == [":"]:
        return "" if not command.fed else None
    if command.before == "|":
        return None
    if words == ["cat"]:
        return command.heredoc if command.fed else None
    plain = all(word.plain and not word.pattern for word in command.words)
    plain = plain and not any(word.startswith("~") for word in words)
    if words[0] == "echo" and plain and not (words[1:2] and words[1].startswith("-")) and "\\" not in "".join(words):
        return " ".join(words[1:]) + "\n"
    if words[0] == "printf" and plain and len(words) == 2 and not re.search(r"%|\\[^n]", words[1]):
        return words[1].replace("\\n", "\n")
    return None


def _done(command: Simple, words: Sequence[str], shows: bool) -> Iterator[Action]:
    """Yield what a command does by itself, without its redirections."""
    program, given = words[0].rsplit("/", 1)[-1], command.words[len(command.words) - len(words) + 1 :]
    paths = [word for word in given if not word.text.startswith("-")]
    plain = all(word.plain for word in given)
    if program in ("rm", "unlink") or words[:2] == ["git", "rm"]:
        yield from _each(paths[words[0] == "git" :], Delete, "--cached" not in words)
    elif program in ("mv", "cp") or words[:2] == ["git", "mv"]:
        yield from _moved(paths[words[0] == "git" :], plain, copied=program == "cp", odd=_odd(given))
    elif program == "tee":
        text = command.heredoc if command.fed and command.before != "|" else None
        for word in paths:
            yield from _written(word, text, appends="-a" in words)
    elif program in ("apply_patch", "applypatch"):
        text = command.heredoc if command.fed else words[1] if len(words) == 2 and plain else None
        yield from changes(text) if text else [Doubt("", "a patch was applied")]
    elif (program == "patch" or words[:2] == ["git", "apply"]) and command.heredoc:
        yield from changes(command.heredoc)
    elif program == "pwd" and shows:
        yield Place(".")
    elif program in ("goto", "scroll_up", "scroll_down", "set_cursors"):
        yield Read("", numbered=True)  # SWE-agent's own commands, whose result shows the open file
    elif program == "create" and len(paths) == 1:
        yield Write(normal(paths[0].text), "\n")  # SWE-agent's own command
    elif program in READERS and not (program == "sed" and not harmless(words)):
        yield from reading(program, given, shows and plain)
    elif not harmless(words):
        told = rewrites(words)
        reason = f"{named(words)} ran since"
        if words[:2] in (["git", "checkout"], ["git", "restore"]) and ("--" in words or words[1] == "restore"):
            told = [word for word in words[words.index("--") if "--" in words else 2 :] if not word.startswith("-")]
        steady = plain and not any(word.pattern for word in given)
        if told is None:  # nobody knows what it does: more likely to what it names than to the rest
            yield from (
                Doubt(path, f"{named(words)} ran on it since") for path in map(normal, mentioned(words)) if path
            )
            reason = f"{reason}, which may change any file"
        yield from (
            [Doubt(path, reason) for path in map(normal, told) if path] if told and steady else [Doubt("", reason)]
        )


def _each(paths: Sequence[Word], kind: type[Delete], real: bool) -> Iterator[Action]:
    for word in paths if real else ():
        path = normal(word.text)
        yield kind(path) if path and word.plain else Doubt("", "a command deleted files that it does not name")


def _odd(given: Sequence[Word]) -> bool:
    """Return whether ``mv`` or ``cp`` has an option that makes it move to somewhere else, or not always."""
    return any(re.match(r"-\w*[tTnubis]|--(?!recursive|force|verbose)", word.text) for word in given)


def _moved(paths: Sequence[Word], plain: bool, *, copied: bool, odd: bool) -> Iterator[Action]:
    """Yield the moves of ``mv a b`` and of ``mv a b folder``. A path that ends with ``/`` is a folder."""
    if len(paths) < 2 or not plain or odd or any(word.pattern for word in paths):
        yield Doubt("", "a command moved files that it does not name")
        return
    *sources, target = [word.text for word in paths]
    for source in map(normal, sources):
        to = f"{target.rstrip('/')}/{source.rpartition('/')[2]}" if len(sources) > 1 or target.endswith("/") else target
        yield Move(source, normal(to), copied)


def _editor_edit(text: str) -> Action:
    """Read ``edit 'old' 'new'`` of SWE-agent's editor, or another of its edits, which only the result tells."""
    try:
        (command,) = simple_commands(text)
    except (Unreadable, ValueError):
        return ReplaceLines("", 0, 0, "")
    words = [word.text for word in command.words]
    if words[0] == "edit" and len(words) in (3, 4) and not command.redirects:
        return Edit("", words[1], words[2], words[3:] == ["True"])
    return ReplaceLines("", 0, 0, "")
