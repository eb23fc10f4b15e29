"""Which engine a path, a URL or ``storage=`` opens, at the door of the facade."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import HashingEmbedder, InvalidInput, TidalMemory
from tidal_plugins.storage.sqlite import SQLiteStorage, TemporarySQLite

Open = Callable[..., TidalMemory]


@pytest.fixture
def opening() -> Open:
    return lambda *path, **options: TidalMemory(*path, embedder=HashingEmbedder(), **options)


def test_a_path_opens_a_file(tmp_path: Path, opening: Open) -> None:
    for path in (tmp_path / "a.db", str(tmp_path / "b.db")):
        with opening(path) as memory:
            assert memory.path == str(path)
        assert Path(path).is_file()


def test_an_engine_of_ones_own_is_used(opening: Open) -> None:
    class Nameless(TemporarySQLite):
        path = property(lambda self: "", lambda self, path: None)  # type: ignore[assignment]

    with opening(storage=Nameless()) as memory:
        memory.remember("kept")
        assert memory.path.startswith("Nameless")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (":memory:", "memory://"),
        ("memory://name", "no name"),
        ("redis://localhost", "no engine"),
        (None, "where the memory is"),
    ],
)
def test_what_no_engine_opens_is_refused_with_a_way_out(opening: Open, path: Any, reason: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(reason)):
        opening(path)


def test_a_path_and_an_engine_are_too_much(tmp_path: Path, opening: Open) -> None:
    with pytest.raises(InvalidInput, match="not both"):
        opening(tmp_path / "a.db", storage=TemporarySQLite())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("storage", [object(), SQLiteStorage, "memory://"], ids=["object", "class", "text"])
def test_what_is_no_engine_is_refused(opening: Open, storage: Any) -> None:
    with pytest.raises(InvalidInput, match="storage="):
        opening(storage=storage)
