"""The figures by which an operator watches a memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import Closed, Settings, TidalMemory
from tidal_plugins.model.reports import Stats

CALM = Settings(graph={"background": False})


def test_figures_follow_what_is_stored_and_done(open_memory: Any) -> None:
    memory: TidalMemory = open_memory(settings=CALM)
    assert memory.stats().entries == 0
    memory.record("The ferry leaves at nine.", "Noted.", thread="harbour")
    memory.remember("The quay is closed on Mondays.")
    told = memory.stats()
    assert (told.entries, told.waiting, told.unscrubbed_bytes, told.timeouts) == (4, 2, 0, 0)
    assert told.file_bytes == Path(memory.path).stat().st_size
    assert told.log_bytes == Path(f"{memory.path}-wal").stat().st_size > 0
    memory.graph.index_pending()
    memory.supersessions.find()
    assert memory.stats().waiting == 0
    assert memory.scoped("other").stats().entries == 0


def test_questions_that_took_too_long_are_counted(open_memory: Any) -> None:
    with open_memory(settings=CALM) as memory:
        crates = [[f"Crate {number} is on quay {part}." for number in range(200)] for part in range(12)]
        memory.remember([" ".join(part) for part in crates], metadata={"crate": 1})  # few jobs, many passages
        memory.graph.index_pending()
    hasty = open_memory(settings=Settings(storage={"query_deadline": 1e-6}, graph={"background": False}))
    hasty.recall("crate quay", metadata={"crate": 2})
    assert hasty.stats().timeouts >= 1
    assert hasty.stats().slow >= 1


async def test_a_memory_that_is_not_kept_has_figures_that_end_with_it() -> None:
    from tidal_plugins import HashingEmbedder

    with TidalMemory("memory://", embedder=HashingEmbedder(), settings=CALM) as memory:
        memory.remember("The quay is closed on Mondays.")
        found = await memory.astats()
        assert isinstance(found, Stats)
        assert (found.entries, found.kinds, found.tiers) == (1, {"kb": 1}, {"permanent": 1})
    with pytest.raises(Closed):
        memory.stats()
