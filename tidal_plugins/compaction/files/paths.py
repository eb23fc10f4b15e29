"""Paths: which names may stand for the same file, and which texts mention one."""

from __future__ import annotations

import re
from pathlib import PurePosixPath


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
