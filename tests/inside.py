"""Look inside a memory for tests: at stored entries, and at earlier versions, which no public method shows.

Tests should do so only here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from tidal_plugins import Capsule, Dossier, Entry, TidalMemory
from tidal_plugins.associations.store import Activation, AssociationStore
from tidal_plugins.storage.base import Storage, Where, WhereLinks
from tidal_plugins.storage.sqlite.opening import OS, vfs


def storage_of(memory: TidalMemory) -> Storage:
    """Return the storage engine of a memory. Tests use it by its contract."""
    return memory._services.storage


def raw(path: str | Path, *, checksums: bool = True) -> apsw.Connection:
    """Open a file past the library. What is written so has checksums of pages as if the library had written it, or, of
    a file that nobody has open, without ``checksums`` those of before, as if the disk had changed it."""
    return apsw.Connection(str(path), vfs=vfs(None) if checksums else OS)


def stored(memory: TidalMemory, *kinds: str, ids: Iterable[str] | None = None) -> list[Entry]:
    """List the stored entries of the memory's scope, of the given kinds or of all."""
    where = Where(kinds=list(kinds) or None, ids=None if ids is None else list(ids))
    return storage_of(memory).find(memory.scope, where)


def links(memory: TidalMemory, kind: str = "association") -> dict[str, tuple[str, str, float]]:
    """Return the links of a kind by id, each with its two ends and its weight. None is left to be made."""
    memory.associations.link_pending()
    found = storage_of(memory).links(memory.scope, WhereLinks(kinds=[kind]))
    return {link.id: (link.source, link.target, link.weight) for link in found}


def logged(memory: TidalMemory, log: str) -> Counter[str]:
    """Count the lines of a log by key."""
    return Counter(line.key for line in storage_of(memory).read_log(memory.scope, log))


def dossier_versions(memory: TidalMemory, topic: str) -> list[Dossier]:
    """List the kept versions of a dossier, newest first."""
    return memory._services.dossiers(memory.scope).versions(topic)


def capsule_versions(memory: TidalMemory) -> list[Capsule]:
    """List the kept versions of the capsule, newest first."""
    return memory.capsule._engine.versions()


def uses(memory: TidalMemory) -> list[str]:
    """List the ids of the entries that turns used, for as long as these uses count."""
    return [line.key for line in storage_of(memory).read_log(memory.scope, "uses")]


def associate(memory: TidalMemory, *ids: str, times: int = 1) -> None:
    """Associate entries with each other without a turn, which would be associated with them too."""
    web = AssociationStore(storage_of(memory))
    for _ in range(times):
        web.commit_contexts(memory.scope, [Activation(web.activate(ids), memory.now())])


def contents(path: str | Path) -> dict[str, list[Any]]:
    """Return everything in a file except the numbers of its rows and its checksums.

    The number of times that the document on the last maintenance run was written is left out too, because taking over a
    run writes it anew. So are the notes of maintenance runs: a run that goes on notes only what it did itself.
    """
    hidden = {"key", "seq", "passage", "entry", "checksum"}
    connection = raw(path)
    found = {}
    try:
        tables = (
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        for (table,) in connection.execute(tables).fetchall():
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info ({table})")]
            shown = [f'"{name}"' for name in columns if name not in hidden or (table == "documents" and name == "key")]
            found[table] = sorted(connection.execute(f"SELECT {', '.join(shown)} FROM {table}"), key=repr)
    finally:
        connection.close()
    found["documents"] = [row[:-1] if row[1:3] == ("consolidation", "last") else row for row in found["documents"]]
    found["log"] = [row for row in found["log"] if row[1] != "maintenance"]
    return found


class Kill(BaseException):
    """Raised instead of ending the process."""


@contextmanager
def dying(memory: TidalMemory, after: int) -> Iterator[None]:
    """Raise ``Kill`` at the end of an outermost transaction, before it is committed; ``after`` others end normally."""
    engine = type(storage_of(memory))
    transaction, ended, depth = engine.transaction, 0, 0

    @contextmanager
    def cut(self: Any) -> Iterator[Any]:
        nonlocal ended, depth
        with transaction(self) as found:
            depth += 1
            try:
                yield found
            finally:
                depth -= 1
            ended += not depth
            if not depth and ended > after:
                raise Kill

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "transaction", cut)
        try:
            yield
        except Kill:
            return
