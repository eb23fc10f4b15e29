"""The address of a server, as a name that holds no password."""

from __future__ import annotations

from urllib.parse import urlsplit

from tidal_plugins import InvalidInput


def server_name(uri: str, database: str | None) -> str:
    """Return a server and a database as one name.

    Raises ``InvalidInput`` for an address with a user or a password, which may hold any character, and for one without
    a host.
    """
    if "@" in uri:
        raise InvalidInput("leave user and password out of the address of a graph engine, and give them as auth")
    try:
        parts = urlsplit(uri)
        named = bool(parts.hostname and parts.port != 0)
    except ValueError:  # of brackets or a port
        named = False
    if not named:
        raise InvalidInput("a server of a graph engine has an address such as neo4j://host:7687")
    return f"{parts.scheme}://{parts.netloc}/{database or ''}"
