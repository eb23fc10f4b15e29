"""What is made of many memories: dossiers and briefs, and the capsule that a new session begins with [Capsule]."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from tidal_plugins.aio import in_thread
from tidal_plugins.associations.store import AssociationStore, AssociationTuning
from tidal_plugins.dossiers import dossier as engine
from tidal_plugins.dossiers.brief import Briefs
from tidal_plugins.dossiers.capsule import Capsules
from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.model.capsule import Capsule
from tidal_plugins.model.dossier import Brief, Dossier
from tidal_plugins.model.entry import Scope
from tidal_plugins.services import Services
from tidal_plugins.storage.capabilities import question
from tidal_plugins.validation import check_flag, check_page


@dataclass(frozen=True, slots=True)
class Dossiers:
    """The dossiers of one scope: ``memory.dossiers["bridge"]``. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    @question
    def __getitem__(self, topic: str) -> Dossier:
        """Return the dossier on a topic as it stands. Raises ``NotFound`` for a topic that has none."""
        return self._tagged(self._engine.standing(self._name(topic)))

    @question
    def get(self, topic: str, default: Dossier | None = None) -> Dossier | None:
        """Return the dossier on a topic unchanged, or ``default`` if there is none."""
        try:
            return self[topic]
        except NotFound:
            return default

    def __contains__(self, topic: object) -> bool:
        try:
            return isinstance(topic, str) and bool(self[topic])
        except (NotFound, InvalidInput):
            return False

    __iter__ = None  # list() returns them

    def refresh(self, topic: str, *, force: bool = False) -> Dossier:
        """Return the dossier on a topic, made if there is none and updated if it is due.

        A dossier is due two hours after its last refresh (``dossier.refresh`` of ``Settings.tuning``); ``force`` does
        not wait for that.
        Maintenance keeps every topic that was asked for once up to date. Raises ``InvalidInput`` for a topic that
        consists of stop words.
        """
        check_flag(force, "force")
        return self._tagged(self._engine.current(self._name(topic), self._services.now(), force=force))

    @question
    def list(self, *, limit: int | None = None, after: int = 0) -> builtins.list[Dossier]:
        """List the dossiers as they stand, by topic: at most ``limit``, and ``after`` passes over so many of the first.

        Raises ``InvalidInput``.
        """
        return [self._tagged(dossier) for dossier in self._engine.all(*check_page(limit, after))]

    def drop(self, topic: str) -> bool:
        """Remove the dossier on a topic with its earlier versions; return whether there was one.

        The memories that it was made from stay.
        """
        return self._engine.drop(self._name(topic), self._services.now())

    def brief(self, topic: str) -> Brief:
        """Return a bounded, cited answer to «what is happening with this topic?».

        It is made of the topic's dossier, recent entries and associations. A topic without a dossier gets none by this
        call, and nothing is stored.
        """
        services, now = self._services, self._services.now()
        web = AssociationStore(services.storage, services.settings[AssociationTuning])

        def spread(ids: Sequence[str]) -> builtins.list[tuple[str, float]]:
            return [(reached.id, reached.activation) for reached in web.spread(self._scope, ids, now)]

        return Briefs(self._engine, spread).brief(topic, now)

    aget = in_thread(get)
    arefresh = in_thread(refresh)
    alist = in_thread(list)
    adrop = in_thread(drop)
    abrief = in_thread(brief)

    def _name(self, topic: str) -> str:
        return self._services.writer.redaction.text(topic) if isinstance(topic, str) else topic

    def _tagged(self, dossier: Dossier) -> Dossier:
        return replace(dossier, tag=self._services.writer.delimiters.tag_of_text(dossier.body))

    @property
    def _engine(self) -> engine.Dossiers:
        return self._services.dossiers(self._scope)


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
    def _engine(self) -> Capsules:
        return Capsules(self._services.storage, self._services.settings, self._scope)
