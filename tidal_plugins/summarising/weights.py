"""Weights of sentences: what somebody would write down of a turn first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tidal_plugins.language.tagger import tag
from tidal_plugins.model.sentence import SentenceTags
from tidal_plugins.scoring.priority import MIN_PRIORITY, sentence_priority
from tidal_plugins.scoring.text import terms
from tidal_plugins.scoring.worth import LEAST, carried

CHATTER, TOLD = 0.6, 0.5
"""Chance of a mere phrase from which on a sentence is chatter, unless a tag that tells something has the other one."""
OTHER_SCRIPT = 0.5
"""Share of the letters of a sentence beyond ``ÿ`` from which on the tagger, which was fitted on Latin letters, silences
nothing."""
RISE, AMONG_PEOPLE = 0.4, 0.2
"""Powers of a sentence's worth in its priority, and the same of people who talk to each other, where nearly all that
they say is their own. With .4 for both a summary of 4,000 tokens held 55.8 % of the evidence of a conversation, with
.2 58.4 %."""
ASKED = 0.4
"""Share of its priority that a question loses."""
LEAST_WORDS, MAX_PHRASE, PHRASE = 3, 60, 0.6
"""Words with a content that a sentence has, and the factor of one that has fewer, in so many characters at most."""
SAME, REPEATED = 0.6, 0.4
"""Share of a sentence's words by which it repeats what the other side said, and what is left of its priority."""


@lru_cache(maxsize=8_192)
def content(text: str) -> frozenset[str]:
    """Return the words of a text with a content: each text is weighed several times."""
    return frozenset(terms(text))


def weights(said: Sequence[str], roles: Sequence[str]) -> list[float]:
    """Return the priorities of sentences: less than :data:`MIN_PRIORITY` for chatter and for what an agent asks.

    The role of people who go by their names is empty.
    """
    read = readings(said, [role or "user" for role in roles])
    return [_weight(*each) for each in zip(said, roles, read, strict=True)]


def readings(said: Sequence[str], roles: Sequence[str]) -> list[SentenceTags]:
    """Return how sentences are read. A context is summarised again and again, so that what was read is kept."""
    keys = list(zip(said, roles, strict=True))
    if len(_READ) > MOST:
        _READ.clear()
    found = {key: read for key in keys if (read := _READ.get(key))}
    if unread := list(dict.fromkeys(key for key in keys if key not in found)):
        found.update(zip(unread, tag(*map(list, zip(*unread, strict=True))), strict=True))
        _READ.update(found)
    return [found[key] for key in keys]


MOST = 8_192
_READ: dict[tuple[str, str], SentenceTags] = {}


def _weight(said: str, role: str, read: SentenceTags) -> float:
    found = sentence_priority(carried(read), least=LEAST, role=role, power=RISE if role else AMONG_PEOPLE)
    if _is_foreign(said):
        return max(MIN_PRIORITY, found)
    tells = max(read.scores[name] for name in ("vital", "identity", "done", "plan", "change", "number"))
    if read.scores["social"] >= CHATTER and tells < TOLD:
        return MIN_PRIORITY * (1 - read.scores["social"])
    if not role:
        return found * (1 - read.scores["social"]) * (1 - ASKED * read.scores["question"])
    asked = found * (1 - ASKED * read.scores["question"])
    if len(said) <= MAX_PHRASE and read.scores["number"] < TOLD and len(content(said)) < LEAST_WORDS:
        asked = max(asked * PHRASE, min(asked, MIN_PRIORITY))
    return asked if role == "assistant" else max(MIN_PRIORITY, asked)


def _is_foreign(said: str) -> bool:
    letters = [character for character in said if character.isalpha()]
    return sum(character > "ÿ" for character in letters) >= OTHER_SCRIPT * max(1, len(letters))


def repeats(words: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether most of the words, and every number among them, stand in another sentence."""
    if not words or len(words & others) < SAME * len(words):
        return False
    return {word for word in words if any(map(str.isdigit, word))} <= others
