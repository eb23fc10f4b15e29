"""Backup, export and load: a whole memory as one file, and back."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput
from tidal_plugins.groups.view import View

if TYPE_CHECKING:
    from tidal_plugins.model.reports import Backup
    from tidal_plugins.services import Services


class PortableView(View):
    """A view of a store whose contents can leave it whole, and come into a new one."""

    _rebuild: Callable[..., Services]
    """Builds the services anew over ``storage=``, with the options that the memory was opened with."""

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
        return self._services.back_up(path, replace=replace, damaged=damaged)

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
        that is no export and for one of a later version, ``Corrupt`` for one that was truncated or
        altered, and ``InvalidInput`` on a view of another memory.
        """
        from tidal_plugins.maintenance.export import load

        if self.opened is not self:
            raise InvalidInput("load into the memory that opened the store, not into a view of another scope")
        services = self._services
        lines = load(services.writer, path)
        services.worker.stop()
        for maintenance in services.upkeep:
            maintenance.stop(0)
        self._services = self._rebuild(storage=services.storage)
        self._services.worker.resume(self.scope)
        return lines

    abackup = in_thread(backup)
    aexport = in_thread(export)
    aload = in_thread(load)
