"""Embedding: time of a query, of a batch and of a cold start, memory, and agreement with the original model.

    python benchmarks/embedding.py --data FOLDER

FOLDER (or ``TIDAL_BENCH_DATA``) holds what there is of GoEmotions (``goemotions_dev.tsv``) and of conversations in
LoCoMo's format (``locomo_dev.json``). Embedders take turns at each text, on one thread, so that all meet the same
machine. A cold start is a process of its own. fastembed and model2vec stand beside where they and a model are there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.table import Table

from benchmarks.affect import goemotions
from benchmarks.conversations import load
from benchmarks.embedders import SEED, InstantEmbedder, Words, centres, conversation
from benchmarks.tables import options, quantiles, wide
from tidal_plugins import OnnxEmbedder, SentenceTransformerEmbedder, Settings, TidalMemory

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = 10_000
BATCH = 64
QUERY_WORDS = range(8, 17)
REFERENCE = "sentence-transformers"
MINILM = "sentence-transformers/all-MiniLM-L6-v2"

Embed = Callable[[Sequence[str]], "NDArray[np.float32]"]


def fastembed() -> Embed:
    from fastembed import TextEmbedding

    model = TextEmbedding(MINILM, threads=1, local_files_only=True)
    return lambda texts: np.stack(list(model.embed(list(texts))))


def model2vec() -> Embed:
    from model2vec import StaticModel

    model = StaticModel.from_pretrained("minishlab/potion-base-8M")
    return lambda texts: np.asarray(model.encode(list(texts)), np.float32)


EMBEDDERS: Mapping[str, Callable[[], Embed]] = {
    "int8": lambda: OnnxEmbedder(cache_size=0).embed,
    "fp32": lambda: OnnxEmbedder(precision="fp32", cache_size=0).embed,
    REFERENCE: lambda: SentenceTransformerEmbedder(cache_size=0).embed,
    "fastembed": fastembed,
    "model2vec": model2vec,
}

COLD = """
import sys, time
start = time.perf_counter()
sys.path.insert(0, {root!r})
{body}
took = time.perf_counter() - start
peak = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(took, peak[0])
"""
FIRST_VECTOR = {
    "int8": "from tidal_plugins import OnnxEmbedder; OnnxEmbedder().embed(['a question'])",
    "fp32": "from tidal_plugins import OnnxEmbedder; OnnxEmbedder(precision='fp32').embed(['a question'])",
    REFERENCE: "from tidal_plugins import SentenceTransformerEmbedder as S; S().embed(['a question'])",
    "fastembed": "from benchmarks.embedding import fastembed; fastembed()(['a question'])",
    "model2vec": "from benchmarks.embedding import model2vec; model2vec()(['a question'])",
}
FIRST_RECALL = """
from tidal_plugins import {kind}, TidalMemory
with TidalMemory({path!r}, embedder={kind}({settings})) as memory: memory.recall({query!r})
"""
KINDS = {
    "int8": ("OnnxEmbedder", ""),
    "fp32": ("OnnxEmbedder", "precision='fp32'"),
    REFERENCE: ("SentenceTransformerEmbedder", ""),
}


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
    loaded, missing = available()
    report = {
        "speed": speed(loaded, texts, args.repeats),
        "cold": {name: cold(FIRST_VECTOR[name]) for name in loaded},
        "recall": first_recalls([name for name in loaded if name in KINDS]),
        "agreement": agreement(loaded, texts),
    }
    show(report, missing, len(texts))


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


def available() -> tuple[dict[str, Embed], dict[str, str]]:
    """Load each embedder that is there, and say of each other one why it is not."""
    loaded, missing = {}, {}
    for name, make in EMBEDDERS.items():
        try:
            embed = make()
            embed(["warm"])
        except ImportError:
            missing[name] = "not installed"
        except Exception as error:  # each library raises its own where its model is missing
            missing[name] = f"no model ({type(error).__name__})"
        else:
            loaded[name] = embed
    return loaded, missing


def speed(loaded: Mapping[str, Embed], texts: Sequence[str], repeats: int) -> dict[str, Any]:
    """Time queries singly and texts in batches, the embedders in turn."""
    queries = [text for text in texts if len(text.split()) in QUERY_WORDS][:repeats]
    singles: dict[str, list[float]] = {name: [] for name in loaded}
    for query in queries:
        for name, embed in loaded.items():
            singles[name].append(seconds(embed, [query]) * 1000)
    batches: dict[str, float] = dict.fromkeys(loaded, 0.0)
    many = texts[: 8 * BATCH]
    for batch in chunks(many, BATCH):
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


def first_recalls(names: Sequence[str]) -> dict[str, Any]:
    """Time a fresh process from its imports to the first recall, in a store that another one filled."""
    words, around, found = Words(SEED), centres(), {}
    with TemporaryDirectory(prefix="tidal-benchmark-") as folder:
        for name in names:
            path = Path(folder, f"{name}.db")
            stand_in = InstantEmbedder(around)  # embedding all entries would take minutes
            stand_in.id = (OnnxEmbedder() if name == "int8" else SentenceTransformerEmbedder()).id
            nothing_waits = Settings(graph={"enabled": False})
            with TidalMemory(path, embedder=stand_in, settings=nothing_waits) as memory:
                memory.record_many(conversation(words, ENTRIES))
            kind, settings = KINDS[name]
            found[name] = cold(FIRST_RECALL.format(kind=kind, settings=settings, path=str(path), query=words.query()))
    return found


def agreement(loaded: Mapping[str, Embed], texts: Sequence[str]) -> dict[str, Any]:
    """Compare the vectors of both precisions with the original model's, text by text."""
    if REFERENCE not in loaded:
        return {}
    original = loaded[REFERENCE](texts)
    found = {}
    for name in ("int8", "fp32"):
        cosines = np.sum(loaded[name](texts) * original, axis=1) if name in loaded else np.array([np.nan])
        found[name] = {"mean": float(cosines.mean()), "worst": float(cosines.min())}
        found[name]["worst_percent"] = float(np.quantile(cosines, 0.01))
    return found


