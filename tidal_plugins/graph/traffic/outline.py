"""Outline: what a file of code defines, imports, extends and calls, read from its syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tidal_plugins.graph.traffic.grammars import parse
from tidal_plugins.graph.traffic.imports import Import, imports
from tidal_plugins.graph.traffic.syntax import (
    BINDINGS,
    FIELDS,
    bases,
    bound,
    called,
    defined,
    parameters,
    plain,
    receiver,
    text_of,
    type_name,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_NODES = 150_000
"""Nodes of a syntax tree that are visited, which takes half a second. Code of 200,000 characters has about 70,000."""
MAX_DEPTH = 150
"""Nodes in one another that are visited. Hand-written code of the projects that were looked at has up to 60."""
MAX_DEFINED = 2_000
"""Definitions, and calls and imports for each of them on average, that are taken from one file: more is a listing."""

_REFERENCES = frozenset(["object_reference"])


@dataclass(frozen=True, slots=True)
class Definition:
    """A class, function or table by its qualified name, with its line, counted from 0, and the class around it."""

    name: str
    kind: str
    line: int
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Base:
    """A class and the name of one that it extends."""

    name: str
    base: str
    line: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call by a function (``None`` for the file itself), of ``name`` of a class or module ``of``, if it has one."""

    caller: str | None
    of: str | None
    name: str
    line: int


@dataclass(slots=True)
class Outline:
    language: str
    definitions: dict[str, Definition] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    bases: list[Base] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    damaged: bool = False
    """Whether some of the text is no code of the language."""


def outline(text: str, language: str) -> Outline | None:
    """Return the outline of code, or ``None`` if it cannot be parsed, as :func:`parse` explains."""
    tree = parse(text, language)
    if tree is None:
        return None
    found = Outline(language, damaged=tree.root_node.has_error)
    _Walk(found).run(tree.root_node)
    return found


@dataclass(slots=True)
class _Around:
    """What surrounds a node: the class and the function that it stands in, and the types of variables there."""

    owner: str | None = None
    function: str | None = None
    local: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    """The names of parameters, which hide those that the file defines or imports."""


@dataclass(frozen=True, slots=True)
class _Called:
    around: _Around
    of: str | None
    name: str
    line: int


