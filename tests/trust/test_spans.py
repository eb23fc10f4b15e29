"""Spans around what takes time, for an application that traces itself: counts and names, never a text."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tidal_plugins import InvalidInput, Message, Settings, TidalMemory

trace = pytest.importorskip("opentelemetry.trace")

SECRETS = ("walnut", "orchard", "ann")
"""Words of the texts, the thread and the scope of these tests, none of which belongs in a span."""


class Span(trace.NonRecordingSpan):  # type: ignore[misc,name-defined]
    """A span that keeps what it is told."""

    def __init__(self, name: str) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.name = name
        self.told: dict[str, Any] = {}

    def set_attribute(self, key: str, value: Any) -> None:
        self.told[key] = value

    def set_attributes(self, attributes: Any) -> None:
        self.told |= attributes

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.told["status"] = status.name, description

    def record_exception(self, exception: BaseException, *args: Any, **options: Any) -> None:
        self.told["exception"] = str(exception)


class Recorder(trace.Tracer):  # type: ignore[misc,name-defined]
    """A tracer that keeps its spans."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def start_span(self, name: str, *args: Any, **options: Any) -> Span:
        self.spans.append(Span(name))
        return self.spans[-1]

    @contextmanager
    def start_as_current_span(self, name: str, *args: Any, **options: Any) -> Iterator[Span]:
        span = self.start_span(name)
        try:
            yield span
        except Exception as error:
            if options.get("record_exception", True):
                span.record_exception(error)
            raise


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Return the tracer that spans go to in this test."""
    recorder = Recorder()
    monkeypatch.setattr(trace, "get_tracer", lambda name: recorder)
    return recorder


async def test_what_takes_time_has_a_span_without_any_text(open_memory: Any, recorder: Recorder) -> None:
    memory: TidalMemory = open_memory(settings=Settings(graph={"background": False}), scope=("user", "ann"))
    await memory.arecord("The walnut tree stands in the orchard.", "Noted.", thread="orchard")
    memory.recall("Where is the walnut tree?")
    memory.whisper("Where does the walnut tree stand in the orchard?")
    memory.compactor().compact([Message("user", "Where is the walnut tree?", id="1")], thread="orchard")
    memory.maintenance.run()
    with pytest.raises(InvalidInput):
        memory.recall("walnut", limit="orchard")  # type: ignore[arg-type]
    names = [span.name for span in recorder.spans]
    assert names == [f"tidal.{name}" for name in "record recall whisper compaction maintenance recall".split()]
    record, recall, whisper, *_, failed = recorder.spans
    assert record.told == {"tidal.episodes": 1}
    assert recall.told == {"tidal.hits": 2, "tidal.degraded": 0}
    assert whisper.told["tidal.characters"] <= 500
    assert failed.told == {"error.type": "InvalidInput", "status": ("ERROR", None)}
    shown = " ".join(f"{span.name} {span.told}" for span in recorder.spans).casefold()
    assert not [word for word in SECRETS if word in shown]


@pytest.mark.slow
def test_an_application_that_does_not_trace_loads_nothing_for_it() -> None:
    code = """
import sys
from tidal_plugins import HashingEmbedder, TidalMemory
with TidalMemory("memory://", embedder=HashingEmbedder()) as memory:
    memory.record("Good morning.")
    memory.recall("morning")
print(*[name for name in sys.modules if name.startswith("opentelemetry")])
"""
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == ""
