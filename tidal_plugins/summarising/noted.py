"""Notes about an agent's work: a short text, and the episode that it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidal_plugins.model.fence import inert


@dataclass(frozen=True, slots=True)
class Noted:
    """A note, and the episode that it comes from."""

    text: str
    source: str


def cited(items: Sequence[Noted]) -> str:
    """Return the texts, one after another, each run from one source with its citation.

    What the texts quote cannot pass for a citation or for a frame.
    """
    parts: list[str] = []
    for place, item in enumerate(items):
        last = place + 1 == len(items) or items[place + 1].source != item.source
        text = inert(item.text).rstrip(".;")
        parts.append(f"{text} [ep:{item.source}]" if last else text)
    return "; ".join(parts)
