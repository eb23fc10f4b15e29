"""Entities that turn out to be one: files by parts of their paths, and relatives before and after they are named.

A file is one entity by its place below the project's root, however much of its path a text says. «My sister» is the
sister whose name somebody says, as long as only one has been named. A merge that a user has undone is not made again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from tidal_plugins.actions.paths import absolute
from tidal_plugins.graph.code.reader import CodeReading
from tidal_plugins.graph.indexing.stale import mark_around
from tidal_plugins.graph.indexing.writing import WriteBatch
from tidal_plugins.graph.reading.mentions import KIN
from tidal_plugins.graph.records.entities import MAX_ENDS, bare, entity_id, files_called, nodes
from tidal_plugins.graph.records.merging import join, merges, undo_merge
from tidal_plugins.graph.records.relations import STANDING, predicate
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.graph import Mention, Merge, Reading
from tidal_plugins.storage.base import Storage, WhereLinks

_MANY = frozenset("friend_of neighbour_of colleague_of child_of grandchild_of parent_of".split())
"""Predicates of relatives of whom one has many: «my friend» is now this one, now that one."""
_WORDS = {
    kin: [word for word, other in KIN.items() if other == kin]
    for kin in dict.fromkeys(KIN.values())
    if kin not in _MANY
}

Role = tuple[str, str]
"""A person by name, and the predicate of a relative of that person."""


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
    made = _made(storage, scope)
    for id_, end in there.items():
        others = [other for other in all_called[end] if other in known.keys() - there.keys()]
        _settle(storage, scope, id_, {one for one in others if known[one].name.endswith(f"/{end}")}, made, now)


def join_relatives(storage: Storage, scope: Scope, batches: Iterable[WriteBatch], now: datetime) -> None:
    """Merge «Ada's sister» with the one sister of Ada who has a name.

    When a second one is named, a merge from the time before is undone, since nobody knows which of them was meant. A
    merge that a user has undone is not made again. Call it in the transaction that writes the batches.
    """
    for owner, kin in dict.fromkeys(_roles(batches)):
        unnamed = {_person(scope, f"{owner}'s {word}") for word in _WORDS[kin]}
        there = nodes(storage, scope, unnamed)
        rows = storage.links(scope, WhereLinks(targets=[_person(scope, owner)], kinds=STANDING)) if there else []
        known = {row.source for row in rows if predicate(row) == kin} - unnamed
        made = _made(storage, scope) if known else {}
        for id_ in sorted(there) if known else ():
            _settle(storage, scope, id_, known, made, now)


def _mentions(reading: Reading) -> Iterable[Mention]:
    if reading.parsed:
        return ()
    ends = (end for said in reading.extraction.assertions for end in (said.subject, said.object))
    return (*reading.extraction.mentions, *ends)


def _ends(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(1, len(parts)) if parts[start]][-MAX_ENDS:]


def _id(scope: Scope, path: str) -> str:
    return entity_id(scope, Mention(path, "file", "technical", 0, 0))


def _roles(batches: Iterable[WriteBatch]) -> Iterable[Role]:
    """Yield the relatives that the batches name, or speak of without a name."""
    for batch in batches:
        for part in batch.parts:
            for said, assertion in part.said:
                if said.predicate in _WORDS and assertion.object.type == "person":
                    yield assertion.object.name, said.predicate
            for named in part.named:
                owner, _, word = named.name.rpartition("'s ")
                if named.type == "person" and owner and KIN.get(word.lower()) in _WORDS:
                    yield owner, KIN[word.lower()]


def _person(scope: Scope, name: str) -> str:
    return entity_id(scope, Mention(name, "person", "contextual", 0, 0))


Made = dict[tuple[str, str], Merge]
"""All merges, by the entity that is kept and the one that goes by it."""


def _made(storage: Storage, scope: Scope) -> Made:
    return {(merge.kept, merge.absorbed): merge for merge in merges(storage, scope)}


def _settle(storage: Storage, scope: Scope, id_: str, known: Collection[str], made: Made, now: datetime) -> None:
    """Merge an entity with the only one that it may be. Of two it is neither, and a merge from before is undone."""
    held = [merge for (_, absorbed), merge in made.items() if absorbed == id_ and merge.undone_at is None]
    if len(known) > 1:
        for merge in held:
            undo_merge(storage, scope, merge.id, now)
            mark_around(storage, scope, now, [merge.kept, merge.absorbed])
    elif known and not held and (kept := next(iter(known)), id_) not in made:
        join(storage, scope, kept, id_, now)
        mark_around(storage, scope, now, [kept, id_])
