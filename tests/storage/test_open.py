"""Which engine a path, a URL or ``storage=`` opens, at the door of the facade."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import HashingEmbedder, InvalidInput, Peer, TidalMemory
from tidal_plugins.storage.memory import MemoryStorage

Open = Callable[..., TidalMemory]


@pytest.fixture
def opening() -> Open:
    return lambda *path, **options: TidalMemory(*path, embedder=HashingEmbedder(), **options)


def test_a_path_opens_a_file(tmp_path: Path, opening: Open) -> None:
    for path in (tmp_path / "a.db", str(tmp_path / "b.db")):
        with opening(path) as memory:
            assert memory.path == str(path)
        assert Path(path).is_file()


def test_memory_opens_an_empty_store_each_time_and_makes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opening: Open
) -> None:
    monkeypatch.chdir(tmp_path)
    with opening("memory://") as one, opening("memory://") as other:
        one.record("I play jazz piano.", "Noted.")
        assert "jazz" in one.recall("piano")[0].text
        assert len(other.recall("piano")) == 0
        assert one.path.startswith("memory://")
        assert one.path != other.path
    assert list(tmp_path.iterdir()) == []


def test_two_stores_in_memory_can_be_peers(opening: Open) -> None:
    with opening("memory://") as other, opening("memory://", peers=[Peer(other, name="team")]) as own:
        other.remember("The build takes ten minutes.")
        assert own.recall("build minutes")[0].origin == "team"


def test_an_engine_of_ones_own_is_used(opening: Open) -> None:
    class Nameless(MemoryStorage):
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
        opening(tmp_path / "a.db", storage=MemoryStorage())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("storage", [object(), MemoryStorage, "memory://"], ids=["object", "class", "text"])
def test_what_is_no_engine_is_refused(opening: Open, storage: Any) -> None:
    with pytest.raises(InvalidInput, match="storage="):
        opening(storage=storage)
