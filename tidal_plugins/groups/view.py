"""A view: one open store seen from one scope, with an object for each capability."""

from __future__ import annotations

import copy
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tidal_plugins.aio import in_thread, to_thread
from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import Scope, check_scope
from tidal_plugins.validation import check_flag

if TYPE_CHECKING:
    from tidal_plugins.facts.mapping import Facts
    from tidal_plugins.groups.dossiers import CapsuleGroup, Dossiers
    from tidal_plugins.groups.entries import Documents, Entries, Episodes
    from tidal_plugins.groups.graph import Graph
    from tidal_plugins.groups.links import Associations, Supersessions
    from tidal_plugins.groups.maintenance import MaintenanceGroup
    from tidal_plugins.groups.presence import AffectGroup, PresenceGroup
    from tidal_plugins.groups.sessions import Sessions, Signals
    from tidal_plugins.ingestion.writer import Progress
    from tidal_plugins.model.delimiters import Delimiters
    from tidal_plugins.model.reports import Backup, Check, Receipt, Stats
    from tidal_plugins.protocols import Embedder
    from tidal_plugins.services import Services
    from tidal_plugins.settings import Settings


class View:
    """The part of ``TidalMemory`` besides its verbs: its capabilities, other scopes, and closing."""

    def __init__(self, services: Services, scope: Scope) -> None:
        self.scope = scope
        """The owner of the memories that this view reads and writes, a tuple of names."""
        self._services = services
        self._opened: Self | None = None

    @classmethod
    async def aopen(cls, *args: Any, **options: Any) -> Self:
        """Open a memory on a worker thread, so that a running event loop does not wait for the disk.

        The arguments are those of the class: ``memory = await TidalMemory.aopen("agent.db")``.
        """
        return await to_thread(cls, *args, **options)

    def scoped(self, *scope: str) -> Self:
        """Return a view of the same store bound to another scope, such as ``memory.scoped("user", "42")``."""
        view = copy.copy(self)
        view.scope = check_scope(scope)
        view._opened = self.opened
        return view

    @property
    def episodes(self) -> Episodes:
        """Return the recorded turns, verbatim: by id, by thread, by time."""
        from tidal_plugins.groups.entries import Episodes

        return Episodes(self._services, self.scope)

    @property
    def entries(self) -> Entries:
        """Return what is stored, to be listed by a filter."""
        from tidal_plugins.groups.entries import Entries

        return Entries(self._services, self.scope)

    @property
    def documents(self) -> Documents:
        """Return the texts in several parts, such as files, by source."""
        from tidal_plugins.groups.entries import Documents

        return Documents(self._services, self.scope)

    @property
    def facts(self) -> Facts:
        """Return the named facts, a mapping with history and conflicts."""
        from tidal_plugins.ingestion.forget import facts_of

        return facts_of(self._services.writer, self.scope)

    @property
    def graph(self) -> Graph:
        """Return the graph of entities and relations, with their evidence."""
        from tidal_plugins.groups.graph import Graph

        return Graph(self._services, self.scope)

    @property
    def associations(self) -> Associations:
        """Return the links between memories that come up together."""
        from tidal_plugins.groups.links import Associations

        return Associations(self._services, self.scope)

    @property
    def dossiers(self) -> Dossiers:
        """Return the dossiers: one current, cited document for each topic."""
        from tidal_plugins.groups.dossiers import Dossiers

        return Dossiers(self._services, self.scope)

    @property
    def capsule(self) -> CapsuleGroup:
        """Return the capsule: nine short sections that a new session begins with."""
        from tidal_plugins.groups.dossiers import CapsuleGroup

        return CapsuleGroup(self._services, self.scope)

    @property
    def sessions(self) -> Sessions:
        """Return the sessions that agents open to write signals under a policy."""
        from tidal_plugins.groups.sessions import Sessions

        return Sessions(self._services, self.scope)

    @property
    def signals(self) -> Signals:
        """Return the signals of the scope itself."""
        from tidal_plugins.groups.sessions import Signals

        return Signals(self._services, self.scope)

    @property
    def supersessions(self) -> Supersessions:
        """Return which statements hold no more because later ones gave another value."""
        from tidal_plugins.groups.links import Supersessions

        return Supersessions(self._services, self.scope)

    @property
    def maintenance(self) -> MaintenanceGroup:
        """Return consolidation, its undo, and its thread."""
        from tidal_plugins.groups.maintenance import MaintenanceGroup

        return MaintenanceGroup(self._services, self.scope)

    @property
    def presence(self) -> PresenceGroup:
        """Return the presence: what stays on the mind between conversations, and what the memory says unprompted."""
        from tidal_plugins.groups.presence import PresenceGroup

        return PresenceGroup(self._services, self.scope)

    @property
    def affect(self) -> AffectGroup:
        """Return the mood."""
        from tidal_plugins.groups.presence import AffectGroup

        return AffectGroup(self._services, self.scope)

    @property
    def settings(self) -> Settings:
        """Return the settings that the memory was opened with."""
        return self._services.settings

    @property
    def opened(self) -> Self:
        """Return the memory that opened the store, of which this one may be a view."""
        return self._opened or self

    @property
    def path(self) -> str:
        """Return the absolute path of the file."""
        return self._services.path

    @property
    def delimiters(self) -> Delimiters:
        """Return the delimiters around recalled text, with the tag by which this store recognises them."""
        return self._services.delimiters

    def now(self) -> datetime:
        """Return the time by this memory's clock."""
        return self._services.now()

    def reembed(self, embedder: Embedder, *, progress: Progress | None = None) -> int:
        """Give the store the vectors of another embedder, in every scope; return how many passages were embedded.

        The store stays in use, by this process and by others: searches find the old vectors until all of the new are
        there, and these take their place at once. An interrupted call goes on when it is called again with the same
        embedder. Afterwards this memory and its views use ``embedder``; another process raises ``EmbedderMismatch``
        until it opens the store with it. ``progress`` is called with the number of passages done and the number of all.

        Raises ``EmbeddingError`` if the embedder fails, and ``Conflict`` if another call with another embedder is
        under way. The store keeps its vectors then.
        """
        from tidal_plugins.affect.default import check_estimator
        from tidal_plugins.ingestion.reembed import reembed
        from tidal_plugins.protocols import check_embedder

        check_embedder(embedder)
        check_estimator(self._services.affect.estimator, embedder)
        return reembed(self._services.writer, embedder, self.now, progress)

    def erase_scope(self, *, below: bool = False) -> Receipt:
        """Remove everything that this scope has, for good: entries, episodes, facts, the graph, dossiers and sessions.

        ``below`` removes the scopes that begin with it, too, such as the namespaces of a LangGraph store. Other scopes
        are not touched. No hash stays, so that the same text may be captured again; the name of the scope stays in the
        file. The receipt counts what went, and says why bytes are left, if any are.
        """
        from tidal_plugins.ingestion.forget import erase_scope

        deep, services = check_flag(below, "below"), self._services
        with services.worker.recording(self.scope):
            return erase_scope(services.writer, self.scope, self.now(), below=deep)

    def check(self, *, repair: bool = False) -> Check:
        """Read the whole store, all its scopes, and return what is wrong with it.

        It verifies the file's pages, the checksum of every row, that entries, passages, words, vectors and links agree,
        the counts, and the embedder, and tells the length of the queue and of the log. It holds up no writer, and takes
        as long as reading everything does.

        With ``repair=True`` it rebuilds what can be rebuilt from intact rows: database indexes, counts, keywords, and
        vectors by embedding texts again. It removes nothing that is intact, and ``Check.lost`` says what only a backup
        has. Raises ``EmbeddingError`` if texts cannot be embedded, and ``StorageError``.
        """
        from tidal_plugins.maintenance.check import check

        mends, services = check_flag(repair, "repair"), self._services
        return check(services.writer, services.handlers.index, self.now(), mends)

    def backup(self, path: str | PathLike[str], *, replace: bool = False, damaged: bool = False) -> Backup:
        """Write the store, all its scopes, as it is now to a file, and return what the file holds.

        The store stays in use, by this process and by others. The copy is verified as :meth:`check` does before it gets
        its name, and an interrupted backup leaves nothing under it. The backup of an encrypted memory is encrypted with
        the same key. :func:`tidal_plugins.restore` is the way back.

        Args:
            path: the file to write, in a folder that exists.
            replace: whether a file that is there may be replaced.
            damaged: whether to keep the copy of a store that has faults.

        Raises ``Conflict`` if there is a file already, ``Corrupt`` if the store has faults, ``InvalidInput`` for a
        store that is no file, and ``StorageError``.
        """
        from tidal_plugins.maintenance.backups import back_up

        return back_up(self._services.storage, path, self.now(), replace=replace, damaged=damaged)

    def export(self, path: str | PathLike[str], *, replace: bool = False) -> int:
        """Write the whole memory, all its scopes, to one file, and return the number of its lines.

        The file is JSON lines, compressed if its name ends with ``.gz``, with everything that :meth:`load` needs to
        make the same memory on any engine: entries with their vectors, episodes, facts, the graph, sessions, ids and
        tombstones, and the key of the store, in clear. The same memory gives the same bytes. The memory stays in use,
        and an interrupted export leaves nothing under the name. ``replace`` admits replacing a file.

        Raises ``Conflict`` if there is a file already, ``Corrupt`` if the memory is damaged, and ``StorageError``.
        """
        from tidal_plugins.maintenance.export import export

        return export(self._services.storage, path, replace=replace)

    def load(self, path: str | PathLike[str]) -> int:
        """Fill this memory, which must be new, with an exported one; return how many lines were loaded.

        Ids and citations stay the same. All is loaded in one transaction, or nothing. Views of other scopes that were
        made before must be made anew. Raises ``Conflict`` if anything was ever stored here, ``StorageError`` for a file
        that is no export and for one of a later version or another schema, ``Corrupt`` for one that was truncated or
        altered or has values that cannot be read, and ``InvalidInput`` on a view of another memory.
        """
        from tidal_plugins.maintenance.export import load

        if self.opened is not self:
            raise InvalidInput("load into the memory that opened the store, not into a view of another scope")
        lines = load(self._services.writer, path)
        self._services = self._services.reopened()
        self._services.worker.resume(self.scope)
        return lines

    def close(self, *, timeout: float = 0.0) -> None:
        """Close the store for every view of it. Closing twice is fine; later calls raise ``Closed``.

        ``timeout`` is how many seconds to wait for queued work, such as reading turns for the graph. What is left stays
        in the store's queue, and the next opening resumes it: at its own ``close(timeout=…)`` at the latest, or when
        the work has waited for two minutes, because another process may be at it until then.
        """
        self._services.close(timeout)

    def stats(self) -> Stats:
        """Return figures to watch: entries, turns that wait, sizes of the file, bytes to scrub, slow questions.

        They hold no text of a memory. Tiers are counted in the columns that recall reads, which the first call loads if
        no recall has. Raises ``Closed``, and ``QueryTimeout``.
        """
        from tidal_plugins.groups.maintenance import stats

        return stats(self._services, self.scope)

    astats = in_thread(stats)
    areembed = in_thread(reembed)
    aerase_scope = in_thread(erase_scope)
    acheck = in_thread(check)
    aclose = in_thread(close)
    abackup = in_thread(backup)
    aexport = in_thread(export)
    aload = in_thread(load)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r}, scope={self.scope!r})"
