"""Invalidation: links from later entries to those whose value they take the place of, which can be taken back."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from tidal_plugins.errors import NotFound
from tidal_plugins.model.entry import CONVERSATION, FACT, GRAPH_CHANNEL, SYNTHESIS, Entry, Scope
from tidal_plugins.model.link import WORDING, Link
from tidal_plugins.model.supersession import SUPERSEDES, Replacement, Supersession, supersession_id
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage, WhereLinks
from tidal_plugins.storage.transactions import retry
from tidal_plugins.validation import page_of

MAX_CHAIN = 32
"""Steps of following, one after the other. Of 100 values that return in turn, 8 did not reach the newest; most things
have two or three values, and following ends with the last."""

FOLLOWED = 16
"""Later entries that are followed at each step, the newest first; the others wait for the next one: things of which
hundreds of values are known stay cheap."""

KINDS = (CONVERSATION, "kb", FACT)
"""Kinds of entries that a turn or a note may supersede. Dossiers and skills are kept up to date by others."""

NOTE = 1_000
"""Characters of a turn or a note that may supersede something; a longer one is a document."""
ANSWER = 300
"""The same of an agent's turn: a longer one lists and advises."""

Pair = tuple[Entry, Entry, Replacement]
"""A later entry, the one that it supersedes, and how."""


def may_replace(entry: Entry) -> bool:
    """Return whether an entry may supersede others: a turn's words, or a note that is no document."""
    if entry.kind not in KINDS or entry.channel in (SYNTHESIS, GRAPH_CHANNEL):
        return False
    return len(entry.text) <= (ANSWER if entry.role == "assistant" else NOTE)


@dataclass(frozen=True, slots=True)
class SupersessionStore:
    """The supersessions of one scope."""

    storage: Storage
    scope: Scope

    def add(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Store what was found and return the pairs whose links are new. Call it inside a transaction.

        A link that is known stays as it is: what was undone is not found again. Entries that were forgotten meanwhile
        get none.
        """
        made = {(link := self._link(*pair)).id: (link, pair) for pair in pairs}
        links = {id_: link for id_, (link, _) in made.items()}
        if not links:
            return []
        known = {link.id for link in self.storage.links(self.scope, WhereLinks(ids=links))}
        ends = self.storage.summaries(
            self.scope, {end for link in links.values() for end in (link.source, link.target)}
        )
        new = [link for link in links.values() if link.id not in known and {link.source, link.target} <= ends.keys()]
        self.storage.put_links(self.scope, new)
        return [made[link.id][1] for link in new]

    def correct(self, later: Entry, earlier: Entry, replacement: Replacement, now: datetime) -> None:
        """Store that an entry was corrected from now on. Call it inside a transaction."""
        link = self._link(later, earlier, replacement)
        self.storage.put_links(self.scope, [replace(link, recorded_at=now, weight=now.timestamp(), valid_from=now)])

    def withdraw(self, entry: str) -> set[str]:
        """Remove the links that were read from the words of an entry, and return the ids of the entries that superseded
        it. Links that were taken back stay, and those to its earlier wordings. Call it inside a transaction."""
        wordings = {one.target for one in self.storage.links(self.scope, WhereLinks(sources=[entry], kinds=[WORDING]))}
        links = self.storage.links(self.scope, WhereLinks(ends=[entry], kinds=[SUPERSEDES]))
        read = [link for link in links if link.superseded_at is None and link.target not in wordings]
        self.storage.erase_links(self.scope, WhereLinks(ids=[link.id for link in read]))
        return {link.source for link in read if link.target == entry}

    def standing(
        self, ids: Collection[str] | None, limit: int | None, after: int, *, newest_first: bool
    ) -> list[Supersession]:
        """List a page of the supersessions that stand, of some entries or all, in the order in which they were found,
        or by the later statement, the newest first."""
        where = WhereLinks(kinds=[SUPERSEDES], ends=None if ids is None else list(ids))
        wanted = most = None if limit is None else after + limit
        while True:  # those that were undone are few
            links = self.storage.links(self.scope, where, limit=most, strongest_first=newest_first)
            found = [_supersession(link) for link in links if link.superseded_at is None]
            if wanted is None or most is None or len(found) >= wanted or len(links) < most:
                return page_of(found, limit, after)
            most *= 2

    def chains(self, earlier: Collection[str], at: datetime) -> list[Supersession]:
        """Return what supersedes some entries at a time, what supersedes that, and so on."""
        found: dict[tuple[str, str], Supersession] = {}
        reached, seen = set(earlier), set[str]()
        waiting: dict[str, datetime] = {}
        for _ in range(MAX_CHAIN):
            if not reached:
                break
            seen |= reached
            standing = self.newer(reached, at)
            found |= {(one.later, one.earlier): one for one in standing}
            waiting |= {one.later: one.since for one in standing if one.later not in seen}
            reached = set(sorted(waiting, key=lambda id_: (waiting[id_], id_), reverse=True)[:FOLLOWED])
            waiting = {id_: since for id_, since in waiting.items() if id_ not in reached}
        return list(found.values())

    def newer(self, earlier: Collection[str], at: datetime | None = None) -> list[Supersession]:
        """Return the links of the newest entries that supersede each of some, of those that hold at a time."""
        if not earlier:
            return []
        where = WhereLinks(targets=list(earlier), valid_at=at)
        steps = self.storage.frontier(self.scope, earlier, [SUPERSEDES], each=FOLLOWED, where=where)
        if not steps:
            return []
        links = self.storage.links(self.scope, WhereLinks(ids={step.link for step in steps}))
        return [_supersession(link) for link in links if link.superseded_at is None]

    def known(self, pairs: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return those of some pairs, a later and an earlier id each, that have a link, also where it was undone."""
        ids = {supersession_id(self.scope, *pair): pair for pair in pairs}
        found = self.storage.links(self.scope, WhereLinks(ids=ids)) if ids else []
        return {ids[link.id] for link in found}

    @retry
    def undo(self, later: str, earlier: str, now: datetime) -> Supersession:
        """Take a link back for good. Raises ``NotFound``."""
        with self.storage.transaction():
            links = self.storage.links(self.scope, WhereLinks(ids=[supersession_id(self.scope, later, earlier)]))
            if not links:
                raise NotFound(
                    f"{shown(later)} does not supersede {shown(earlier)}; memory.supersessions.list() lists what does"
                )
            undone = replace(links[0], superseded_at=links[0].superseded_at or now)
            self.storage.put_links(self.scope, [undone])
        return _supersession(undone)

    def _link(self, later: Entry, earlier: Entry, replacement: Replacement) -> Link:
        return Link(
            supersession_id(self.scope, later.id, earlier.id),
            SUPERSEDES,
            later.id,
            earlier.id,
            recorded_at=later.recorded_at,
            weight=later.occurred_at.timestamp(),  # the newest are the strongest
            valid_from=later.occurred_at,
            metadata=asdict(replacement),
        )


def _supersession(link: Link) -> Supersession:
    since = link.valid_from or link.recorded_at
    return Supersession(link.source, link.target, Replacement(**link.metadata), since, link.superseded_at)
