"""Outline: what a file of code defines, imports, extends and calls, as queries of its grammar find it.

What is a class, a function or a call is asked of the ``tags.scm`` that a grammar brings; ``queries/`` has what these do
not tell: bases, imports, the types of variables, and all of the grammars that bring no usable one. The grammars are an
extra, ``tidal-plugins[code]``. A query has these captures:

- ``@definition.*`` with ``@name``, and ``@owner`` for a method that stands outside of its class
- ``@reference.call`` and ``@reference.class`` with ``@name``, and ``@caller`` for one outside of what calls; what
  stands before a name is the object
- ``@extension`` with ``@owner``: a block with methods of a class; ``@base``: what the class around it extends
- ``@variable`` or ``@field`` with its ``@type`` or ``@value``; ``@parameter``: a name that hides those of the file
- ``@module``, or ``@module.near`` for a path beside the file, with the ``@member`` of it and its ``@alias``, which may
  stand by themselves in an ``@import``; ``@use``: a statement that names several
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from tidal_plugins.english.sentences import sentences
from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

MAX_CODE = 200_000
"""Characters of code that are parsed. The slowest text found, unclosed templates of C++, took 2.7 s."""
MAX_MEAN_LINE = 300
"""Characters of a line on average above which code is taken for minified. Sources of these languages have 20 to 60."""
MAX_DEFINED = 2_000
"""Definitions, and calls and imports for each of them on average, that are taken from one file: more is a listing."""
MAX_DEPTH = 150
"""Nodes in one another in which queries begin. Hand-written code of the projects that were looked at has up to 60."""


MAX_CHILDREN = 20_000
"""Children of one node. A query takes time quadratic in them: half a second for these, half a minute for 180,000."""


class _Grammar(NamedTuple):
    package: str
    function: str
    extensions: str
    tags: Sequence[str] = ()
    """The packages whose ``tags.scm`` is asked."""
    queries: Sequence[str] = ()
    """The queries of this package; empty for the one that has the language's name."""


_JS, _TS = "tree_sitter_javascript", "tree_sitter_typescript"
_GRAMMARS = {
    "python": _Grammar("tree_sitter_python", "language", "py pyi pyw", ["tree_sitter_python"]),
    "javascript": _Grammar(_JS, "language", "js jsx mjs cjs", [_JS], ["ecma", "javascript"]),
    "typescript": _Grammar(_TS, "language_typescript", "ts mts cts", [_JS, _TS], ["ecma", "typescript"]),
    "tsx": _Grammar(_TS, "language_tsx", "tsx", [_JS, _TS], ["ecma", "typescript"]),
    "go": _Grammar("tree_sitter_go", "language", "go", ["tree_sitter_go"]),
    "rust": _Grammar("tree_sitter_rust", "language", "rs", ["tree_sitter_rust"]),
    "java": _Grammar("tree_sitter_java", "language", "java", ["tree_sitter_java"]),
    "c": _Grammar("tree_sitter_c", "language", "c"),
    "cpp": _Grammar("tree_sitter_cpp", "language", "h cc cpp cxx hpp hh hxx", queries=["c", "cpp"]),
    "c_sharp": _Grammar("tree_sitter_c_sharp", "language", "cs"),
    "ruby": _Grammar("tree_sitter_ruby", "language", "rb rake"),
    "php": _Grammar("tree_sitter_php", "language_php", "php", ["tree_sitter_php"]),
    "sql": _Grammar("tree_sitter_sql", "language", "sql"),
    "bash": _Grammar("tree_sitter_bash", "language", "sh bash"),
}
_BY_EXTENSION = {f".{end}": name for name, grammar in _GRAMMARS.items() for end in grammar.extensions.split()}
_KINDS = {
    **dict.fromkeys(["definition.class", "definition.interface", "definition.type"], "class"),
    **dict.fromkeys(["definition.function", "definition.method"], "function"),
    "definition.table": "table",
    "extension": "extension",
}
SCRIPTS = frozenset(["javascript", "typescript", "tsx"])
BY_FILE = frozenset([*SCRIPTS, "python"])
"""Languages in which a module is a file, and a file knows only the names that it defines or imports."""


