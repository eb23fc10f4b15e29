"""Async twins: every blocking method of a memory, its groups, its graph and its sessions has one that does the same."""

from __future__ import annotations

import contextvars
import importlib
import inspect
import pkgutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import tidal_plugins
from tidal_plugins import Closed, InvalidInput, TidalMemory

AT_ONCE = {"compactor", "id_of", "start", "release", "scoped", "now"}
"""The methods without a twin: they wait for nothing."""

TALKING: Any = contextvars.ContextVar("TALKING", default=None)


def owners() -> Iterator[Any]:
    """Yield the modules and the classes of the library."""
    for found in pkgutil.walk_packages(tidal_plugins.__path__, "tidal_plugins."):
        if not found.name.startswith(("tidal_plugins.testing", "tidal_plugins.apps")):
            module = importlib.import_module(found.name)
            yield module
            for value in vars(module).values():
                if inspect.isclass(value) and value.__module__ == found.name:
                    yield value


def test_each_method_has_a_twin_of_its_own_signature() -> None:
    count = 0
    for owner in owners():
        methods = {name: value for name, value in vars(owner).items() if inspect.isfunction(value)}
        wrapped = {name: getattr(value, "__wrapped__", owner) for name, value in methods.items() if name[0] == "a"}
        twins = {name for name, value in wrapped.items() if methods.get(name[1:]) is value}
        count += len(twins)
        for name in twins:
            assert inspect.iscoroutinefunction(methods[name]), name
            assert inspect.signature(methods[name]) == inspect.signature(methods[name[1:]]), name
            assert methods[name].__name__ == name
        if twins and inspect.isclass(owner):
            assert {name for name in methods if name[0] != "_" and f"a{name}" not in twins} - twins <= AT_ONCE, owner
    assert count >= 120


async def test_a_twin_does_the_same_on_another_thread_and_raises_the_same(memory: TidalMemory) -> None:
    seen: list[Any] = []

    def clock_of(told: Any) -> Any:
        seen.append((threading.current_thread() is threading.main_thread(), TALKING.get()))
        return now(told)

    episode = await memory.arecord("I play jazz piano every day", "Noted.", thread="s")
    assert memory.episodes.list() == await memory.episodes.alist() == [episode]
    now = type(memory).now
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(memory), "recall", clock_of)
        patch.setattr(type(memory), "arecall", tidal_plugins.aio.in_thread(clock_of))
        TALKING.set("Ann")
        assert await memory.arecall() == memory.recall()
    assert seen == [(False, "Ann"), (True, "Ann")]
    with pytest.raises(InvalidInput):
        await memory.arecall("")
    async with memory:
        assert (await memory.aforget(episode.id)).count == 3
    with pytest.raises(Closed):
        await memory.arecall("jazz")
