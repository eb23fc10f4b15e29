"""Paths: a file is one entity by its place below the project's root, however much of its path a text says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from tidal_plugins.actions.paths import absolute
from tidal_plugins.graph.code.reader import CodeReading
from tidal_plugins.graph.indexing.stale import mark_around
from tidal_plugins.graph.records.entities import nodes
from tidal_plugins.graph.records.merging import join, merges, undo_merge
from tidal_plugins.graph.records.names import MAX_ENDS, bare, entity_id, files_called
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.graph import Assertion, Mention, Reading
from tidal_plugins.storage.base import Storage


def with_full_paths(storage: Storage, scope: Scope, readings: Sequence[Reading], code: CodeReading) -> dict[str, str]:
    """Return the files that the readings name by a part of their path, with their whole paths below the root.

    A part that two files end with stands for itself: packages of a monorepo have files of the same name.
    """
    said = {bare(mention.name) for reading in readings for mention in _mentions(reading) if mention.type == "file"}
    if not said:
        return {}
    full = {path: code.project.place(path) for path in said if absolute(path)}
    ids = files_called(storage, scope, {full.get(path, path) for path in said})
    known = nodes(storage, scope, {id_ for many in ids.values() for id_ in many})
    found = {}
    for path in said:
        part = full.get(path, path)
        names = {known[id_].name for id_ in ids.get(part, ()) if id_ in known and known[id_].type == "file"}
        whole = {name for name in names | code.paths if name.endswith(f"/{part}")}
        alone = len(whole) == 1 and part not in code.paths and code.project.file(part) is None
        found[path] = next(iter(whole)) if alone else part
    return {path: name for path, name in found.items() if name != path}


def renamed(mentions: Iterable[Mention], paths: dict[str, str]) -> list[Mention]:
    return [_renamed(mention, paths) for mention in mentions]


def renamed_ends(assertions: Collection[Assertion], paths: dict[str, str]) -> list[Assertion]:
    return [
        replace(said, subject=_renamed(said.subject, paths), object=_renamed(said.object, paths)) for said in assertions
    ]


def _renamed(mention: Mention, paths: dict[str, str]) -> Mention:
    if mention.type != "file" or bare(mention.name) not in paths:
        return mention
    return replace(mention, name=paths[bare(mention.name)])


def _mentions(reading: Reading) -> Iterable[Mention]:
    if reading.parsed:
        return ()
    ends = (end for said in reading.extraction.assertions for end in (said.subject, said.object))
    return (*reading.extraction.mentions, *ends)


def join_shorter(storage: Storage, scope: Scope, code: CodeReading, now: datetime) -> None:
    """Merge files that were only said by the end of their path with the new files that they turn out to be.

    An end that two files share stands for neither: a merge from the time when there was one is undone. A merge that a
    user has undone is not made again. Call it in the transaction that writes the new files.
    """
    ends = {end for path in code.project.new() for end in _ends(path)}
    code.project.load(ends)
    ends = {end for end in ends if code.project.file(end) is None}
    said = {_id(scope, end): end for end in ends}
    there = {id_: said[id_] for id_, node in nodes(storage, scope, said).items() if node.type == "file"}
    if not there:
        return
    all_called = files_called(storage, scope, there.values())
    known = nodes(storage, scope, {id_ for many in all_called.values() for id_ in many})
    made = {(merge.kept, merge.absorbed): merge for merge in merges(storage, scope)}
    for id_, end in there.items():
        whole = {
            other
            for other in all_called[end]
            if other in known.keys() - there.keys() and known[other].name.endswith(f"/{end}")
        }
        held = [merge for (_, absorbed), merge in made.items() if absorbed == id_ and merge.undone_at is None]
        if len(whole) > 1:
            for merge in held:
                undo_merge(storage, scope, merge.id, now)
                mark_around(storage, scope, now, [merge.kept, merge.absorbed])
        elif whole and not held and (next(iter(whole)), id_) not in made:
            join(storage, scope, next(iter(whole)), id_, now)
            mark_around(storage, scope, now, [*whole, id_])


def _ends(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(1, len(parts)) if parts[start]][-MAX_ENDS:]


def _id(scope: Scope, path: str) -> str:
    return entity_id(scope, Mention(path, "file", "technical", 0, 0))