class Definition(NamedTuple):
    """A class, function or table by its qualified name, with its line, counted from 0, and the class around it.

    ``doc`` is the first sentence of its docstring, or of the comment right before it.
    """

    name: str
    kind: str
    line: int
    owner: str | None = None
    doc: str = ""


class Base(NamedTuple):
    """A class and the name of one that it extends."""

    name: str
    base: str
    line: int


class Call(NamedTuple):
    """A call by a function (``None`` for the file itself), of ``name`` of a class or module ``of``, if it has one."""

    caller: str | None
    of: str | None
    name: str
    line: int


class Import(NamedTuple):
    """A module that is imported in a line, counted from 0. ``names`` are the local names with those in the module,
    ``None`` for the module itself. ``near`` says that it is a path beside the file."""

    module: str
    line: int
    names: dict[str, str | None]
    near: bool = False


@dataclass(slots=True)
class Outline:
    language: str
    definitions: dict[str, Definition] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    bases: list[Base] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    damaged: bool = False
    """Whether some of the text is no code of the language."""


def language_of(path: str) -> str | None:
    """Return the language of a file by the end of its name, or ``None`` for what is no code."""
    return _BY_EXTENSION.get(PurePosixPath(path).suffix.lower())


def language_named(name: str) -> str | None:
    """Return the language that a fence of Markdown names, by its own name or by the end of its files' names."""
    other = {"golang": "go", "csharp": "c_sharp", "c++": "cpp", "python3": "python"}.get(name)
    return name if name in _GRAMMARS else _BY_EXTENSION.get(f".{name}", other)


def is_installed(language: str) -> bool:
    """Return whether the grammar of a language is there."""
    return _parser(language) is not None


def outline(text: str, language: str) -> Outline | None:
    """Return the outline of code, as far as it can be parsed.

    Returns ``None`` for code that is too long, minified or an endless list, and where the language's grammar is not
    installed.
    """
    if len(text) > MAX_CODE or len(text) > MAX_MEAN_LINE * (text.count("\n") + 2):
        return None
    found = _parser(language)
    if found is None:
        return None
    from tree_sitter import QueryCursor

    parser, query = found
    root = parser.parse(text.encode(errors="replace")).root_node
    if _is_endless(root):
        return None
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(MAX_DEPTH)
    return _Reading(Outline(language, damaged=root.has_error)).run(cursor.matches(root))


def _is_endless(root: Node) -> bool:
    """Return whether a node has more children than a query can take in a bounded time."""
    left = [root]
    while left:
        node = left.pop()
        if node.child_count > MAX_CHILDREN:
            return True
        left += [child for child in node.children if child.descendant_count > MAX_CHILDREN]
    return False


@cache
def _parser(language: str) -> tuple[Parser, Query] | None:
    grammar = _GRAMMARS[language]
    try:
        from tree_sitter import Language, Parser, Query

        found = Language(getattr(importlib.import_module(grammar.package), grammar.function)())
        tags = [(files(package) / "queries/tags.scm").read_text("utf-8") for package in grammar.tags]
    except ImportError:
        return None
    own = [(files(__package__) / f"queries/{name}.scm").read_text("utf-8") for name in grammar.queries or [language]]
    return Parser(found), Query(found, "\n".join([*map(_without_comments, tags), *own]))


def _without_comments(tags: str) -> str:
    """Return a query without the comments before definitions: thousands of them in a row would take a minute."""
    return re.sub(r"\(comment\)\* @doc\s+\.|\(#[\w-]+! @doc [^\n]*\)$", "", tags, flags=re.MULTILINE)


Captures = Mapping[str, Sequence["Node"]]


@dataclass(slots=True)
class _Scope:
    """A definition that a node stands in: the class and the function, the types of the class's fields and of variables,
    and the names of parameters, which hide those that the file defines or imports."""

    end: int = sys.maxsize
    owner: str | None = None
    function: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    outer: _Scope | None = None
    local: dict[str, str] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)

    def type_of(self, name: str) -> str | None:
        return self.local.get(name) or (self.outer.type_of(name) if self.outer else None)

    def is_given(self, name: str) -> bool:
        return name in self.given or (self.outer is not None and self.outer.is_given(name))


class _Called(NamedTuple):
    scope: _Scope
    of: str | None
    name: str
    line: int


