"""Fitting the weights of turns that go on, on a handful of turns."""

from __future__ import annotations

import numpy as np

from training import fit_ongoing
from training.fit_ongoing import Asked

PLAN = (
    "We decided to buy the oak boards on Friday, cut them at the school, glue the frame in the barn, oil them twice, "
    "and hang the doors before the first guests come, since the landlord wants the old cupboard gone by 14 May."
)
SESSION = {
    "turns": [{"speaker": "User", "content": PLAN}, {"speaker": "Assistant", "content": "Great!"}],
    "memories": [{"turn": 1}, {"turn": 0}],
}


def asked(helpful: int) -> Asked:
    """Return a recall of four hits at one distance, of which the plan is the evidence; another one is brief."""
    kinds = np.array([fit_ongoing.features(PLAN if place == helpful else "Great!", "user") for place in range(4)])
    topic = np.array([float(place in (0, helpful)) for place in range(4)])
    return Asked(np.array([0.0, -0.05, -0.1, -0.15]), kinds, topic, np.arange(4) == helpful, 1)


def test_only_turns_that_memories_come_from_are_noted() -> None:
    kinds, labels = fit_ongoing.noted([SESSION, {"turns": SESSION["turns"], "memories": []}])
    assert labels.tolist() == [True, False]
    assert kinds[:, 2].tolist() == [0.0, 1.0]


def test_what_is_like_noted_turns_and_in_the_nearest_thread_comes_first() -> None:
    turns = fit_ongoing.noted([SESSION] * 20)
    cases = [asked(place) for place in (0, 0, 0, 1, 2, 3)] * 5
    found = fit_ongoing.fit([turns], cases)
    importance, brief, assistant = found.weights
    assert importance > 0 > brief
    assert assistant < 0 < found.topic
    without, with_ = (fit_ongoing.recalled(cases, order, 1) for order in (None, found))
    assert (without, with_) == (50.0, 100.0)
    assert np.array_equal(found.weights, fit_ongoing.fit([turns], cases).weights)
