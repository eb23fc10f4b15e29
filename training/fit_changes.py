"""Fit the weights that tell replacements from look-alikes, and write them to the library's folder.

    python training/fit_changes.py --data FOLDER [--out FILE]

``training/data/changes.jsonl`` has pairs of texts that were written for this project, and whether the later one
replaces a value of the earlier one; ``change_labels.jsonl`` has labels of pairs that a memory linked in the stories and
in RealMem (Apache-2.0), whose texts are joined from FOLDER: ``stories/`` and ``realmem_dev.json``; of
``benchmarks/data/pairs.jsonl`` those count that are compared at all. What is printed is cross-validated: each group,
such as one person's talk, was read with weights that were fitted without it. The same data, machine and versions give
the same bytes. It needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from tidal_plugins.facts.rivals import CHANGES, LIKELY, features, rivalries
from tidal_plugins.facts.statements import statements
from tidal_plugins.scoring.ranking import chance
from training.sentences import HERE, rows, texts

PAIRS = Path(__file__).resolve().parents[1] / "benchmarks" / "data" / "pairs.jsonl"
AT = datetime(2026, 1, 1, tzinfo=UTC)
STRENGTH = 0.5
"""Inverse of the penalty on large weights of standardised features."""
DIGITS = 3
AROUND = 1_500
"""Characters of a long text around a label's words, about what a passage has."""

Pair = tuple[str, Mapping[str, float], bool]
"""A group, the features of a pair, and whether it is a replacement."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    folder = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=folder, required=not folder, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=CHANGES, metavar="FILE")
    args = parser.parse_args(argv)
    found = list(pairs(args.data if args.data.is_dir() else args.data.parent))
    report(found)
    weights, bias = fit(found)
    about = {"pairs": len(found), "replacements": sum(replaced for _, _, replaced in found)}
    args.out.write_text(json.dumps({"about": about, "weights": weights, "bias": bias}, indent=1) + "\n", "utf-8")


def pairs(data: Path) -> Iterator[Pair]:
    """Yield the pairs that are compared at all, with what is known of them."""
    for place, row in enumerate(rows(HERE / "changes.jsonl")):
        yield from _pair(f"own {place % 5}", row["later"], row["earlier"], row["replaced"])
    for row in rows(PAIRS):
        yield from _pair("pairs", row["later"], row["earlier"], row["kind"] == "pair")
    said = texts(data)
    for row in rows(HERE / "change_labels.jsonl"):
        group = ":".join(row["later"].split(":")[:2])
        yield from _pair(group, said[row["later"]], said[row["earlier"]], row["replaced"])


def _pair(group: str, later: str, earlier: str, replaced: bool) -> Iterator[Pair]:
    """Yield the surest rivalry of two texts."""
    found = list(rivalries(statements(later, AT), statements(earlier, AT), 1.0))
    if found:
        said, held, one = max(found, key=lambda each: each[2].confidence)
        yield group, features(one, said, held, (len(later), len(earlier))), replaced


def fit(found: Sequence[Pair]) -> tuple[dict[str, float], float]:
    """Return the weights and the bias of a logistic regression."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    names = list(found[0][1])
    rows_ = np.array([[known[name] for name in names] for _, known, _ in found])
    spread = np.maximum(rows_.std(axis=0), 1e-3)
    model = LogisticRegression(C=STRENGTH).fit(rows_ / spread, [one[2] for one in found])
    weights = {name: round(float(weight), DIGITS) for name, weight in zip(names, model.coef_[0] / spread, strict=True)}
    return weights, round(float(model.intercept_[0]), DIGITS)


def report(found: Sequence[Pair]) -> None:
    """Print for each group how many replacements and look-alikes are taken for one, without weights that saw it."""
    print(f"{'read without the group':34} replacements  look-alikes")
    for group in sorted({group for group, _, _ in found}):
        weights, bias = fit([one for one in found if one[0] != group])
        right, wrong = (
            [chance(known, weights, bias) >= LIKELY for name, known, kind in found if name == group and kind is is_one]
            for is_one in (True, False)
        )
        print(f"{group:34} {sum(right):4} of {len(right):3}  {sum(wrong):4} of {len(wrong):3}")


if __name__ == "__main__":
    main()
