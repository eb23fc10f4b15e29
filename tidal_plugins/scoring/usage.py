"""Usage: whether an answer used the memories that were shown before it [Tidal §2.4]."""

from __future__ import annotations

from collections.abc import Collection

from tidal_plugins.english.words import DENIAL, PLEASANTRIES, STOP_WORDS
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import terms

_EMPTY = STOP_WORDS | PLEASANTRIES
_TOKEN = lazy_re(r"\w+")


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
    asked = _words(question)
    told, said = _words(entry) - asked, _words(answer) - asked
    affirmed = answer if DENIAL.search(entry) else DENIAL.sub(" ", answer)
    common, fewer = len(told & said & _words(affirmed)), min(len(told), len(said))
    return common >= max(1, min(words, len(said))) and common >= share * fewer


def _words(text: str) -> set[str]:
    return set(terms(text, stop=_EMPTY))
