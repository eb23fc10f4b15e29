"""A process of its own that works on a store: reads one JSON command a line, answers with one JSON line."""

import json
import os
import random
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tests.waiting import meet
from tidal_plugins.errors import TidalError
from tidal_plugins.model.entry import Entry
from tidal_plugins.storage.base import Passage, Record, Where
from tidal_plugins.storage.sqlite import SQLiteStorage

SCOPE = ("here",)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def record(name: str, vector: list[float]) -> Record:
    """Return a record of two passages: one with its own word and vector, one with those that all records share."""
    text = f"{name} shared"
    own = Passage(0, len(name), name.replace("-", "x"), np.array(vector, np.float32))
    shared = Passage(len(name) + 1, len(text), "shared", np.ones(len(vector), np.float32))
    entry = Entry(id=name, kind="kb", text=text, scope=SCOPE, occurred_at=NOW, recorded_at=NOW)
    return Record(entry, [own, shared])


def vector_of(name: str) -> list[float]:
    return random.Random(name).choices([-1.0, -0.5, 0.5, 1.0], k=24)


class Worker:
    def open(self, path: str, meeting: str | None = None) -> str:
        """Open a store; with a ``meeting``, at once with another process."""
        if meeting:
            meet(Path(meeting), 2)
        self.store = SQLiteStorage(path)
        return "open"

    def close(self) -> str:
        self.store.close()
        return "closed"

    def put(self, *names: str) -> list[str]:
        return [id_ for name in names for id_ in self.store.put(SCOPE, [record(name, vector_of(name))])]

    def hold(self) -> list[str]:
        """Stay in a snapshot, and return what it shows."""
        self._held = self.store.snapshot()
        self._held.__enter__()
        return self.found()

    def found(self) -> list[str]:
        return sorted(match.id for match in self.store.nearest(SCOPE, np.ones(24, np.float32), 99, Where()))

    def release(self) -> list[str]:
        """Leave the snapshot, and return what is there now."""
        self._held.__exit__(None, None, None)
        return self.found()

    def as_nobody(self, warm_up: str, path: str) -> str:
        """Open a store as an unprivileged user, after the libraries have been loaded."""
        SQLiteStorage(warm_up).close()
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        return self.open(path)

    def fork(self, child: str, parent: str, count: int) -> int:
        """Write from a forked child while the parent writes too, and closes and opens the store."""
        self.store.put(SCOPE, [record("before", vector_of("before"))])
        pid = os.fork()
        if not pid:
            status = 1
            try:
                self._write_and_read(child, count)
                status = 0
            finally:
                os._exit(status)
        self._write_and_read(parent, count // 2)
        self.store.close()
        self.open(self.store._db.path)
        self._write_and_read(f"{parent}-again", count // 2)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def _write_and_read(self, name: str, count: int) -> None:
        for i in range(count):
            self.put(f"{name}-{i}")
            assert f"{name}-{i}" in self.store.get(SCOPE, [f"{name}-{i}"])
            assert self.store.nearest(SCOPE, np.array(vector_of(f"{name}-{i}")), 1, Where())[0].id == f"{name}-{i}"


def main() -> None:
    worker = Worker()
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        answer: dict[str, Any]
        try:
            answer = {"value": getattr(worker, command)(*arguments)}
        except TidalError as error:
            answer = {"error": type(error).__name__}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
