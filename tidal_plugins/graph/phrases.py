"""Relations in plain words, for readers and for the index."""

from __future__ import annotations

_PHRASES = {
    "is": ("is", "is not"),
    "depends_on": ("depends on", "does not depend on"),
    "calls": ("calls", "does not call"),
    "imports": ("imports", "does not import"),
    "contains": ("contains", "does not contain"),
    "defined_in": ("is defined in", "is not defined in"),
    "causes": ("causes", "does not cause"),
    "fixed_by": ("is fixed by", "is not fixed by"),
    "prefers": ("prefers", "does not prefer"),
    "prefers_over": ("is preferred over", "is not preferred over"),
    "likes": ("likes", "does not like"),
    "dislikes": ("dislikes", "does not dislike"),
    "uses": ("uses", "does not use"),
    "decided": ("decided", "did not decide"),
    "chose": ("chose", "did not choose"),
    "must": ("must", "must not"),
    "always": ("always", "not always"),
    "never": ("never", "not never"),
    "lives_in": ("lives in", "does not live in"),
    "works_at": ("works at", "does not work at"),
    "has_version": ("has version", "does not have version"),
    "located_in": ("is located in", "is not located in"),
    "has_status": ("has status", "does not have status"),
    "configured_as": ("is configured as", "is not configured as"),
    "raises": ("raises", "does not raise"),
}


def sentence(subject: str, predicate: str, object_: str, *, negated: bool = False) -> str:
    """Return a relation in words, such as «checkout depends on billing»."""
    plain = predicate.replace("_", " ")
    phrase = _PHRASES.get(predicate, (plain, f"not {plain}"))[negated]
    return f"{subject} {phrase} {object_}"
