"""DiskFiles: the files of a folder as they are now, and nothing outside of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path, PurePath

from tidal_plugins.actions.paths import MAX_PATH
from tidal_plugins.errors import InvalidInput
from tidal_plugins.shown import shown
from tidal_plugins.validation import check_int, check_path

MAX_BYTES = 1_000_000
"""Size up to which a file is read. Agents read files of source code, of which few are larger than 100 kB; a context of
200,000 tokens holds some 800 kB of text."""


class DiskFiles:
    """Reads the text files of one folder, for ``memory.compactor(files=DiskFiles("/home/me/project"))``.

    Only regular files inside the folder are read: no path leads out of it, neither by ``..`` nor by a symbolic link,
    and no device or pipe is opened for reading. Reads block; a compactor calls them on its own thread.

    Args:
        root: the folder in which the agent works. Relative paths begin there.
        max_bytes: the size up to which a file is read.

    Raises ``InvalidInput`` if ``root`` is no folder.
    """

    def __init__(self, root: str | PathLike[str], *, max_bytes: int = MAX_BYTES) -> None:
        self.root = os.path.realpath(check_path(root, "the folder of DiskFiles"))
        self._max_bytes = check_int(max_bytes, "max_bytes", 1)
        if not os.path.isdir(self.root):  # noqa: PTH112 (Path.is_dir raises for a name that is too long)
            raise InvalidInput(f"DiskFiles reads a folder, and {shown(root)} is none")

    def read(self, path: str) -> str | None:
        """Return the text of a file, or ``None`` for one that is not read: outside, too large, no text, no file.

        Raises ``FileNotFoundError`` if there is no file at a path inside the folder.
        """
        if not path or "\0" in path or len(path) > MAX_PATH:
            return None
        try:
            real = os.path.realpath(Path(self.root, path))
            inside = PurePath(real).relative_to(self.root).parts
            return self._text(inside) if inside else None
        except FileNotFoundError:
            raise
        except (OSError, ValueError):  # outside, a loop of links, a name that is too long, no permission, no text
            return None

    def _text(self, parts: tuple[str, ...]) -> str | None:
        with self._opened(parts) as file:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode) or about.st_size > self._max_bytes:
                return None
            data = b""
            while len(data) <= self._max_bytes and (more := os.read(file, self._max_bytes + 1 - len(data))):
                data += more
        if len(data) > self._max_bytes or b"\0" in data:
            return None
        return data.decode().replace("\r\n", "\n")

    @contextmanager
    def _opened(self, parts: tuple[str, ...]) -> Iterator[int]:
        """Open a file by the names of its folders, from the root on, so that no link is followed."""
        last = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # opening a pipe must not wait
        with ExitStack() as stack:
            if os.open not in os.supports_dir_fd:  # Windows
                yield stack.enter_context(_closing(os.open(Path(self.root, *parts), last)))
                return
            at = stack.enter_context(_closing(os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)))
            for name in parts[:-1]:
                at = stack.enter_context(
                    _closing(os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at))
                )
            yield stack.enter_context(_closing(os.open(parts[-1], last | os.O_NOFOLLOW | os.O_NOCTTY, dir_fd=at)))


@contextmanager
def _closing(file: int) -> Iterator[int]:
    try:
        yield file
    finally:
        os.close(file)
