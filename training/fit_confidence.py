"""Fit the weights that make chances of how far memories stand out, and write them to the library's folder.

    python training/fit_confidence.py --data FOLDER [--out FILE] [--hits]

FOLDER holds ``realmem_dev.json`` (RealMem, Apache-2.0) and ``stories/``; the chats and the domains of
``benchmarks/data`` are added. ``locomo_dev.json``, if it is there, is asked too, but nothing is fitted on it, since its
licence is non-commercial. Every question is asked with its evidence in the memory and without it, and every kind of
conversation counts the same. What is printed is cross-validated: the chances of a conversation come from weights that
were fitted without it. The same data, machine and versions give the same bytes. It takes some minutes, most of them for
embedding, and scikit-learn, which the library does not need.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"  # sums in another order would end in other last digits
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from benchmarks.embedders import EMBEDDERS, CachedEmbedder
from tidal_plugins import Settings
from tidal_plugins.retrieval.calibration import (
    DIGITS,
    HIT_FEATURES,
    LINE_FEATURES,
    RECALL_FEATURES,
    SHIPPED,
    Head,
    Logistic,
    save,
    shipped,
)
from tidal_plugins.settings import Profile
from training.confidence_cases import OWN, Case, conversations, stories

CHECK_ONLY = ("locomo",)
"""Kinds that nothing is fitted on."""

STRENGTH = 100.0
"""Inverse of the penalty on large weights, which only keeps a kind without a counterexample from infinity."""

WEIGHT = 100.0
"""The cases that each kind counts as, however many it has."""

BINS = 10
"""Bins of equal width over which the calibration error is summed."""

ATTRIBUTION = (
    "Fitted on RealMem (https://github.com/zhiyuan5986/RealMemBench, Apache-2.0) and on conversations and stories that "
    "were written for this project. Only numbers were taken from them."
)

Labelled = tuple[Mapping[str, float], bool, float]
"""Features, whether it helped, and how much this counts."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    folder = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=folder, required=not folder, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=SHIPPED, metavar="FILE")
    parser.add_argument(
        "--hits", action="store_true", help="keep the weights that the thresholds of whispers are set for"
    )
    args = parser.parse_args(argv)
    found = cases(args.data if args.data.is_dir() else args.data.parent)
    heads = {profile: fit([case for case in found if case.profile == profile]) for profile in get_args(Profile)}
    if args.hits:
        heads = {profile: replace(shipped(profile), of_hit=head.of_hit) for profile, head in heads.items()}
    save(args.out, heads, {"attribution": ATTRIBUTION, "embedder": "all-MiniLM-L6-v2, int8"})
    for profile in get_args(Profile):
        print("\n".join(reliability([case for case in found if case.profile == profile], profile)))
    print(f"{args.out}: {args.out.stat().st_size} bytes")


def cases(folder: Path) -> list[Case]:
    """Ask everything that there is."""
    embedder = CachedEmbedder(EMBEDDERS["int8"]())
    files = {"domains": OWN / "domains.json", "chats": OWN / "chats.json", "realmem": folder / "realmem_dev.json"}
    if (folder / "locomo_dev.json").exists():
        files["locomo"] = folder / "locomo_dev.json"
    asked = (conversations(kind, path, embedder) for kind, path in files.items())
    return [*chain.from_iterable(asked), *stories(folder / "stories", embedder)]


def fit(found: Sequence[Case]) -> Head:
    """Fit the head of one profile: the chance of a recall on all recalls, that of a hit on those that would speak."""
    known = [case for case in found if case.kind not in CHECK_ONLY]
    of_recall = _logistic(_recalls(known), RECALL_FEATURES)
    threshold = Settings().whisper.threshold
    speaking = [case for case in known if case.answered and of_recall(case.features[0]) >= threshold]
    hits = _hits(speaking)
    return Head(of_recall, _logistic(hits, LINE_FEATURES), _logistic(hits, HIT_FEATURES))


def reliability(found: Sequence[Case], profile: Profile) -> Iterator[str]:
    """Yield a line for each kind: how often recalls and hits helped, their mean chance, and the calibration error.

    The error is the mean distance of the chance from the share that helped, over bins of the chance. The last line has
    these bins for the hits of all kinds: the number of hits whose chance is in each tenth, and the share that helped.
    """
    everything = list[tuple[float, bool]]()
    yield f"{profile}: kind, recalls: helped / chance / error, hits: helped / chance / error (percent)"
    for kind in dict.fromkeys(case.kind for case in found):
        recalls, hits = list[tuple[float, bool]](), list[tuple[float, bool]]()
        for part in dict.fromkeys(case.part for case in found if case.kind == kind):
            head = fit([case for case in found if (case.kind, case.part) != (kind, part)])
            for case in found:
                if (case.kind, case.part) == (kind, part):
                    chance = head.of_recall(case.features[0])
                    recalls.append((chance, case.answered))
                    one = zip(case.features, case.helps, strict=True)
                    hits += ((chance * head.of_hit(features), helped) for features, helped in one)
        figures = " / ".join(f"{100 * value:.1f}" for judged in (recalls, hits) for value in _calibration(judged))
        yield f"  {kind} ({len(recalls)} recalls, {len(hits)} hits): {figures}"
        everything += hits
    tenths = (f"{at / BINS:.1f}: {_share(some)}" for at, some in sorted(_binned(everything).items()))
    yield f"  hits by chance (number, percent that helped): {', '.join(tenths)}"


def _calibration(judged: Sequence[tuple[float, bool]]) -> tuple[float, float, float]:
    """Return the share that helped, the mean chance, and the calibration error."""
    error = sum(abs(sum(chance - helped for chance, helped in some)) for some in _binned(judged).values()) / len(judged)
    return fmean(helped for _, helped in judged), fmean(chance for chance, _ in judged), error


def _binned(judged: Sequence[tuple[float, bool]]) -> Mapping[int, list[tuple[float, bool]]]:
    """Return what was judged by the number of the bin that its chance falls in."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for chance, helped in judged:
        bins.setdefault(min(BINS - 1, int(chance * BINS)), []).append((chance, helped))
    return bins


def _share(judged: Sequence[tuple[float, bool]]) -> str:
    return f"{len(judged)} ({100 * fmean(helped for _, helped in judged):.0f})"


def _recalls(found: Sequence[Case]) -> list[Labelled]:
    shares = _shares(found)
    return [(case.features[0], case.answered, shares[case.kind]) for case in found]


def _hits(found: Sequence[Case]) -> list[Labelled]:
    shares = _shares(found)
    return [
        (features, helped, shares[case.kind])
        for case in found
        for features, helped in zip(case.features, case.helps, strict=True)
    ]


def _shares(found: Sequence[Case]) -> Mapping[str, float]:
    """Return the weight of a case by its kind: every kind counts the same."""
    return {kind: WEIGHT / number for kind, number in Counter(case.kind for case in found).items()}


def _logistic(rows: Sequence[Labelled], names: Sequence[str]) -> Logistic:
    from sklearn.linear_model import LogisticRegression

    values: list[list[float]] = [[features[name] for name in names] for features, _, _ in rows]
    model: Any = LogisticRegression(C=STRENGTH, max_iter=1000)
    model.fit(values, [helped for _, helped, _ in rows], sample_weight=[share for _, _, share in rows])
    weights = {name: round(float(weight), DIGITS) for name, weight in zip(names, model.coef_[0], strict=True)}
    return Logistic(weights, round(float(model.intercept_[0]), DIGITS))


if __name__ == "__main__":
    main()
