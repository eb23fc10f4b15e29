"""Forgetting: what is known of the code of a scope goes with the episodes that it rests on."""

from __future__ import annotations

from collections.abc import Collection

from tidal_plugins.graph.code.project import FILES, NAMES, Project
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Storage


def forget_code(storage: Storage, scope: Scope, episodes: Collection[str]) -> None:
    """Remove what rests on episodes that are forgotten. Call it inside their transaction."""
    if not episodes:
        return
    project = Project(storage, scope)
    for document in storage.documents(scope, FILES):
        if not document.value or not set(episodes).isdisjoint(document.value["episodes"]):
            project.remove(document.key)
        else:
            project.load([document.key])
    project.forget_hints(document.key for document in storage.documents(scope, NAMES))
    project.followed = {id_: count for id_, count in project.followed.items() if id_ not in episodes}
    project.store(storage)
