"""Fit the weights that read sentences, and write them to the library's folder.

    python training/fit_tagger.py --data FOLDER [--out FOLDER]

Labels are in ``training/data``; FOLDER holds the texts of others that they belong to: ``stories/``, RealMem
(Apache-2.0) and ``sentences_dev.jsonl``. Nothing is fitted on LoCoMo, whose licence is non-commercial, on two of the
stories, on a tenth of RealMem's sessions and on a tenth of our own conversations: the table that is printed has the
precision and recall of each act and tag there, after a cross-validation over the conversations of what is fitted. One
file is for n-grams alone, the other one for n-grams and the forms of the default embedder. The same data, machine and
versions give the same bytes. It takes some minutes, and scikit-learn, which the library does not need.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"  # sums in another order would end in other last digits
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from tidal_plugins import OnnxEmbedder
from tidal_plugins.language.features import BITS, FLAGS, LONGEST, flags, rows
from tidal_plugins.language.tagger import FORMS, NGRAMS, Weights, centered, save
from tidal_plugins.model.sentence import ACTS, TAGS
from training.sentences import Labelled, others, own

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRENGTH = 10.0
"""Inverse of the penalty on large weights; 3 and 30 did no better across conversations."""

FOLDS = 5

PARTS = ("own", "stories", "realmem", "locomo")
"""What nothing is fitted on."""

ATTRIBUTION = (
    "Fitted on sentences written for this project, on its stories, and on RealMem "
    "(https://github.com/zhiyuan5986/RealMemBench, Apache-2.0), with labels made for this project."
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    folder = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=folder, required=not folder, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=NGRAMS.parent, metavar="FOLDER")
    args = parser.parse_args(argv)
    data = args.data if args.data.is_dir() else args.data.parent
    labelled = [*own(), *others(data)]
    fitted = [item for item in labelled if not item.apart]
    apart = {part: [item for item in labelled if item.apart == part] for part in PARTS}
    console = Console(width=140)
    encoder = OnnxEmbedder()
    for path, used in ((NGRAMS, None), (FORMS, encoder)):
        features = Features(fitted, used)
        weights, expected = fit(fitted, features)
        console.print(_table(weights, features, fitted, expected, apart, path.stem))
        made = args.out / path.name
        save(made, weights)
        console.print(f"{made}: {made.stat().st_size} bytes, {len(fitted)} sentences")


class Features:
    """The features of sentences as :meth:`Weights.odds` weighs them: n-grams, flags, and centred forms."""

    def __init__(self, fitted: Sequence[Labelled], encoder: OnnxEmbedder | None) -> None:
        self.encoder = encoder
        self.center = np.zeros(0, np.float32)
        if encoder:
            self.center = encoder.forms([item.text[:LONGEST] for item in fitted]).mean(axis=0)

    def of(self, items: Sequence[Labelled]) -> Any:
        texts = [item.text for item in items]
        hashed, bounds = rows(texts)
        count = np.diff(bounds)
        values = np.repeat(1 / np.sqrt(count), count)
        grams = sparse.csr_matrix((values, hashed, bounds), shape=(len(texts), 1 << BITS))
        parts = [grams, sparse.csr_matrix(flags(texts, [item.role for item in items]))]
        if self.encoder:
            forms = self.encoder.forms([text[:LONGEST] for text in texts])
            parts.append(sparse.csr_matrix(centered(forms, self.center)))
        return sparse.hstack(parts).tocsr()

    def weights(self, coefficients: NDArray[Any], bias: NDArray[Any], thresholds: NDArray[Any]) -> Weights:
        split, then = 1 << BITS, (1 << BITS) + len(FLAGS)
        about = {
            "attribution": ATTRIBUTION,
            "columns": [*ACTS, *TAGS],
            "flags": list(FLAGS),
            "encoders": [self.encoder.id, *self.encoder.reads] if self.encoder else [],
        }
        table, flagged, forms = coefficients[:split], coefficients[split:then], coefficients[then:]
        return Weights(table, flagged, forms, self.center, bias, thresholds, about)


def fit(items: Sequence[Labelled], features: Features) -> tuple[Weights, NDArray[Any]]:
    """Fit all columns; the second is what cross-validation expects: the chance of each tag, a row for each sentence."""
    given, truth, act = features.of(items), tags_of(items), acts_of(items)
    groups = [":".join(item.source.split(":")[:3]) for item in items]
    folds = list(GroupKFold(FOLDS).split(given, act, groups))
    first = _model().fit(given, act)
    columns, biases, expected = [*first.coef_], [*first.intercept_], []
    for column in truth.T:
        chances = np.zeros(len(items))
        for train, test in folds:
            chances[test] = _model().fit(given[train], column[train]).predict_proba(given[test])[:, 1]
        model = _model().fit(given, column)
        columns.append(model.coef_[0])
        biases.append(model.intercept_[0])
        expected.append(chances)
    chances = np.array(expected).T
    thresholds = [0.5] * len(ACTS) + [best_threshold(truth[:, n], chances[:, n]) for n in range(len(TAGS))]
    return features.weights(np.array(columns).T, np.array(biases), np.array(thresholds)), chances


def _model() -> Any:
    return LogisticRegression(C=STRENGTH, max_iter=500)


def acts_of(items: Sequence[Labelled]) -> NDArray[Any]:
    return np.array([ACTS.index(item.act) for item in items])


def tags_of(items: Sequence[Labelled]) -> NDArray[Any]:
    return np.array([[tag in item.tags for tag in TAGS] for item in items])


def best_threshold(truth: NDArray[Any], chances: NDArray[Any]) -> float:
    """Return the threshold of the best F1, to two digits."""
    return max((round(0.01 * step, 2) for step in range(5, 90)), key=lambda least: measures(truth, chances >= least)[2])


def measures(truth: NDArray[Any], said: NDArray[Any]) -> tuple[float, float, float]:
    """Return precision, recall and F1."""
    right = int((truth & said).sum())
    precision, recall = right / max(int(said.sum()), 1), right / max(int(truth.sum()), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def _table(
    weights: Weights, features: Features, items: Sequence[Labelled], expected: NDArray[Any], apart: Any, title: str
) -> Table:
    table = Table(title=title)
    table.add_column("precision / recall / F1 (positives)")
    for name in ("across conversations", *PARTS):
        table.add_column(name)
    odds = {}
    for part, kept in apart.items():
        texts = [item.text for item in kept]
        forms = features.encoder.forms([text[:LONGEST] for text in texts]) if features.encoder else None
        odds[part] = weights.odds(texts, [item.role for item in kept], forms)
    said = {part: found[:, : len(ACTS)].argmax(1) for part, found in odds.items()}
    table.add_row("act, share right", "", *(f"{(said[part] == acts_of(apart[part])).mean():.3f}" for part in PARTS))
    for number, act in enumerate(ACTS):
        table.add_row(act, "", *(_cell(acts_of(apart[part]) == number, said[part] == number) for part in PARTS))
    for number, tag in enumerate(TAGS):
        least, column = weights.thresholds[len(ACTS) + number], len(ACTS) + number
        cells = [_cell(tags_of(items)[:, number], expected[:, number] >= least)]
        for part in PARTS:
            cells.append(_cell(tags_of(apart[part])[:, number], 1 / (1 + np.exp(-odds[part][:, column])) >= least))
        table.add_row(f"{tag} ≥ {least:.2f}", *cells)
    return table


def _cell(truth: NDArray[Any], said: NDArray[Any]) -> str:
    precision, recall, f1 = measures(truth, said)
    return f"{precision:.2f} / {recall:.2f} / {f1:.2f} ({int(truth.sum())})"


if __name__ == "__main__":
    main()
