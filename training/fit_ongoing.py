"""Fit the weights of turns that go on with something begun earlier, and print them.

    python training/fit_ongoing.py --data FOLDER

FOLDER holds ``realmem_dev.json`` (RealMem, Apache-2.0): people who run projects with an assistant for months. Two
things are fitted. First how turns that something was noted of differ from the other turns of their session, whatever is
asked later: RealMem tells for each memory the turn that it comes from. Then, from the turns that go on, how much that
counts beside the score, and how much the nearest thread does. The table that is printed has recall@5 and recall@10
without these weights and with them, for each person with weights that were fitted on the others. It takes some minutes,
most of them for filling memories, and scikit-learn, which the library does not need.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"  # sums in another order would end in other last digits
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.conversations import SPEAKERS, Conversation, fill, load
from benchmarks.embedders import EMBEDDERS, CachedEmbedder
from tidal_plugins import Affect, Settings, TidalMemory
from tidal_plugins.language.importance import BASE, importance
from tidal_plugins.protocols import Embedder
from tidal_plugins.retrieval.ongoing import SUBSTANCE, OngoingTuning
from tidal_plugins.retrieval.rank import ASSISTANT
from tidal_plugins.retrieval.weights import RecallTuning
from tidal_plugins.scoring.ranking import brief
from tidal_plugins.scoring.text import terms
from tidal_plugins.testing import FrozenClock
from tidal_plugins.tuning import weights_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = "realmem_dev.json"

READ = 40
"""Hits that are put into another order."""

STRENGTH = 0.01
"""Inverse of the penalty on large weights, for how noted turns differ."""

PENALTY = 0.3
"""Penalty on large weights, for how much it counts: .15 and .6 do about alike on the person kept apart."""

LEAST = 0.01
"""The least weight of nearness, which the others are divided by."""

RECALL = Settings()[RecallTuning]
WITHOUT = Settings(tuning={f"{OngoingTuning.group}.{name}": 0.0 for name in weights_of(OngoingTuning)})

Turns = tuple["NDArray[np.float64]", "NDArray[np.bool_]"]
"""The features of turns, and which of them something was noted of."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A recall for a turn that goes on: of its hits the nearness, the features, which are of the nearest thread, and
    which are evidence; and how much evidence there is in all."""

    nearness: NDArray[np.float64]
    features: NDArray[np.float64]
    topic: NDArray[np.float64]
    helps: NDArray[np.bool_]
    evidence: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """The weights: of the features, less their mean over all turns, and of the nearest thread."""

    weights: NDArray[np.float64]
    average: float
    topic: float

    def order(self, asked: Asked) -> NDArray[np.int64]:
        return np.argsort(-(asked.nearness + asked.features @ self.weights + self.topic * asked.topic), kind="stable")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    folder = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=folder, required=not folder, metavar="FOLDER")
    path = parser.parse_args(argv).data / FILE
    turns = {name: noted(sessions) for name, sessions in json.loads(path.read_text("utf-8")).items()}
    embedder = CachedEmbedder(EMBEDDERS["int8"]())
    asked = {one.name: list(ask(one, embedder)) for one in load(path).conversations}
    print("person, turns that go on: recall@5 / @10 without, with (percent; weights of the other people)")
    for name, own in asked.items():
        others = fit(
            [turns[one] for one in asked if one != name], [a for one in asked if one != name for a in asked[one]]
        )
        before, after = ([recalled(a, order, n) for n in (5, 10)] for order in (None, others) for a in [own])
        print(f"  {name} ({len(own)}): {before[0]:.1f} / {before[1]:.1f}, {after[0]:.1f} / {after[1]:.1f}")
    found = fit(list(turns.values()), [a for own in asked.values() for a in own])
    importance_, brief_, assistant = found.weights
    print(f"importance {importance_:.3f}, brief {-brief_:.3f}, assistant {-assistant:.3f}, ", end="")
    print(f"average {found.average:.3f}, topic {found.topic:.3f}")


def noted(sessions: Sequence[Mapping[str, Any]]) -> Turns:
    """Return the features of the turns of the sessions of which something was noted, and which turns these are."""
    found, labels = [], []
    for session in sessions:
        sources = {memory["turn"] for memory in session["memories"] if memory["turn"] > 0}
        for number, turn in enumerate(session["turns"], 1) if sources else ():
            if turn["content"].strip():
                found.append(features(turn["content"], SPEAKERS[turn["speaker"]]))
                labels.append(number in sources)
    return np.array(found), np.array(labels)


def features(text: str, role: str, matters: float | None = None) -> list[float]:
    """Return the importance of a text above that of a plain statement, how brief it is, and whether it is an
    assistant's."""
    matters = importance(text, role=role) if matters is None else matters
    return [matters - BASE, float(brief(np.array(len(terms(text))), RECALL.turn)), float(role == ASSISTANT)]


