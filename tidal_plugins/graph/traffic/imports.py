"""Imports: the modules that code imports, and the names that it gives to what it takes from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidal_plugins.graph.traffic.syntax import text_of
from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_STATEMENT = 4_000
"""Characters of one statement that are read."""


@dataclass(frozen=True, slots=True)
class Import:
    """A module that is imported in a line, counted from 0. ``names`` are the local names with those in the module,
    ``None`` for the module itself. ``near`` says that it is a path beside the file."""

    module: str
    line: int
    names: dict[str, str | None] = field(default_factory=dict)
    near: bool = False


def imports(node: Node, language: str) -> Iterator[Import]:
    """Yield the imports of a node; nothing for a node that imports nothing."""
    reader = _READERS.get(node.type)
    if reader is not None:
        yield from reader(node, language)


def _line(node: Node) -> int:
    return int(node.start_point[0])


def _python_import(node: Node, language: str) -> Iterator[Import]:
    if language != "python":
        yield from _script_import(node, language)
        return
    for name in node.children_by_field_name("name"):
        module, local = _aliased(name)
        yield Import(module, _line(node), {local or module: None})


def _python_from(node: Node, language: str) -> Iterator[Import]:
    module = text_of(node.child_by_field_name("module_name"))
    names = dict[str, str | None]()
    for name in node.children_by_field_name("name"):
        original, local = _aliased(name)
        names[local or original] = original
    if module != "__future__":
        yield Import(module, _line(node), names, near=module.startswith("."))


def _aliased(node: Node) -> tuple[str, str]:
    if node.type == "aliased_import":
        return text_of(node.child_by_field_name("name")), text_of(node.child_by_field_name("alias"))
    return text_of(node), ""


def _script_import(node: Node, language: str) -> Iterator[Import]:
    source = text_of(node.child_by_field_name("source")).strip("\"'`")
    if not source:
        return
    clause = text_of(node)[:MAX_STATEMENT].rsplit("from", 1)[0]
    names: dict[str, str | None] = {}
    listed = re.search(r"\{([^}]*)\}", clause)
    for one in (listed[1] if listed and node.type == "import_statement" else "").split(","):
        words = one.removeprefix("type ").split()
        if words:
            names[words[-1]] = words[0].removeprefix("type ")
    default = re.match(r"import\s+(?:type\s+)?(?:\*\s+as\s+)?([\w$]+)", clause)
    if default and node.type == "import_statement":
        names[default[1]] = None if "*" in clause else default[1]
    yield Import(source, _line(node), names, near=source.startswith("."))


def _go_import(node: Node, _: str) -> Iterator[Import]:
    module = text_of(node.child_by_field_name("path")).strip('"`')
    local = text_of(node.child_by_field_name("name")) or re.sub(r"/v\d+$", "", module).rpartition("/")[2]
    if module:
        yield Import(module, _line(node), {local: None})


def _use(node: Node, _: str) -> Iterator[Import]:
    """Read ``use a::{b, c as d};`` of Rust, and ``use A\\{B, C as D};`` of PHP."""
    body = re.sub(
        r"\A(?:pub(?:\([^)]*\))?\s+)?use\s+(?:function\s+|const\s+)?|;\s*\Z", "", text_of(node)[:MAX_STATEMENT]
    )
    mark = "\\" if node.type == "namespace_use_declaration" else "::"
    for path, local in _expanded(body, mark):
        module, _, name = path.rpartition(mark)
        near = path.startswith(("crate", "self", "super"))
        yield Import(module or name, _line(node), {local or name: name if module else None}, near=near)


def _expanded(body: str, mark: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the paths in braces with their aliases."""
    body = body.strip()
    head, brace, rest = body.partition("{")
    if not brace or depth > 5:
        path, _, local = body.partition(" as ")
        if re.fullmatch(r"[\w:\\]+", path.strip()):
            yield path.strip().strip("\\"), local.strip()
        return
    inner, level, start = rest.rsplit("}", 1)[0], 0, 0
    for place, sign in enumerate(f"{inner},"):
        level += (sign == "{") - (sign == "}")
        if sign == "," and level == 0:
            yield from _expanded(f"{head.strip()}{inner[start:place].strip()}", mark, depth + 1)
            start = place + 1


def _dotted_import(node: Node, _: str) -> Iterator[Import]:
    """Read ``import com.acme.Store;`` of Java and ``using Acme.Billing;`` of C#."""
    found = _DOTTED.search(text_of(node)[:MAX_STATEMENT])
    if found:
        name = found["path"].rpartition(".")[2]
        by_name = node.type == "import_declaration" and name[:1].isupper()
        local = found["alias"] or name
        yield Import(found["path"], _line(node), {local: name} if by_name else {})


def _include(node: Node, _: str) -> Iterator[Import]:
    path = text_of(node.child_by_field_name("path"))
    if path:
        yield Import(path.strip('"<>'), _line(node), near=path.startswith('"'))


def _required(node: Node, language: str) -> Iterator[Import]:
    """Read ``require 'x'`` of Ruby and Node, ``import('x')``, ``require 'x.php'``, and ``source x.sh``."""
    text = text_of(node)[:MAX_STATEMENT] if node.end_byte - node.start_byte < MAX_STATEMENT else ""
    found = _REQUIRED.match(text) if language != "bash" else _SOURCED.match(text)
    if not found:
        return
    path, how = found["path"], text.split("(")[0].split()[0]
    near = language in ("php", "bash") or how == "require_relative" or path.startswith(".")
    local = None
    if node.parent is not None and node.parent.type == "variable_declarator":
        local = text_of(node.parent.child_by_field_name("name"))
    names = {name.strip(): name.strip() for name in (local or "").strip("{}").split(",")} if local else {}
    yield Import(path, _line(node), dict(names), near=near)


_DOTTED = lazy_re(r"\A(?:import|(?:global\s+)?using)\s+(?:static\s+)?(?:(?P<alias>\w+)\s*=\s*)?(?P<path>\w+(?:\.\w+)*)")
_REQUIRED = lazy_re(
    r"(?:require|require_relative|import|require_once|include|include_once)\b\s*\(?\s*(?:__DIR__\s*\.\s*)?"
    r"[\"'](?P<path>[^\"'\n]{1,200})[\"']"
)
_SOURCED = lazy_re(r"(?:source|\.)\s+[\"']?(?P<path>[\w./-]{1,200})[\"']?\s*$")
_READERS = {
    "import_statement": _python_import,
    "import_from_statement": _python_from,
    "export_statement": _script_import,
    "import_spec": _go_import,
    "use_declaration": _use,
    "namespace_use_declaration": _use,
    "import_declaration": _dotted_import,
    "using_directive": _dotted_import,
    "preproc_include": _include,
    "call": _required,
    "call_expression": _required,
    "command": _required,
    "require_expression": _required,
    "require_once_expression": _required,
    "include_expression": _required,
    "include_once_expression": _required,
}
