"""An ordinary exception that a signal handler raises, such as a soft time limit, comes out as itself."""

from __future__ import annotations

import linecache
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import tidal_plugins
from tidal_plugins import HashingEmbedder, Settings, TidalMemory

FOLDER = str(Path(tidal_plugins.__file__).parent)
SIGNAL = signal.SIGINT
SETTINGS = Settings(graph={"background": False})

Place = tuple[str, int]


class SoftLimit(Exception):
    """Raised by a handler, as job queues do."""


class Handler:
    def __call__(self, number: int, frame: Any) -> None:
        raise SoftLimit


def handle(number: int, frame: Any) -> None:
    raise SoftLimit


@pytest.fixture(params=[handle, Handler()], ids=["function", "object"])
def handler(request: pytest.FixtureRequest) -> Iterator[None]:
    before = signal.signal(SIGNAL, request.param)
    yield
    signal.signal(SIGNAL, before)


class Slow(HashingEmbedder):
    """Gets a signal while it embeds."""

    armed = False

    def embed(self, texts: Any) -> Any:
        if self.armed:
            signal.raise_signal(SIGNAL)
        return super().embed(texts)


class Redactor:
    armed = False

    def find(self, text: str) -> list[Any]:
        if self.armed:
            signal.raise_signal(SIGNAL)
        return []


def record(memory: TidalMemory) -> None:
    memory.record("The harbour master is called Ines.", "Noted.", thread="harbour")


def recall(memory: TidalMemory) -> None:
    memory.recall("when does the ferry leave?", hops=2)


def whisper(memory: TidalMemory) -> None:
    memory.whisper("when does the ferry leave?")


@pytest.mark.parametrize("use", [record, recall, whisper])
def test_a_signal_while_texts_are_embedded(handler: None, tmp_path: Path, use: Callable[[TidalMemory], None]) -> None:
    embedder = Slow()
    with TidalMemory(tmp_path / "agent.db", embedder=embedder, settings=SETTINGS) as memory:
        memory.remember("The ferry leaves at nine.")
        embedder.armed = True
        with pytest.raises(SoftLimit):
            use(memory)
        embedder.armed = False
        use(memory)


def test_a_signal_while_a_redactor_runs(handler: None, tmp_path: Path) -> None:
    redactor = Redactor()
    with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), redactor=redactor, settings=SETTINGS) as memory:
        redactor.armed = True
        with pytest.raises(SoftLimit):
            record(memory)


def traced(use: Callable[[], object], see: Callable[[Place], None]) -> None:
    """Call ``see`` before each line of the library, but for those of locks, at whose ends no handler runs."""

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(FOLDER):
            return None
        here = frame.f_code.co_filename, frame.f_lineno
        if event == "line" and not linecache.getline(*here).lstrip().startswith(("with ", "finally", "yield")):
            see(here)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        use()
    finally:
        sys.settrace(before)


@pytest.mark.slow
@pytest.mark.parametrize("use", [record, recall, whisper])
def test_a_signal_at_any_line(tmp_path: Path, use: Callable[[TidalMemory], None]) -> None:
    before = signal.signal(SIGNAL, handle)
    try:
        with TidalMemory(tmp_path / "agent.db", embedder=HashingEmbedder(), settings=SETTINGS) as memory:
            memory.remember([f"The ferry to island {n} leaves at {n} o'clock." for n in range(9)])
            use(memory)
            lines = dict[Place, None]()
            traced(lambda: use(memory), lambda here: lines.update({here: None}))
            wrong = []
            for line in random.Random(7).sample(list(lines), min(120, len(lines))):
                if (came := interrupted(lambda: use(memory), line)) is not SoftLimit:
                    wrong.append((line, came))
            assert wrong == []
            use(memory)
            assert memory.check().ok
    finally:
        signal.signal(SIGNAL, before)


def interrupted(use: Callable[[], object], line: Place) -> type[BaseException] | None:
    """Let a signal come before a line runs, and return what the call raised; ``SoftLimit`` if the line did not run."""
    left = [line]

    def see(here: Place) -> None:
        if here in left:
            left.clear()
            signal.raise_signal(SIGNAL)

    try:
        traced(use, see)
    except BaseException as error:
        return type(error)
    return SoftLimit if left else None
