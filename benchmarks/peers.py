"""Search, writes, memory and files beside SqliteStore, Chroma, LanceDB and mem0, each used as its documentation says.

    make bench-peers, or: .venv-peers/bin/python benchmarks/peers.py --size 10000

All stores get the same texts and the same vectors: embedding is left out. Each lives in a process of its own, and they
are asked in turn, so that noise affects all alike. Look at the ratios: times differ from machine to machine.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout


from benchmarks.embedders import DIMENSIONS, SEED, InstantEmbedder, Words, centres, conversation
from benchmarks.tables import held_bytes, options, table, wide

if TYPE_CHECKING:
    from numpy.typing import NDArray

LIMIT = 10
"""Number of hits of a search."""
BATCH = 1000
"""Number of texts that are added at once where a store takes several."""
WARM_UP = 3
NAMESPACE = ("benchmark",)


class Peer(Protocol):
    """A store under test. It is made with the folder for its files and an embedder that costs next to nothing."""

    def fill(self, texts: Sequence[str]) -> None:
        """Add many texts as fast as the store can."""

    def add(self, text: str) -> None:
        """Add one text, durably."""

    def search(self, query: str, vector: NDArray[np.float32]) -> Sequence[Any]:
        """Return ten hits with their texts."""


class Tidal:
    """This library: hybrid recall with everything that shapes it. What is added are exchanges of two texts."""

    def __init__(self, folder: Path, embedder: InstantEmbedder) -> None:
        from tidal_plugins import Affect, Settings, TidalMemory

        quiet = Settings(graph={"background": False})  # a thread that reads what was filled in would be timed too
        self._memory = TidalMemory(folder / "memory.db", embedder=embedder, settings=quiet)
        self._calm, self._numbers = Affect(), count()

    def fill(self, texts: Sequence[str]) -> None:
        self._memory.record_many(conversation(Words(SEED), len(texts)))

    def add(self, text: str) -> None:
        self._memory.record(text, f"{text} again", thread=f"new-{next(self._numbers) // 20}")

    def search(self, query: str, vector: NDArray[np.float32]) -> Sequence[Any]:
        return self._memory.recall(query, limit=LIMIT, affect=self._calm).hits


class LangGraphSqlite:
    """LangGraph's ``SqliteStore``: search by vectors."""

    def __init__(self, folder: Path, embedder: InstantEmbedder) -> None:
        from contextlib import ExitStack

        from benchmarks.frameworks import loading_connection

        connection = loading_connection(folder / "store.db", ExitStack())
        if connection is None:
            raise SystemExit("this Python's sqlite3 can load no extensions, and pysqlite3 is not installed")
        from langgraph.store.sqlite import SqliteStore

        def embed(texts: Sequence[str]) -> list[list[float]]:
            vectors: list[list[float]] = embedder.embed(texts).tolist()
            return vectors

        index: Any = {"dims": DIMENSIONS, "embed": embed, "text_fields": ["text"]}  # it ignores the documented fields
        self._store = SqliteStore(connection, index=index)
        self._store.setup()
        self._numbers = count()

    def fill(self, texts: Sequence[str]) -> None:
        from langgraph.store.base import PutOp

        for batch in batched_texts(texts):
            self._store.batch([PutOp(NAMESPACE, str(next(self._numbers)), {"text": text}) for text in batch])

    def add(self, text: str) -> None:
        self._store.put(NAMESPACE, str(next(self._numbers)), {"text": text})

    def search(self, query: str, vector: NDArray[np.float32]) -> Sequence[Any]:
        return self._store.search(NAMESPACE, query=query, limit=LIMIT)


class Chroma:
    """Chroma on disk: search by vectors, approximate (HNSW)."""

    def __init__(self, folder: Path, embedder: InstantEmbedder) -> None:
        import chromadb
        from chromadb.config import Settings

        client: Any = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        configuration: Any = {"hnsw": {"space": "cosine"}}
        self._collection = client.create_collection("benchmark", configuration=configuration, embedding_function=None)
        self._embedder, self._numbers = embedder, count()

    def fill(self, texts: Sequence[str]) -> None:
        for batch in batched_texts(texts):
            ids = [str(next(self._numbers)) for _ in batch]
            self._collection.add(ids, embeddings=self._embedder.embed(batch), documents=list(batch))

    def add(self, text: str) -> None:
        self._collection.add([str(next(self._numbers))], embeddings=self._embedder.embed([text]), documents=[text])

    def search(self, query: str, vector: NDArray[np.float32]) -> Sequence[Any]:
        found = self._collection.query(query_embeddings=[vector], n_results=LIMIT)
        texts: Sequence[str] = found["documents"][0]
        return texts


class LanceDB:
    """LanceDB: hybrid search of words and vectors without an index of vectors, as it is by default."""

    def __init__(self, folder: Path, embedder: InstantEmbedder) -> None:
        import lancedb

        self._db, self._embedder = lancedb.connect(str(folder)), embedder
        self._table: Any = None

    def fill(self, texts: Sequence[str]) -> None:
        for batch in batched_texts(texts):
            self._add(batch)
        self._table.create_fts_index("text")

    def add(self, text: str) -> None:
        self._add([text])

    def search(self, query: str, vector: NDArray[np.float32]) -> Sequence[Any]:
        asked = self._table.search(query_type="hybrid").vector(vector).text(query)
        rows: Sequence[Any] = asked.limit(LIMIT).to_list()
        return rows

    def _add(self, texts: Sequence[str]) -> None:
        vectors = self._embedder.embed(texts)
        rows = [{"text": text, "vector": vector} for text, vector in zip(texts, vectors, strict=True)]
        if self._table is None:
            self._table = self._db.create_table("benchmark", rows)
        else:
            self._table.add(rows)


