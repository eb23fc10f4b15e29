"""Named facts: a later statement that gives one another value supersedes its entry, until somebody sets it anew."""

from __future__ import annotations

from collections.abc import Iterator

from tidal_plugins.english.changes import CHANGE_VERB, is_unsure
from tidal_plugins.english.questions import ends_asking
from tidal_plugins.english.sentences import LONGEST, sentences
from tidal_plugins.english.slots import NEW
from tidal_plugins.english.values import agree, differ, values
from tidal_plugins.facts.claims import claims, contradicts
from tidal_plugins.facts.versions import KEY
from tidal_plugins.model.entry import FACT, Entry
from tidal_plugins.model.supersession import Replacement, Utterance
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import stems

CLAIMED = 0.8
"""The later statement gives the fact another value in so many words."""
COUNTED = 0.6
"""A cue, half of the key's words, and another number of the same."""

_JOINED = lazy_re(r"[`_]")


def replaces_fact(earlier: Entry, later: Utterance, role: str | None) -> Replacement | None:
    """Return how a statement replaces the value of a named fact, or ``None`` if the entry is none or it does not."""
    if earlier.kind != FACT or KEY not in earlier.metadata:
        return None
    key, _, value = earlier.text.partition(": ")
    for claim in claims(later.text, [key], role):
        if contradicts(value, claim) and not is_unsure(claim.quote):
            return Replacement(value, "" if claim.negated else str(claim.value), "", CLAIMED)
    return next(_counted(key, value, later.text), None)


def _counted(key: str, value: str, text: str) -> Iterator[Replacement]:
    """Yield the other numbers that a text gives a fact: «the berth is 9 this season» of «berth: 17»."""
    named, olds = set(stems(_plain(key))), values(_plain(f"{key}: {value}"))
    if not olds:
        return
    for start, end in sentences(text):
        said = _plain(text[start:end])
        cue = NEW.search(said) or CHANGE_VERB.search(said)
        if not cue or len(said) > LONGEST or ends_asking(said) or is_unsure(said):
            continue
        news = values(said)
        for old in olds:
            others = [new for new in news if differ(new, old)]
            same = any(agree(new, old) for new in news)
            if len(others) == 1 and not same and 2 * len(named & set(stems(said))) >= len(named):
                yield Replacement(old.text, others[0].text, cue[0], COUNTED)


def _plain(text: str) -> str:
    """Return a text with the words of code and of joined names apart."""
    return _JOINED.sub(" ", text)
