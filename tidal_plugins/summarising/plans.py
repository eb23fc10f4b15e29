"""Plans that an agent keeps in a tool: which of their items are open."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidal_plugins.patterns import lazy_re

_LISTS = ("todos", "plan", "items", "tasks", "steps")
_TEXTS = ("content", "step", "text", "title", "task", "description", "name")
_CLOSED = lazy_re(r"done|complete|cancel|finish|skipped|closed", re.IGNORECASE)
_BOX = lazy_re(r"^\s*(?:[-*]|\d+[.)])?\s*\[(?P<mark>[ xX~-])\]\s*(?P<text>.+)$", re.MULTILINE)


def open_items(arguments: Mapping[str, Any]) -> list[str] | None:
    """Return the open items of a plan, the one in progress first; ``None`` if the arguments hold no plan."""
    for name in _LISTS:
        value = arguments.get(name)
        if isinstance(value, str):
            boxes = list(_BOX.finditer(value))
            if boxes:
                return [box["text"].strip() for box in boxes if box["mark"] == " "]
            try:
                value = json.loads(value)
            except ValueError:
                continue
        if isinstance(value, Sequence) and not isinstance(value, str):
            items = list(_items(value))
            return [text for text, _ in sorted(items, key=lambda item: not item[1])]
    return None


def _items(values: Sequence[Any]) -> Iterator[tuple[str, bool]]:
    """Yield the text of each open item, and whether it is in progress."""
    for value in values:
        if isinstance(value, str):
            yield value, False
        elif isinstance(value, Mapping):
            status = str(value.get("status", "done" if value.get("done") or value.get("completed") else ""))
            text = next((str(value[name]) for name in _TEXTS if value.get(name)), "")
            if text and not _CLOSED.search(status):
                yield " ".join(text.split()), "progress" in status.lower()
