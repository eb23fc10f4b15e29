"""The base of the suites: how to open the store that they test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tidal_plugins.storage.base import Storage

OpenStore = Callable[[], Storage]


class Contract:
    """Fixtures that open a store once, and once more."""

    @pytest.fixture
    def open_store(self, tmp_path: Any) -> OpenStore:
        """Return a function that opens a handle on one store, the same at every call."""
        raise NotImplementedError("an engine's test class overrides the fixture open_store")

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Iterator[Storage]:
        store = open_store()
        yield store
        store.close()

    @pytest.fixture
    def other(self, store: Storage, open_store: OpenStore) -> Iterator[Storage]:
        """Yield a second handle on the store."""
        other = open_store()
        yield other
        other.close()


def in_thread(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
