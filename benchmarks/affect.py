"""Measure how well feelings are read off vectors, what reading costs, and whether recall follows the feelings.

    python benchmarks/affect.py --data FOLDER

FOLDER (or ``TIDAL_BENCH_DATA``) may hold GoEmotions (``goemotions_dev.tsv``), EmoBank (``emobank_dev.csv``) and
conversations in LoCoMo's format (``locomo_dev.json``). Parts whose data is missing are left out. The last part uses the
project's own memories: 60 pairs, each about one thing that is felt in two opposite ways.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tidal_plugins.affect.state import AffectTuning

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console
from rich.table import Table

from benchmarks.conversations import load
from benchmarks.embedders import EMBEDDERS, add_embedder
from benchmarks.tables import options, wide
from tidal_plugins import Affect, EmbeddingEmotion, LexiconEmotion, Settings, TidalError, TidalMemory
from tidal_plugins.affect.embedding import LABELS, PLACES
from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.protocols import Embedder
from tidal_plugins.storage.sqlite import TemporarySQLite
from tidal_plugins.testing import FrozenClock

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAIRS = Path(__file__).with_name("data") / "feelings.json"
WIDTH = 120
SEED = 9
CUT = 0.25
"""Probability from which a label counts as found."""
STIRRED = 0.5
CALMLY = 0.4
"""Factor by which feelings are weakened for the calm state: about a third of an intensity of .9 remains."""
SINGLES = 500
"""Number of texts that are read one by one, to time a single turn."""

AMBIGUOUS = frozenset({"confusion", "curiosity", "realization", "surprise", "neutral"})
"""Labels that GoEmotions' authors count neither as positive nor as negative."""

ANSWERS = {
    "short answers": "Noted.",
    "long answers": "I have written that down together with the date, so that we can come back to it whenever it is "
    "needed. The entry stands beside the other ones of this month and can be found by its topic.",
}

STATES = {
    "glad": (
        "This is wonderful, I am so happy and excited!!!",
        "I love this so much, I'm overjoyed and so grateful!",
        "Hooray, what a great day, I could hug everybody!",
    ),
    "upset": (
        "I am furious, everything is ruined and nobody cares!!!",
        "I'm so scared and desperate, I can't take this any more!",
        "This is horrible, I feel so hurt and angry and sad!",
    ),
}

Estimate = Callable[[Sequence[str], "NDArray[np.float32]"], list[Affect]]


class Comments(NamedTuple):
    """Comments with the labels that raters gave them."""

    texts: list[str]
    labels: list[set[str]]


class Sentences(NamedTuple):
    """Sentences with mean ratings from 1 to 5."""

    texts: list[str]
    valence: list[float]
    arousal: list[float]


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments(argv)
    console = wide(WIDTH)
    embedder = EMBEDDERS[args.embedder]()
    try:
        own = EmbeddingEmotion(embedder)
        report = {"reading": reading(args.data, own, embedder), "calm": calm(args.talk, own, embedder)}
        report |= {"pairs": pairs(embedder)}
    except TidalError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    show(report, console)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = options(__doc__)
    folder = os.environ.get("TIDAL_BENCH_DATA")
    add_embedder(parser)
    parser.add_argument("--data", type=Path, default=folder, metavar="FOLDER", help="or a file in it")
    args = parser.parse_args(argv)
    args.talk = args.data
    if args.data and args.data.is_dir():
        args.talk = args.data / "locomo_dev.json"
    elif args.data:
        args.data = args.data.parent  # a file of conversations, as the other benchmarks take it
    return args


# reading


def reading(folder: Path | None, own: EmbeddingEmotion, embedder: Embedder) -> dict[str, Any]:
    """Return the accuracy and the correlations of each reader, and the time that it takes per text."""
    lexicon = LexiconEmotion()
    readers: dict[str, Estimate] = {"embedding": own.estimate, "lexicon": lexicon.estimate, "VADER": raw_vader}
    found: dict[str, Any] = {name: {} for name in readers}
    if comments := goemotions(folder):
        vectors = embedder.embed(comments.texts)
        for name, read in readers.items():
            found[name] |= polarity(comments, read(comments.texts, vectors)) | timing(read, comments.texts, vectors)
        found["embedding"] |= named(comments, own.labels(comments.texts, vectors))
    if sentences := emobank(folder):
        vectors = embedder.embed(sentences.texts)
        for name, read in readers.items():
            feelings = read(sentences.texts, vectors)
            found[name]["valence r"] = correlation([felt.valence for felt in feelings], sentences.valence)
            found[name]["arousal r"] = correlation([felt.arousal for felt in feelings], sentences.arousal)
    return found


