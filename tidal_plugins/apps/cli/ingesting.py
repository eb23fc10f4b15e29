"""Files and folders into memory: each document by its source, with a digest, so that ingesting goes on and renews."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidal_plugins.apps.cli.reading import VERSION, reader_of
from tidal_plugins.apps.cli.reading.text import Unreadable
from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    from tidal_plugins import Note, TidalMemory

PASSED_OVER = frozenset("node_modules __pycache__ venv site-packages dist build target".split())
"""Folders that are passed over, besides those whose names begin with a dot: what tools put there."""

SKILL = "SKILL.md"
"""The file by which a folder is a skill."""

Bar = Callable[..., None]

_FIELD = lazy_re(r"^(name|title):\s*[\"']?(.*?)[\"']?\s*$", re.M)


@dataclass
class Summary:
    """The account of an ingestion: counts of files, and each that was skipped, with the reason."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    parts: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)
    gone: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """Return the account as plain data."""
        skipped = [{"file": file, "reason": reason} for file, reason in self.skipped]
        return {**vars(self), "skipped": skipped, "passed_over": dict(self.passed_over)}


def ingest(
    memory: TidalMemory, paths: Sequence[Path], bar: Bar, *, kind: str | None = None, prune: bool = False
) -> Summary:
    """Remember documents, and return an account. Those that are unchanged since the last time are passed over."""
    from tidal_plugins import TidalError

    summary = Summary()
    files = list(dict.fromkeys(found for path in paths for found in _documents(path, summary)))
    sizes = {file: _size(file) for file in files}
    total, done = sum(sizes.values()), 0
    for file in files:
        bar(done, total, file.name)
        source = source_of(file, memory)
        try:
            _ingest_file(memory, file, source, kind, summary)
        except (Unreadable, TidalError) as error:
            summary.skipped.append((source, str(error)))
        except OSError as error:
            summary.skipped.append((source, error.strerror or str(error)))
        done += sizes[file]
    _prune(memory, paths, {source_of(file, memory) for file in files}, summary, prune)
    bar(total, total, "removing what was replaced")
    summary.removed = memory.documents.sweep()
    return summary


def source_of(file: Path, memory: TidalMemory) -> str:
    """Return the source of a file: its path from the folder of the memory if it lies there, else the whole path."""
    path, home = file.resolve(), Path(memory.path).parent.resolve()
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else path.as_posix()


def _ingest_file(memory: TidalMemory, file: Path, source: str, kind: str | None, summary: Summary) -> None:
    kind = kind or ("skill" if file.name == SKILL else "kb")
    known, digest = memory.documents.get(source), _digest(file, kind)
    if known is not None and known.digest == digest:
        summary.unchanged += 1
        return
    made = memory.documents.put(source, _notes(file, kind), digest=digest)
    if not made.parts:
        summary.skipped.append((source, "it is empty, or all of it was forgotten on request"))
        return
    summary.parts += len(made.parts)
    if known is None or known.digest is None:
        summary.new += 1
    else:
        summary.changed += 1


def _notes(file: Path, kind: str) -> Iterator[Note]:
    """Yield the parts of a file as notes."""
    from tidal_plugins import Note

    read = reader_of(file)
    assert read is not None  # it is among the documents
    for number, part in enumerate(read(file), 1):
        metadata = {"part": number} if part.page is None else {"part": number, "page": part.page}
        front = _FIELD.search(part.text[:1000]) if number == 1 and part.text.startswith("---") else None
        tags = (front[2],) if front and front[2] and kind == "skill" else None
        yield Note(part.text, kind=kind, metadata=metadata, tags=tags)


def _documents(path: Path, summary: Summary) -> Iterator[Path]:
    """Yield the documents at a path, in order, and count the files that are none."""
    if not path.is_dir():
        if not path.exists():
            summary.skipped.append((str(path), "there is no such file"))
        elif not path.is_file():
            summary.skipped.append((str(path), "it is no file, and reading it might never end"))
        elif reader_of(path) is None:
            summary.skipped.append((str(path), "no reader takes files of this kind"))
        else:
            yield path
        return
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in PASSED_OVER)
        for name in sorted(names):
            file = Path(folder, name)
            if name.startswith(".") or not file.is_file():
                continue
            if reader_of(file):
                yield file
            else:
                summary.passed_over[file.suffix.lower() or name] += 1


def _prune(memory: TidalMemory, paths: Sequence[Path], there: set[str], summary: Summary, prune: bool) -> None:
    """Find the documents below the folders whose files are gone, and let them go if that is asked for."""
    folders = [source_of(path, memory) for path in paths if path.is_dir()]
    for document in memory.documents.list():
        below = any(folder == "." or document.source.startswith(f"{folder}/") for folder in folders)
        if document.parts and below and document.source not in there:
            summary.gone.append(document.source)
            if prune:
                memory.documents.put(document.source, ())


def _digest(file: Path, kind: str) -> str:
    state = blake2b(f"{VERSION} {kind} ".encode(), digest_size=16)
    with file.open("rb") as opened:
        while block := opened.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