class Mem0:
    """mem0 on disk with its own Qdrant, without a model: ``add(infer=False)``, one text at a time."""

    def __init__(self, folder: Path, embedder: InstantEmbedder) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder), "OPENAI_API_KEY": "none is called"}
        from mem0 import Memory

        place = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIMENSIONS}
        history = str(folder / "history.db")
        store = {"provider": "qdrant", "config": place}
        self._memory: Any = Memory.from_config({"vector_store": store, "history_db_path": history})
        self._memory.embedding_model = _Mem0Embedder(embedder)

    def fill(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        self._memory.add(text, user_id=NAMESPACE[0], infer=False)

    def search(self, query: str, vector: NDArray[np.float32]) -> Sequence[Any]:
        found: Sequence[Any] = self._memory.search(query, top_k=LIMIT, filters={"user_id": NAMESPACE[0]})["results"]
        return found


class _Mem0Embedder:
    def __init__(self, embedder: InstantEmbedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        vectors: list[list[float]] = self._embedder.embed(texts).tolist()
        return vectors


PEERS: Mapping[str, Callable[[Path, InstantEmbedder], Peer]] = {
    "tidal": Tidal,
    "SqliteStore": LangGraphSqlite,
    "Chroma": Chroma,
    "LanceDB": LanceDB,
    "mem0": Mem0,
}


def batched_texts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), BATCH):
        yield texts[start : start + BATCH]


# a store in its process


def serve(name: str, folder: Path, around: NDArray[np.float32], size: int, repeats: int, pipe: Connection) -> None:
    """Fill a store, tell what that took, then answer commands: the position of a query, or a text to add."""
    warnings.simplefilter("ignore")  # each search of Qdrant in a local folder warns of its size
    embedder, words = InstantEmbedder(around), Words(SEED)
    texts = [text.text for exchange in conversation(words, size) for text in exchange.messages]
    queries = [words.query() for _ in range(repeats)]
    vectors = embedder.embed(queries)
    peer = PEERS[name](folder, embedder)
    before, start = (held_bytes() or 0), time.perf_counter()
    peer.fill(texts)
    pipe.send({"entries_per_second": size / (time.perf_counter() - start)})
    while (asked := pipe.recv()) is not None:
        start = time.perf_counter()
        if isinstance(asked, str):
            peer.add(asked)
        else:
            found = peer.search(queries[asked], vectors[asked])
        took = 1000 * (time.perf_counter() - start)
        if isinstance(asked, int) and not found:
            raise RuntimeError(f"{name} found nothing")
        pipe.send(took)
    files = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    pipe.send({"memory": (held_bytes() or 0) - before, "files": files})


# asking all


def compare(names: Sequence[str], size: int, repeats: int) -> dict[str, dict[str, float]]:
    """Return the figures of each store: medians in milliseconds, bytes, and entries a second."""
    spawn, around = multiprocessing.get_context("spawn"), centres()
    figures: dict[str, dict[str, float]] = {}
    with TemporaryDirectory(prefix="tidal-benchmark-") as place:
        pipes: dict[str, Connection] = {}
        for name in names:
            folder = Path(place, name)
            folder.mkdir()
            pipes[name], end = spawn.Pipe()
            spawn.Process(target=serve, args=(name, folder, around, size, repeats, end), daemon=True).start()
            end.close()
            figures[name] = pipes[name].recv()
            print(f"{name}: {size:,} entries are in", file=sys.stderr)
        words = Words(SEED + 1)
        for kind, ask in (("search", int), ("add", lambda _: words.turn())):
            took = [[_asked(pipe, ask(number)) for pipe in pipes.values()] for number in range(repeats)]
            for name, times in zip(names, zip(*took[WARM_UP:], strict=True), strict=True):
                figures[name][kind] = statistics.median(times)
        for name, pipe in pipes.items():
            figures[name] |= _asked(pipe, None)
    return figures


def _asked(pipe: Connection, what: int | str | None) -> Any:
    pipe.send(what)
    return pipe.recv()


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--size", type=int, default=100_000, metavar="N", help="entries")
    parser.add_argument("--repeats", type=int, default=50, metavar="N", help="searches, and single writes")
    parser.add_argument("--stores", nargs="+", choices=list(PEERS), default=list(PEERS))
    args = parser.parse_args(argv)
    if args.size < 100 or args.repeats <= WARM_UP:
        parser.error(f"the size must be at least 100, and repeats more than {WARM_UP}")
    figures = compare(args.stores, args.size, args.repeats)
    show(figures, args.size)


def show(figures: Mapping[str, Mapping[str, float]], size: int) -> None:
    """Print the figures of each store; those of times with their ratio to the first store's."""
    found = table(
        f"{size:,} entries, without embedding: median ms (against the first line)",
        "store",
        "search, 10 hits",
        "one write",
        "entries a second",
        "memory, MB",
        "files, MB",
    )
    first = next(iter(figures.values()))
    for name, row in figures.items():
        times = (f"{row[kind]:.1f} ({row[kind] / first[kind]:.2f})" for kind in ("search", "add"))
        rate = row["entries_per_second"]
        sizes = (f"{row[kind] / 1e6:.0f}" for kind in ("memory", "files"))
        found.add_row(name, *times, f"{rate:,.0f} ({rate / first['entries_per_second']:.2f})", *sizes)
    wide(110).print(found)


if __name__ == "__main__":
    main()