def raw_vader(texts: Sequence[str], _: Any) -> list[Affect]:
    """Read texts with unchanged VADER: compound is the valence, the share of charged words is the arousal."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    scores = map(SentimentIntensityAnalyzer().polarity_scores, texts)
    return [Affect(score["compound"], min(1.0, score["pos"] + score["neg"])) for score in scores]


def polarity(comments: Comments, feelings: Sequence[Affect]) -> dict[str, float]:
    """Compare the sign of the valence with that of the labels; return the share of right signs and the F1, in percent.

    Comments whose labels have both signs are left out. A valence of 0 counts as wrong. The F1 is the mean over the two
    signs.
    """
    signs = [{sign(PLACES[label].valence) for label in labels - AMBIGUOUS} for labels in comments.labels]
    told = [(own.pop(), sign(felt.valence)) for own, felt in zip(signs, feelings, strict=True) if len(own) == 1]
    right = sum(own == read for own, read in told) / len(told)
    f1 = sum(f_score([own == s for own, _ in told], [read == s for _, read in told]) for s in (-1, 1)) / 2
    return {"comments": len(told), "polarity": 100 * right, "polarity F1": 100 * f1}


def named(comments: Comments, found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Score the 28 labels, in percent.

    The macro-F1 has one cut for all labels; the other score is the share of comments whose likeliest label is right.
    """
    scores = [
        f_score([label in own for own in comments.labels], [row[label] >= CUT for row in found]) for label in LABELS
    ]
    likeliest = [max(row, key=lambda label: row[label]) for row in found]
    right = sum(label in own for label, own in zip(likeliest, comments.labels, strict=True)) / len(found)
    return {"labels F1": 100 * sum(scores) / len(scores), "likeliest label": 100 * right}


def timing(read: Estimate, texts: Sequence[str], vectors: NDArray[np.float32]) -> dict[str, float]:
    """Time a reader, in milliseconds per text without its embedding: all texts at once, and one at a time."""
    started = time.perf_counter()
    read(texts, vectors)
    together = time.perf_counter() - started
    some = min(SINGLES, len(texts))
    if read is raw_vader:  # it reads its lexicon each time
        return {"ms together": 1000 * together / len(texts)}
    started = time.perf_counter()
    for number in range(some):
        read([texts[number]], vectors[number : number + 1])
    single = time.perf_counter() - started
    return {"ms together": 1000 * together / len(texts), "ms singly": 1000 * single / some}


def calm(path: Path | None, own: EmbeddingEmotion, embedder: Embedder) -> dict[str, float]:
    """Return the percentage of ordinary conversation turns that are read as stirred; it should be under 10.

    Turns are read as they are spoken, as the memory embeds them (with the speaker's name in front), and as they move
    the state, by their sentences.
    """
    if path is None or not path.exists():
        return {}
    turns = [turn for talk in load(path).conversations for session in talk.sessions for turn in session.turns]
    texts = [turn.text for turn in turns]
    spoken = own.estimate(texts, embedder.embed(texts))
    stored = own.estimate(texts, embedder.embed([f"{turn.speaker}: {turn.text}" for turn in turns]))
    lexicon = LexiconEmotion().estimate(texts)
    with closing(TemporarySQLite()) as store:
        told = AffectLoop(store, own, Settings()[AffectTuning]).told(texts, spoken)
    found = {"spoken": spoken, "stored": stored, "by sentences": told, "lexicon": lexicon}
    return {"turns": len(texts)} | {name: stirred(feelings) for name, feelings in found.items()}


def stirred(feelings: Sequence[Affect]) -> float:
    return 100 * sum(felt.intensity > STIRRED for felt in feelings) / len(feelings)


# recall


def pairs(embedder: Embedder) -> dict[str, Any]:
    """Return how often recall puts the memory of a pair first that feels like the current state, in percent."""
    told = json.loads(PAIRS.read_text("utf-8"))
    return {name: felt_alike(told, embedder, answer) for name, answer in ANSWERS.items()}


def felt_alike(told: Sequence[Mapping[str, str]], embedder: Embedder, answer: str) -> dict[str, Any]:
    states = {side: [state(embedder, turn) for turn in turns] for side, turns in STATES.items()}
    with TemporaryDirectory() as folder:
        path, clock = Path(folder, "pairs.db"), FrozenClock()
        with TidalMemory(path, embedder=embedder, clock=clock) as memory:
            ids = lived(memory, clock, told, answer)
            agitated = follows(memory, told, ids, states)
            faint = {side: [fainter(one) for one in moods] for side, moods in states.items()}
            bare = {side: [Affect(one.valence, one.arousal) for one in moods] for side, moods in states.items()}
            unnamed = follows(memory, told, ids, bare)
            orders = [memory.recall(pair["asked"], affect=Affect()).ids for pair in told]
            calmly = [
                memory.recall(pair["asked"], affect=one).ids == order
                for pair, order in zip(told, orders, strict=True)
                for one in (moods[0] for moods in faint.values())
            ]
            glad_first = [above(order, glad, upset) for order, (glad, upset) in zip(orders, ids, strict=True)]
        off = Settings(tuning={"recall.feeling": 0.0, "recall.likeness": 0.0})
        with TidalMemory(path, embedder=embedder, clock=clock, emotion=None, settings=off) as memory:
            same = [memory.recall(pair["asked"]).ids == order for pair, order in zip(told, orders, strict=True)]
    return {
        "agitated": agitated,
        "order unchanged in a calm mood": 100 * sum(calmly) / len(calmly),
        "agitated, emotions not named": unnamed,
        "glad first without a mood": 100 * sum(glad_first) / len(told),
        "order unchanged without a mood": 100 * sum(same) / len(told),
    }


