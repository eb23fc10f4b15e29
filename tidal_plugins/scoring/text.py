"""Text as search terms and as sentences: one analysis for what is stored and for what is asked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

STOP_WORDS = frozenset(
    # articles, pronouns, determiners
    "a an the i me my mine myself we our ours ourselves you your yours yourself yourselves he him his himself she her "
    "hers herself it its itself they them their theirs themselves this that these those one some any each every other "
    "another such own same both all few more most much many "
    # question words and connectives
    "who whom whose which what when where why how and or but if because as until while than so though although "
    "whether since unless "
    # prepositions and particles
    "of at by for with about against between into through during before after above below to from up down in out on "
    "off over under upon again further once then here there also just only very too even still yet ever now "
    # auxiliaries
    "am is are was were be been being have has had having do does did doing done can could will would shall should "
    "might must ought let get got "
    # negations
    "no nor not none never neither "
    # what contractions leave behind, and contractions that are typed without the apostrophe
    "s t ll ve re didn doesn isn aren wasn weren hasn haven hadn couldn shouldn wouldn mustn needn ain "
    "im ive dont didnt doesnt isnt arent wasnt werent cant couldnt wouldnt shouldnt havent hasnt wont youre "
    "theyre thats".split()
)
"""English words that say too little to search by. "don", "won", "may" and "us" also are names or nouns: not here."""

UNSPACED = (
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"  # iteration mark, Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u0e00-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
)
"""Characters of the scripts that put no white space between words, as the inside of a character class."""

_MAX_TERM = 64  # characters; longer runs are no words, and are cut so that a hostile text cannot swell the index
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ＇`´′", "'") | {"\uff9e": "\u3099", "\uff9f": "\u309a"})
_LONG_GAP = re.compile(r"(\W{8})\W{8,}")
_INVISIBLE = re.compile("[\u00ad\u200c\u200d\u2060\ufeff]+")
_NEGATION = re.compile(r"\b[a-z]{1,6}n't\b", re.IGNORECASE)
_CLITIC = re.compile(r"'(?:s|d|m|ll|re|ve)\b", re.IGNORECASE)
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"[^\W_]+")
_CHUNK = re.compile(r"[^\W_]++(?:(?:[-_]|(?<=\d)[.,](?=\d))[^\W_]++)*+")
_COMPOUND = re.compile(  # led by one set of characters, which lets the engine skip everything else
    r"[-_+#.,:A-Z](?:(?<=[A-Za-z0-9][A-Z])|(?<=[^\W_][-_])(?=[^\W_])|(?<=\d[.,])(?=\d)|(?<=[A-Za-z][+#])|(?<=:)(?=//))",
    re.ASCII,
)
_SCHEME = re.compile(r"\b[a-z]{3,6}://(?:www\.)?", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?<![^\W_])([A-Za-z])(\+\+|#(?![^\W_]))")
_VERSION_PREFIX = re.compile(r"(?<![^\W_])[vV](?=\d+[.]\d)")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=\d)(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_RUN = re.compile(f"[{UNSPACED}\u1100-\u11ff\uac00-\ud7af]+")  # Hangul too: its particles are glued to the words
_LONE_HAN = re.compile(r"(?<![々-〇㐀-鿿])[々-〇㐀-鿿](?![々-〇㐀-鿿])")


def terms(text: str, *, stop: frozenset[str] = STOP_WORDS) -> list[str]:
    """Return the words of ``text`` to index it by, or to search by: in order, with repeats, without ``stop`` words.

    A term is case-folded, made of letters and digits only (SQLite's ``unicode61`` keeps it as one token) and at most
    64 characters long. ``snake_case``, ``camelCase``, hyphenated words and version numbers give the whole, joined, and
    then the parts; paths, addresses and dotted names give their parts; ``C++`` and ``C#`` give ``cpp`` and ``csharp``.
    Scripts without spaces, and Hangul, give overlapping pairs of characters, and Han characters that stand alone
    between kana also give themselves. Symbols and emoji give nothing. Nothing is stemmed.
    """
    if text.isascii() and not _COMPOUND.search(text):
        return [word[:_MAX_TERM] for word in _ASCII_WORD.findall(_uncontracted(text).lower()) if word not in stop]
    return [term for chunk in _chunks(text) for term in _chunk_terms(chunk) if term not in stop]


def normal(text: str) -> str:
    """Return a text in the form in which two that say the same in the same words are equal: case and space folded."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


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


def _chunks(text: str) -> list[str]:
    if not text.isascii():
        text = _normal(text)
    if "://" in text:
        text = _SCHEME.sub(" ", text)
    text = _LANGUAGE.sub(lambda m: f"{m[1]}pp " if m[2] == "++" else f"{m[1]}sharp ", _uncontracted(text))
    return _CHUNK.findall(_VERSION_PREFIX.sub(" ", text))


def _uncontracted(text: str) -> str:
    if "'" not in text:
        return text
    if "'t" in text or "'T" in text:
        text = _NEGATION.sub(" ", text)
    return _CLITIC.sub(" ", text)


def _chunk_terms(chunk: str) -> list[str]:
    if chunk.isalnum():
        return _word_terms(chunk)
    words = _WORD.findall(chunk)
    parts = [part for word in words for part in _word_terms(word)]
    if len(chunk) > _MAX_TERM or _RUN.search(chunk):
        return parts
    return [_fold("".join(words)), *parts]


def _word_terms(word: str) -> list[str]:
    if not word.isascii() and _RUN.search(word):
        return _pairs(word)
    if word[1:].islower() or len(word) > _MAX_TERM:
        return [_fold(word[:_MAX_TERM])]
    parts = [_fold(part) for part in _HUMP.split(word)]
    return parts if len(parts) == 1 else [_fold(word), *parts]


def _pairs(word: str) -> list[str]:
    found, start = [], 0
    for run in _RUN.finditer(word):
        found += _other(word[start : run.start()]) + _run_terms(run[0])
        start = run.end()
    return found + _other(word[start:])


def _other(word: str) -> list[str]:
    return [_fold(word[:_MAX_TERM])] if word else []


def _run_terms(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)] + _LONE_HAN.findall(run)


