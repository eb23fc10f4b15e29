"""Cut long texts to what a rule reads of them."""

from __future__ import annotations

HEAD, TAIL = 6_000, 2_000
"""Characters at the beginning and the end that are read of a longer text."""


def ends(text: str) -> str:
    """Return a text, or the beginning and the end of a long one."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


def shortened(text: str, room: int) -> str:
    """Return a text, or as many of its words as fit into ``room`` characters with an ellipsis."""
    if len(text) <= room:
        return text
    body = text[: room - 1]
    cut = body.rfind(" ")
    return (body[:cut] if cut > len(body) // 2 else body).rstrip() + "…"
