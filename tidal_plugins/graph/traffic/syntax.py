"""Syntax: which nodes of the grammars are classes, functions, calls and typed names, and where their names stand.

The grammars share most names of nodes, so that one table does for all languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    from tree_sitter import Node

CLASSES = frozenset(
    "class_definition class_declaration abstract_class_declaration interface_declaration class_specifier "
    "struct_specifier struct_declaration record_declaration enum_declaration trait_declaration type_spec struct_item "
    "enum_item trait_item union_item class module create_table create_view create_materialized_view".split()
)
TABLES = frozenset(["create_table", "create_view", "create_materialized_view"])
FUNCTIONS = frozenset(
    "function_definition function_declaration generator_function_declaration method_definition method_declaration "
    "constructor_declaration function_item function_signature_item method singleton_method create_function "
    "local_function_statement".split()
)
_BODIED = frozenset(["class_specifier", "struct_specifier"])
"""Nodes that name a class without defining it unless they have a body."""
_ARROWS = frozenset(["arrow_function", "function_expression", "generator_function"])
_HERITAGE = frozenset(
    "argument_list superclass super_interfaces extends_interfaces base_list base_class_clause class_heritage "
    "base_clause class_interface_clause extends_type_clause".split()
)
_NAMES = frozenset("identifier type_identifier constant name property_identifier field_identifier".split())
_QUALIFIED = frozenset(
    "attribute scope_resolution qualified_name qualified_identifier scoped_type_identifier nested_type_identifier "
    "member_expression scoped_identifier qualified_type".split()
)
_SKIPPED = frozenset("type_arguments template_argument_list type_argument_list keyword_argument arguments".split())
_CALLS = frozenset(
    "call call_expression method_invocation invocation_expression function_call_expression member_call_expression "
    "nullsafe_member_call_expression scoped_call_expression".split()
)
_CREATIONS = frozenset(["object_creation_expression", "new_expression", "composite_literal", "struct_expression"])
BINDINGS = frozenset(
    "typed_parameter typed_default_parameter required_parameter optional_parameter parameter formal_parameter "
    "parameter_declaration simple_parameter property_promotion_parameter field_declaration public_field_definition "
    "property_declaration variable_declaration local_variable_declaration declaration variable_declarator "
    "let_declaration var_spec short_var_declaration assignment".split()
)
FIELDS = frozenset(
    "field_declaration public_field_definition property_declaration property_promotion_parameter".split()
)
_TYPE = lazy_re(r"[A-Za-z_]\w*")
_WRAPPERS = frozenset(
    "Optional Annotated Union ClassVar Final None Promise Partial Readonly Option Arc Rc Box Mutex RefCell".split()
)
"""Types whose methods are those of the type in them, as far as code calls them."""
_CONTAINERS = frozenset("list dict tuple set frozenset deque defaultdict array vector map unordered_map chan".split())
"""Types that are no class of a project, and whose methods are none of what is in them."""
_LISTED = lazy_re(r"\A\s*(?:\*\s*)?\[|\A\s*&\s*(?:mut\s+)?\[|\[\s*\]|=>|\bfn\b|\bfunc\b")
"""Lists and functions in the signs of TypeScript, Go, Rust, Java and C#."""


