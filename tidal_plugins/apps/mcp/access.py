"""Access: where a server listens, and who may talk to it. Off loopback nobody may without a token and a known name."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidal_plugins import InvalidInput
from tidal_plugins.shown import shown
from tidal_plugins.validation import check_int

MIN_TOKEN = 16
"""Characters of a token: those of 96 random bits in base 64. Shorter ones can be guessed."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


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


def listen(access: Access) -> socket.socket:
    """Return a socket that is bound. Raises ``InvalidInput`` for an address that cannot be had."""
    try:
        family = socket.getaddrinfo(access.host, access.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((access.host, access.port), family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "there is no such address"
        raise InvalidInput(f"cannot listen at {shown(access.host)}, port {access.port}: {reason}") from None
