"""Whether an answer used what memory had shown before it [Tidal §2.4]."""

from __future__ import annotations

import re
from collections.abc import Collection

from tidal_plugins.english.negation import DENIAL
from tidal_plugins.english.small_talk import PLEASANTRIES
from tidal_plugins.english.stop_words import STOP_WORDS
from tidal_plugins.scoring.text import terms

_EMPTY = STOP_WORDS | PLEASANTRIES
_TOKEN = re.compile(r"\w+")


def cites(answer: str, ids: Collection[str]) -> bool:
    """Return whether an answer names one of ``ids`` as a whole word: cited as ``[ep:…]`` or ``[mem:…]``, or bare."""
    return not set(ids).isdisjoint(_TOKEN.findall(answer))


def echoes(answer: str, question: str, entry: str, *, words: int, share: float) -> bool:
    """Return whether an answer says what only the entry could have told it.

    What the question has is not news: of the entry's words beyond it, the answer must repeat at least ``words``, or
    say nothing else («Lisbon.»), and not only to deny them («not Lisbon») unless the entry denies too. They must be at
    least ``share`` of the new words of the entry or of the answer, whichever has fewer (a document says more than an
    answer can repeat, an essay more than a line of memory). Words are whole, without stop words and pleasantries.
    """
    asked = _words(question)
    told, said = _words(entry) - asked, _words(answer) - asked
    affirmed = answer if DENIAL.search(entry) else DENIAL.sub(" ", answer)
    common, fewer = len(told & said & _words(affirmed)), min(len(told), len(said))
    return common >= max(1, min(words, len(said))) and common >= share * fewer


def _words(text: str) -> set[str]:
    return set(terms(text, stop=_EMPTY))