def text_of(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode(errors="replace")


def defined(node: Node) -> tuple[str, str] | None:
    """Return the kind (class, function or table) and the name of what a node defines, or ``None``."""
    kind = node.type
    if kind in CLASSES:
        if kind in _BODIED and node.child_by_field_name("body") is None:
            return None
        if (
            kind == "type_spec"
            and (of := node.child_by_field_name("type"))
            and not of.type.endswith(("struct_type", "interface_type"))
        ):
            return None
        name = node.child_by_field_name("name") or _table(node)
        return ("table" if kind in TABLES else "class", _last(name)) if name else None
    if kind in FUNCTIONS:
        name = node.child_by_field_name("name") or _declared(node.child_by_field_name("declarator")) or _table(node)
        return ("function", _dotted(name)) if name else None
    if kind == "variable_declarator":
        value, name = node.child_by_field_name("value"), node.child_by_field_name("name")
        if value is not None and value.type in _ARROWS and name is not None:
            return "function", text_of(name)
    return None


def receiver(node: Node) -> tuple[str, str] | None:
    """Return the name and the type of a Go method's receiver, or ``None``."""
    found = node.child_by_field_name("receiver") if node.type == "method_declaration" else None
    if found is None or not found.named_children:
        return None
    given = found.named_children[0]
    return text_of(given.child_by_field_name("name")), type_name(text_of(given.child_by_field_name("type")))


def bases(node: Node) -> Iterator[str]:
    """Yield the names of the classes that a class, or an ``impl`` of a trait, extends."""
    if node.type == "impl_item":
        yield from filter(None, [_last(node.child_by_field_name("trait"))])
    for child in node.named_children:
        if child.type in _HERITAGE:
            yield from _leaves(child)
        elif child.type == "struct_type":
            for field in child.named_children[0].named_children if child.named_children else ():
                if field.type == "field_declaration" and field.child_by_field_name("name") is None:
                    yield _last(field.child_by_field_name("type"))


def called(node: Node) -> tuple[str | None, str] | None:
    """Return the object (``None`` for none) and the name of what a node calls, or ``None`` for what is no call."""
    if node.type in _CREATIONS:
        made = node.child_by_field_name("type") or node.child_by_field_name("constructor")
        made = made or node.child_by_field_name("name") or next(iter(node.named_children), None)
        name = _last(made)
        return (None, name) if name else None
    if node.type == "command":
        return None, text_of(node.child_by_field_name("name"))
    if node.type not in _CALLS:
        return None
    function = node.child_by_field_name("function") or node
    for field in ("name", "method", "attribute", "property", "field"):
        member = function.child_by_field_name(field)
        if member is not None:
            of = next(filter(None, map(function.child_by_field_name, _OBJECTS)), None)
            return (None if of is None else plain(text_of(of))), text_of(member)
    return (None, text_of(function)) if function.type in _NAMES else None


def bound(node: Node) -> Iterator[tuple[str, str]]:
    """Yield the variables of a node with the names of their types, as far as it tells them."""
    fields = map(node.child_by_field_name, ("pattern", "name", "left", "declarator"))
    named = next(filter(None, fields), None)
    if named is None and node.type == "typed_parameter" and node.named_children:
        named = node.named_children[0]
    if named is None:
        named = next(
            (one for one in node.named_children if one.type in ("variable_declarator", "property_element")), None
        )
    if node.type == "field_declaration" and (inner := _child(node, "variable_declaration")):
        yield from bound(inner)
    if named is None:
        return
    type_ = type_name(text_of(node.child_by_field_name("type")))
    if not type_:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        inside = named.named_children if named.type == "variable_declarator" else ()
        value = value or next((one for one in inside if one.type in _CREATIONS), None)
        type_ = _made(value)
    name = plain(text_of(_declared(named) or named))
    if type_ and len(name) < 100:
        yield name, type_


def parameters(node: Node) -> Iterator[str]:
    """Yield the names of the parameters of a function of Python or JavaScript."""
    given = node.child_by_field_name("parameters")
    for one in given.named_children if given is not None else ():
        name = one.child_by_field_name("name") or one.child_by_field_name("pattern")
        name = name or (one.named_children[0] if one.named_children else one)
        if name.type == "identifier":
            yield text_of(name)


def plain(text: str) -> str:
    """Return an object as ``this.name`` or ``name``, whatever the language's signs."""
    return re.sub(r"\A(?:self|cls|this)\b", "this", re.sub(r"\A@@?", "this.", text.replace("->", ".").replace("$", "")))


def type_name(text: str) -> str:
    """Return the class in a type: of ``Optional[InvoiceStore]`` the inner one; empty for a list of some."""
    if _LISTED.search(text[:200]):
        return ""
    for name in _TYPE.findall(text[:200]):
        if name in _CONTAINERS:
            return ""
        if name[0].isupper() and name not in _WRAPPERS:
            return str(name)
    return ""


_OBJECTS = ("object", "operand", "value", "argument", "receiver", "expression", "scope", "path")


def _child(node: Node, kind: str) -> Node | None:
    return next((one for one in node.named_children if one.type == kind), None)


def _table(node: Node) -> Node | None:
    return _child(node, "object_reference")


def _declared(node: Node | None) -> Node | None:
    """Return the name in a declarator of C, in which it may stand deep."""
    while node is not None and node.type not in _NAMES and node.type != "qualified_identifier":
        inner = node.child_by_field_name("declarator") or node.child_by_field_name("name")
        if inner is None and node.type == "expression_list":
            inner = next(iter(node.named_children), None)
        if inner is None:
            return None if "declarator" in node.type else node
        node = inner
    return node


def _last(node: Node | None) -> str:
    """Return the last name of a qualified one."""
    found = _TYPE.findall(re.sub(r"<.*|\[.*", "", text_of(node)[:200], flags=re.DOTALL))
    return found[-1] if found else ""


def _dotted(node: Node) -> str:
    return text_of(node).replace("::", ".").strip("\"'`")


def _leaves(node: Node) -> Iterator[str]:
    for child in node.named_children:
        if child.type in _NAMES or child.type in _QUALIFIED:
            yield _last(child)
        elif child.type not in _SKIPPED:
            yield from _leaves(child)


def _made(value: Node | None) -> str:
    """Return the class of a value that is made of one: ``Store()``, ``new Store()``, ``Store.new``, ``&Store{}``."""
    while value is not None and value.type in ("expression_list", "unary_expression", "await", "await_expression"):
        value = value.named_children[0] if value.named_children else None
    found = called(value) if value is not None else None
    if found is None:
        return ""
    of, name = found
    if name[:1].isupper():
        return name
    return of if of and name == "new" and of[:1].isupper() and of.isidentifier() else ""