def _doc(node: Node) -> str:
    """Return the first sentence of the string that a definition begins with, or of the comment right before it."""
    body = node.child_by_field_name("body")
    first = body.named_children[0] if body is not None and body.named_children else None
    inner = first.named_children[0] if first is not None and first.named_children else first
    before = node if node.prev_named_sibling is not None or node.parent is None else node.parent
    comment = before.prev_named_sibling
    if inner is not None and inner.type == "string":
        doc = inner
    elif comment is not None and "comment" in comment.type and comment.end_point[0] >= before.start_point[0] - 1:
        doc = comment
    else:
        return ""
    words = " ".join(line.strip(_MARKS) for line in (doc.text or b"").decode("utf-8", "replace")[:MAX_DOC].splitlines())
    spans = sentences(words.strip())
    return words.strip()[slice(*spans[0])] if spans else ""


_MARKS = " \t\"'#/*!-"
"""Characters around the words of docstrings and comments."""
MAX_DOC = 400
"""Characters of a docstring that are read."""


@dataclass(slots=True)
class _Reading:
    """Takes what a query found in order. Calls are resolved at the end, when all classes and fields are known."""

    found: Outline
    scope: _Scope = field(default_factory=_Scope)
    called: dict[int, _Called] = field(default_factory=dict)
    fields: dict[str, dict[str, str]] = field(default_factory=dict)
    imports: dict[tuple[str, int], Import] = field(default_factory=dict)
    importing: tuple[int, Import] | None = None

    def run(self, matches: Sequence[tuple[int, Captures]]) -> Outline:
        opening: dict[int, tuple[int, Node, str, Captures]] = {}
        inside: list[tuple[Node, Captures]] = []
        for pattern, captures in matches:
            kind = next((name for name in captures if name.startswith("definition.") or name == "extension"), "")
            if not kind:
                inside.append((captures["import"][0] if "import" in captures else _first(captures), captures))
            elif (
                kind in _KINDS and captures[kind][0].type not in _NESTED
            ):  # of two patterns for one name the later counts
                place = captures["owner" if kind == "extension" else "name"][0].start_byte
                if place not in opening or opening[place][0] <= pattern:  # of two for one name the later counts
                    opening[place] = pattern, captures[kind][0], _KINDS[kind], captures
        events = [(node.start_byte, -node.end_byte, node, kind, each) for _, node, kind, each in opening.values()]
        events += [(node.start_byte, 0, node, "", each) for node, each in inside]
        for start, _, node, kind, captures in sorted(events, key=lambda event: event[:2]):
            while self.scope.outer and self.scope.end <= start:
                self.scope = self.scope.outer
            if kind:
                self._open(node, kind, captures)
            else:
                self._take(captures)
        self.found.imports = [*self.imports.values()][:MAX_DEFINED]
        self.found.calls = list(dict.fromkeys(self._resolved()))[: 4 * MAX_DEFINED]
        return self.found

    # definitions

    def _open(self, node: Node, kind: str, captures: Captures) -> None:
        outer, given = self.scope, _text(captures, "owner")
        owner = _last(given) if given else outer.owner
        self.scope = _Scope(node.end_byte, owner, outer.function, outer.fields, outer)
        if kind == "extension":
            self.scope.function, self.scope.fields = None, self.fields.setdefault(owner or "", {})
            return
        name = _text(captures, "name").replace("::", ".").strip("\"'`")
        if outer.function and kind == "function":
            outer.given.add(name)
            return  # a part of the outer one
        name = _last(name) if kind == "class" else name
        qualified = f"{owner}.{name}" if owner else name
        if name and len(qualified) < 200 and len(self.found.definitions) < MAX_DEFINED:
            line = captures["name"][0].start_point[0]
            self.found.definitions.setdefault(qualified, Definition(qualified, kind, line, owner, _doc(node)))
        if kind == "class":
            self.scope.owner, self.scope.function = qualified, None
        else:
            self.scope.function = qualified
        if self.scope.owner:
            self.scope.fields = self.fields.setdefault(self.scope.owner, {})

    # references

    def _take(self, captures: Captures) -> None:
        """Take what a match says of the definition that it stands in."""
        for reference in ("reference.call", "reference.class"):
            if reference in captures and len(self.called) < 4 * MAX_DEFINED:
                self._call(captures[reference][0], captures["name"][0], _text(captures, "caller"))
        for base in captures["name"] if "reference.implementation" in captures else captures.get("base", ()):
            name, owner = _last(_of(base)), self.scope.owner
            if owner and name and name != owner:
                self.found.bases.append(Base(owner, name, base.start_point[0]))
        self.scope.given |= {_of(node) for node in captures.get("parameter", ())}
        for variable in (*captures.get("variable", ()), *captures.get("field", ())):
            self._bind(plain(_of(variable)), captures, own="field" in captures)
        self._import(captures)

    def _call(self, node: Node, name: Node, caller: str) -> None:
        before = name.parent.named_children[0] if name.parent and node != name else name
        made = node.type in _CREATIONS or before.start_byte >= name.start_byte
        of = None if made else plain(_of(before))
        said = _of(name).partition("<")[0]
        inside = node != name or self.scope.function  # tables in statements outside of a definition say nothing
        if node.type != "superclass" and inside and _NAME.match(said.lstrip("#")):
            scope = replace(self.scope, function=caller) if caller and not self.scope.function else self.scope
            called = _Called(scope, of, _last(said) if node.type in _CREATIONS else said, name.start_point[0])
            if caller or name.start_byte not in self.called:
                self.called[name.start_byte] = called

    def _bind(self, name: str, captures: Captures, *, own: bool) -> None:
        value, scope = _text(captures, "value"), self.scope
        type_ = type_name(_text(captures, "type")) or _made(value) or scope.type_of(plain(value))
        if not type_ or len(name) > 100:
            return
        if name.startswith("this.") or own or (scope.owner and not scope.function):
            scope.fields.setdefault(name.removeprefix("this."), type_)
        if not name.startswith("this."):
            scope.local[name] = type_

    def _resolved(self) -> Iterator[Call]:
        for scope, of, name, line in self.called.values():
            if of is not None:
                of = self._type(of, scope)
                if of is None:
                    continue
            elif scope.is_given(name):
                continue  # whatever was passed
            elif f"{scope.owner}.{name}" in self.found.definitions and self.found.language not in BY_FILE:
                of = scope.owner
            yield Call(scope.function, of, name, line)

    def _type(self, of: str, scope: _Scope) -> str | None:
        """Return the class or module that an object stands for, or else its own name, or ``None`` if it has none."""
        root, _, rest = of.partition(".")
        if scope.owner and scope.type_of(root) == scope.owner:
            of = f"this.{rest}" if rest else "this"
        if of in ("this", "super", "Self"):
            return scope.owner
        if of.startswith("this."):
            return scope.fields.get(of.removeprefix("this."), of)
        known = scope.type_of(of) or scope.fields.get(of)
        if known or scope.is_given(root):
            return known or f"this.{of}"  # whatever was passed
        name = of.replace("::", ".")
        return name if name.replace(".", "").isidentifier() else None

    # imports

    def _import(self, captures: Captures) -> None:
        for node in captures.get("use", ()):
            mark = "::" if self.found.language == "rust" else "\\"
            for path, alias in _expanded(re.sub(r"\Ause\s+(?:function\s+|const\s+)?|;\s*\Z", "", _of(node)), mark):
                module, _, name = path.rpartition(mark)
                near = path.startswith(("crate", "self", "super"))
                one = Import(module or name, node.start_point[0], {alias or name: name if module else None}, near)
                self.imports.setdefault((path, one.line), one)
        for node in (*captures.get("module", ()), *captures.get("module.near", ())):
            said, line = _of(node), node.start_point[0]
            quoted = _QUOTED.search(said)
            module = quoted[1] if quoted else said
            if "$" in said or not _MODULE.fullmatch(module):
                return
            near = "module.near" in captures or module.startswith(".")
            one = self.imports.setdefault((module, line), Import(module, line, {}, near))
            last = re.split(r"[./]", re.sub(r"/v\d+$", "", module))[-1]
            if self.found.language == "go":
                one.names[_text(captures, "alias") or last] = None
            elif self.found.language == "java" and last[:1].isupper():
                one.names[last] = last
            if "import" in captures:
                self.importing = captures["import"][0].end_byte, one
            self._name(one, captures)
        if "module" not in captures and self.importing and self.importing[0] > _first(captures).start_byte:
            self._name(self.importing[1], captures)

    def _name(self, one: Import, captures: Captures) -> None:
        member, alias = _text(captures, "member"), _text(captures, "alias")
        if member or alias:
            one.names[alias or member] = member or None


