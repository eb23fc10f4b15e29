"""Entries sentence by sentence, in the form that rules read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidal_plugins.english.moods import HEDGED, ends_asking
from tidal_plugins.english.sentences import plain, sentences
from tidal_plugins.model.dossier import Finding
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.fence import inert

LONGEST = 240
"""Characters of a sentence that rules read; a longer one is a list, a log or code."""

_READ = 20_000


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sentence of an entry; ``plain`` is what rules read: in lower case, on one line, with straight apostrophes and
    without the mark at its end."""

    raw: str
    plain: str
    entry: Entry

    @property
    def text(self) -> str:
        """Return the sentence on one line, so that nothing in it can act or cite."""
        return inert(self.raw)

    @property
    def finding(self) -> Finding:
        return Finding(self.text, (self.entry.id,), (self.entry.citation,))

    @property
    def sure(self) -> bool:
        """Return whether the sentence says something outright: no question, condition, guess or hearsay."""
        return not ends_asking(self.plain) and not HEDGED.search(self.plain)


def phrases(entry: Entry) -> Iterator[Phrase]:
    """Yield the sentences of an entry that are short enough for a rule."""
    text = entry.text[:_READ]
    for start, end in sentences(text):
        if end - start <= LONGEST:
            raw = text[start:end]
            yield Phrase(raw, plain(raw), entry)