def ask(conversation: Conversation, embedder: Embedder) -> Iterator[Asked]:
    """Yield the recalls for the turns of a conversation that go on, each at its time."""
    with TemporaryDirectory(prefix="tidal-fit-") as folder:
        clock = FrozenClock()
        with TidalMemory(Path(folder, "memory.db"), embedder=embedder, settings=WITHOUT, clock=clock) as memory:
            for at, known, new in conversation.moments():
                clock.set(at)
                fill(memory, new)
                for question in known.questions:
                    hits = [hit for hit in memory.recall(question.text, limit=READ, affect=Affect()) if hit.score > 0]
                    if any(SUBSTANCE in hit.why.factors for hit in hits):
                        threads = [hit.entry.thread for hit in hits]
                        nearest = next((thread for thread in threads if thread), None)
                        yield Asked(
                            np.log([hit.score for hit in hits]) / RECALL.sharpness,
                            np.array([features(h.text, h.entry.role or "", h.entry.importance) for h in hits]),
                            np.array([float(thread == nearest) for thread in threads]),
                            np.array([hit.entry.metadata.get("message") in question.evidence for hit in hits]),
                            len(question.evidence),
                        )


def fit(turns: Sequence[Turns], asked: Sequence[Asked]) -> Fitted:
    """Fit how noted turns differ, then how much that and the nearest thread count."""
    every, labels = (np.concatenate(parts) for parts in zip(*turns, strict=True))
    scaler = StandardScaler().fit(every)
    model: Any = LogisticRegression(C=STRENGTH, max_iter=1000).fit(scaler.transform(every), labels)
    differ = model.coef_[0] / scaler.scale_
    rows = [np.column_stack([one.nearness, one.features @ differ, one.topic]) for one in asked]
    nearness, counts, topic = listwise(rows, [one.helps for one in asked])
    weights = differ * counts / nearness
    return Fitted(weights, float((every @ weights).mean()), float(topic / nearness))


def listwise(rows: Sequence[NDArray[np.float64]], helps: Sequence[NDArray[np.bool_]]) -> NDArray[np.float64]:
    """Fit a softmax over the hits of each recall. The first weight, that of nearness, is not penalised."""
    known = [(one, good / good.sum()) for one, good in zip(rows, helps, strict=True) if good.any() and not good.all()]
    scale = np.concatenate([one for one, _ in known]).std(0)
    penalty = np.array([0.0, PENALTY, PENALTY])

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        total, slope = float(penalty @ weights**2), 2 * penalty * weights
        for one, good in known:
            scores = one / scale @ weights
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            total -= float(good @ np.log(np.maximum(shares, 1e-12))) / len(known)
            slope = slope + (shares - good) @ (one / scale) / len(known)
        return total, slope

    bounds = [(LEAST, None), (None, None), (None, None)]
    found: NDArray[np.float64] = minimize(loss, np.array([1.0, 0.0, 0.0]), jac=True, bounds=bounds).x / scale
    return found


def recalled(asked: Sequence[Asked], order: Fitted | None, limit: int) -> float:
    """Return the percentage of the evidence that is among the first hits."""
    found = [(one, order.order(one) if order else np.arange(len(one.helps))) for one in asked]
    return 100 * float(np.mean([one.helps[places[:limit]].sum() / one.evidence for one, places in found]))


if __name__ == "__main__":
    main()
