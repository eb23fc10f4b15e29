"""Where something remembers: a memory that can be written down and found again, and whether a tool is around it."""

from __future__ import annotations

import threading
import weakref
from contextvars import ContextVar, Token
from pathlib import Path
from typing import Annotated, Any

from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.tools import BaseTool
from llama_index_instrumentation import get_dispatcher
from pydantic import PlainSerializer, PrivateAttr

from tidal_plugins import Closed, InvalidInput, Policy, TidalMemory
from tidal_plugins.turns import checked_memory

Scope = tuple[str, ...]

_open: weakref.WeakValueDictionary[str, TidalMemory] = weakref.WeakValueDictionary()
_lock = threading.Lock()


_inside: ContextVar[bool] = ContextVar("tidal_inside_tool", default=False)


_found: ContextVar[tuple[str, tuple[str, ...], str, tuple[str, ...]] | None] = ContextVar("tidal_found", default=None)


def note_found(memory: TidalMemory, query: str, ids: tuple[str, ...]) -> None:
    """Note what a retriever found for a query: an engine shows it beside the chat that it asks next."""
    _found.set((memory.path, memory.scope, query, ids))


def found_for(memory: TidalMemory, question: str) -> tuple[str, ...]:
    """Return what a retriever over the same memory found last, in this run, if it was for this question."""
    noted = _found.get()
    return noted[3] if noted and noted[:3] == (memory.path, memory.scope, question) else ()


def restore_with(memory: TidalMemory) -> None:
    """Let objects that are restored from a serialised context use ``memory``, if they were written with the same file.

    Call it once in a new process, before ``Context.from_dict``. Otherwise a restored memory opens the file anew, with
    the default embedder and settings. A memory in use by this process is found automatically.
    """
    path = path_of(memory)
    with _lock:
        _open[path] = memory.opened  # a view may be gone long before the memory is


def reopened(path: str) -> TidalMemory:
    """Return a memory on the file at ``path``: one that is open in this process, or else a new one.

    Raises ``InvalidInput`` where there is no such file: a path that somebody wrote down makes none.
    """
    with _lock:
        memory = _open.get(path)
        if memory is None or _closed(memory):
            if not Path(path).is_file():
                raise InvalidInput(f"there is no memory at {path}; call restore_with(memory) where it has moved")
            memory = _open[path] = TidalMemory(path)
        return memory


def _plain(policy: Policy | str | None) -> Any:
    return policy.model_dump(mode="json") if isinstance(policy, Policy) else policy


Rules = Annotated[Policy | str | None, PlainSerializer(_plain)]
"""A policy, or the name of one, that can be written down."""


def path_of(memory: TidalMemory) -> str:
    """Return the absolute path of a memory's file."""
    return checked_memory(memory).path


def _closed(memory: TidalMemory) -> bool:
    try:
        return memory.affect.state() is None
    except Closed:
        return True


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