def _fold(word: str) -> str:
    folded = word.casefold()
    return folded if folded.isalnum() else "".join(filter(str.isalnum, folded))  # İ folds to i and a dot above


def _normal(text: str) -> str:
    text = _LONG_GAP.sub(r"\1 ", text.translate(_APOSTROPHES))  # normalising a long run of marks is quadratic
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    marks = [ord(c) for c in set(text) if unicodedata.category(c)[0] == "M"]
    return text.translate(dict.fromkeys(marks)) if marks else text


_CLOSERS = "\"'”’»)\\]}」』）】*_"
_SENTENCE_END = re.compile(
    rf"(?<![.!?…。！？｡])(?:"
    rf"[.!?…]*+[。！？｡][.!?…。！？｡]*+[{_CLOSERS}]*+"
    rf"|(?P<mark>[.!?…]++)(?P<closers>[{_CLOSERS}]*+)(?=\s))"
    r"|[।॥؟۔။។።]++(?=\s)"
    r"|(?P<gap>\n[ \t\r]*+(?:\n\s*+|(?=[-*+•>|#]{1,6}[ \t]|\d{1,3}[.)][ \t])))"
    r"|(?P<line>\n)"
)
_NEXT = re.compile(r"\s*+(\S?)")
_SHORT_LINE = 50  # characters; a line this short was ended on purpose, a longer one may be wrapped
_TITLES = frozenset("mr mrs ms dr prof st gen col lt sgt capt rev hon vs e.g i.e eg ie cf viz mt messrs".split())
_CLIPPED = frozenset(
    "etc inc ltd co corp jr sr al approx dept est min max hr hrs ft jan feb mar apr jun jul aug sep sept oct nov "
    "dec a.m p.m".split()
)
_NUMBERED = frozenset("no nos fig figs eq vol p pp sec ch art ver".split())
_DOTTED = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")


def _sentence_ends(text: str) -> Iterator[int]:
    for match in _SENTENCE_END.finditer(text):
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
