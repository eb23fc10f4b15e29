"""Paths: which names may stand for the same file, and which texts mention one."""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath

SYSTEM_PATHS = (
    ".git", ".hg", ".svn", ".idea", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".venv", "__pycache__",
    "dist-packages", "node_modules", "site-packages", "venv",
)  # fmt: skip
"""Folders whose files are never restored."""


MAX_PATH = 4_096
"""Characters of the longest path that Linux takes (``PATH_MAX``). Whatever is longer is no path."""


def normal(path: str) -> str:
    """Return a path in one spelling, or an empty text for what is no path."""
    text = path.strip().replace("\\", "/")
    if not text or "\0" in text or "\n" in text or len(text) > MAX_PATH:
        return ""
    clean = posixpath.normpath(text)
    return clean[1:] if clean.startswith("//") else clean


def within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or stands below it."""
    return folder == "." or path == folder or path.startswith(folder.rstrip("/") + "/")


def absolute(path: str) -> bool:
    """Return whether a path does not depend on a folder."""
    return path.startswith(("/", "~")) or path[1:2] == ":"


def joined(folder: str, path: str) -> str:
    """Return a path as seen from where a folder is."""
    return path if absolute(path) else normal(f"{folder}/{path}") if folder else path


def relative(path: str, root: str | None) -> str | None:
    """Return an absolute path as one below ``root``, or ``None`` for one outside."""
    base = (root or "").rstrip("/")
    if not base or not path.startswith(f"{base}/"):
        return "." if base and path == base else None
    return path[len(base) + 1 :]


def alike(one: str, other: str, root: str | None) -> bool:
    """Return whether a relative and an absolute path may name the same file: if it is not known where relative ones
    begin, the longer may end with the shorter."""
    if root is not None or one.startswith("/") == other.startswith("/"):
        return False
    absolute, short = (one, other) if one.startswith("/") else (other, one)
    return short not in ("", ".") and (absolute.endswith(f"/{short}") or f"/{short}/" in absolute)


def names(text: str, path: str) -> bool:
    """Return whether a text names a file by its path or by its own name, as a word."""
    return re.search(rf"(?<![\w.-]){re.escape(PurePosixPath(path).name or path)}(?![\w-])", text) is not None


def mentions(text: str, path: str) -> bool:
    """Return whether a text mentions a file: by its path, or by its name as in a command."""
    return path in text or names(text, path)
