"""Fit the weights that read emotions off embeddings, and write them to the library's folder.

    python training/fit_emotion.py --data FOLDER [--out FILE]

FOLDER holds GoEmotions (Demszky et al., ACL 2020; Apache-2.0) as ``goemotions_train.tsv`` and ``goemotions_dev.tsv``:
text, comma-separated numbers of labels, id. The probe is fitted on the training split and calibrated on the dev split,
which gives one temperature and the share of each emotion that plain comments show. The same data, machine and versions
give the same bytes. Fitting takes some minutes, most of them for embedding 43,000 comments. It needs scikit-learn,
which the library does not.
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

from tidal_plugins import OnnxEmbedder
from tidal_plugins.affect.embedding import LABELS, PLACES, PRIMARY, SHIPPED, Probe, save
from tidal_plugins.embedding.identity import fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.protocols import Embedder

STRENGTH = 3.0
"""Inverse of the penalty on large weights; 10 and 30 did no better on the dev split."""

STEPS = 500

PLAIN = 0.8
"""Share of plain comments that show no more of an emotion than the value that counts as its rest."""

ATTRIBUTION = (
    "Fitted on GoEmotions (Demszky, Movshovitz-Attias, Ko, Cowen, Nemade, Ravi: GoEmotions: A Dataset of Fine-Grained "
    "Emotions, ACL 2020; https://github.com/google-research/google-research/tree/master/goemotions), Apache-2.0."
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    folder = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=folder, required=not folder, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=SHIPPED, metavar="FILE")
    args = parser.parse_args(argv)
    embedder = OnnxEmbedder(precision="fp32", batch_size=64)
    probe = fit(embedder, comments(args.data, "train"), comments(args.data, "dev"))
    save(args.out, probe)
    print(f"{args.out}: {args.out.stat().st_size} bytes, temperature {probe.about['temperature']}")


def comments(folder: Path, split: str) -> list[tuple[str, list[int]]]:
    """Read a split: the texts, each with the numbers of its labels."""
    folder = folder if folder.is_dir() else folder.parent  # the other benchmarks are given a file in it
    lines = (folder / f"goemotions_{split}.tsv").read_text("utf-8").split("\n")
    rows = [line.split("\t") for line in lines if line]
    return [(row[0], [int(label) for label in row[1].split(",")]) for row in rows]


def fit(embedder: Embedder, train: Sequence[tuple[str, list[int]]], dev: Sequence[tuple[str, list[int]]]) -> Probe:
    """Fit a probe for the embedder's vectors on one split, and calibrate it on another."""
    import numpy as np

    weight, bias = probe_of(embedder.embed([text for text, _ in train]), [labels for _, labels in train])
    odds = embedder.embed([text for text, _ in dev]) @ weight + bias
    temperature = best_temperature(odds, [labels for _, labels in dev])
    plain = [n for n, (_, labels) in enumerate(dev) if labels == [LABELS.index("neutral")]]
    parts = np.array([[place.parts.get(name, 0.0) for name in PRIMARY] for place in PLACES.values()])
    rest = np.quantile(softmax(odds[plain] / temperature) @ parts, PLAIN, axis=0)
    about = {
        "attribution": ATTRIBUTION,
        "embedder": fingerprint(embedder),
        "labels": list(LABELS),
        "primary": list(PRIMARY),
        "temperature": temperature,
    }
    return Probe(weight / temperature, bias / temperature, rest, about)


def probe_of(vectors: NDArray[np.float32], labels: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Fit a multinomial logistic regression; a comment with several labels counts for each in equal parts."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    rows = np.repeat(np.arange(len(labels)), [len(own) for own in labels])
    shares = np.repeat([1 / len(own) for own in labels], [len(own) for own in labels])
    model = LogisticRegression(C=STRENGTH, max_iter=STEPS)
    model.fit(vectors[rows], np.concatenate([np.array(own) for own in labels]), sample_weight=shares)
    return model.coef_.T, model.intercept_


def best_temperature(odds: NDArray[np.float64], labels: Sequence[Sequence[int]]) -> float:
    """Return the divisor of the log-odds under which the labels are likeliest."""
    import numpy as np

    def surprise(temperature: float) -> float:
        likely = softmax(odds / temperature)
        return float(np.mean([-np.log(row[own].mean()) for row, own in zip(likely, labels, strict=True)]))

    return min((round(0.5 + 0.05 * step, 2) for step in range(31)), key=surprise)


def softmax(odds: Any) -> Any:
    import numpy as np

    powers = np.exp(odds - odds.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    main()
