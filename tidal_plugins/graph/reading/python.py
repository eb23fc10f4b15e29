"""Python code: imports, definitions, calls and errors, read from its syntax tree."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from tidal_plugins.graph.reading.mentions import mention
from tidal_plugins.model.graph import Assertion, Mention
from tidal_plugins.patterns import lazy_re

SURE = 0.95
"""Confidence of what the syntax tree says."""
MAX_CODE = 100_000
"""Characters of code that are parsed."""
MAX_LINE = 1000
"""Characters of its longest line."""
MAX_DEPTH = 60
"""Brackets that are open at a time, because the parser's stack is limited."""

MAX_SPAN = 300
"""Characters of code that are evidence for one statement."""

_ESCAPE = lazy_re(r"\\[^\n]")
_BRACKET = lazy_re(r"[(\[{]|[)\]}]")
_BUILTINS = frozenset(dir(builtins))

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parsed(code: str) -> ast.Module | None:
    """Return the syntax tree of code, or ``None`` if it has none or is too large or deep to be parsed safely."""
    if len(code) > MAX_CODE or any(len(line) > MAX_LINE for line in code.split("\n")) or _depth(code) > MAX_DEPTH:
        return None
    try:
        return ast.parse(_tamed(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def read(tree: ast.Module, text: str, start: int, end: int, file: Mention | None) -> Iterator[Assertion | Mention]:
    """Yield what the syntax tree of ``text[start:end]`` says."""
    return _Reader(text, start, end, file).module(tree)


def _together(one: Mention, other: Mention) -> tuple[int, int]:
    """Return the span from one name to the other, or that of the other alone if it is long."""
    return (one.start if 0 <= other.end - one.start <= MAX_SPAN else other.start), other.end


def _depth(code: str) -> int:
    steps = (1 if bracket[0] in "([{" else -1 for bracket in _BRACKET.finditer(code))
    return max(accumulate(steps), default=0)


def _tamed(code: str) -> str:
    """Return code without escapes, of which the parser warns, and with one kind of line ends, at the same offsets."""
    return _ESCAPE.sub("__", code.replace("\r\n", " \n").replace("\r", " "))


@dataclass(slots=True)
class _Reader:
    text: str
    start: int
    end: int
    file: Mention | None
    lines: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    imported: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.lines = self.text[self.start : self.end].split("\n")
        self.offsets = [0, *accumulate(len(line) + 1 for line in self.lines)]

    def module(self, tree: ast.Module) -> Iterator[Assertion | Mention]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from self._import(node)
        for node in tree.body:
            yield from self._statement(node, None)
        for node in ast.walk(tree):
            yield from self._environment(node)

    def _statement(self, node: ast.stmt, owner: Mention | None) -> Iterator[Assertion | Mention]:
        if isinstance(node, ast.ClassDef):
            yield from self._class(node, owner)
        elif isinstance(node, Function):
            yield from self._function(node, owner, frozenset())
        elif isinstance(node, ast.Assign | ast.AnnAssign) and owner is None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id.isupper() and len(target.id) > 1:
                    yield self._at(target, "variable", target.id)

    def _class(self, node: ast.ClassDef, owner: Mention | None) -> Iterator[Assertion | Mention]:
        name = self._declared(node, "class")
        if name is None:
            return
        yield from self._placed(name, owner)
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id not in _BUILTINS:
                other = self._at(base, "class", base.id)
                yield Assertion(name, "extends", other, name.start, other.end, SURE)
        methods = frozenset(item.name for item in node.body if isinstance(item, Function))
        for item in node.body:
            if isinstance(item, Function):
                yield from self._function(item, name, methods)
            else:
                yield from self._statement(item, name)

    def _function(
        self, node: Function, owner: Mention | None, methods: frozenset[str]
    ) -> Iterator[Assertion | Mention]:
        name = self._declared(node, "function")
        if name is None:
            return
        if not (node.name.startswith("__") and node.name.endswith("__")):
            yield from self._placed(name, owner)
        local = {child.name for child in ast.walk(node) if isinstance(child, Function) and child is not node}
        arguments = {child.arg for child in ast.walk(node) if isinstance(child, ast.arg)}
        for child in ast.walk(node):
            if isinstance(child, ast.Call):
                yield from self._call(name, child.func, methods, arguments | local)
            elif isinstance(child, ast.Raise):
                yield from self._raise(name, child.exc)

    def _call(
        self, name: Mention, called: ast.expr, methods: frozenset[str], hidden: set[str]
    ) -> Iterator[Assertion | Mention]:
        if isinstance(called, ast.Name):
            if called.id in _BUILTINS or called.id in hidden or called.id == name.name:
                return
            other = self._at(called, "class" if called.id[0].isupper() else "function", called.id)
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            root = called.value.id
            if root in ("self", "cls") and called.attr in methods:
                end = self._offset(called.end_lineno, called.end_col_offset)
                other = mention(self.text, "function", end - len(called.attr), end)
            elif root in self.imported and root not in hidden:
                other = self._at(called, "function", f"{root}.{called.attr}")
            else:
                return
        else:
            return
        if self.text[other.start : other.end] == other.name:
            yield Assertion(name, "calls", other, *_together(name, other), SURE)

    def _raise(self, name: Mention, raised: ast.expr | None) -> Iterator[Assertion]:
        error = raised.func if isinstance(raised, ast.Call) else raised
        if isinstance(error, ast.Name) and error.id[0].isupper():
            other = self._at(error, "error", error.id)
            yield Assertion(name, "raises", other, *_together(name, other), SURE)

    def _import(self, node: ast.Import | ast.ImportFrom) -> Iterator[Assertion | Mention]:
        self.imported |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from self._module(self._at(alias, "module", alias.name))
            return
        if node.module:
            begin = self._offset(node.lineno, node.col_offset)
            position = self.text.find(node.module, begin, self.end)
            if position >= 0:  # not where it is written with spaces or a continued line
                yield from self._module(mention(self.text, "module", position, position + len(node.module)))
        for alias in node.names:
            if alias.name != "*":
                type = "class" if alias.name[0].isupper() and not alias.name.isupper() else "symbol"
                yield self._at(alias, "variable" if alias.name.isupper() else type, alias.name)

    def _module(self, module: Mention) -> Iterator[Assertion | Mention]:
        yield module
        if self.file:
            yield Assertion(self.file, "imports", module, module.start, module.end, SURE)

    def _environment(self, node: ast.AST) -> Iterator[Mention]:
        """Return the variable in ``os.environ["NAME"]`` and ``os.getenv("NAME")``."""
        if isinstance(node, ast.Subscript):
            source, key = node.value, node.slice
        elif isinstance(node, ast.Call) and node.args:
            source, key = node.func, node.args[0]
        else:
            return
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str) or not isinstance(source, ast.Attribute):
            return
        inner = source.value.attr if source.attr == "get" and isinstance(source.value, ast.Attribute) else source.attr
        if inner in ("environ", "getenv"):
            within = self._offset(key.lineno, key.col_offset), self._offset(key.end_lineno, key.end_col_offset)
            start = self.text.find(key.value, *within)
            if key.value and start >= 0:
                yield mention(self.text, "variable", start, start + len(key.value))

    def _placed(self, name: Mention, owner: Mention | None) -> Iterator[Assertion | Mention]:
        yield name
        if owner:
            yield Assertion(owner, "contains", name, *_together(owner, name), SURE)
        elif self.file:
            yield Assertion(name, "defined_in", self.file, name.start, name.end, SURE)

    def _declared(self, node: Function | ast.ClassDef, type: str) -> Mention | None:
        begin = self._offset(node.lineno, node.col_offset)
        found = re.compile(rf"(?:async\s+)?(?:def|class)\s+({re.escape(node.name)})").match(self.text, begin)
        return mention(self.text, type, *found.span(1)) if found else None

    def _at(self, node: ast.expr | ast.alias, type: str, name: str) -> Mention:
        start = self._offset(node.lineno, node.col_offset)
        return mention(self.text, type, start, start + len(name))

    def _offset(self, line: int | None, column: int | None) -> int:
        """Return a position in the text; the parser counts columns in bytes."""
        assert line is not None  # every node of a parsed tree has both
        assert column is not None
        said = self.lines[line - 1]
        if not said.isascii():
            column = len(said.encode()[:column].decode(errors="ignore"))
        return self.start + self.offsets[line - 1] + column
