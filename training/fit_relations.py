"""Fit the weights that read relations off the parse of talk, and write them to the library's folder.

    python training/fit_relations.py --data FOLDER [--out FILE]

``training/data/relations.jsonl`` has turns that were written for this project, with the relations that they state;
``relation_labels.jsonl`` has labels of the stories and of RealMem (Apache-2.0), whose texts are joined from FOLDER:
``stories/`` and ``realmem_dev.json``. A tenth of the project's own conversations and two stories are kept apart; so is
LoCoMo, on which nothing may be fitted: if FOLDER has ``relations_dev.jsonl``, its turns of LoCoMo are measured too. The
same data, machine and versions give the same bytes. It needs scikit-learn and spaCy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"  # sums in another order would end in other last digits
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from benchmarks import extraction
from tidal_plugins import RuleExtractor
from tidal_plugins.english.pasted import FENCED
from tidal_plugins.graph.reading.mentions import KIN, named
from tidal_plugins.graph.reading.predicates import SHIPPED, features, weights
from tidal_plugins.graph.reading.talk import KIN_CLASS, Draft, TalkReader, holds, tagged

if TYPE_CHECKING:
    pass

LABELS = Path(__file__).with_name("data")
APART = frozenset("novel-writer data-warehouse teacher-term homelab-german".split())
"""Stories that nothing is fitted on."""
NONE = "none"
"""The class of what is not stated."""
KINS = frozenset("parent_of child_of sibling_of partner_of friend_of neighbour_of".split()).union(KIN.values())
STRENGTHS = 0.3, 1.0
"""Inverses of the penalties on large weights, of the filter and of the predicates. By leaving conversations out, one
of .1 has an average precision of .519, of .3 .530, as of .5."""
SEEN = 2
"""Candidates in which a feature must occur."""
EXAMPLES, EXAMPLE_WEIGHT = "example:", 5.0
"""Sentences that show the forms of a predicate count more than turns, which happen to state something."""
ALIKE = 0.6
"""Share of the best overlap of words with a label from which on a candidate states it, too."""
KEPT = frozenset("plans promised decided chose appointment deadline on_call must never always".split())
"""Predicates whose objects may be planned; what else is planned is a plan."""
STEPS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)

Row = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    folder = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=folder, required=not folder, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=SHIPPED, metavar="FILE")
    parser.add_argument("--measure", action="store_true", help="only measure what the weights read at each threshold")
    parser.add_argument("--turns", type=Path, metavar="FILE", help="labelled turns of your own to measure too")
    args = parser.parse_args(argv)
    data = args.data if args.data.is_dir() else args.data.parent  # the other benchmarks are given a file in it
    rows = [*own(), *joined(data)]
    seen = [row for row in rows if not apart(row)]
    if not args.measure:
        fit(seen, args.out)
        print(f"{args.out}: {args.out.stat().st_size} bytes, {len(seen)} turns")
    unseen = [row for row in rows if apart(row)]
    more = {args.turns.stem: _lines(args.turns)} if args.turns else {}
    report({"fitted on": seen, "own, kept apart": [row for row in unseen if row["source"].startswith("own")],
            "stories kept apart": [row for row in unseen if row["source"].startswith("story")],
            "LoCoMo": foreign(data), **more}, args.out)  # fmt: skip


# data


def own() -> list[Row]:
    return _lines(LABELS / "relations.jsonl")


def joined(data: Path) -> list[Row]:
    """Return the labelled turns of the stories and of RealMem with their texts."""
    people = json.loads((data / "realmem_dev.json").read_text("utf-8"))
    rows = _lines(LABELS / "relation_labels.jsonl")
    names = {row["source"].split(":")[1] for row in rows if row["source"].startswith("story")}
    stories = {name: json.loads((data / "stories" / f"{name}.json").read_text("utf-8")) for name in names}
    return [row | {"text": _text(row["source"], stories, people), "context": ["User: ", "Assistant: "]} for row in rows]


def _text(source: str, stories: dict[str, Any], people: dict[str, Any]) -> str:
    kind, name, session, turn, *side = source.split(":")
    if kind == "story":
        found = next(one for one in stories[name]["sessions"] if one["id"] == session)
        return str(found["turns"][int(turn)]["agent" if side[0].startswith("a") else "user"])
    return str(next(one for one in people[name] if one["session"] == session)["turns"][int(turn)]["content"])


def foreign(data: Path) -> list[Row]:
    file = data / "relations_dev.jsonl"
    return [row for row in _lines(file) if row["source"].startswith("locomo")] if file.exists() else []


def apart(row: Row) -> bool:
    """Return whether a turn is kept apart: of two stories, and a tenth of the project's own conversations."""
    kind, name, *_ = row["source"].split(":")
    return name in APART or (kind == "own" and int(hashlib.sha256(f"{kind}:{name}".encode()).hexdigest(), 16) % 10 == 0)


