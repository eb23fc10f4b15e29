"""MCP server: an agent's memory for every client of the Model Context Protocol. ``tidal mcp`` starts it."""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidal_plugins import InvalidInput, Policy, TidalMemory
from tidal_plugins.shown import shown
from tidal_plugins.turns import checked_memory
from tidal_plugins.validation import check_int

if TYPE_CHECKING:
    from tidal_plugins.apps.mcp.server import MemoryServer

__all__ = ["serve"]

MISSING = "the MCP server needs the package mcp, which is not installed: pip install 'tidal-plugins[mcp]'"

MIN_TOKEN = 16
"""Characters of a token: those of 96 random bits in base 64. Shorter ones can be guessed."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def serve(
    memory: TidalMemory,
    *,
    http: bool = False,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    allow_writes: bool = False,
    policy: Policy | str | None = None,
) -> None:
    """Serve a memory, in its scope, to clients of the Model Context Protocol, until they go or a signal ends it.

    Nothing of the memory is loaded before the first question. The memory stays open.

    Args:
        memory: an open memory. What it was opened with (scope, key, embedder, ``read_only``) holds for all clients.
        http: whether to serve streamable HTTP at ``/mcp`` instead of standard input and output.
        host: the address to listen at. Any but loopback's needs ``token`` and ``hosts``.
        port: the port; 0 for any that is free. The address is printed to standard error.
        token: what clients must send as ``Authorization: Bearer …``, at least 16 characters.
        hosts: the names by which clients call the server, such as ``notes.example.org``; a port is part of a name.
        origins: the origins of web pages that may call it, such as ``https://app.example.org``.
        allow_writes: whether there are the tools ``remember`` and ``forget``.
        policy: what these may do, a policy or the name of one. Default: both, 200 times in one run.

    Raises ``InvalidInput`` for arguments that do not fit, and ``ImportError`` if the package ``mcp`` is missing.
    """
    if policy is not None and not allow_writes:
        raise InvalidInput("policy= says what the tools that write may do: allow_writes=True, too")
    access = Access(host, port, token, tuple(hosts), tuple(origins)) if http else None
    try:
        from tidal_plugins.apps.mcp.server import MemoryServer, Writes
    except ModuleNotFoundError as error:
        raise ImportError(MISSING) from error
    writes = Writes(checked_memory(memory), policy) if allow_writes else None
    try:
        _answer(MemoryServer(checked_memory(memory), writes), access)
    finally:
        if writes:
            writes.close()


def _answer(answers: MemoryServer, access: Access | None) -> None:
    """Answer one client over standard input and output, or with an ``access`` any number of them over HTTP."""
    import anyio

    from tidal_plugins.apps.mcp import sdk, server

    served = sdk.build(server.NAME, answers.version, answers.instructions, answers.handlers)
    if access is None:
        anyio.run(sdk.talk, served)
        return
    from tidal_plugins.apps.mcp import http, web

    with listen(access) as bound:
        at = f"http://{address_of(bound)}{http.PATH}"
        print(f"Serving the scope {answers.scope} at {at}", file=sys.stderr, flush=True)
        web.web_server(http.application(served, access)).run(sockets=[bound])


@dataclass(frozen=True)
class Access:
    """Where a server listens, and who may talk to it.

    Attributes:
        host: the address to listen at.
        port: the port; 0 for any that is free.
        token: what clients must send as ``Authorization: Bearer …``; ``None`` for nothing, on loopback only.
        hosts: the names, with ports if they have one, by which clients may call the server besides loopback's.
        origins: the origins of web pages that may call it besides loopback's, such as ``https://app.example.org``.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = field(default=None, repr=False)
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_int(self.port, "port", 0, 65_535)
        if self.token is not None and (len(self.token) < MIN_TOKEN or not self.token.isascii()):
            raise InvalidInput(
                f"a token has at least {MIN_TOKEN} ASCII characters: make one with secrets.token_urlsafe()"
            )
        if any("*" in name or not name.strip() for name in (*self.hosts, *self.origins)):
            raise InvalidInput("hosts and origins are names such as notes.example.org:8765, without a *")
        if is_loopback(self.host) and not self.hosts:
            return
        if self.token is None:
            raise InvalidInput(f"{shown(self.host)} is open to others: give a token that clients must send")
        if not self.hosts:
            raise InvalidInput(f"{shown(self.host)} is open to others: give the hosts by which clients call it")


def is_loopback(host: str) -> bool:
    """Return whether nobody but programs on this machine reaches an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address_of(bound: socket.socket) -> str:
    """Return the address of a socket, as it stands in a URL."""
    address, number = bound.getsockname()[:2]
    return f"[{address}]:{number}" if ":" in address else f"{address}:{number}"


def listen(access: Access) -> socket.socket:
    """Return a socket that is bound. Raises ``InvalidInput`` for an address that cannot be had."""
    try:
        family = socket.getaddrinfo(access.host, access.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((access.host, access.port), family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "there is no such address"
        raise InvalidInput(f"cannot listen at {shown(access.host)}, port {access.port}: {reason}") from None
