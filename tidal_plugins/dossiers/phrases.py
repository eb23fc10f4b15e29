"""Entries sentence by sentence, in the form that rules read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tidal_plugins.english.sentences import sentences
from tidal_plugins.model.dossier import Finding
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.fence import inert, strip_frames
from tidal_plugins.scoring.text import terms

LONGEST = 240
"""Characters of a sentence that rules read; a longer one is a list, a log or code."""

_READ = 20_000
_MARKS = str.maketrans({"’": "'", "‘": "'", "ʼ": "'"})
_END = re.compile(r"[\s.!…;,]+$")
_HEDGED = re.compile(
    r"\b(?:if|unless|maybe|perhaps|might|could|would|should|probably|possibly|supposed|suppose|guess|"
    r"not sure|wonder|pretend|imagine|whether|apparently|rumou?rs?|joking|kidding|hypothetically|say|says|said)\b"
)
_IRREGULAR = dict(
    pair.split("/")
    for pair in "sent/send bought/buy paid/pay wrote/write written/write made/make did/do took/take taken/take "
    "gave/give given/give told/tell met/meet got/get went/go gone/go built/build found/find ran/run spoke/speak "
    "spoken/speak chose/choose chosen/choose sold/sell brought/bring held/hold kept/keep left/leave drew/draw "
    "drove/drive taught/teach put/put set/set cut/cut".split()
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sentence of an entry; ``plain`` is what rules read: in lower case, on one line, with straight apostrophes and
    without the mark at its end."""

    raw: str
    plain: str
    entry: Entry

    @property
    def text(self) -> str:
        """The sentence on one line, so that nothing in it can act or cite."""
        return inert(self.raw)

    @property
    def finding(self) -> Finding:
        return Finding(self.text, (self.entry.id,), (self.entry.citation,))

    @property
    def sure(self) -> bool:
        """Whether it says something outright: no question, condition, guess or hearsay."""
        return not self.plain.endswith("?") and not _HEDGED.search(self.plain)


def phrases(entry: Entry) -> Iterator[Phrase]:
    """The sentences of an entry that are short enough for a rule."""
    text = strip_frames(entry.text)[:_READ]
    for start, end in sentences(text):
        if end - start <= LONGEST:
            raw = text[start:end]
            yield Phrase(raw, _END.sub("", " ".join(raw.translate(_MARKS).lower().split())), entry)


def stems(text: str) -> list[str]:
    """The words of a text that say something, without their endings."""
    return [stem(word) for word in terms(text)]


def stem(word: str) -> str:
    """A word without the ending of its number or tense, roughly: both «booked» and «booking» give «book»."""
    word = _IRREGULAR.get(word, word)
    for ending in ("ing", "ied", "ed", "ies", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending in ("ied", "ies") else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]  # planned, planning
    return word.removesuffix("e") if len(word) > 3 else word


def is_past(word: str) -> bool:
    """Whether a verb stands in its past form."""
    return word in _IRREGULAR or (word.endswith("ed") and len(word) > 4)