def plain(text: str) -> str:
    """Return an object as ``this.name`` or ``name``, whatever the language's signs."""
    text = re.sub(r"->|\?\.|!\.", ".", text).replace("$", "").rstrip("!?")
    return re.sub(r"\A(?:self|cls|this)\b", "this", re.sub(r"\A@@?", "this.", text))


def type_name(text: str) -> str:
    """Return the class in a type: of ``Optional[InvoiceStore]`` the inner one; empty for a list of some."""
    if _LISTED.search(text[:200]):
        return ""
    for name in _NAME.findall(text[:200]):
        if name in _CONTAINERS:
            return ""
        if name[0].isupper() and name not in _WRAPPERS:
            return str(name)
    return ""


def _made(value: str) -> str:
    """Return the class of a value that is made of one: ``Store()``, ``new Store()``, ``Store.new``, ``&Store{}``."""
    found = None if value.isidentifier() else _MADE.match(value[:200])
    parts = _NAME.findall(found[1]) if found else []
    if len(parts) > 1 and parts[-1] == "new":
        parts.pop()
    return parts[-1] if parts and parts[-1][0].isupper() else ""


def _expanded(body: str, mark: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the paths in braces with their aliases: of ``a::{b, c as d}`` both."""
    head, brace, rest = body.strip().partition("{")
    if not brace or depth > 5:
        path, _, alias = body.partition(" as ")
        if re.fullmatch(r"[\w:\\]+", path.strip()):
            yield path.strip().strip("\\"), alias.strip()
        return
    inner, level, start = rest.rsplit("}", 1)[0], 0, 0
    for place, sign in enumerate(f"{inner},"):
        level += (sign == "{") - (sign == "}")
        if sign == "," and level == 0:
            yield from _expanded(f"{head.strip()}{inner[start:place].strip()}", mark, depth + 1)
            start = place + 1


def _of(node: Node) -> str:
    return "" if node.text is None else node.text[:_MAX_TEXT].decode(errors="replace")


def _first(captures: Captures) -> Node:
    return next(iter(captures.values()))[0]


def _text(captures: Captures, name: str) -> str:
    return _of(captures[name][0]) if captures.get(name) else ""


def _last(text: str) -> str:
    """Return the last name of a qualified one."""
    found = _NAME.findall(re.sub(r"(?s)[<\[(].*", "", text[:200]))
    return found[-1] if found else ""


_MAX_TEXT = 4_000
"""Bytes of a statement that are read."""
_CREATIONS = frozenset(["new_expression", "object_creation_expression", "composite_literal", "struct_expression"])
_NESTED = frozenset(["pair", "function_expression", "generator_function"])
"""Functions of JavaScript that are a part of something else: a value of an object, and what is called at once."""
_NAME = lazy_re(r"[A-Za-z_]\w*")
_QUOTED = lazy_re(r"[\"'`<]([^\"'`<>]+)[\"'`>]")
_MODULE = lazy_re(r"[\w@~.:/\\+-]{1,200}")
_MADE = lazy_re(r"(?:(?:await|new)\s+|&)*([A-Za-z_][\w.:\\]*)\s*(?:<[^()]*>)?\s*(?:[({]|\Z)")
_WRAPPERS = frozenset(
    "Optional Annotated Union ClassVar Final None Promise Partial Readonly Option Arc Rc Box Mutex RefCell".split()
)
"""Types whose methods are those of the type in them, as far as code calls them."""
_CONTAINERS = frozenset("list dict tuple set frozenset deque defaultdict array vector map unordered_map chan".split())
"""Types that are no class of a project, and whose methods are none of what is in them."""
_LISTED = lazy_re(r"\A\s*(?:\*\s*)?\[|\A\s*&\s*(?:mut\s+)?\[|\[\s*\]|=>|\bfn\b|\bfunc\b")
"""Lists and functions in the signs of TypeScript, Go, Rust, Java and C#."""
