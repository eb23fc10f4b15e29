"""A socket between clients and a PostgreSQL server, which counts their statements and cuts them off before one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PORT = ".s.PGSQL.5432"
STATEMENTS = b"QE"
"""Types of the messages that make a server do something: a simple query, and the execution of a prepared one."""

HEAD = 5
"""Bytes of a message's type and length. The first message of a connection has no type."""


class Proxy:
    """Passes messages on. When it is armed, it cuts every connection before a statement, and calls a function first."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.folder, self.seen = folder, 0
        self._server, self._open = str(server / PORT), set[socket.socket]()
        self._left: int | None = None
        self._lock = threading.Lock()
        self._cut: Callable[[], object] = lambda: None
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / PORT))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, statements: int, cut: Callable[[], object] = lambda: None) -> None:
        """Let so many statements pass from now on, then cut every connection once."""
        with self._lock:
            self._left, self._cut, self.seen = statements, cut, 0

    @property
    def fired(self) -> bool:
        """Return whether the connections were cut since the proxy was armed."""
        return self._left is None

    def close(self) -> None:
        """Take no more connections, and cut those that are open."""
        self._listener.close()
        self._cut_all()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self._server)
                except OSError:
                    server.close()
                    client.close()
                    continue
                self._open |= {client, server}
                threading.Thread(target=self._ask, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, client), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        """Pass on what a client says, message by message."""
        with suppress(OSError):
            length = int.from_bytes(first := _exactly(client, 4))
            server.sendall(first + _exactly(client, length - 4))
            while True:
                head = _exactly(client, HEAD)
                message = head + _exactly(client, int.from_bytes(head[1:]) - 4)
                if head[:1] in {bytes([each]) for each in STATEMENTS} and not self._passes():
                    break
                server.sendall(message)
        _end(client, server)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while some := server.recv(65536):
                client.sendall(some)
        _end(client, server)

    def _passes(self) -> bool:
        """Count a statement, and return whether it may go on to the server."""
        with self._lock:
            self.seen += 1
            if self._left is None or self._left > 0:
                self._left = None if self._left is None else self._left - 1
                return True
            self._left = None
            self._cut()
            self._cut_all()
            return False

    def _cut_all(self) -> None:
        _end(*self._open)
        self._open.clear()


@contextmanager
def between(folder: Path, server: Path) -> Iterator[Proxy]:
    """Yield a proxy whose socket is in ``folder``, before the server whose socket is in another."""
    proxy = Proxy(folder, server)
    try:
        yield proxy
    finally:
        proxy.close()


def _exactly(connection: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        some = connection.recv(length - len(found))
        if not some:
            raise ConnectionResetError
        found += some
    return found


def _end(*connections: socket.socket) -> None:
    for connection in connections:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()
