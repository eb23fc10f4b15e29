"""Long texts as spans of a bounded number of words, cut where the text itself pauses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from tidal_plugins.english.sentences import sentences, trim
from tidal_plugins.english.words import UNSPACED
from tidal_plugins.errors import InvalidInput
from tidal_plugins.patterns import lazy_re

_WORD_LENGTH = 20  # characters; a longer run counts as several words, or a blob without spaces would count as one
_TINY = 15  # words; a last piece below this says little by itself
_SLACK = 1.25
_MAX_TITLE = 80  # characters

_Offsets = tuple[int, int]
_Cut = Callable[[str, int, int], Iterable[_Offsets]]


@dataclass(frozen=True, slots=True)
class Span:
    """``text[start:end]``, and the path of the Markdown headings it stands under, such as ``Install > macOS``."""

    start: int
    end: int
    heading: str = ""


def split(text: str, *, max_words: int) -> list[Span]:
    """Return the spans of ``text``: in order, without overlap or white space around them, covering everything else.

    A text of at most ``max_words`` words (see :func:`count_words`) is one span. A longer one is cut at its headings,
    then between paragraphs, list items and code blocks, then sentences, lines, words, and at last inside a word; within
    a section the pieces are packed up to ``max_words``. A last piece of fewer than 15 words joins the one before it
    when the two together exceed the limit by at most a quarter.
    """
    if max_words < 1:
        raise InvalidInput(f"max_words must be at least 1, got {max_words}")
    whole = trim(text, 0, len(text))
    if whole is None:
        return []
    if len(text) <= max_words * (2 if text.isascii() else 1):  # a word has a character, and mostly a space
        return [Span(*whole)]
    if _count_up_to(max_words, text, *whole) <= max_words:
        return [Span(*whole)]
    sections = groupby(_blocks(text), key=lambda block: block.section)
    return [span for _, blocks in sections for span in _packed(text, list(blocks), max_words)]


def count_words(text: str) -> int:
    """Return the number of words in ``text``.

    Two characters of a script without spaces count as one word, and so does every started 20 characters of a run.
    """
    unspaced = 0
    if not text.isascii():
        unspaced = sum(map(len, _UNSPACED.findall(text)))
        text = _UNSPACED.sub(" ", text)
    words = text.split()
    overlong = sum((len(word) - 1) // _WORD_LENGTH for word in words if len(word) > _WORD_LENGTH)
    return len(words) + overlong + (unspaced + 1) // 2


_UNSPACED = lazy_re(f"[{UNSPACED}\u3001-\u303f\uff01-\uff65]+")  # with the punctuation of these scripts
_FENCE = lazy_re(
    r"^[ \t]*+(?P<fence>`{3,}+(?![^\n]*`)|~{3,}+).*?(?:^[ \t]*+(?P=fence)[`~]*+[ \t\r]*$|\Z)", re.MULTILINE | re.DOTALL
)
_BREAK = lazy_re(
    r"^(?P<level>#{1,6})(?P<title>(?:[ \t][^\n]*+)?)\r?$"
    r"|(?:\A|(?<=\n\n)|(?<=\n\r\n))(?![ \t]*[-*+>|#\d])(?P<over>[^\n]{1,200})\n(?P<under>={3,}|-{3,})[ \t\r]*$"
    r"|\n(?:[ \t\r]*+\n)++"
    r"|\n(?=[ \t]*+(?:[-*+•]|\d{1,3}[.)])[ \t])",
    re.MULTILINE,
)
_LINE = lazy_re(r"\S[^\n]*")
_TOKEN = lazy_re(r"\S+")


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    section: int  # the offset where its section starts
    heading: str
    code: bool = False


def _blocks(text: str) -> Iterator[_Block]:
    """Yield paragraphs, list items and code blocks. The first of a section begins with the headings above it."""
    trail: dict[int, str] = {}
    start = body = section = 0  # text[start:body] are headings that wait for what they stand above
    path = ""
    for match in _breaks(text):
        if text[body : match.start()].strip():
            yield _Block(start, match.start(), section, path)
            start = match.start()
        body = match.end()
        title = _heading(match)
        if title:
            section = start
            path = _descend(trail, *title)
        elif match.re is _FENCE:
            yield _Block(start, body, section, path, code=True)
            start = body
    if text[start:].strip():
        yield _Block(start, len(text), section, path)


def _breaks(text: str) -> Iterator[re.Match[str]]:
    position = 0
    for fence in _FENCE.finditer(text):
        yield from _BREAK.finditer(text, position, fence.start())
        yield fence
        position = fence.end()
    yield from _BREAK.finditer(text, position)


def _heading(match: re.Match[str]) -> tuple[int, str] | None:
    if "fence" in match.re.groupindex or not (match["level"] or match["under"]):
        return None
    if match["under"]:
        return (1 if match["under"][0] == "=" else 2), match["over"].strip()
    title = match["title"].strip()
    bare = title.rstrip("#")  # a closing sequence, unless it belongs to the word: "Using C#"
    return len(match["level"]), title if bare and not bare[-1].isspace() else bare.strip()


def _descend(trail: dict[int, str], level: int, title: str) -> str:
    for deeper in [known for known in trail if known >= level]:
        del trail[deeper]
    trail[level] = title[:_MAX_TITLE]
    return " > ".join(filter(None, trail.values()))


def _packed(text: str, blocks: list[_Block], max_words: int) -> list[Span]:
    packs: list[tuple[int, int, int]] = []
    for start, end, words in _atoms(text, blocks, max_words):
        if packs and packs[-1][2] + words <= max_words:
            packs[-1] = packs[-1][0], end, packs[-1][2] + words
        else:
            packs.append((start, end, words))
    if len(packs) > 1 and packs[-1][2] < _TINY and packs[-2][2] + packs[-1][2] <= max_words * _SLACK:
        _, end, _ = packs.pop()
        packs[-1] = packs[-1][0], end, 0
    return [Span(start, end, blocks[0].heading) for start, end, _ in packs]


def _atoms(text: str, blocks: list[_Block], max_words: int) -> Iterator[tuple[int, int, int]]:
    window = re.compile(rf"\S++(?:\s++\S++){{0,{max_words - 1}}}+")
    finer = [_matches(window), _matches(_TOKEN), *map(_slices, (_WORD_LENGTH * max_words, 2 * max_words, max_words))]
    lines = _matches(_LINE)
    for block in blocks:
        cuts = [lines, *finer] if block.code else [_sentences, lines, *finer]
        piece = trim(text, block.start, block.end)
        if piece:
            yield from _refined(text, *piece, cuts, max_words)


def _refined(text: str, start: int, end: int, cuts: list[_Cut], max_words: int) -> Iterator[tuple[int, int, int]]:
    """Yield the piece with its word count, or its parts by the first of ``cuts`` that makes them small enough."""
    words = _count_up_to(max_words, text, start, end)
    if words <= max_words:
        yield start, end, words
        return
    for part_start, part_end in cuts[0](text, start, end):
        yield from _refined(text, part_start, part_end, cuts[1:], max_words)


def _count_up_to(max_words: int, text: str, start: int, end: int) -> int:
    """Return the number of words, or any number above ``max_words`` if there are more.

    A huge piece is not read through.
    """
    glance = start + 2 * _WORD_LENGTH * max_words
    words = count_words(text[start : min(glance, end)])
    return words if words > max_words or glance >= end else count_words(text[start:end])


def _sentences(text: str, start: int, end: int) -> Iterable[_Offsets]:
    return ((start + first, start + last) for first, last in sentences(text[start:end]))


def _matches(pattern: re.Pattern[str]) -> _Cut:
    def cut(text: str, start: int, end: int) -> Iterable[_Offsets]:
        pieces = (trim(text, *match.span()) for match in pattern.finditer(text, start, end))
        return (piece for piece in pieces if piece)

    return cut


def _slices(size: int) -> _Cut:
    def cut(text: str, start: int, end: int) -> Iterable[_Offsets]:
        return ((first, min(first + size, end)) for first in range(start, end, size))

    return cut