def _lines(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


# fitting


def fit(rows: Sequence[Row], out: Path) -> None:
    """Fit the filter and the predicates on labelled turns, and write them to a file."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    found: list[frozenset[str]] = []
    said: list[str] = []
    counts: list[float] = []
    for row, drafts in zip(rows, TalkReader().drafts([_plain(row["text"]) for row in rows]), strict=True):
        found += [features(one.candidate, tags) for one, tags in zip(drafts, tagged(drafts), strict=True)]
        said += labels(row, drafts)
        counts += [EXAMPLE_WEIGHT if row["source"].startswith(EXAMPLES) else 1.0] * len(drafts)
    often = Counter(name for one in found for name in one)
    names = sorted(name for name, count in often.items() if count >= SEEN)
    table, stated, weight = _matrix(found, names), np.array([one != NONE for one in said]), np.array(counts)
    filter_ = LogisticRegression(C=STRENGTHS[0], max_iter=500).fit(table, stated, sample_weight=weight)
    which = LogisticRegression(C=STRENGTHS[1], max_iter=500)
    which.fit(table[stated], np.array(said)[stated], sample_weight=weight[stated])
    np.savez_compressed(
        out,
        features=np.array(names),
        predicates=np.array([str(one) for one in which.classes_]),
        stated=np.append(filter_.coef_[0], filter_.intercept_).astype(np.float16),
        which=np.vstack([which.coef_.T, which.intercept_]).astype(np.float16),
    )


def labels(row: Row, drafts: Sequence[Draft]) -> list[str]:
    """Return the predicate that each draft of a turn states by its labels, or ``none``."""
    found = [NONE] * len(drafts)
    ends = [(extraction.words(one.subject.name, row), extraction.words(one.object.name, row)) for one in drafts]
    for label in row["relations"]:
        predicate = _class(label)
        if predicate is None:
            continue
        subject, object_ = extraction.words(label["subject"], row), extraction.words(label["object"], row)
        fits = []
        for number, (one, two) in enumerate(ends):
            same = extraction.overlap(one, subject) and extraction.overlap(two, object_)
            same |= predicate == KIN_CLASS and extraction.overlap(one, object_) and extraction.overlap(two, subject)
            if predicate in ("appointment", "deadline"):
                same |= bool(two & object_) and extraction.overlap(one | two, subject | object_)
            if same and holds(drafts[number].candidate, predicate):
                fits.append((len((one | two) & (subject | object_)) / len(one | two | subject | object_), number))
        for likeness, number in sorted(fits, reverse=True):
            if found[number] == NONE and likeness >= ALIKE * max(fits)[0]:
                found[number] = predicate
    return found


def _class(label: Row) -> str | None:
    predicate, status = str(label["predicate"]), label["status"]
    if status in extraction.UNREAL:
        return None
    if predicate in KINS:
        return KIN_CLASS
    if status == "wished":
        return "wants"
    return "plans" if status == "planned" and predicate not in KEPT else predicate


def _plain(text: str) -> tuple[str, Any]:
    plain = FENCED.sub(lambda match: "".join("\n" if one == "\n" else " " for one in match[0]), text)
    return plain, named(plain, 0, len(plain))


def _matrix(found: Sequence[frozenset[str]], names: Sequence[str]) -> Any:
    from scipy.sparse import csr_matrix

    numbers = {name: number for number, name in enumerate(names)}
    rows = [sorted(numbers[name] for name in one if name in numbers) for one in found]
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    columns = [number for row in rows for number in row]
    return csr_matrix(([1.0] * len(columns), columns, starts), shape=(len(rows), len(names)))


# measuring


def report(parts: dict[str, list[Row]], out: Path) -> None:
    """Print recall and precision of each part at each threshold, and the relations that took the unreal for real."""
    weights.cache_clear()
    reader = RuleExtractor(threshold=STEPS[0])
    read = {part: reader.extract_graph([row["text"] for row in rows]) for part, rows in parts.items()}
    print(f"{'':14}" + "".join(f"{part:>28}" for part in parts))
    for step in STEPS:
        line = f"threshold {step:<4}"
        for part, rows in parts.items():
            kept = [
                replace(one, assertions=tuple(said for said in one.assertions if said.confidence >= step))
                for one in read[part]
            ]
            tallies = extraction.tally(rows, kept)[0].values()
            right, wrong = sum(one.right.total() for one in tallies), sum(one.wrong.total() for one in tallies)
            found, missed = sum(one.found.total() for one in tallies), sum(one.missed.total() for one in tallies)
            unreal = sum(one.unreal for one in tallies)
            recall, precision = extraction.share(found, missed), extraction.share(right, wrong)
            shares = f"{recall:.3f} / {precision:.2f} ({right + wrong}, {unreal})"
            line += f"{shares:>28}"
        print(line)
    print("recall / precision (relations read, of these not meant as real)")


if __name__ == "__main__":
    main()
