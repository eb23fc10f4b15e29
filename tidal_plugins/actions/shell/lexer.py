"""Lexer: a shell command split into simple commands with their words, redirections and here-documents."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tidal_plugins.patterns import lazy_re

MAX_CHARS = 200_000
"""Characters of a command that is read; a longer one (a generated file) is taken for one that does anything."""

_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "\n", "(", ")")
_REDIRECT = lazy_re(r"(\d*|&)(<<<|<<-|<<|>>|>\||>&|<&|<>|>|<)")
_KEYWORDS = frozenset("case esac select function { } [[ ]] coproc eval source .".split())
_PREFIXES = frozenset("if then elif else while until do !".split())
"""Words of loops and conditions that stand before a command."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes. It is not ``plain`` if the shell expands something in it."""

    text: str
    plain: bool = True
    pattern: bool = False
    """Whether it has ``*``, ``?`` or ``[`` outside of quotes."""


@dataclass(slots=True)
class Simple:
    """A simple command. ``before`` and ``after`` are the operators beside it; ``\\n`` counts as ``;``."""

    words: list[Word] = field(default_factory=list)
    redirects: list[tuple[str, Word]] = field(default_factory=list)
    heredoc: str | None = None
    """The text of its here-document, without a final newline of its own; ``None`` for none or one with expansions."""
    fed: bool = False
    """Whether it has a here-document."""
    before: str = ""
    after: str = ""
    inner: list[str] = field(default_factory=list)
    """The commands of its substitutions ``$(…)``."""
    maybe: bool = False
    """Whether it is one of a text with loops or conditions: it may have run, once or several times, or not at all."""


class Unreadable(ValueError):
    """A command that this lexer does not understand."""


def simple_commands(text: str) -> list[Simple]:
    """Split a command. Raises ``Unreadable`` for functions, cases, subshells and broken quotes."""
    if len(text) > MAX_CHARS:
        raise Unreadable
    return _Lexer(text.replace("\\\n", "")).run()


def _unlooped(commands: list[Simple]) -> list[Simple]:
    """Take the commands of loops and conditions out of them. ``done`` and ``fi`` stay, with their redirections."""
    firsts = {each.words[0].text for each in commands if each.words}
    if not firsts & {*_PREFIXES, "for"}:
        return commands
    for each in commands:
        each.maybe = True
        while each.words and each.words[0].text in _PREFIXES:
            del each.words[0]
        if each.words and each.words[0].text == "for":
            each.words = []
    if any(each.words and each.words[0].text in _KEYWORDS for each in commands):
        raise Unreadable
    return [each for each in commands if each.words or each.redirects or each.inner]


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._commands = [Simple()]
        self._waiting: list[tuple[Simple, str, bool, bool]] = []  # here-documents whose lines come after this one

    def run(self) -> list[Simple]:
        while self._at < len(self._text):
            self._step()
        if self._waiting:
            raise Unreadable
        found = [each for each in self._commands if each.words or each.redirects]
        if any(each.words and each.words[0].text in _KEYWORDS for each in found):
            raise Unreadable
        return _unlooped(found)

    def _step(self) -> None:
        text, current = self._text, self._commands[-1]
        char = text[self._at]
        if char in " \t\r":
            self._at += 1
        elif char == "#":
            self._at = (text + "\n").index("\n", self._at)
        elif operator := next((each for each in _OPERATORS if text.startswith(each, self._at)), None):
            if operator == "&" and text.startswith("&>", self._at):
                self._redirect(current)
                return
            self._operator(operator)
        elif _REDIRECT.match(text, self._at):
            self._redirect(current)
        else:
            current.words.append(self._word(current))

    def _operator(self, operator: str) -> None:
        if operator in ("(", ")", ";;"):
            raise Unreadable
        self._at += len(operator)
        sign = ";" if operator == "\n" else operator
        current = self._commands[-1]
        if operator == "\n":
            self._documents()
        if current.words or current.redirects:
            current.after = sign
            self._commands.append(Simple(before=sign))
        elif sign != ";":
            raise Unreadable

    def _redirect(self, current: Simple) -> None:
        found = _REDIRECT.match(self._text, self._at)
        if found is None:
            raise Unreadable
        self._at = found.end()
        source, sign = found[1], found[2]
        while self._at < len(self._text) and self._text[self._at] in " \t":
            self._at += 1
        quoted = self._text[self._at : self._at + 1] in ("'", '"', "\\")
        target = self._word(current)
        if sign in ("<<", "<<-"):
            current.fed = True
            self._waiting.append((current, target.text, sign == "<<-", quoted))
        elif sign in (">", ">>", ">|", ">&", "<>"):
            current.redirects.append((source + sign, target))

    def _documents(self) -> None:
        """Read the here-documents that begin with this line."""
        for command, mark, tabs, quoted in self._waiting:
            lines: list[str] = []
            while True:
                if self._at >= len(self._text):
                    raise Unreadable
                line, _, _ = self._text[self._at :].partition("\n")
                self._at += len(line) + 1
                line = line.lstrip("\t") if tabs else line
                if line == mark:
                    break
                lines.append(line)
            body = "".join(f"{line}\n" for line in lines)
            command.heredoc = body if quoted or not re.search(r"[$`\\]", body) else None
        self._waiting.clear()

    def _word(self, current: Simple) -> Word:
        text, start, out = self._text, self._at, []
        plain, pattern = True, False
        while self._at < len(text):
            char = text[self._at]
            if char in " \t\r\n;|&()<>":
                break
            if char == "'":
                end = text.find("'", self._at + 1)
                if end < 0:
                    raise Unreadable
                out.append(text[self._at + 1 : end])
                self._at = end + 1
            elif char == '"':
                piece, steady = self._double(current)
                out.append(piece)
                plain = plain and steady
            elif char == "\\":
                out.append(text[self._at + 1 : self._at + 2])
                self._at += 2
            elif char in "$`":
                plain = False
                out.append(self._expansion(current))
            else:
                pattern = pattern or char in "*?["
                plain = plain and char not in "{}" and not (char == "~" and self._at > start)
                out.append(char)
                self._at += 1
        if self._at == start:
            raise Unreadable
        return Word("".join(out), plain, pattern)

    def _double(self, current: Simple) -> tuple[str, bool]:
        text, out, steady = self._text, [], True
        self._at += 1
        while self._at < len(text) and text[self._at] != '"':
            char = text[self._at]
            if char == "\\" and text[self._at + 1 : self._at + 2] in ('"', "\\", "$", "`"):
                out.append(text[self._at + 1])
                self._at += 2
            elif char in "$`":
                steady = False
                out.append(self._expansion(current))
            else:
                out.append(char)
                self._at += 1
        if self._at >= len(text):
            raise Unreadable
        self._at += 1
        return "".join(out), steady

    def _expansion(self, current: Simple) -> str:
        """Pass over a variable or a substitution, and note the command of the latter."""
        text, start = self._text, self._at
        if text[start] == "`":
            end = text.find("`", start + 1)
            if end < 0:
                raise Unreadable
            current.inner.append(text[start + 1 : end])
            self._at = end + 1
        elif text.startswith("$(", start):
            depth, end = 0, start + 1
            while end < len(text):
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
                if depth == 0:
                    break
            if depth:
                raise Unreadable
            current.inner.append(text[start + 2 : end - 1])
            self._at = end
        else:
            found = re.compile(r"\$(?:\{[^}]*\}|\w+|.|\Z)", re.DOTALL).match(text, start)
            self._at = found.end() if found else start + 1
        return text[start : self._at]