def chunks(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    yield from (texts[start : start + size] for start in range(0, len(texts), size))


def seconds(embed: Embed, texts: Sequence[str]) -> float:
    start = time.perf_counter()
    embed(texts)
    return time.perf_counter() - start


def show(report: Mapping[str, Any], missing: Mapping[str, str], texts: int) -> None:
    console = wide(120)
    table = Table(title="Embedding on one thread, in turns", title_justify="left")
    columns = ["", "query p50 ms", "p95 ms", "texts/s", "cold: first vector s", "peak MB", "cold: first recall s"]
    for column in [*columns, "peak MB"]:
        table.add_column(column, justify="right" if column else "left")
    for name, row in report["speed"].items():
        start, recall = report["cold"][name], report["recall"].get(name)
        cells = [f"{row['p50_ms']:.2f}", f"{row['p95_ms']:.2f}", f"{row['texts_per_second']:.0f}"]
        cells += [f"{start['seconds']:.2f}", f"{start['peak_mb']:.0f}"]
        cells += [f"{recall['seconds']:.2f}", f"{recall['peak_mb']:.0f}"] if recall else ["", ""]
        table.add_row(name, *cells)
    for name, reason in missing.items():
        table.add_row(name, reason)
    console.print(table)
    table = Table(title=f"Cosine to the original model's vectors, {texts:,} texts", title_justify="left")
    for column in ("", "mean", "worst 1 %", "worst"):
        table.add_column(column, justify="right" if column else "left")
    for name, row in report["agreement"].items():
        table.add_row(name, *(f"{row[key]:.6f}" for key in ("mean", "worst_percent", "worst")))
    console.print(table)


if __name__ == "__main__":
    main()
