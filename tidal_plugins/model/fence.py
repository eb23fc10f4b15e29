"""The frame around recalled text, and its removal from text that comes back [Tidal §2.3].

Recalled text is data of unknown origin. The frame marks where it begins and ends, and no text inside can forge the
marks: angle brackets (and the characters that look like them) are replaced, and each memory stands on one line.
The same module takes the frame out again, so that what recall injected is never recorded as new memory.
"""

import re
import unicodedata

PREAMBLE = "Here's what it reminds me of:"
OPEN = "<tidal-memory>"
CLOSE = "</tidal-memory>"

_FRAME = re.compile(re.escape(OPEN) + r".*?(?:" + re.escape(CLOSE) + r"\s*|\Z)", re.DOTALL)
_BRACKETS = str.maketrans(dict.fromkeys("<＜﹤〈⟨", "‹") | dict.fromkeys(">＞﹥〉⟩", "›"))


def frame(lines: list[str]) -> str:
    """Put the preamble and one line per memory between the marks; no lines give the empty text."""
    return "\n".join([OPEN, PREAMBLE, *lines, CLOSE]) if lines else ""


def inert(text: str) -> str:
    """Return ``text`` as one line that cannot close the frame, start a new line or hide characters in it."""
    visible = "".join(" " if c.isspace() else c for c in text if not _hidden(c))
    return " ".join(visible.translate(_BRACKETS).split())


def strip_frames(text: str) -> str:
    """Return ``text`` without any frame of recalled memories in it; an unclosed frame reaches to the end."""
    return _FRAME.sub("", text) if OPEN in text else text


def _hidden(character: str) -> bool:
    return not character.isspace() and unicodedata.category(character) in {"Cc", "Cf", "Co", "Cs"}