@dataclass(slots=True)
class _Walk:
    """Visits the nodes of a tree in order. Calls are resolved at the end, when all classes and fields are known."""

    found: Outline
    called: list[_Called] = field(default_factory=list)
    fields: dict[str, dict[str, str]] = field(default_factory=dict)

    def run(self, root: Node) -> None:
        stack = [(root, _Around(), 0)]
        visited = 0
        while stack and visited < MAX_NODES:
            node, around, depth = stack.pop()
            visited += 1
            inner = self._visit(node, around)
            if depth < MAX_DEPTH:
                stack += [(child, inner, depth + 1) for child in reversed(node.named_children)]
        self.found.calls = list(dict.fromkeys(self._resolved()))[: 4 * MAX_DEFINED]

    def _visit(self, node: Node, around: _Around) -> _Around:
        """Take what one node says, and return what surrounds the nodes in it."""
        kind = node.type
        if kind == "impl_item":
            return self._implemented(node)
        if kind == "decorator" and node.parent is not None:
            return self._decorating(node, node.parent, around)
        what = defined(node)
        if what and what[1]:
            return self._defined(node, what, around)
        if len(self.found.imports) < MAX_DEFINED:
            self.found.imports += imports(node, self.found.language)
        call = called(node)
        if call and call[1] and len(self.called) < 4 * MAX_DEFINED:
            self.called.append(_Called(around, *call, _line(node)))
        elif kind in _REFERENCES and around.function:
            self.called.append(_Called(around, None, text_of(node), _line(node)))
        if kind in BINDINGS:
            self._bind(node, around)
        return around

    def _decorating(self, node: Node, whole: Node, around: _Around) -> _Around:
        """Take a decorator as a call by what it decorates."""
        of = whole.child_by_field_name("definition")
        what = defined(of) if of is not None else None
        if what is None or around.function:
            return around
        inner = _Around(around.owner, f"{around.owner}.{what[1]}" if around.owner else what[1], {}, around.fields)
        name = node.named_children[0] if node.named_children else node
        if name.type == "identifier":
            self.called.append(_Called(inner, None, text_of(name), _line(node)))
        return inner

    def _implemented(self, node: Node) -> _Around:
        owner = type_name(text_of(node.child_by_field_name("type")))
        self.found.bases += [Base(owner, base, _line(node)) for base in bases(node) if owner]
        return _Around(owner or None, None, {}, self.fields.setdefault(owner, {}))

    def _defined(self, node: Node, what: tuple[str, str], around: _Around) -> _Around:
        kind, name = what
        of = receiver(node)
        owner = of[1] if of and of[1] else around.owner
        if around.function and kind == "function":
            given = around.given | {name} | set(parameters(node))
            return replace(around, given=given)  # a part of the outer one
        qualified = f"{owner}.{name}" if owner else name
        line = _line(node)
        if len(self.found.definitions) < MAX_DEFINED and len(qualified) < 200:
            self.found.definitions.setdefault(qualified, Definition(qualified, kind, line, owner))
        if kind == "class":
            self.found.bases += [Base(qualified, base, line) for base in bases(node) if base and base != name]
            return _Around(qualified, None, {}, self.fields.setdefault(qualified, {}))
        if kind == "table":
            return _Around(None, qualified, {}, {})
        if not owner and "." in name:  # A::f of C++, outside of its class
            owner = name.rpartition(".")[0]
        local = {of[0]: "this"} if of else {}
        fields = self.fields.setdefault(owner, {}) if owner else {}
        return _Around(owner, qualified, local, fields, set(parameters(node)))

    def _bind(self, node: Node, around: _Around) -> None:
        own = node.type in FIELDS or (around.owner is not None and around.function is None)
        parameter = text_of(node.named_children[0]) if node.named_children else ""
        own_too = node.type == "required_parameter" and parameter in ("private", "public", "protected", "readonly")
        for name, type_ in bound(node):
            if name.startswith("this."):
                around.fields.setdefault(name.removeprefix("this."), type_)
            elif own or own_too:
                around.fields.setdefault(name, type_)
            if not own and around.local.get(name) != "this":
                around.local[name] = type_
        if node.type == "assignment":  # self.store = store
            left = plain(text_of(node.child_by_field_name("left")))
            right = text_of(node.child_by_field_name("right"))
            if left.startswith("this.") and right in around.local:
                around.fields.setdefault(left.removeprefix("this."), around.local[right])

    def _resolved(self) -> Iterator[Call]:
        for each in self.called:
            of, found = each.of, True
            if of is None and each.name in each.around.given:
                continue  # whatever was passed
            if of is not None:
                of, found = self._type(of, each.around)
            name = each.name
            if of is None and found and each.around.owner and f"{each.around.owner}.{name}" in self.found.definitions:
                of = (
                    each.around.owner
                    if self.found.language not in ("python", "javascript", "typescript", "tsx")
                    else of
                )
            if found:
                yield Call(each.around.function, of, name, each.line)

    def _type(self, of: str, around: _Around) -> tuple[str | None, bool]:
        """Return the class or module that an object stands for, or else its own name, and whether it has one."""
        root, _, rest = of.partition(".")
        if around.local.get(root) == "this":
            of = f"this.{rest}" if rest else "this"
        if of in ("this", "super", "Self"):
            return around.owner, around.owner is not None
        if of.startswith("this."):
            name = of.removeprefix("this.")
            return around.fields.get(name) or f"this.{name}", True
        known = around.local.get(of) or around.fields.get(of)
        if known:
            return known, True
        if root in around.given:
            return f"this.{of}", True  # whatever was passed
        plain_name = of.replace("::", ".")
        return plain_name, plain_name.replace(".", "").isidentifier()


def _line(node: Node) -> int:
    return int(node.start_point[0])
