"""Fixtures that compact and check every rule, here or in processes of their own on the same file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.register_assert_rewrite("tests.compaction.oracle")

from tests.compaction.oracle import checked  # noqa: E402
from tidal_plugins import Compaction, TidalMemory  # noqa: E402

Check = Callable[..., Compaction]


@pytest.fixture
def check(memory: TidalMemory) -> Check:
    """Return a function that compacts and checks every rule: ``check(history, thread=…, max_tokens=…)``."""

    def check(history: Any, *, thread: str = "s", memory: TidalMemory = memory, **options: Any) -> Compaction:
        plugs = {name: options.pop(name) for name in ("max_tokens", "max_bytes", "summariser") if name in options}
        own = {name: options[name] for name in ("sizes", "reserved", "ongoing") if name in options}
        options.pop("ongoing", None)
        compaction = memory.compactor(**plugs).compact(history, thread=thread, **options)
        return checked(memory, history, compaction, **own)

    return check
