"""The capsule: nine short sections that a new session begins with [Capsule]."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from tidal_plugins.aio import in_thread
from tidal_plugins.dossiers import capsule as engine
from tidal_plugins.model.capsule import Capsule
from tidal_plugins.model.entry import Scope
from tidal_plugins.services import Services


@dataclass(frozen=True, slots=True)
class CapsuleGroup:
    """The capsule of one scope. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    def read(self, *, max_age: timedelta = timedelta(0), thread: str | None = None) -> Capsule:
        """Return the capsule; four of its nine sections are generated from what is stored.

        A capsule that is not older than ``max_age`` is returned as it stands, so that a prompt that begins with it
        stays cached. For a ``thread`` in which nothing was said yet it is made anew if an agent's tools have worked on
        since: the thread begins with the state of that work.
        """
        return self._engine.current(self._services.now(), max_age=max_age, thread=thread)

    def stored(self) -> Capsule | None:
        """Return the capsule as it was last made, or ``None`` if none was made yet. Makes and writes nothing."""
        return self._engine.stored()

    def write(self, capsule: Capsule | str) -> Capsule:
        """Store a capsule that people edited, and return it. Forgetting a memory does not reword what they wrote.

        Raises ``InvalidInput`` with the fault, and ``Conflict`` if somebody else wrote since it was read. A text
        carries no time of reading, so the last text wins.
        """
        return self._engine.write(capsule, self._services.now(), self._services.writer.redaction.text)

    aread = in_thread(read)
    astored = in_thread(stored)
    awrite = in_thread(write)

    @property
    def _engine(self) -> engine.Capsules:
        return engine.Capsules(self._services.storage, self._services.settings, self._scope)
