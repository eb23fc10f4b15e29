"""Mirroring: a sink gets what changed in the graph since the last time, and loses what is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from tidal_plugins.errors import GraphSinkError, TidalError
from tidal_plugins.graph.lookup import Episodes
from tidal_plugins.graph.sinks.feed import feed
from tidal_plugins.graph.sinks.watermark import Key, Watermark
from tidal_plugins.model.entry import Scope, derive_id
from tidal_plugins.model.sink import Mirrored, SinkBatch, SinkIds
from tidal_plugins.protocols import GraphSink
from tidal_plugins.secrets.finding import masked
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.salt import salt

BATCH = 500
"""Things that a sink gets in one transaction."""

KINDS = ("entities", "episodes", "relations")
"""The kinds of things in the order in which they are written; they are removed in the opposite one."""

R = TypeVar("R")


def mirror(
    storage: Storage, scope: Scope, sink: GraphSink, episodes: Episodes, now: datetime, *, full: bool
) -> Mirrored:
    """Let a sink have the graph of a scope as it is now, and return what that took.

    The sink is asked for the ids that it has, and the watermark tells in which state it has them; with ``full`` no
    state counts as known. Raises ``GraphSinkError`` if the engine fails. What was confirmed until then stays, and the
    next call goes on.
    """
    watermark, graph = Watermark(storage, scope, sink.name), derive_id(scope, "graph-sink", salt(storage))
    known = watermark.begin()
    held = _ask(sink, lambda: sink.held(graph))
    if not isinstance(held, SinkIds):
        raise GraphSinkError(f"{shown(sink.name)} must return SinkIds from held, got {type(held).__name__}")
    there = {(kind, id_) for kind in KINDS for id_ in getattr(held, kind)}
    with whole(), storage.snapshot():
        now_known = feed(storage, scope, now, episodes if sink.with_texts else None)
    items: dict[Key, Any] = {(kind, id_): one for kind in KINDS for id_, one in getattr(now_known, kind).items()}
    digests = {key: watermark.digest(one) for key, one in items.items()}
    gone = [key for key in {**dict.fromkeys(known), **dict.fromkeys(sorted(there))} if key not in items]
    changed = [key for key in items if full or key not in there or known.get(key) != digests[key]]
    for keys, batch in _batches(SinkBatch(graph, "/".join(scope)), gone, changed, items):
        watermark.expect(keys)
        _ask(sink, lambda batch=batch: sink.apply(batch))  # type: ignore[misc]
        written = {key: digests[key] for key in keys if key in items}
        watermark.confirm(written, [key for key in keys if key not in items])
    counts = {kind: sum(key[0] == kind for key in changed) for kind in KINDS}
    return Mirrored(**counts, removed=len(there.difference(items)), unchanged=len(items) - len(changed))


def _batches(
    empty: SinkBatch, gone: Sequence[Key], changed: Sequence[Key], items: dict[Key, Any]
) -> Iterator[tuple[list[Key], SinkBatch]]:
    """Yield the keys and the content of each batch: first what goes, then what comes, each in the order of kinds."""
    for kind in reversed(KINDS):
        for keys in _portions([key for key in gone if key[0] == kind]):
            yield keys, replace(empty, removed=SinkIds(**{kind: frozenset(id_ for _, id_ in keys)}))
    for kind in KINDS:
        for keys in _portions([key for key in changed if key[0] == kind]):
            content: dict[str, Any] = {kind: tuple(items[key] for key in keys)}
            yield keys, replace(empty, **content)


def _portions(keys: list[Key]) -> Iterator[list[Key]]:
    yield from (keys[start : start + BATCH] for start in range(0, len(keys), BATCH))


def _ask(sink: GraphSink, ask: Callable[[], R]) -> R:
    try:
        return ask()
    except TidalError:
        raise
    except Exception as error:
        reason = masked(f"{type(error).__name__}: {error!s:.300}")
        raise GraphSinkError(f"{shown(sink.name)} did not take the graph: {reason}") from error
