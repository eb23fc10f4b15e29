"""The format of an exported memory: lines of JSON between a header and an end with a count and a checksum.

The lines hold, in this order, the logs, the documents, and for each scope the entries with their passages, and the
links. A vector is the base64 of its float32 values, smallest byte first.
"""

from __future__ import annotations

import gzip
import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tidal_plugins.errors import Corrupt, NotADatabase, SchemaTooNew
from tidal_plugins.storage.values import to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = "tidal-export"
VERSION = 1
"""The version of the format. A file of a later one is refused."""

DIGEST = 16
"""Bytes of the checksum of all lines before the end."""

LEVEL = 6
"""Of gzip's compression; vectors of random bits shrink little at any."""


class LineWriter:
    """Writes the lines of an export to a file, compressed if its name says so."""

    def __init__(self, path: str, *, compressed: bool) -> None:
        raw = Path(path).open("wb")  # noqa: SIM115 (closed by close)
        # Without a name and a time, so that the same memory gives the same bytes.
        packed = gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) if compressed else None
        self._files: list[IO[bytes] | gzip.GzipFile] = [packed, raw] if packed else [raw]
        self._digest = blake2b(digest_size=DIGEST)
        self.lines = 0

    def write(self, value: Any) -> None:
        """Write one line."""
        line = f"{to_json(value)}\n".encode()
        self._digest.update(line)
        self._files[0].write(line)
        self.lines += 1

    def end(self) -> None:
        """Write the end, by which a reader knows that nothing is missing."""
        last = {"is": "end", "lines": self.lines, "checksum": self._digest.hexdigest()}
        self._files[0].write(f"{to_json(last)}\n".encode())

    def close(self) -> None:
        for file in self._files:
            file.close()


def read_lines(path: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of an export, the header first and without the end.

    Raises ``NotADatabase`` for another file, ``SchemaTooNew`` for one of a later version, and ``Corrupt`` at the end,
    or before, if the file was truncated or altered: what was read until then is not to be used.
    """
    with Path(path).open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        source: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=file) if packed else file
        try:
            yield from _checked(source, path)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _damaged(path, "a line is no JSON") from error


def to_text(vector: NDArray[np.float32]) -> str:
    """Return a vector as text."""
    return b64encode(vector.astype("<f4").tobytes()).decode()


def to_vector(text: str) -> NDArray[np.float32]:
    """Return the vector that :func:`to_text` made a text of."""
    import numpy as np

    return np.frombuffer(b64decode(text), "<f4").astype(np.float32)


def _checked(source: IO[bytes] | gzip.GzipFile, path: str) -> Iterator[dict[str, Any]]:
    digest = blake2b(digest_size=DIGEST)
    for count, line in enumerate(source):
        value = _object(line, path, first=not count)
        if value.get("is") == "end":
            if (value.get("lines"), value.get("checksum")) != (count, digest.hexdigest()):
                raise _damaged(path, "its checksum fails")
            if source.read(1):
                raise _damaged(path, "something follows its end")
            return
        digest.update(line)
        yield value
    raise _damaged(path, "its end is missing")


def _object(line: bytes, path: str, *, first: bool) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        if first:
            raise _other(path) from error
        raise _damaged(path, "a line is no JSON") from error
    if first:
        _check_header(value, path)
    if not isinstance(value, dict):
        raise _damaged(path, "a line is no object")
    return value


def _check_header(value: Any, path: str) -> None:
    if not isinstance(value, dict) or value.get("is") != FORMAT or not isinstance(value.get("version"), int):
        raise _other(path)
    if value["version"] > VERSION:
        raise SchemaTooNew(
            f"{path} is an export of version {value['version']}, and this library reads {VERSION}: upgrade"
        )


def _other(path: str) -> NotADatabase:
    return NotADatabase(f"{path} is no export of a memory: name a file that an export wrote")


def _damaged(path: str, why: str) -> Corrupt:
    return Corrupt(f"{path} was truncated or altered ({why}), and nothing was loaded; export the memory again")
