"""Embedding: time of a query, of a batch and of a cold start, memory, and agreement with the original model.

    python benchmarks/embedding.py --data FOLDER

FOLDER (or ``TIDAL_BENCH_DATA``) holds what there is of GoEmotions (``goemotions_dev.tsv``) and of conversations in
LoCoMo's format (``locomo_dev.json``). Embedders take turns at each text, on one thread, so that all meet the same
machine. A cold start is a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout


import tidal_plugins
from benchmarks.affect import goemotions
from benchmarks.conversations import load
from benchmarks.embedders import SEED, InstantEmbedder, Words, centres, conversation
from benchmarks.tables import options, quantiles, table, wide
from tidal_plugins import OnnxEmbedder, SentenceTransformerEmbedder, Settings, TidalMemory

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = 10_000
BATCH = 64
QUERY_WORDS = range(8, 17)
REFERENCE = "sentence-transformers"

Embed = Callable[[Sequence[str]], "NDArray[np.float32]"]


KINDS = {
    "int8": ("OnnxEmbedder", {}),
    "fp32": ("OnnxEmbedder", {"precision": "fp32"}),
    REFERENCE: ("SentenceTransformerEmbedder", {}),
}
"""The embedders by name: their class, and its options."""

COLD = """
import sys, time
start = time.perf_counter()
sys.path.insert(0, {root!r})
{body}
took = time.perf_counter() - start
peak = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(took, peak[0])
"""
FIRST_VECTOR = "from tidal_plugins import {kind}; {kind}(**{options}).embed(['a question'])"
FIRST_RECALL = """
from tidal_plugins import {kind}, TidalMemory
with TidalMemory({path!r}, embedder={kind}(**{options})) as memory: memory.recall({query!r})
"""


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    given = os.environ.get("TIDAL_BENCH_DATA")
    parser.add_argument(
        "--data", type=Path, default=given, required=not given, metavar="FOLDER", help="or a file in it"
    )
    parser.add_argument("--texts", type=int, default=5_000, metavar="N", help="texts whose vectors are compared")
    parser.add_argument("--repeats", type=int, default=300, metavar="N", help="queries that are timed")
    args = parser.parse_args(argv)
    texts = texts_in(args.data)[: args.texts]
    loaded = {
        name: getattr(tidal_plugins, kind)(cache_size=0, **options).embed for name, (kind, options) in KINDS.items()
    }
    for embed in loaded.values():
        embed(["warm"])
    report = {
        "speed": speed(loaded, texts, args.repeats),
        "cold": {name: cold(FIRST_VECTOR.format(kind=kind, options=given)) for name, (kind, given) in KINDS.items()},
        "recall": first_recalls(),
        "agreement": agreement(loaded, texts),
    }
    show(report, len(texts))


def texts_in(path: Path) -> list[str]:
    """Return comments and turns by turns, as far as there are both."""
    folder, talk = (path, path / "locomo_dev.json") if path.is_dir() else (path.parent, path)
    comments = goemotions(folder)
    found = [list(comments.texts) if comments else []]
    if talk.is_file():
        sessions = [session for one in load(talk).conversations for session in one.sessions]
        found.append([turn.text for session in sessions for turn in session.turns])
    shortest = min(len(part) for part in found if part)
    return [text for row in zip(*(part[:shortest] for part in found if part), strict=True) for text in row]


def speed(loaded: Mapping[str, Embed], texts: Sequence[str], repeats: int) -> dict[str, Any]:
    """Time queries singly and texts in batches, the embedders in turn."""
    queries = [text for text in texts if len(text.split()) in QUERY_WORDS][:repeats]
    singles: dict[str, list[float]] = {name: [] for name in loaded}
    for query in queries:
        for name, embed in loaded.items():
            singles[name].append(seconds(embed, [query]) * 1000)
    batches: dict[str, float] = dict.fromkeys(loaded, 0.0)
    many = texts[: 8 * BATCH]
    for batch in (many[start : start + BATCH] for start in range(0, len(many), BATCH)):
        for name, embed in loaded.items():
            batches[name] += seconds(embed, batch)
    return {name: quantiles(singles[name]) | {"texts_per_second": len(many) / batches[name]} for name in loaded}


def cold(body: str, runs: int = 3) -> dict[str, float]:
    """Return the best time of some fresh processes, and the largest memory."""
    code = COLD.format(root=str(ROOT), body=body.strip())
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as installed
    ran = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=env)
        for _ in range(runs)
    ]
    rows = [line.stdout.split() for line in ran]
    return {"seconds": min(float(row[0]) for row in rows), "peak_mb": max(int(row[1]) for row in rows) / 1000}


def first_recalls() -> dict[str, Any]:
    """Time a fresh process from its imports to the first recall, in a store that another one filled."""
    words, around, found = Words(SEED), centres(), {}
    with TemporaryDirectory(prefix="tidal-benchmark-") as folder:
        for name, (kind, options) in KINDS.items():
            path = Path(folder, f"{name}.db")
            stand_in = InstantEmbedder(around)  # embedding all entries would take minutes
            stand_in.id = (OnnxEmbedder() if name == "int8" else SentenceTransformerEmbedder()).id
            nothing_waits = Settings(graph={"enabled": False})
            with TidalMemory(path, embedder=stand_in, settings=nothing_waits) as memory:
                memory.record_many(conversation(words, ENTRIES))
            found[name] = cold(FIRST_RECALL.format(kind=kind, options=options, path=str(path), query=words.query()))
    return found


def agreement(loaded: Mapping[str, Embed], texts: Sequence[str]) -> dict[str, Any]:
    """Compare the vectors of both precisions with the original model's, text by text."""
    original = loaded[REFERENCE](texts)
    found = {}
    for name in ("int8", "fp32"):
        cosines = np.sum(loaded[name](texts) * original, axis=1)
        found[name] = {"mean": float(cosines.mean()), "worst": float(cosines.min())}
        found[name]["worst_percent"] = float(np.quantile(cosines, 0.01))
    return found


def seconds(embed: Embed, texts: Sequence[str]) -> float:
    start = time.perf_counter()
    embed(texts)
    return time.perf_counter() - start


def show(report: Mapping[str, Any], texts: int) -> None:
    columns = ("", "query p50 ms", "p95 ms", "texts/s", "cold: first vector s", "peak MB")
    found = table("Embedding on one thread, in turns", *columns, "cold: first recall s", "peak MB")
    for name, row in report["speed"].items():
        cells = [f"{row['p50_ms']:.2f}", f"{row['p95_ms']:.2f}", f"{row['texts_per_second']:.0f}"]
        for took in (report["cold"][name], report["recall"][name]):
            cells += [f"{took['seconds']:.2f}", f"{took['peak_mb']:.0f}"]
        found.add_row(name, *cells)
    near = table(f"Cosine to the original model's vectors, {texts:,} texts", "", "mean", "worst 1 %", "worst")
    for name, row in report["agreement"].items():
        near.add_row(name, *(f"{row[key]:.6f}" for key in ("mean", "worst_percent", "worst")))
    wide(150).print(found, near)


if __name__ == "__main__":
    main()
