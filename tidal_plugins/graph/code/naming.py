"""Naming: the modules that a file may be, by its path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from tidal_plugins.graph.code.outline import BY_FILE, language_of


def dotted(path: str) -> Iterator[str]:
    """Yield the names by which code of Python may import a file."""
    file = PurePosixPath(path)
    if file.suffix == ".py":
        parts = [*file.parent.parts, *([] if file.stem == "__init__" else [file.stem])]
        yield from (".".join(parts[start:]) for start in range(len(parts)))


def matches(path: str, module: str, importer: str) -> bool:
    """Return whether a file may be a module, or one of its parts, by the ends of their paths."""
    parts = [part for part in module.replace("::", "/").replace("\\", "/").replace(".", "/").split("/") if part]
    while parts and parts[0] in ("crate", "self", "super", "@", "~"):
        parts = parts[1:]
    file = PurePosixPath(path)
    places = [[*file.parent.parts, file.stem], [*file.parent.parts]]
    if not parts:
        return file.parent == PurePosixPath(importer).parent
    exact = any(place[-len(parts) :] == parts for place in places)
    if exact or len(parts) == 1 or language_of(path) in BY_FILE:
        return exact
    return any(place[-len(parts) + 1 :] == parts[:-1] for place in places)  # the last part is a class in the file
