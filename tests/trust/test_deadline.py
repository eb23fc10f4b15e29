"""A question that takes too long ends with the library's own error, or is answered by the other channel."""

from __future__ import annotations

from typing import Any

import pytest

from tidal_plugins import Exchange, Message, Note, QueryTimeout, Settings, TidalMemory

SOON = Settings(storage={"query_deadline": 1e-6}, graph={"background": False})
"""A deadline that is over before SQLite looks at the clock for the first time."""

TURNS = 1_500
"""Turns of which any list takes SQLite more steps than it makes between two looks at the clock."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a memory that holds enough for a query to take a while."""
    from tidal_plugins import HashingEmbedder

    file = str(tmp_path_factory.mktemp("deadline") / "agent.db")
    calm = Settings(storage={"durability": "fast"}, graph={"enabled": False, "supersession": False})
    with TidalMemory(file, embedder=HashingEmbedder(32), settings=calm) as memory:
        memory.remember([Note(f"Parcel {number} waits at gate {number % 7}.", tags=("t",)) for number in range(TURNS)])
        turn = [Exchange((Message("user", f"Where is crate {n}?"),), f"t{n}", f"e{n}") for n in range(TURNS)]
        memory.record_many(turn)
    return file


@pytest.fixture
def hasty(path: str) -> Any:
    """Return that memory, opened with a deadline that is over at once."""
    from tidal_plugins import HashingEmbedder

    with TidalMemory(path, embedder=HashingEmbedder(32), settings=SOON) as memory:
        yield memory


def test_a_list_that_takes_too_long_is_interrupted(hasty: TidalMemory) -> None:
    for options in ({}, {"tool": "none"}, {"limit": 1, "newest_first": True, "tool": "none"}):
        with pytest.raises(QueryTimeout, match="query_deadline"):
            hasty.episodes.list(**options)  # type: ignore[arg-type]
    assert hasty.record("Good morning.").query == "Good morning.", "a write has no deadline"


def test_a_recall_goes_on_without_the_channels_that_take_too_long(hasty: TidalMemory) -> None:
    found = hasty.recall("parcel gate", metadata={"nothing": "like it"})
    assert {"keywords", "vectors"} & set(found.degraded)
    assert hasty.recall("parcel gate", limit=1).degraded


def test_a_search_of_items_that_takes_too_long_is_interrupted(hasty: TidalMemory) -> None:
    pytest.importorskip("langgraph")
    from langgraph.store.base import PutOp

    from langgraph_tidal import TidalStore

    store = TidalStore(hasty)
    store.batch([PutOp(("users", str(n)), "note", {"text": f"apple {n}"}, index=False) for n in range(4_000)])
    with pytest.raises(QueryTimeout):
        store.search(("users",), filter={"text": "pear"})