def state(embedder: Embedder, turn: str) -> Affect:
    """Read the feeling of an outburst, which recall uses as the current state."""
    return EmbeddingEmotion(embedder).estimate([turn])[0]


def fainter(affect: Affect) -> Affect:
    emotions = {name: CALMLY * strength for name, strength in (affect.emotions or {}).items()}
    return Affect(CALMLY * affect.valence, CALMLY * affect.arousal, emotions)


def lived(
    memory: TidalMemory, clock: FrozenClock, told: Sequence[Mapping[str, str]], answer: str
) -> list[tuple[str, str]]:
    """Record all memories in random order, six hours apart, so that the mood of one reaches into the next."""
    order = [(number, side) for number in range(len(told)) for side in STATES]
    random.Random(SEED).shuffle(order)
    ids = {}
    for number, side in order:
        clock.advance(hours=6)
        episode = memory.record(user=told[number][side], agent=answer, thread=f"{number} {side}")
        ids[number, side] = episode.entries[0]
    memory.supersessions.find()  # the background may not have come to it
    memory.graph.index_pending()
    clock.advance(days=2)
    return [(ids[number, "glad"], ids[number, "upset"]) for number in range(len(told))]


def follows(
    memory: TidalMemory,
    told: Sequence[Mapping[str, str]],
    ids: Sequence[tuple[str, str]],
    states: Mapping[str, Sequence[Affect]],
) -> float:
    """Return how often the memory that feels like the state ranks above the other one, in percent over both sides."""
    right = 0
    for number, (pair, (glad, upset)) in enumerate(zip(told, ids, strict=True)):
        for side, wanted, other in (("glad", glad, upset), ("upset", upset, glad)):
            mood = states[side][number % len(states[side])]
            right += above(memory.recall(pair["asked"], affect=mood).ids, wanted, other)
    return 100 * right / (2 * len(told))


def above(order: Sequence[str], wanted: str, other: str) -> bool:
    places = {id_: place for place, id_ in enumerate(order)}
    return places.get(wanted, len(order)) < places.get(other, len(order))


# data and figures


def goemotions(folder: Path | None) -> Comments | None:
    path = folder / "goemotions_dev.tsv" if folder else None
    if path is None or not path.exists():
        return None
    rows = [line.split("\t") for line in path.read_text("utf-8").split("\n") if line]
    return Comments([row[0] for row in rows], [{LABELS[int(label)] for label in row[1].split(",")} for row in rows])


def emobank(folder: Path | None) -> Sentences | None:
    path = folder / "emobank_dev.csv" if folder else None
    if path is None or not path.exists():
        return None
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return Sentences([row["text"] for row in rows], *([float(row[name]) for row in rows] for name in "VA"))


def sign(value: float) -> int:
    return (value > 0) - (value < 0)


def f_score(wanted: Sequence[bool], found: Sequence[bool]) -> float:
    both = sum(a and b for a, b in zip(wanted, found, strict=True))
    return 2 * both / max(1, sum(wanted) + sum(found))


def correlation(a: Sequence[float], b: Sequence[float]) -> float:
    return float(np.corrcoef(a, b)[0, 1])


def show(report: Mapping[str, Any], console: Console) -> None:
    columns = dict.fromkeys(name for row in report["reading"].values() for name in row if name != "comments")
    if columns:
        table = Table("reader", *columns, title="Reading feelings: GoEmotions and EmoBank, dev splits")
        for name, row in report["reading"].items():
            table.add_row(name, *(_shown(column, row.get(column)) for column in columns))
        console.print(table)
    if told := report["calm"]:
        shares = ", ".join(f"{name} {share:.1f} %" for name, share in told.items() if name != "turns")
        console.print(f"Of {told['turns']} ordinary turns more intense than {STIRRED}: {shares}")
    table = Table("60 pairs, in percent", *ANSWERS, title="The memory that feels like the state comes first")
    for name in report["pairs"]["short answers"]:
        table.add_row(name, *(f"{report['pairs'][column][name]:.1f}" for column in ANSWERS))
    console.print(table)


def _shown(column: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if column.startswith("ms") or column.endswith(" r") else f"{value:.1f}"


if __name__ == "__main__":
    main()
