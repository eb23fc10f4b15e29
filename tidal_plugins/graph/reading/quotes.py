"""Quotations: where the names and the words that a model gives stand in a text.

A model cannot count positions, so it quotes, and the quotations are looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from tidal_plugins.graph.reading.mentions import CATEGORIES
from tidal_plugins.model.graph import Category, Mention
from tidal_plugins.patterns import lazy_re

TYPES: dict[str, Category] = {
    **CATEGORIES,
    **dict.fromkeys("method library service database endpoint schema command language host".split(), "technical"),
    **dict.fromkeys("habit goal".split(), "behavioural"),
}
"""The types that the prompt offers, with their categories."""

PERSON = "person"

MAX_QUOTE_CHARS = 1_000
"""Characters of a quotation or a name. A longer one is not looked up."""

INVENTED = (0, 0)
"""The span of what a model names and no text says. The graph drops and counts it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of text number ``text`` that begins at the character ``start``."""

    text: int
    start: int
    content: str


def category(type_: str) -> Category:
    """Return the category of a type; an unknown type is contextual."""
    return TYPES.get(type_, "contextual")


def mention_at(name: str, types: dict[str, str], piece: Piece, span: tuple[int, int] = INVENTED) -> Mention:
    """Return an entity at its name: inside the span if it stands there, else anywhere in the piece."""
    type_ = PERSON if name == "I" else snake(types.get(name, "")) or "concept"
    place = named_at(piece.content, name, *span) or named_at(piece.content, name, 0, len(piece.content))
    if place and name != "I":
        name = piece.content[slice(*place)]  # in the capitals that it has there
    return Mention(name, type_, category(type_), *moved(place or INVENTED, piece))


def snake(said: str) -> str:
    """Return a type or a predicate in snake case: «Depends on» as ``depends_on``."""
    return "_".join(re.findall(r"[a-z0-9]+", said.lower()))


def moved(span: tuple[int, int], piece: Piece) -> tuple[int, int]:
    """Return a span of a piece as a span of its text."""
    start, end = span
    return (piece.start + start, piece.start + end) if end else INVENTED


_I = lazy_re(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b")


def named_at(text: str, name: str, start: int, end: int) -> tuple[int, int] | None:
    """Return where a name stands in ``text[start:end]`` as words of its own, in the same case if possible."""
    if not 0 < len(name.strip()) <= MAX_QUOTE_CHARS or start >= end:
        return None
    whole = rf"(?<!\w){re.escape(name.strip())}(?!\w)"
    patterns = [_I] if name == "I" else [re.compile(whole), re.compile(whole, re.IGNORECASE)]
    match = next((match for pattern in patterns if (match := pattern.search(text, start, end))), None)
    return match.span() if match else None


def quoted_at(text: str, quote: str) -> tuple[int, int] | None:
    """Return where a quotation stands, in spite of changed line breaks."""
    quote = quote.strip()
    if not 0 < len(quote) <= MAX_QUOTE_CHARS:
        return None
    start = text.find(quote)
    if start >= 0:
        return start, start + len(quote)
    if " ".join(quote.split()) not in " ".join(text.split()):
        return None  # which is sooner known so than by a search
    match = re.search(r"\s+".join(map(re.escape, quote.split())), text)
    return match.span() if match else None


def time_of(said: str | None) -> datetime | None:
    try:
        time = datetime.fromisoformat(said) if said else None
    except ValueError:  # «since spring» is no time to compare with
        return None
    return time.replace(tzinfo=UTC) if time and time.tzinfo is None else time
