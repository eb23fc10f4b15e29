"""The frame around recalled text, and its removal from text that comes back [Tidal §2.3].

Recalled text is data of unknown origin. The frame marks where it begins and ends, and no text inside can forge the
marks: angle brackets (and the characters that look like them) are replaced, and each memory stands on one line.
The same module takes the frame out again, so that what recall injected is never recorded as new memory.
"""

import re
import unicodedata
from functools import partial

PREAMBLE = "Here's what it reminds me of:"
OPEN = "<tidal-memory>"
CLOSE = "</tidal-memory>"

CAPSULE_OPEN = "<tidal-capsule>"
CAPSULE_CLOSE = "</tidal-capsule>"
CAPSULE_PREAMBLE = "From your memory. What "
"""Beginning of the line after the mark."""
CAPSULE_TITLE = "# Capsule — last updated: "
"""Beginning of a capsule's first line."""
_TEXT = ("<tidal-text>", "From your memory:", "</tidal-text>")

_LINES = 20  # at most in a whisper
_FRAME = re.compile(
    re.escape(f"{OPEN}\n{PREAMBLE}")
    + rf"(?:(?:\n[^\n]*+){{0,{_LINES}}}?\n{re.escape(CLOSE)}\s*|(?:\n- \[(?:ep|mem):[^\n]*+)*+\n?)"
)
_CAPSULE_FRAME = re.compile(
    re.escape(f"{CAPSULE_OPEN}\n{CAPSULE_PREAMBLE}") + rf"(?:.*?\n{re.escape(CAPSULE_CLOSE)}\s*|.*\Z)", re.DOTALL
)
_CAPSULE_START = re.compile(rf"^{re.escape(CAPSULE_TITLE)}\d{{4}}-[^\n]*\r?\nTurn [\d,]+\. Memory of ", re.MULTILINE)
_CAPSULE_END = re.compile(  # a heading of its own, with the list below that
    r"^## (?:Identity|Loop protocol|Key contacts|Tools|Current priorities|Recent work|Operational rules|Pending tasks)"
    r"[ \t]*\r?(?:\n\s*|\Z)(?:[-*] [^\n]*(?:\n[ \t\r]*)*)*",
    re.MULTILINE,
)
_TEXT_FRAME = re.compile(re.escape(f"{_TEXT[0]}\n{_TEXT[1]}\n") + rf"(?:.*?\n{re.escape(_TEXT[2])}\s*|.*\Z)", re.DOTALL)
_CITATION = re.compile(r"\[(?=\s*(?:ep|mem)\s*:)", re.IGNORECASE)
_SELECTORS = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))  # a run of them spells anything
_BRACKETS = str.maketrans(  # ASCII, full-width, small, angle, CJK and mathematical ones
    dict.fromkeys("<\uff1c\ufe64\u2329\u3008\u27e8", "‹") | dict.fromkeys(">\uff1e\ufe65\u232a\u3009\u27e9", "›")
)


def frame(lines: list[str]) -> str:
    """Put the preamble and one line per memory between the marks; no lines give the empty text."""
    return "\n".join([OPEN, PREAMBLE, *lines, CLOSE]) if lines else ""


def marked(text: str) -> str:
    """Put a text that was made of memories, line by line inert, between marks; the empty text stays so."""
    return "\n".join([*_TEXT[:2], text, _TEXT[2]]) if text else ""


MARKED = len(marked("-")) - 1
"""Characters that the marks have."""


def inert(text: str) -> str:
    """Return ``text`` as one line that cannot close the frame, cite, start a new line or hide characters in it."""
    visible = "".join(" " if c.isspace() else c for c in text if not _hidden(c))
    return " ".join(uncited(visible.translate(_BRACKETS)).split())


def uncited(text: str) -> str:
    """Return ``text`` without what reads as a citation: one that it quotes must not pass for ours."""
    return _CITATION.sub("(", text)


def strip_frames(text: str) -> str:
    """Return ``text`` without any frame of recalled memories in it, and without capsules, dossiers and briefs. One that
    was cut off goes as far as it reaches; the marks alone, in somebody's own words, stay."""
    for mark, without in _FRAMES:
        if mark in text:
            text = without(text)
    return text


def unframed(role: str, text: str) -> str:
    """Return a message's text without the parts that recall added.

    A tool's result is returned unchanged, unless it is just a frame, as a search in memory returns it.
    """
    rest = strip_frames(text)
    return text if role == "tool" and rest.strip() else rest


def _without_capsule(text: str) -> str:
    """Return a text without everything from the first capsule's title to the last of its headings.

    One pattern for all of it would look for that heading again from every title.
    """
    start = _CAPSULE_START.search(text)
    end = max((match.end() for match in _CAPSULE_END.finditer(text, start.end())), default=None) if start else None
    return text if start is None or end is None else text[: start.start()] + text[end:]


_FRAMES = (
    (OPEN, partial(_FRAME.sub, "")),
    (CAPSULE_OPEN, partial(_CAPSULE_FRAME.sub, "")),
    (CAPSULE_TITLE, _without_capsule),
    (_TEXT[0], partial(_TEXT_FRAME.sub, "")),
)


def _hidden(character: str) -> bool:
    if character.isspace():
        return False
    return unicodedata.category(character) in {"Cc", "Cf", "Co", "Cs"} or character in _SELECTORS
