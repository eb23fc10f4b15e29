"""A store's namespaces as scopes of the memory."""

from __future__ import annotations

from urllib.parse import quote, unquote

from langgraph.store.base import MatchCondition

from tidal_plugins import InvalidInput
from tidal_plugins.model.entry import Scope, check_scope
from tidal_plugins.shown import shown

ROOT = "\x1fstore"
"""Segment between a memory's scope and the namespaces: no label becomes this one, since «%» is escaped in them."""

Namespace = tuple[str, ...]


def to_scope(root: Scope, namespace: Namespace) -> Scope:
    """Return the scope of a namespace below ``root``: one segment for each label, escaped if a scope requires it."""
    below = tuple(map(_segment, namespace))
    return (*root, *(check_scope(below) if below else ()))


def from_scope(root: Scope, scope: Scope) -> Namespace:
    return tuple(unquote(segment, errors="surrogatepass") for segment in scope[len(root) :])


def matches(namespace: Namespace, condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends with a path, in which «*» stands for any one label."""
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"namespaces match by prefix or suffix, not by {shown(condition.match_type)}")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def to_label(text: str) -> str:
    if not isinstance(text, str) or not text:
        raise InvalidInput(f"a namespace label is made from a text that is not empty, got {shown(text)}")
    return text.replace("%", "%25").replace(".", "%2E").replace("\0", "%00")


def _segment(label: str) -> str:
    plain = (char if char.isprintable() and char != "%" else quote(char, errors="surrogatepass") for char in label)
    return "".join(plain)
