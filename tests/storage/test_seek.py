"""Searches of a file whose columns are not held: they find what those of a process with columns find."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.inside import raw
from tidal_plugins import HashingEmbedder, Recall, Settings, TidalMemory
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import ALL, HERE, FrozenClock, ids, record

QUIET = Settings(graph={"background": False})
WORDS = "lamp ladder harbour kettle walnut tram violin orchard".split()
QUESTIONS = [
    "Where is the lamp?",
    "the kettle and the tram",
    "Who has the violin near the harbour?",
    "walnut",
    "ladder",
]


def opened(path: Path) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(64), settings=QUIET, clock=FrozenClock())


def told(recall: Recall) -> list[tuple[str, float, str]]:
    return [(hit.id, hit.score, hit.passage) for hit in recall]


def asked(path: Path, ask: Callable[[TidalMemory, str], Recall]) -> list[list[tuple[str, float, str]]]:
    """Ask all questions, each of a memory that was just opened."""
    found = []
    for question in QUESTIONS:
        with opened(path) as memory:
            found.append(told(ask(memory, question)))
    return found


@pytest.mark.parametrize(
    "ask",
    [
        lambda memory, question: memory.recall(question),
        lambda memory, question: memory.recall(question, threads=["t1", "t3"]),
        lambda memory, question: memory.recall(question, kinds={"episode"}),
        lambda memory, question: memory.recall(question, metadata={"odd": True}, window=2),
        lambda memory, question: memory.recall(question, profile="attention", limit=3),
    ],
    ids=["all", "threads", "kinds", "metadata", "attention"],
)
def test_the_first_recall_of_a_process_finds_what_later_ones_find(
    tmp_path: Path, ask: Callable[[TidalMemory, str], Recall]
) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        for number in range(60):
            said = f"The {WORDS[number % 8]} {number} stands by the {WORDS[number * 5 % 7]}."
            memory.record(said, f"Noted {number}.", thread=f"t{number % 4}", metadata={"odd": bool(number % 2)})
        memory.forget(memory.recall("lamp 8", limit=1)[0].id)
        later = [told(ask(memory, question)) for question in QUESTIONS]
        assert any(later)
    assert asked(path, ask) == later


def test_columns_are_read_in_the_background_and_only_of_a_scope_that_is_asked_often(tmp_path: Path) -> None:
    store = SQLiteStorage(tmp_path / "memory.db")
    query = np.ones(8, np.float32)
    for scope in (HERE, ("elsewhere",)):
        store.put(scope, [record(str(n), f"text {n}", np.eye(8)[n % 8] + n / 99, scope=scope) for n in range(40)])
    found = [ids(store.nearest(HERE, query, 5, ALL)) for _ in range(3)]
    store.nearest(("elsewhere",), query, 5, ALL)
    for thread in threading.enumerate():
        if thread.name == "tidal-columns":
            thread.join()
    held = [store.columns(scope, whole=False).arrays.rows for scope in (HERE, ("elsewhere",))]
    assert held == [40, 0]
    assert found == [ids(store.nearest(HERE, query, 5, ALL))] * 3
    store.close()


def test_what_is_forgotten_leaves_no_signs_and_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        entries = memory.remember([f"The {word} is in the shed." for word in WORDS])
        memory.forget(entries[0].id)
    with opened(path) as memory:
        assert entries[0].id not in memory.recall("Where is the lamp?").ids
    connection = raw(path)
    passages = "SELECT key FROM passages ORDER BY key"
    assert list(connection.execute("SELECT passage FROM signs ORDER BY passage")) == list(connection.execute(passages))
    connection.close()
