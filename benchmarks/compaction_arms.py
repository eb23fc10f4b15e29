"""The arms of the compaction benchmark, and the memories that they start from."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.compaction_cases import Case
from benchmarks.compaction_tables import (
    DEFAULTS,
    OURS,
)
from benchmarks.contexts import (
    COUNTER,
    DEEPAGENTS,
    LANGMEM,
    Arm,
    last_messages,
    noded,
    offloaded,
    size,
    summarised,
    trimmed,
)
from tidal_plugins import (
    Exchange,
    Message,
    Settings,
    TidalMemory,
)
from tidal_plugins.compaction.turns import history as split
from tidal_plugins.tuning import Tuning

FILLED = Tuning(compaction={"target": 0.8, "compact": 0.85})
"""Settings of «ours»: only the limit bounds the size of a summary, as for the others."""
SESSION = "benchmark"


class Opener(NamedTuple):
    """A function that opens an arm from the arm's own limit and the size at which it compacts.

    ``fixed`` says that the arm's own limit is not to be moved.
    """

    open: Callable[[int, int], Arm]
    fixed: bool = False


class Compacted(NamedTuple):
    """The last context that an arm made, ``None`` after an error, and the seconds of its slowest step.

    ``share`` is the arm's own limit as a multiple of the common limit.
    """

    context: Sequence[Message] | None
    seconds: float
    share: float = 1.0

    @property
    def tokens(self) -> int:
        return size(self.context or ()).tokens


class Memories:
    """A memory in which a case is recorded. Each arm gets its own copy, so that none sees the work of another."""

    def __init__(self, folder: Path, case: Case, embedder: Any, stack: ExitStack, *, quiet: bool = False) -> None:
        self._folder, self._case, self._embedder, self._stack = folder, case, embedder, stack
        self._quiet = quiet
        self._copies = 0
        with self._open(folder / "0.db", Settings()) as memory:
            memory.record_many(exchanges(case.messages))

    def copy(self, settings: Settings | None = None) -> TidalMemory:
        self._copies += 1
        path = self._folder / f"{self._copies}.db"
        shutil.copy(self._folder / "0.db", path)
        return self._stack.enter_context(self._open(path, settings or Settings()))

    def _open(self, path: Path, settings: Settings) -> TidalMemory:
        end = self._case.end
        clock = {"clock": lambda: end} if end else {}
        if self._quiet:  # the thread that reads what was recorded would be timed too
            settings = settings.model_copy(update={"graph": settings.graph.model_copy(update={"background": False})})
        return TidalMemory(path, embedder=self._embedder, settings=settings, **clock)  # type: ignore[arg-type]


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    return [Exchange(turn.messages, SESSION, turn.key, turn.messages[0].at) for turn in split(messages).turns]


def ours(memory: TidalMemory, limit: int, trigger: int) -> Arm:
    """Open this library's compactor as an arm.

    The compactor reserves room for a whisper, which is not shown here; that room is added to the limit.
    """
    reserve = COUNTER.count(" " * memory.settings.whisper.max_chars)
    compactor = memory.compactor(max_tokens=limit + reserve, counter=COUNTER)
    held: list[Message] = []

    def arm(new: Sequence[Message]) -> Sequence[Message]:
        held.extend(new)
        force = "compact" if size(held).tokens > trigger else None
        return compactor.compact(held, thread=SESSION, force=force).messages  # type: ignore[arg-type]

    return arm


def openers(memories: Memories) -> dict[str, Opener]:
    arms = {
        OURS: Opener(lambda own, trigger: ours(memories.copy(FILLED), own, trigger)),
        DEFAULTS: Opener(lambda own, trigger: ours(memories.copy(), own, trigger), fixed=True),
        "SummarizationMiddleware, ½ summary": Opener(lambda own, trigger: summarised(own, 0.5, trigger, trims=True)),
        "the same, reads everything": Opener(lambda own, trigger: summarised(own, 0.5, trigger, trims=False)),
        "the same, reads everything, ⅞ summary": Opener(
            lambda own, trigger: summarised(own, 0.875, trigger, trims=False)
        ),
    }
    if LANGMEM:
        arms["langmem SummarizationNode, ½ summary"] = Opener(lambda own, trigger: noded(own, 0.5, trigger))
        arms["langmem SummarizationNode, ⅞ summary"] = Opener(lambda own, trigger: noded(own, 0.875, trigger))
    if DEEPAGENTS:
        arms["deepagents' compaction, ½ summary"] = Opener(lambda own, trigger: offloaded(own, 0.5, trigger))
        arms["deepagents' compaction, ⅞ summary"] = Opener(lambda own, trigger: offloaded(own, 0.875, trigger))
    return arms | {
        "trim_messages": Opener(lambda own, _: trimmed(own), fixed=True),
        "the last messages": Opener(lambda own, _: last_messages(own), fixed=True),
    }
