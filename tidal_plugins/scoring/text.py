"""Texts as search terms, by one analysis for stored texts and for queries, and what one text repeats of another."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from tidal_plugins.english.words import DENIAL, PLEASANTRIES, STOP_WORDS, UNSPACED, stem
from tidal_plugins.patterns import lazy_re

_EMPTY = STOP_WORDS | PLEASANTRIES
_TOKEN = lazy_re(r"\w+")
_MAX_TERM = 64  # characters; longer runs are no words, and are cut so that a hostile text cannot swell the index
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ＇`´′", "'") | {"\uff9e": "\u3099", "\uff9f": "\u309a"})
_LONG_GAP = lazy_re(r"(\W{8})\W{8,}")
_INVISIBLE = lazy_re("[\u00ad\u200c\u200d\u2060\ufeff]+")
_NEGATION = lazy_re(r"\b[a-z]{1,6}n't\b", re.IGNORECASE)
_CLITIC = lazy_re(r"'(?:s|d|m|ll|re|ve)\b", re.IGNORECASE)
_ASCII_WORD = lazy_re(r"[a-z0-9]+")
_WORD = lazy_re(r"[^\W_]+")
_CHUNK = lazy_re(r"[^\W_]++(?:(?:[-_]|(?<=\d)[.,](?=\d))[^\W_]++)*+")
_COMPOUND = lazy_re(  # led by one set of characters, which lets the engine skip everything else
    r"[-_+#.,:A-Z](?:(?<=[A-Za-z0-9][A-Z])|(?<=[^\W_][-_])(?=[^\W_])|(?<=\d[.,])(?=\d)|(?<=[A-Za-z][+#])|(?<=:)(?=//))",
    re.ASCII,
)
_SCHEME = lazy_re(r"\b[a-z]{3,6}://(?:www\.)?", re.IGNORECASE)
_LANGUAGE = lazy_re(r"(?<![^\W_])([A-Za-z])(\+\+|#(?![^\W_]))")
_VERSION_PREFIX = lazy_re(r"(?<![^\W_])[vV](?=\d+[.]\d)")
_HUMP = lazy_re(r"(?<=[a-z])(?=[A-Z])|(?<=\d)(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_RUN = lazy_re(f"[{UNSPACED}\u1100-\u11ff\uac00-\ud7af]+")  # Hangul too: its particles are glued to the words
_LONE_HAN = lazy_re(r"(?<![々-〇㐀-鿿])[々-〇㐀-鿿](?![々-〇㐀-鿿])")


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


def stems(text: str) -> list[str]:
    """Return the stems of the terms of ``text``, in order, with repeats."""
    return [stem(word) for word in terms(text)]


def normal(text: str) -> str:
    """Return a text in the form in which two that say the same in the same words are equal: case and space folded."""
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split())


def cites(answer: str, ids: Collection[str]) -> bool:
    """Return whether an answer names one of ``ids`` as a whole word: cited as ``[ep:…]`` or ``[mem:…]``, or bare."""
    return not set(ids).isdisjoint(_TOKEN.findall(answer))


def echoes(answer: str, question: str, entry: str, *, words: int, share: float) -> bool:
    """Return whether an answer says something that only the entry could have told it.

    Words of the question are not news. Of the entry's other words, the answer must repeat at least ``words``, or say
    nothing else («Lisbon.»). It must not only deny them («not Lisbon») unless the entry denies them too. They must be
    at least ``share`` of the new words of the entry or of the answer, whichever has fewer (a document says more than an
    answer can repeat, an essay more than a line of memory). Words are whole, without stop words and pleasantries.
    """
    asked = _content(question)
    told, said = _content(entry) - asked, _content(answer) - asked
    affirmed = answer if DENIAL.search(entry) else DENIAL.sub(" ", answer)
    common, fewer = len(told & said & _content(affirmed)), min(len(told), len(said))
    return common >= max(1, min(words, len(said))) and common >= share * fewer


def _content(text: str) -> set[str]:
    return set(terms(text, stop=_EMPTY))


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
