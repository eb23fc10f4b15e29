"""Where something remembers: a file and a scope. It can be written down, and found again in another process."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainSerializer

from tidal_plugins import Closed, InvalidInput, InvalidScope, Policy, Session, TidalMemory
from tidal_plugins.model.entry import user_of

Scope = tuple[str, ...]

_open: weakref.WeakValueDictionary[str, TidalMemory] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def restore_with(memory: TidalMemory) -> None:
    """Let what is restored from a serialised context use ``memory``, where it was written with the same file.

    Call it once in a new process, ahead of ``Context.from_dict``. Without it a restored memory opens the file anew,
    with the default embedder and settings. A memory in use by this process is found by itself.
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


def scope_of(memory: TidalMemory, scope: Scope | None) -> Scope:
    """Return ``scope``, or the memory's own where none is given."""
    if scope is None:
        return memory.scope
    if not isinstance(scope, tuple) or not scope:  # a str would fall apart into letters
        raise InvalidScope(f"scope must be a tuple such as ('user', '42'), got {scope!r}")
    return memory.scoped(*scope).scope


def session_of(memory: TidalMemory, policy: Policy | str | None, agent: str | None, chat: str | None) -> Session | None:
    """Return the session of a chat under a policy, ``None`` for no policy."""
    return None if policy is None else opened(memory, policy, agent, chat)


def opened(memory: TidalMemory, policy: Policy | str, agent: str | None, chat: str | None) -> Session:
    """Return the session of a chat under a policy: the one that is open, or a new one.

    Its user is that of a scope such as ``("user", "42")``. Raises ``InvalidInput`` without a chat.
    """
    if chat is None:
        raise InvalidInput("policy= is for the session of a chat, and there is none here: do without policy=")
    return memory.sessions.open(user=user_of(memory.scope), agent=agent, policy=policy, thread=chat)


def check_policy(memory: TidalMemory, policy: Policy | str | None, agent: str | None) -> None:
    """Raise ``InvalidInput`` for a policy that is unknown or names unknown signals, and for an agent without one."""
    if policy is None and agent is not None:
        raise InvalidInput("agent= says who writes in a session: give its policy=, too")
    memory.sessions.open(agent=agent, policy=policy)  # opens nothing


def written(session: Session | None) -> tuple[int, int] | None:
    """Which session it is, and how far it was written."""
    return None if session is None else (session.id, session.info.accepted)


def _plain(policy: Policy | str | None) -> Any:
    return policy.model_dump(mode="json") if isinstance(policy, Policy) else policy


Rules = Annotated[Policy | str | None, PlainSerializer(_plain)]
"""A policy, or the name of one, that can be written down."""


def path_of(memory: TidalMemory) -> str:
    """The absolute path of a memory's file."""
    if not isinstance(memory, TidalMemory):
        raise InvalidInput(f"give a TidalMemory, such as TidalMemory('agent.db'), got {memory!r}")
    return memory.path


def _closed(memory: TidalMemory) -> bool:
    try:
        return memory.affect.state() is None
    except Closed:
        return True
