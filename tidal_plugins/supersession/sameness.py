"""How sure it can be that two clauses are about one thing, by the words with which they name it."""

from __future__ import annotations

from tidal_plugins.english.things import are_apart, covers, has_things
from tidal_plugins.supersession.reading import Placed, Sentence

LIKELY = 0.6
"""The confidence that is left where each clause names something that the other does not."""
NEAR_SENTENCE = 0.5
"""The cosine from which on two texts are near enough for that."""


def placed_confidence(new: Placed, old: Placed, said: Sentence, sentence: Sentence, cosine: float) -> float:
    """Return the highest confidence for a link between the clauses of two values: 1, ``LIKELY``, or 0 for none.

    Only one of the two clauses may say more of the thing than the other does. They are of different things when each
    has a name that the other sentence has not, or when their words differ in the same place. A clause that names
    nothing, such as «it moved to Friday», is about what its sentence names.
    """
    if new.names - sentence.names and old.names - said.names and not new.names & old.names:
        return 0.0
    one = new.clause if has_things(new.clause) else said.text
    other = old.clause if has_things(old.clause) else sentence.text
    if are_apart(one, other):
        return 0.0
    if covers(one, other):
        return 1.0
    return LIKELY if cosine >= NEAR_SENTENCE else 0.0
