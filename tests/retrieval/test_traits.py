"""Traits of entries that several threads read at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.waiting import PATIENCE
from tidal_plugins.retrieval.traits import Traits


class Slow:
    """Columns of ``count`` entries that all ask. While they are read, another thread reads ``meanwhile``."""

    def __init__(self, count: int, meanwhile: Any = None) -> None:
        self.arrays = SimpleNamespace(key=np.arange(count))
        self.meanwhile = meanwhile

    def heads(self, rows: Sequence[int]) -> list[tuple[str, str]]:
        if self.meanwhile is not None:
            other = threading.Thread(target=self.meanwhile)
            other.start()
            other.join(PATIENCE)
            assert not other.is_alive(), "reading texts holds up no other thread"
        return [("Is it late?", "Is it late?")] * len(rows)


def test_entries_that_come_while_others_are_read_take_no_trait_away() -> None:
    traits, rows = Traits(), np.arange(10)

    def grow() -> None:
        more: Any = Slow(5000)
        traits.told(more, np.arange(4000, 5000))

    few: Any = Slow(10, grow)
    assert traits.told(few, rows)[0].all()
    again: Any = Slow(5000)
    assert traits.told(again, np.r_[rows, np.arange(4000, 5000)])[0].all()


def test_many_threads_read_the_traits_of_a_growing_scope() -> None:
    traits, wrong = Traits(), list[int]()

    def read(count: int) -> None:
        for size in range(count, 20_000, 64):
            columns: Any = Slow(size)
            if not traits.told(columns, np.arange(size - 64, size))[0].all():
                wrong.append(size)

    threads = [threading.Thread(target=read, args=(64 + step,)) for step in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything: Any = Slow(20_000)
    assert traits.told(everything, np.arange(20_000))[0].all()
    assert not wrong
