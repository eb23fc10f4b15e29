"""The longest names, ids and scopes that the library takes: each engine stores them, and refuses longer ones alike."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tidal_plugins import Exchange, HashingEmbedder, InvalidInput, Message, Note, Settings, TidalMemory
from tidal_plugins.testing import HERE, record

MAX_LABEL, MAX_LABEL_BYTES = 1_000, 1_800
"""The longest name that the library takes, in characters and in bytes of UTF-8."""

RARE = range(0x20000, 0x2A000)
"""Characters of four bytes in UTF-8."""

CONTROLS = range(1, 3)
"""Characters that PostgreSQL gets as one or two."""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TidalMemory]:
    path = request.getfixturevalue("postgres_url") if request.param == "postgres" else tmp_path / "agent.db"
    settings = Settings(graph={"background": False})
    with TidalMemory(path, embedder=HashingEmbedder(), settings=settings) as memory:
        yield memory


def name(length: int, characters: range = RARE) -> str:
    """Return a text that cannot be compressed."""
    random = Random(length)
    return "".join(chr(random.choice(characters)) for _ in range(length))


LONGEST = {
    "four bytes": lambda: name(MAX_LABEL_BYTES // 4),
    "controls": lambda: name(MAX_LABEL, CONTROLS),
    "ascii": lambda: name(MAX_LABEL, range(33, 127)),
    # As many bytes as there can be once each control character is two.
    "both": lambda: name(733, CONTROLS) + name(266),
}

WRITES: dict[str, Callable[[TidalMemory, str], object]] = {
    "thread": lambda memory, name: memory.record("The cat is asleep.", "It is.", thread=name),
    "id": lambda memory, name: memory.record("The cat is asleep.", "It is.", thread="t", id=name),
    "message": lambda memory, name: memory.record_many(
        [Exchange([Message("user", "The cat is asleep.", id=name, speaker=name)], thread=name, id=name)]
    ),
    "source": lambda memory, name: memory.remember("The cat is asleep.", source=name, thread=name, speaker=name),
    "tags": lambda memory, name: memory.remember("The cat is asleep.", tags=[name]),
    "fact": lambda memory, name: memory.facts.set("cat", "asleep", source=name),
    "document": lambda memory, name: memory.documents.put(name, [Note("The cat is asleep.")]),
    "session": lambda memory, name: memory.sessions.open(user=name, agent=name, thread=name).__enter__(),
}


@pytest.mark.parametrize("write", WRITES)
def test_the_longest_names_are_stored(memory: TidalMemory, write: str) -> None:
    for longest in LONGEST.values():
        WRITES[write](memory, longest())
    memory.maintenance.run()
    assert memory.check().ok


@pytest.mark.parametrize("write", WRITES)
def test_a_name_that_is_too_long_is_refused_before_anything_is_written(memory: TidalMemory, write: str) -> None:
    before = memory.check().rows
    for longer in (name(MAX_LABEL_BYTES // 4 + 1), name(MAX_LABEL + 1, range(97, 123))):
        with pytest.raises(InvalidInput, match=r"characters|bytes"):
            WRITES[write](memory, longer)
    assert memory.check().rows == before


def test_the_longest_scopes_are_stored_and_found(memory: TidalMemory) -> None:
    segments = tuple(name(1_000 - number, range(0x4E00, 0x9000)) for number in range(8))
    outer, inner = memory.scoped(*segments[:-1]), memory.scoped(*segments)
    for view in (outer, inner):
        view.record("The cat is asleep.", "It is.", thread="t")
        assert view.recall("cat")[0].text == "The cat is asleep."
    receipt = outer.erase_scope(below=True)
    assert receipt.count >= 4
    assert not inner.recall("cat")


def test_an_id_that_no_index_can_hold_is_an_invalid_input(postgres_url: str) -> None:
    from tidal_plugins.storage.postgres import PostgresStorage

    with closing(PostgresStorage(postgres_url)) as store:
        with pytest.raises(InvalidInput, match="too long"):
            store.put(HERE, [record(name(700))])
        assert store.put(HERE, [record("a")]) == ["a"]
