"""The graph of a memory as a file for other programs, or in a graph engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tidal_plugins.apps.cli.command import Run, counted
from tidal_plugins.apps.cli.errors import Exit, Failed

if TYPE_CHECKING:
    from tidal_plugins.graph.formats.portable import Format

FORMATS: dict[str, Format] = {".graphml": "graphml", ".jsonld": "json-ld", ".cypher": "cypher"}
"""The formats by the endings of files."""


def is_engine(target: str) -> bool:
    """Return whether a target is the address of a graph engine, and not a file. A drive such as ``C:`` is a file's."""
    scheme, colon, _ = target.partition(":")
    return bool(colon) and len(scheme) > 1 and Path(target).suffix.lower() not in FORMATS


def graph_file(run: Run, path: Path, *, replace: bool) -> None:
    """Write the graph with its history to a file, in the format of its ending."""
    format_ = FORMATS.get(path.suffix.lower())
    if format_ is None:
        endings = ", ".join(FORMATS)
        raise Failed(
            f"a graph is written to a file that ends with {endings}, or to an engine, not to {path}", Exit.USAGE
        )
    if path.exists() and not replace:
        raise Failed(f"there is a file at {path} already: name another one, or give --replace")
    with run.memory() as memory:
        text = memory.graph.export(format_)
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    run.show({"path": path, "format": format_}, f"{path}: the graph as {format_}, {counted(len(text), 'character')}")


def mirrored(run: Run, uri: str, *, full: bool) -> None:
    """Let a graph engine have what changed in the graph since the last time."""
    user, password = os.environ.get("NEO4J_USERNAME"), os.environ.get("NEO4J_PASSWORD")
    auth = (user or "neo4j", password) if password else None
    try:
        from tidal_plugins.apps.graphs import open_sink

        with run.memory(writes=True) as memory:
            memory.graph.index_pending()
            with open_sink(uri, auth=auth, database=os.environ.get("NEO4J_DATABASE")) as sink:
                done = memory.graph.mirror(sink, full=full)
    except ImportError as error:
        raise Failed(str(error)) from None
    run.show({"sink": sink.name, **{name: getattr(done, name) for name in done.__slots__}}, f"{sink.name}: {done}")
