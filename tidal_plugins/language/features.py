"""N-grams of sentences as rows of a table of weights, for many sentences at once.

Every n-gram is a span of one long text. Its hash is a polynomial over its characters modulo 2⁶⁴, which the differences
of one cumulative sum give for all spans at once, so no n-gram is ever cut out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BITS = 15
"""The table has two to the power of this many rows."""

CHARACTERS = (2, 3, 4, 5)
"""Lengths of n-grams of characters."""

WORDS = (1, 2, 3)
"""Lengths of n-grams of words."""

LONGEST = 400
"""Characters that are read of a sentence. A longer one is a list, a log or code."""

FLAGS = ("assistant", "user", "asks", "digit", "length", "lower", "item", "lines")
"""What is known of a sentence beside its n-grams: who said it, whether it ends with a question mark, has a digit, how
many words it has (the logarithm), whether it begins in lower case, as a list item, and has several lines."""

_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2⁶⁴
_INVERSE = pow(_BASE, -1, 2**64)
_MIX = 0xBF58476D1CE4E5B9
_FOLDED = str.maketrans({**dict.fromkeys("123456789", "0"), "’": "'", "‘": "'", "“": '"', "”": '"'})
_MARKS = lazy_re(r"([!?.…])[!?.…]+")
_BOUND = " "


def rows(sentences: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the table that the n-grams of sentences have, one sentence after the other, and where those of
    each begin.

    The second array has one element more than there are sentences: the number of rows.
    """
    import numpy as np

    texts = [_BOUND + _folded(sentence) + _BOUND for sentence in sentences]
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    bounds = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    owner = np.repeat(np.arange(len(texts), dtype=np.int32), np.diff(bounds))
    powers, inverses = _powers(1 << int(len(codes) + 1).bit_length())
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum((codes + np.uint64(1)) * powers[: len(codes)])])
    places, (begins, ends) = np.arange(len(codes)), _words(codes, bounds)
    first = [places[: max(0, len(codes) - n + 1)] for n in CHARACTERS]
    first += [begins[: max(0, len(begins) - n + 1)] for n in WORDS]
    last = [places[n - 1 :] + 1 for n in CHARACTERS] + [ends[n - 1 :] for n in WORDS]
    salts = np.repeat(np.array([*CHARACTERS, *(100 + n for n in WORDS)], np.uint64), [len(one) for one in first])
    start, end = np.concatenate(first), np.concatenate(last)
    hashed = (sums[end] - sums[start]) * inverses[start] + salts
    hashed = ((hashed ^ (hashed >> np.uint64(31))) * np.uint64(_MIX)) >> np.uint64(64 - BITS)
    owners = owner[start]
    owners[owners != owner[end - 1]] = len(texts)  # no n-gram reaches into the next sentence
    order = np.argsort(owners.astype(np.uint16) if len(texts) < 2**16 else owners, kind="stable")  # four times as fast
    found = np.searchsorted(owners[order], np.arange(len(texts) + 1))
    return hashed[order[: found[-1]]].astype(np.int64), found


def _folded(sentence: str) -> str:
    """Return a sentence in lower case, with one digit for all, single spaces, and marks once: a shout says no more."""
    if sentence.isupper():
        sentence = sentence.replace("!", ".")
    return " ".join(_MARKS.sub(r"\1", sentence[:LONGEST].lower().translate(_FOLDED)).split())


def _words(codes: NDArray[np.uint64], bounds: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where words begin and end: runs of letters, digits and apostrophes, each other mark, and the bounds."""
    import numpy as np

    joined = _joined()[np.minimum(codes, np.uint64(127)).astype(np.int64)]
    space = codes == ord(_BOUND)
    space[bounds[:-1]] = False  # the bound of a sentence counts as a word
    space[bounds[1:] - 1] = False
    previous = np.concatenate([[False], joined[:-1]])
    begins = ~space & ~(joined & previous)
    following = np.concatenate([joined[1:], [False]])
    ends = ~space & ~(joined & following)
    return np.flatnonzero(begins), np.flatnonzero(ends) + 1


@cache
def _joined() -> NDArray[np.bool_]:
    """Return for each character up to 127 whether it joins others to a word; 127 stands for all behind it."""
    import numpy as np

    return np.array([chr(code).isalnum() or chr(code) == "'" for code in range(127)] + [True])


@cache
def _powers(count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    import numpy as np

    def powers(base: int) -> NDArray[np.uint64]:
        factors = np.full(count + 1, base, np.uint64)
        factors[0] = 1
        return np.cumprod(factors)  # modulo 2⁶⁴

    return powers(_BASE), powers(_INVERSE)


def flags(sentences: Sequence[str], roles: Sequence[str]) -> NDArray[np.float32]:
    """Return the :data:`FLAGS` of sentences, one row for each."""
    import numpy as np

    found = np.zeros((len(sentences), len(FLAGS)), np.float32)
    for row, (sentence, role) in enumerate(zip(sentences, roles, strict=True)):
        text = sentence.strip()
        found[row] = (
            role == "assistant",
            role == "user",
            text.endswith(("?", "？", "؟")),
            any(map(str.isdigit, text)),
            np.log1p(text.count(" ") + 1) / 3,
            text[:1].islower(),
            text[:1] in ("*", "-", "#", "•", "|"),
            "\n" in text,
        )
    return found
