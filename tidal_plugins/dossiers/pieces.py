"""The sentences of an entry as they were said, with the items of lists one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tidal_plugins.english.hypotheses import is_imagined, leaves_scene, opens_scene
from tidal_plugins.english.pasted import without_pasted
from tidal_plugins.english.sentences import plain, sentences
from tidal_plugins.model.entry import CONVERSATION, Entry
from tidal_plugins.patterns import lazy_re

LONG = 1_000
"""Characters of a sentence beyond which it is a list, a log or code. It is left out of what people said, and of a
document only its beginning is read."""
_READ = 20_000
_ITEM = lazy_re(r"(?:(?<=\s)|\A)(?:\(?\d{1,2}[).]|[-*•])\s+")
_PASTED, _ENDS = 1_500, 400
"""Characters beyond which what a person said holds pasted matter, and of which then only each end is theirs."""
_SPOKEN = lazy_re(r"\b(?:I|me|my|mine|please|(?:can|could|would|will) you)\b|\bI['’]", re.IGNORECASE)
_LABEL = 30
"""Characters of the words that lead a list."""

plain_of = lru_cache(maxsize=1 << 13)(plain)


def pieces(entry: Entry) -> Iterator[str]:
    """Yield the sentences of an entry as they were said, the items of a list one by one, without logs and code."""
    text = entry.text if entry.kind != CONVERSATION else without_pasted(entry.text)
    if entry.role == "user" and len(text) > _PASTED:
        text = _own_ends(text)
    yield from (said for said in split(text) if len(said) <= LONG)


def _own_ends(text: str) -> str:
    """Return the first and the last line of a text with pasted matter, where somebody speaks of themselves."""
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n\n".join(line[:_ENDS] for line in (lines[0], lines[-1]) if _SPOKEN.search(line[:_ENDS]))


def real_pieces(entry: Entry) -> Iterator[str]:
    """Yield the sentences of an entry without what it imagines: «if I were rich, …», «imagine you live there. …»."""
    in_scene = False
    for said in pieces(entry):
        told = plain_of(said)
        in_scene = opens_scene(told) or (in_scene and not leaves_scene(told))
        if not in_scene and not is_imagined(told):
            yield said


@lru_cache(maxsize=1 << 10)
def split(text: str) -> tuple[str, ...]:
    """Return sentences, and the items of a list one by one, each after the words that lead it: «actions: 1) …»."""
    return tuple(_items(text[:_READ]))


def _items(text: str) -> Iterator[str]:
    label = ""
    for start, end in sentences(text):
        said = text[start:end]
        items = [item.strip() for item in _ITEM.split(said)]
        if any(item.count("(") > item.count(")") for item in items):
            items = [said]  # «in May (May 11) and later»: the number closes a bracket
        label = label if _ITEM.match(said) else ""
        if len(items) > 1 and items[0].endswith(":"):
            label = items[0] if len(items[0]) <= _LABEL else ""
            items = items[1:]
        yield from (f"{label} {item}".lstrip() for item in items if item)
