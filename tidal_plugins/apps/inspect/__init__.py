"""Inspector: a local page that shows what a memory holds and why it recalled that. ``tidal inspect`` starts it."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from urllib.parse import quote

from tidal_plugins import TidalMemory
from tidal_plugins.apps.mcp import Access, address_of, is_loopback, listen
from tidal_plugins.turns import checked_memory

__all__ = ["serve"]

MISSING = "the inspector needs packages that are not installed: pip install 'tidal-plugins[inspect]'"


def serve(
    memory: TidalMemory,
    *,
    host: str = "127.0.0.1",
    port: int = 8766,
    token: str | None = None,
    hosts: Sequence[str] = (),
    allow_writes: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Serve pages that show a memory, in its scope, until a signal ends it. The memory stays open.

    Args:
        memory: an open memory. Other scopes of its store are not shown.
        host: the address to listen at. Any but loopback's needs ``token`` and ``hosts``.
        port: the port; 0 for any that is free.
        token: what the address must carry, at least 16 characters. Default, on loopback: a new one.
        hosts: the names by which browsers call the server besides loopback's, such as ``desk.local:8766``; without a
            port, at any. Off loopback the address that is told has the first.
        allow_writes: whether there are forms that change the memory.
        say: takes the address to open, with the token in it.

    Raises ``InvalidInput`` for arguments that do not fit, and ``ImportError`` if packages are missing.
    """
    access = Access(host, port, token, tuple(hosts))
    try:
        from tidal_plugins.apps.inspect.app import application
        from tidal_plugins.apps.mcp.web import web_server
    except ModuleNotFoundError as error:
        raise ImportError(MISSING) from error
    key = token or secrets.token_urlsafe(24)
    with listen(access) as bound:
        own, shown = _names(bound, access.hosts)
        app = application(checked_memory(memory), token=key, hosts=(*access.hosts, own), allow_writes=allow_writes)
        say(f"http://{shown}/?token={quote(key, safe='')}")
        web_server(app).run(sockets=[bound])


def _names(bound: socket.socket, hosts: Sequence[str]) -> tuple[str, str]:
    """Return the name of a bound address, and the one to print: off loopback the first that was allowed."""
    own = address_of(bound)
    address, _, number = own.rpartition(":")
    if is_loopback(address.strip("[]")) or not hosts:
        return own, own
    port = hosts[0].rpartition(":")[2]
    return own, hosts[0] if port.isdecimal() else f"{hosts[0]}:{number}"
