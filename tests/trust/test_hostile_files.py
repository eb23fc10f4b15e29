"""Any value where a file is opened, copied, put back or given a key: a short error, and the files are as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.trust.hostile import MOST, VALUES, Call, fault
from tidal_plugins import ComponentError, HashingEmbedder, Secret, TidalMemory, list_backups, rekey, restore

TEXT = "The pears are ripe in the orchard."


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Return a closed memory, with a backup of it beside it."""
    path = tmp_path / "agent.db"
    with TidalMemory(path, embedder=HashingEmbedder()) as memory:
        memory.remember(TEXT)
        memory.backup(tmp_path / "backup.db")
        memory.close(timeout=60)  # what waits would be done at the next opening
    return path


def files(path: Path) -> dict[str, bytes]:
    """Return the names and bytes of the files beside a memory."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def opened(path: Path, **options: Any) -> None:
    """Open a memory, and close it."""
    TidalMemory(path, embedder=HashingEmbedder(), **options).close()


def file_calls(path: Path, value: Any) -> Iterable[tuple[str, Callable[[], object]]]:
    """Yield what takes a value beside a memory's good path: none of the values is right there."""
    backup = path.with_name("backup.db")
    yield "backup", lambda: restore(value, path, replace=True)
    yield "path", lambda: restore(backup, value, replace=True)
    yield "replace", lambda: restore(backup, path, replace=value)
    yield "folder", lambda: list_backups(value)
    yield "rekeyed", lambda: rekey(value, new_key=lambda: "nine slow herons")
    if value is not None:
        yield "key", lambda: opened(path, key=value)
        yield "rekey", lambda: rekey(path, key=value)
        yield "new key", lambda: rekey(path, new_key=value)
        yield "redactor", lambda: opened(path, redactor=value)
    yield "key's answer", lambda: opened(path, key=lambda: value)
    yield "new key's answer", lambda: rekey(path, new_key=lambda: value)


@pytest.mark.parametrize("name", [name for name in VALUES if name not in ("long text", "number in words")])
def test_files_stay_as_they_were(saved: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(saved.parent)
    before = files(saved)
    for where, use in file_calls(saved, VALUES[name]):
        assert fault(Call(where, use)) == ""
        assert files(saved) == before, where
    with TidalMemory(saved, embedder=HashingEmbedder()) as memory:
        assert memory.recall("ripe pears")[0].text == TEXT


@pytest.mark.parametrize("part", ["answer", "start", "end", "kind"])
def test_a_redactor_that_answers_anything_stores_nothing(tmp_path: Path, part: str) -> None:
    class Odd:
        answer: Any = None

        def find(self, text: str) -> Any:
            if part == "answer":
                return self.answer
            return [Secret(**{"start": 0, "end": 4, "kind": "word", part: self.answer})]

    good = {"empty", "empty list", "empty mapping"} if part == "answer" else {"number"}  # no secrets, or a good place
    with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), redactor=(odd := Odd())) as memory:
        for name in VALUES.keys() - good:
            odd.answer = VALUES[name]
            for write in (memory.record, memory.remember):
                with pytest.raises(ComponentError) as caught:
                    write(TEXT)
                assert len(str(caught.value)) <= MOST, name
        assert memory.stats().entries == 0
