"""Delimiters around recalled text, and its removal from text that comes back [Tidal §2.3].

Recalled text is data of unknown origin. Delimiters mark where it begins and ends, and no text inside can
forge them: angle brackets (and the characters that look like them) are replaced, and each memory stands on one line.
The text ends with a keyed tag of its store. By this tag the store knows what it showed itself, and leaves that out of
the index; words that merely look like delimiters are words.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b

from tidal_plugins.patterns import lazy_re

PREAMBLE = "Here's what it reminds me of:"
OPEN = "<tidal-memory>"
_FRAME, _HEAD = 70, 60
"""Characters of a whisper's frame, and of the head of a line."""

CAPSULE_OPEN = "<tidal-capsule>"
CAPSULE_PREAMBLE = "From your memory. What "
"""Beginning of the line after the mark."""
CAPSULE_TITLE = "# Capsule — last updated: "
"""Beginning of a capsule's first line."""
_TEXT_OPEN, _TEXT_PREAMBLE = "<tidal-text>", "From your memory:"

_TAG_BYTES = 4
"""Bytes of a tag: a text that was not shown passes for a frame in one of 4 billion attempts."""
_CLOSE = lazy_re(rf"\s</tidal-(memory|text|capsule|summary) ([0-9a-f]{{{2 * _TAG_BYTES}}})>\s*")
FRAMED = "</tidal-"
"""What every frame has in it."""
_CITATION = lazy_re(r"\[(?=\s*(?:ep|mem)\s*:)", re.IGNORECASE)
_CITED = lazy_re(r"\[(?:ep|mem):([0-9a-z]+)")
_SELECTORS = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))  # a run of them spells anything
_OPENING = "<\uff1c\ufe64\u2329\u3008\u27e8"  # ASCII, full-width, small, angle, CJK and mathematical ones
_BRACKETS = str.maketrans(dict.fromkeys(_OPENING, "‹") | dict.fromkeys(">\uff1e\ufe65\u232a\u3009\u27e9", "›"))


@dataclass(frozen=True, slots=True)
class Delimiters:
    """The delimiters of one store. ``key`` is the store's own secret."""

    key: bytes = field(repr=False)

    def memories(self, lines: Sequence[str]) -> str:
        """Put the preamble and one line per memory between the marks; no lines give the empty text."""
        return self._framed("memory", "\n".join([PREAMBLE, *lines])) if lines else ""

    def text(self, text: str) -> str:
        """Put a text that was made of memories, line by line inert, between marks; the empty text stays so."""
        return sealed(text, self.tag_of_text(text))

    def tag_of_text(self, text: str) -> str:
        """Return the tag that :func:`sealed` needs for a text."""
        return self._tag("text", f"{_TEXT_PREAMBLE}\n{text}")

    def capsule(self, text: str) -> str:
        """Put a capsule, with the line that explains it, between marks."""
        return self._framed("capsule", text)

    def summary(self, text: str) -> str:
        """Put what a compaction wrote between marks. What reads as one of them within it is none."""
        return self._framed("summary", mark_of("summary").sub("‹", text))

    def strip(self, text: str) -> str:
        """Return ``text`` without the delimiters that this store showed, and without the white space behind each.

        A frame that was cut off or altered stays: its words may be somebody's own.
        """
        spans = list(self._spans(text)) if FRAMED in text else []
        return text if not spans else "".join(text[start:end] for start, end in _between(spans, len(text)))

    def blank(self, text: str) -> str:
        """Return ``text`` with spaces in place of these delimiters, so that all else stands where it stood."""
        for start, end in self._spans(text):
            text = text[:start] + " " * (end - start) + text[end:]
        return text

    def cited(self, text: str) -> set[str]:
        """Return the ids that the delimiters in ``text`` cite."""
        spans = self._spans(text) if FRAMED in text else ()
        return {id_ for start, end in spans for id_ in _CITED.findall(text, start, end)}

    def _framed(self, kind: str, body: str) -> str:
        return f"<tidal-{kind}>\n{body}\n</tidal-{kind} {self._tag(kind, body)}>"

    def _tag(self, kind: str, body: str) -> str:
        words = f"{kind} {''.join(body.split())}"  # a client may fold white space, or keep a template's braces apart
        return blake2b(words.encode("utf-8", "replace"), key=self.key, digest_size=_TAG_BYTES).hexdigest()

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the delimiters of this store stand. Every part of the text is searched once."""
        last = 0
        for close in _CLOSE.finditer(text):
            opening = f"<tidal-{close[1]}>"
            start = text.rfind(opening, last, close.start())
            if start >= 0 and self._tag(close[1], text[start + len(opening) : close.start()]) == close[2]:
                yield start, close.end()
            last = close.end()


def around(lines: int) -> int:
    """Return how many characters the frame and the heads of a whisper's lines take at most, beside the memories' own
    text: 250 for up to three lines, 60 for each more."""
    return _FRAME + _HEAD * max(3, lines)


def sealed(text: str, tag: str) -> str:
    """Put a text that was made of memories between marks, of which the last has ``tag``; the empty text stays so."""
    return f"{_TEXT_OPEN}\n{_TEXT_PREAMBLE}\n{text}\n</tidal-text{tag and f' {tag}'}>" if text else ""


MARKED = len(sealed("-", "0" * 2 * _TAG_BYTES)) - 1
"""Characters that the marks have."""


@cache
def mark_of(kind: str) -> re.Pattern[str]:
    """Return a pattern of the bracket with which a mark of a kind begins, or what reads as one: characters that nobody
    sees may stand in it."""
    name = r"\W{0,8}".join(f"tidal-{kind}")
    return re.compile(rf"[{_OPENING}](?=[^\w{_OPENING}]{{0,64}}{name})", re.IGNORECASE)


def inert(text: str) -> str:
    """Return ``text`` as one line that cannot close the frame, cite, start a new line or hide characters in it."""
    visible = text
    if not (text.isascii() and text.isprintable()):
        visible = "".join(" " if c.isspace() else c for c in text if not _hidden(c))
    return " ".join(uncited(visible.translate(_BRACKETS)).split())


def uncited(text: str) -> str:
    """Return ``text`` without what reads as a citation: one that it quotes must not pass for ours."""
    return _CITATION.sub("(", text)


def _between(spans: Sequence[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    last = 0
    for start, end in spans:
        yield last, start
        last = end
    yield last, length


def _hidden(character: str) -> bool:
    if character.isspace():
        return False
    return unicodedata.category(character) in {"Cc", "Cf", "Co", "Cs"} or character in _SELECTORS
