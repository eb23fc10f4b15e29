"""The scale of an embedder: its cosines in the units of the default one, in which all weights and thresholds are.

Two texts that have nothing to do with each other have a cosine of about .1 with all-MiniLM-L6-v2, of .8 with E5. What a
cosine says is how far it is on the way from there to 1, which equal texts have. So a distance, one minus the cosine, is
multiplied by a number that belongs to the embedder: the mean distance of texts of an ordinary memory with the default
embedder over the same with this one. The order of cosines stays, equal texts stay at 1, and a cosine of the default
embedder is as it was.

An embedder that tells questions from texts has two such numbers, since its questions lie further from texts than texts
from each other. They are measured when a store gets its first vectors, and stand in its identity. The texts are always
the same, and not those of the store: in a memory about one thing all is nearer, with any embedder (the default one's
unrelated texts have cosines of .11 to .43, by conversation), and weights and thresholds are set for that. With the
distances of each memory's own texts E5 did as well as with these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T", float, "NDArray[np.float32]", "NDArray[np.float64]")

NOTES = (
    "We want to paint the living room before the new sofa comes.",
    "I asked the electrician to move the sockets in the kitchen, and he has time in the second week of May.",
    "The tiles for the bathroom are out of stock; the shop expects them in three weeks.",
    "Sure! I would order ten percent more than you need, since some of them break.",
    "The budget for the whole flat is twelve thousand, furniture included.",
    "My brother lends us his van on the weekend of the move.",
    "The nightly import failed again because the disk of the staging server was full.",
    "I'd add an index on the customer's number, which the slow query filters by.",
    "The review found two places where a timeout was not handled.",
    "Done: the pipeline now runs the tests in four groups, which takes six minutes.",
    "Please don't merge on Fridays; the team agreed on that in March.",
    "The client wants the report as a spreadsheet, not as a page.",
)
QUESTIONS = (
    "When does the electrician come?",
    "How much may the flat cost?",
    "Which van do we use?",
    "Who makes the list of guests?",
    "Why did the import fail?",
    "How long do we keep logs?",
    "When may I merge?",
    "What does the client want?",
)
"""Texts of an ordinary memory, of a household and of a team, and questions to it."""

ASKED, STORED = "asked", "stored"
"""Names of the two distances: of a question to a text, and of two texts."""

USUAL: Mapping[str, float] = {ASKED: 0.8954, STORED: 0.8973}
"""The mean distances of these with all-MiniLM-L6-v2 in 8 bits."""

FROM, UP_TO = 1.1, 50.0
"""Factors between which cosines are rescaled. A smaller one is that of texts so few, or of an embedder whose unrelated
texts are a little further apart than usual, of which there is little to gain. A larger one is that of an embedder that
tells no text from another."""


class Scale(NamedTuple):
    """The factors of an embedder's distances: ``asked`` of a question to a text, ``stored`` of two texts."""

    asked: float = 1.0
    stored: float = 1.0

    def of_question(self, cosines: T) -> T:
        """Return cosines of a question and texts in units of the default embedder."""
        return cosines if self.asked == 1 else 1 - self.asked * (1 - cosines)

    def of_texts(self, cosines: T) -> T:
        """Return cosines of texts with each other in units of the default embedder."""
        return cosines if self.stored == 1 else 1 - self.stored * (1 - cosines)


def scale(identity: Mapping[str, Any] | None) -> Scale:
    """Return the scale of a store whose vectors have an identity."""
    known = (identity or {}).get("distances", USUAL)
    factors = (USUAL[name] / max(known[name], 1e-9) for name in (ASKED, STORED))
    return Scale(*(factor if FROM <= factor <= UP_TO else 1.0 for factor in factors))


def distances(texts: NDArray[np.float32], questions: NDArray[np.float32]) -> dict[str, float]:
    """Return the mean distances of the vectors of :data:`NOTES` and :data:`QUESTIONS`, by name."""
    count = len(texts)
    stored = (count * count - float((texts @ texts.T).sum())) / (count * count - count)
    return {ASKED: round(float(1 - (questions @ texts.T).mean()), 6), STORED: round(stored, 6)}
