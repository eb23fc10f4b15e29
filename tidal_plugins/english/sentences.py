"""The sentences of a text, and texts cut to what a reader takes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidal_plugins.english.words import SHORT_MONTHS
from tidal_plugins.patterns import lazy_re

LONGEST = 400
"""Characters of a sentence that rules read. A longer one is a list, a log or code."""

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'"})
_END = lazy_re(r"[\s.!…;,]+$")


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of the sentences of ``text``, without white space around them, in order.

    A sentence ends at its mark (not after an abbreviation, an initial or a list number, nor inside a number, an address
    or a file name), at a blank line, before a list item, and at the end of a short line. Together they cover all that
    is not white space.
    """
    found, start = [], 0
    for end in _sentence_ends(text):
        start, piece = end, trim(text, start, end)
        if piece:
            found.append(piece)
    last = trim(text, start, len(text))
    return [*found, last] if last else found


def trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the offsets of ``text[start:end]`` without the white space around it; ``None`` when nothing is left."""
    piece = text[start:end]
    body = piece.strip()
    if not body:
        return None
    start += len(piece) - len(piece.lstrip())
    return start, start + len(body)


_CLOSERS = "\"'”’»)\\]}」』）】*_"
_SENTENCE_END = lazy_re(
    rf"(?<![.!?…。！？｡])(?:"
    rf"[.!?…]*+[。！？｡][.!?…。！？｡]*+[{_CLOSERS}]*+"
    rf"|(?P<mark>[.!?…]++)(?P<closers>[{_CLOSERS}]*+)(?=\s))"
    r"|[।॥؟۔။។።]++(?=\s)"
    r"|(?P<gap>\n[ \t\r]*+(?:\n\s*+|(?=[-*+•>|#]{1,6}[ \t]|\d{1,3}[.)][ \t])))"
    r"|(?P<line>\n)"
)
_MAY_END = lazy_re("[.!?…。！？｡।॥؟۔።\n]")
"""What every end begins with: a search for one of a few characters is much quicker than for an end."""
_NEXT = lazy_re(r"\s*+(\S?)")
_SHORT_LINE = 50  # characters; a line this short was ended on purpose, a longer one may be wrapped
_TITLES = frozenset("mr mrs ms dr prof st gen col lt sgt capt rev hon vs e.g i.e eg ie cf viz mt messrs".split())
_CLIPPED = frozenset(
    "etc inc ltd co corp jr sr al approx dept est min max hr hrs ft a.m p.m incl excl resp".split()
).union(SHORT_MONTHS)
_NUMBERED = frozenset("no nos fig figs eq vol p pp sec ch art ver".split())
_DOTTED = lazy_re(r"(?:[A-Za-z]\.)+[A-Za-z]")


def plain(sentence: str) -> str:
    """Return what rules read: lower case, one line, straight apostrophes, no mark at the end but a question mark."""
    return _END.sub("", " ".join(sentence.translate(_APOSTROPHES).lower().split()))


def _sentence_ends(text: str) -> Iterator[int]:
    last = 0
    for mark in _MAY_END.finditer(text):
        if mark.start() < last or not (match := _SENTENCE_END.match(text, mark.start())):
            continue
        last = match.end()
        if match["line"]:
            ends = _line_ends(text, match.start())
        else:
            ends = not match["mark"] or _mark_ends(text, match)
        if ends:
            yield match.end()


def _line_ends(text: str, newline: int) -> bool:
    short = newline < _SHORT_LINE or text.rfind("\n", newline - _SHORT_LINE, newline) >= 0
    return short and not _next_character(text, newline).islower()


def _mark_ends(text: str, match: re.Match[str]) -> bool:
    if match["mark"] != ".":
        quoted = match["closers"] and match["closers"][0] not in "*_"
        return not ((quoted or match["mark"][-1] in ".…") and _next_character(text, match.end()).islower())
    word = text[max(0, match.start() - 12) : match.start()].rpartition(" ")[2].rpartition("\n")[2].lstrip("(\"'[“‘*_")
    if len(word) > 6 and word.isalpha():  # longer than any abbreviation
        return True
    return not _abbreviated(word, _next_character(text, match.end())) and not _list_number(text, match.start(), word)


def _abbreviated(word: str, following: str) -> bool:
    name = word.lower()
    if name in _TITLES or (len(word) == 1 and word.isupper() and word != "I"):
        return True
    if name in _CLIPPED:
        return following.islower() or following.isdigit()
    return (name in _NUMBERED and following.isdigit()) or _DOTTED.fullmatch(word) is not None


def _list_number(text: str, dot: int, word: str) -> bool:
    start = dot - len(word)
    return word.isdigit() and len(word) <= 3 and (start == 0 or text[start - 1] == "\n")


def _next_character(text: str, position: int) -> str:
    found = _NEXT.match(text, position)
    return found[1] if found else ""


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
