"""Files followed at random: whatever comes back without a doubt is what is on disk, and with the disk all of it is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.workshop import Workshop
from tidal_plugins import Compaction, DiskFiles, HashingEmbedder, Message, Settings, TidalMemory
from tidal_plugins.model.compaction import RestoredFile

ROOMY = Settings(
    compaction={"max_files": 50},
    tuning={"compaction.file": 0.9, "compaction.files": 0.9, "compaction.least": 0.05, "compaction.target": 0.2},
)
DONE = [Message("assistant", "It is done.", "done"), Message("user", "What is left to do?", "now")]


def compacted(history: list[Message], files: Any = None) -> Compaction:
    with TidalMemory("memory://", embedder=HashingEmbedder(), settings=ROOMY) as memory:
        compactor = memory.compactor(max_tokens=100_000, files=files)
        return compactor.compact(history, thread="s", force="compact")


def shown(file: RestoredFile) -> dict[int, str]:
    """The lines that a restored file shows, by number."""
    text = file.content.removeprefix(f"{file.header}\n") if file.header else file.content
    lines = text.split("\n")
    found = [re.fullmatch(r" *(\d+)\t(.*)", line) for line in lines]
    if any(found):
        assert all(each or line == "…" for each, line in zip(found, lines, strict=True))
        return {int(each[1]): each[2] for each in found if each}
    return dict(enumerate(text.removesuffix("\n").split("\n"), 1))


@pytest.mark.slow
def test_what_comes_back_without_a_doubt_is_what_is_on_disk(tmp_path: Path) -> None:
    doubts, states = Counter[bool](), set()
    for seed in range(40):
        (root := tmp_path / str(seed)).mkdir()
        workshop = Workshop(root, seed)
        for _ in range(5 + seed % 20):
            workshop.step()
        for file in compacted([*workshop.messages, *DONE]).files:
            states.add(file.state)
            doubts[file.doubt is None] += 1
            assert ("out of date" in file.header) == (file.doubt is not None)
            if file.doubt is None:
                real = dict(enumerate(workshop.lines(file.path), 1))
                assert shown(file).items() <= real.items(), (seed, file.path)
                whole = file.cut or len("".join(shown(file).values())) == len("".join(real.values()))
                assert whole, f"{file.path} looks whole, and is not"
    assert min(doubts.values()) > 15, "some files are certain after many steps, some are in doubt"
    assert states == {"read", "edited", "created"}


@pytest.mark.slow
def test_with_the_disk_everything_is_as_it_is_there(tmp_path: Path) -> None:
    for seed in range(40, 60):
        (root := tmp_path / str(seed)).mkdir()
        workshop = Workshop(root, seed)
        for _ in range(15):
            workshop.step()
        (root / "one.py").write_text("somebody else wrote this\n", "utf-8")
        for file in compacted([*workshop.messages, *DONE], DiskFiles(root)).files:
            assert list(shown(file).values()) == workshop.lines(file.path), (seed, file.path)
            assert file.doubt is None
            assert not file.header or "has changed since" in file.header
