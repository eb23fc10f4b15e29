"""Encryption of whole files, with the ciphers of SQLite3 Multiple Ciphers.

The package ``apsw-sqlite3mc`` is apsw with these ciphers built in. An SQLite without them takes a key and writes plain
text all the same, so a key is refused there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidal_plugins.errors import InvalidInput, StorageError

if TYPE_CHECKING:
    import apsw

Key = Callable[[], str | bytes]
"""Returns the key of a file: 32 random bytes, or a passphrase. Called once for each connection that is opened."""

KEY_BYTES = 32
"""Length of a key that is no passphrase: that of the cipher, ChaCha20-Poly1305."""

CIPHER = "chacha20"
"""The cipher, with a code of authentication for each page: a page that was altered cannot be read."""

INSTALL = "pip install --force-reinstall --no-deps apsw-sqlite3mc"

_RAW = "raw:"
"""Stands before a key that is used as it is. A passphrase goes through 64,007 rounds of PBKDF2 first."""


def check_key(key: object, name: str = "key") -> None:
    """Raise ``InvalidInput`` for a key that is no function, and ``StorageError`` where there are no ciphers."""
    import apsw

    if not callable(key):
        raise InvalidInput(f"{name}= is a function that returns the key, such as lambda: os.environ['MEMORY_KEY']")
    if not hasattr(apsw, "mc_version"):
        raise StorageError(f"this SQLite has no ciphers; {INSTALL}, which takes the place of apsw")


def unlock(connection: apsw.Connection, key: Key) -> None:
    """Give a connection that has read nothing yet the key of its file."""
    connection.pragma("cipher", CIPHER)
    connection.pragma("hexkey", in_hex(key))
    connection.pragma("temp_store", "memory")  # what spills into a temporary file is not encrypted


def in_hex(key: Key) -> str:
    """Return a key as SQLite takes it. No message shows it. Raises ``StorageError``."""
    try:
        secret = key()
    except Exception as error:
        raise StorageError(f"the function that returns the key failed with {type(error).__name__}") from error
    if isinstance(secret, bytes) and len(secret) == KEY_BYTES:
        return f"{_RAW}{secret.hex()}".encode().hex()
    if isinstance(secret, str) and secret and not secret.startswith(_RAW):
        return secret.encode(errors="surrogatepass").hex()
    raise StorageError(
        f"a key is {KEY_BYTES} random bytes, such as os.urandom({KEY_BYTES}), or a passphrase that does not begin with "
        f"{_RAW!r}"
    )


def wrong_key(path: str) -> StorageError:
    return StorageError(f"{path} cannot be read with this key: its key is another one, or it is not encrypted")
