"""The statements of SQL that recording takes: few, and as many in a large store as in a small one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from tidal_plugins import Exchange, HashingEmbedder, Message, Settings, TidalMemory

MOST = 43
"""Statements of one turn of two texts, each row of a table counted as one."""


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Note the statements of this thread on every connection that is opened inside."""
    seen, own = list[str](), threading.get_ident()

    def note(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
        if threading.get_ident() == own:
            seen.append(sql)
        return True

    def trace(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, trace])
    yield seen


def test_a_turn_takes_few_statements_however_large_the_store_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = dict[int, int]()
    settings = Settings(graph={"background": False})
    with (
        counted(monkeypatch) as seen,
        TidalMemory(tmp_path / "memory.db", embedder=HashingEmbedder(), settings=settings) as memory,
    ):
        for size in (1, 300):
            said = (Message("user", f"Anna moved house {size}."), Message("assistant", f"Noted as {size}."))
            memory.record_many([Exchange(said, "home", f"{size}-{turn}") for turn in range(size)])
            counts = []
            for again in range(3):  # now and then a write also begins the log anew, or notes that work waits
                seen.clear()
                memory.record(f"Where do ferries {size} leave?", f"From pier {again} of {size}.", thread=f"t{again}")
                counts.append(len(seen))
            taken[size] = min(counts)
    assert max(taken.values()) <= MOST
    assert taken[300] <= taken[1]
