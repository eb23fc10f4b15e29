"""Links in memory."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.link import Link
from tidal_plugins.storage.base import ALL_LINKS, Links, Step, WhereLinks
from tidal_plugins.storage.memory.filters import link_filter
from tidal_plugins.storage.memory.state import Draft, MemoryBase, State
from tidal_plugins.storage.rows import NEVER, check_storable, from_link_row, to_link_row


class KeptLink(NamedTuple):
    """A link and the number by which links are ordered as they were first stored."""

    number: int
    link: Link


class LinkStore(MemoryBase, Links):
    """Stores links by id, and the ids of the links at each node."""

    def put_links(self, scope: Scope, links: Iterable[Link]) -> None:
        stored = {link.id: _as_stored(scope, link) for link in links}
        with self._draft() as draft:
            table: dict[str, KeptLink] = draft.change(scope, "links")
            known = [table[id_] for id_ in stored.keys() & table.keys()]
            _unbind(draft, scope, [kept.link for kept in known])
            for id_, link in stored.items():
                table[id_] = KeptLink(table[id_].number if id_ in table else draft.next_key(), link)
            _bind(draft, scope, stored.values())

    def links(
        self, scope: Scope, where: WhereLinks, *, limit: int | None = None, strongest_first: bool = False
    ) -> list[Link]:
        found = _found(self._state(), scope, where)
        found.sort(key=_strength if strongest_first else attrgetter("number"))
        return [_copied(kept.link) for kept in found[: None if limit is None else max(limit, 0)]]

    def frontier(
        self, scope: Scope, nodes: Collection[str], kinds: Collection[str], *, each: int, where: WhereLinks = ALL_LINKS
    ) -> list[Step]:
        state, passes = self._state(), link_filter(where)
        return [
            _step(node, kept.link)
            for node in dict.fromkeys(nodes)
            for kept in _strongest(_at(state, scope, [node]), set(kinds), each, passes)
        ]

    def erase_links(self, scope: Scope, where: WhereLinks) -> int:
        with self._draft() as draft:
            return erase_found(draft, scope, where)


def erase_found(draft: Draft, scope: Scope, where: WhereLinks) -> int:
    """Remove the links that a filter lets through; return how many there were."""
    found = _found(draft, scope, where)
    table = draft.change(scope, "links")
    _unbind(draft, scope, [kept.link for kept in found])
    for kept in found:
        del table[kept.link.id]
    return len(found)


def _found(state: State, scope: Scope, where: WhereLinks) -> list[KeptLink]:
    """Return the links that a filter lets through; ids and ends are looked up."""
    passes, table = link_filter(where), state.table(scope, "links")
    candidates: Iterable[KeptLink] = table.values()
    if where.ids is not None:
        candidates = [table[id_] for id_ in set(where.ids) & table.keys()]
    elif nodes := [some for some in (where.ends, where.sources, where.targets) if some is not None]:
        candidates = _at(state, scope, nodes[0])
    return [kept for kept in candidates if passes(kept.link)]


def _at(state: State, scope: Scope, nodes: Iterable[str]) -> list[KeptLink]:
    """Return the links at any of the nodes."""
    ends, table = state.table(scope, "ends"), state.table(scope, "links")
    found = dict.fromkeys(id_ for node in set(nodes) for id_ in ends.get(node, ()))
    return [table[id_] for id_ in found]


def _bind(draft: Draft, scope: Scope, links: Iterable[Link]) -> None:
    """Add links to those of their nodes."""
    ends: dict[str, dict[str, None]] = draft.change(scope, "ends")
    for node, ids in _by_node(links).items():
        ends[node] = {**ends.get(node, {}), **dict.fromkeys(ids)}


def _unbind(draft: Draft, scope: Scope, links: Iterable[Link]) -> None:
    """Remove links from those of their nodes."""
    ends: dict[str, dict[str, None]] = draft.change(scope, "ends")
    for node, ids in _by_node(links).items():
        if rest := {id_: None for id_ in ends.pop(node) if id_ not in ids}:
            ends[node] = rest


def _by_node(links: Iterable[Link]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for link in links:
        for node in (link.source, link.target):
            found.setdefault(node, set()).add(link.id)
    return found


def _strongest(
    found: Iterable[KeptLink], kinds: Collection[str], each: int, passes: Callable[[Link], bool]
) -> list[KeptLink]:
    by_kind: dict[str, list[KeptLink]] = {}
    for kept in sorted(found, key=_strength):
        if kept.link.kind in kinds and passes(kept.link):
            by_kind.setdefault(kept.link.kind, []).append(kept)
    cut = [kept for some in by_kind.values() for kept in some[: max(each, 0)]]
    return sorted(cut, key=_strength)


def _strength(kept: KeptLink) -> tuple[int, float, int]:
    """Return the key by which links are sorted: by how long they last, by weight, as they were stored."""
    expires_at = kept.link.expires_at
    return -(NEVER if expires_at is None else to_micros(expires_at)), -kept.link.weight, kept.number


def _step(node: str, link: Link) -> Step:
    forward = link.source == node
    other = link.target if forward else link.source
    return Step(node, other, forward, link.id, link.kind, link.weight, link.anchored_at)


def _as_stored(scope: Scope, link: Link) -> Link:
    row = to_link_row(link, scope)
    check_storable(row)
    return from_link_row(row, scope)


def _copied(link: Link) -> Link:
    return replace(link, metadata=copy.deepcopy(dict(link.metadata)))
