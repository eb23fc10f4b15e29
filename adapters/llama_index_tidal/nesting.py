"""Runs inside of runs: an agent or engine that a tool of another agent calls hears that agent, not the user."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Any

from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.tools import BaseTool
from llama_index_instrumentation import get_dispatcher
from pydantic import PrivateAttr

_inside: ContextVar[bool] = ContextVar("tidal_inside_tool", default=False)


def in_tool() -> bool:
    """Return whether this is called inside a tool of LlamaIndex's, or in a task or thread that one began."""
    return _inside.get()


class ToolSpans(BaseSpanHandler[BaseSpan]):
    """Marks the context of each call of a tool. LlamaIndex's instrumentation tells of these calls; no span is kept."""

    _marks: dict[str, Token[bool]] = PrivateAttr(default_factory=dict)

    def span_enter(self, id_: str, bound_args: Any, instance: Any = None, *args: Any, **kwargs: Any) -> None:
        if isinstance(instance, BaseTool):
            self._marks[id_] = _inside.set(True)

    def span_exit(self, id_: str, *args: Any, **kwargs: Any) -> None:
        if mark := self._marks.pop(id_, None):
            _inside.reset(mark)

    def span_drop(self, id_: str, *args: Any, **kwargs: Any) -> None:
        self.span_exit(id_)

    def new_span(self, *args: Any, **kwargs: Any) -> None:
        return None

    def prepare_to_exit_span(self, *args: Any, **kwargs: Any) -> None:
        return None

    def prepare_to_drop_span(self, *args: Any, **kwargs: Any) -> None:
        return None


get_dispatcher().add_span_handler(ToolSpans())
