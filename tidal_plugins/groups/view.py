"""A view: one open store seen from one scope, with an object for each capability."""

from __future__ import annotations

import copy
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tidal_plugins.aio import in_thread, to_thread
from tidal_plugins.model.entry import Scope, check_scope
from tidal_plugins.settings import Settings
from tidal_plugins.validation import check_flag

if TYPE_CHECKING:
    from tidal_plugins.facts.mapping import Facts
    from tidal_plugins.groups.affect import AffectGroup
    from tidal_plugins.groups.associations import Associations
    from tidal_plugins.groups.capsule import CapsuleGroup
    from tidal_plugins.groups.documents import Documents
    from tidal_plugins.groups.dossiers import Dossiers
    from tidal_plugins.groups.entries import Entries
    from tidal_plugins.groups.episodes import Episodes
    from tidal_plugins.groups.graph import Graph
    from tidal_plugins.groups.maintenance import MaintenanceGroup
    from tidal_plugins.groups.presence import PresenceGroup
    from tidal_plugins.groups.sessions import Sessions
    from tidal_plugins.groups.signals import Signals
    from tidal_plugins.groups.supersessions import Supersessions
    from tidal_plugins.ingestion.writer import Progress
    from tidal_plugins.model.fence import Frames
    from tidal_plugins.model.reports import Check, Receipt, Stats
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
        from tidal_plugins.groups.episodes import Episodes

        return Episodes(self._services, self.scope)

    @property
    def entries(self) -> Entries:
        """Return what is stored, to be listed by a filter."""
        from tidal_plugins.groups.entries import Entries

        return Entries(self._services, self.scope)

    @property
    def documents(self) -> Documents:
        """Return the texts in several parts, such as files, by source."""
        from tidal_plugins.groups.documents import Documents

        return Documents(self._services, self.scope)

    @property
    def facts(self) -> Facts:
        """Return the named facts, a mapping with history and conflicts."""
        return self._services.facts(self.scope)

    @property
    def graph(self) -> Graph:
        """Return the graph of entities and relations, with their evidence."""
        from tidal_plugins.groups.graph import Graph

        return Graph(self._services, self.scope)

    @property
    def associations(self) -> Associations:
        """Return the links between memories that come up together."""
        from tidal_plugins.groups.associations import Associations

        return Associations(self._services, self.scope)

    @property
    def dossiers(self) -> Dossiers:
        """Return the dossiers: one current, cited document for each topic."""
        from tidal_plugins.groups.dossiers import Dossiers

        return Dossiers(self._services, self.scope)

    @property
    def capsule(self) -> CapsuleGroup:
        """Return the capsule: nine short sections that a new session begins with."""
        from tidal_plugins.groups.capsule import CapsuleGroup

        return CapsuleGroup(self._services, self.scope)

    @property
    def sessions(self) -> Sessions:
        """Return the sessions that agents open to write signals under a policy."""
        from tidal_plugins.groups.sessions import Sessions

        return Sessions(self._services, self.scope)

    @property
    def signals(self) -> Signals:
        """Return the signals of the scope itself."""
        from tidal_plugins.groups.signals import Signals

        return Signals(self._services, self.scope)

    @property
    def supersessions(self) -> Supersessions:
        """Return which statements hold no more because later ones gave another value."""
        from tidal_plugins.groups.supersessions import Supersessions

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
        from tidal_plugins.groups.affect import AffectGroup

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
    def frames(self) -> Frames:
        """Return the frames around recalled text, with the tag by which this store recognises them."""
        return self._services.writer.frames

    def now(self) -> datetime:
        """Return the time by this memory's clock."""
        return self._services.now()

    def warm(self) -> None:
        """Load the models now, those of the embedder and the reranker, so that the first turn does not wait for them.

        Opening loads none. It takes some tenths of a second with the default embedder, and writes nothing. Raises
        ``EmbeddingError`` if the embedder fails.
        """
        self._services.warm(self.scope)

    def reembed(self, embedder: Embedder, *, progress: Progress | None = None) -> int:
        """Give the store the vectors of another embedder, in every scope; return how many passages were embedded.

        The store stays in use, by this process and by others: searches find the old vectors until all of the new are
        there, and these take their place at once. An interrupted call goes on when it is called again with the same
        embedder. Afterwards this memory and its views use ``embedder``; another process raises ``EmbedderMismatch``
        until it opens the store with it. ``progress`` is called with the number of passages done and the number of all.

        Raises ``EmbeddingError`` if the embedder fails, and ``Conflict`` if another call with another embedder is
        under way. The store keeps its vectors then.
        """
        return self._services.reembed(embedder, progress)

    def erase_scope(self, *, below: bool = False) -> Receipt:
        """Remove everything that this scope has, for good: entries, episodes, facts, the graph, dossiers and sessions.

        ``below`` removes the scopes that begin with it, too, such as the namespaces of a LangGraph store. Other scopes
        are not touched. No hash stays, so that the same text may be captured again; the name of the scope stays in the
        file. The receipt counts what went, and says why bytes are left, if any are.
        """
        return self._services.erase_scope(self.scope, below=check_flag(below, "below"))

    def check(self, *, repair: bool = False) -> Check:
        """Read the whole store, all its scopes, and return what is wrong with it.

        It verifies the file's pages, the checksum of every row, that entries, passages, words, vectors and links agree,
        the counts, and the embedder, and tells the length of the queue and of the log. It holds up no writer, and takes
        as long as reading everything does.

        With ``repair=True`` it rebuilds what can be rebuilt from intact rows: database indexes, counts, keywords, and
        vectors by embedding texts again. It removes nothing that is intact, and ``Check.lost`` says what only a backup
        has. Raises ``EmbeddingError`` if texts cannot be embedded, and ``StorageError``.
        """
        return self._services.check(check_flag(repair, "repair"))

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
        from tidal_plugins.groups.stats import stats

        return stats(self._services, self.scope)

    astats = in_thread(stats)
    awarm = in_thread(warm)
    areembed = in_thread(reembed)
    aerase_scope = in_thread(erase_scope)
    acheck = in_thread(check)
    aclose = in_thread(close)

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
        return f"{type(self).__name__}({self._services.storage!r}, scope={self.scope!r})"
