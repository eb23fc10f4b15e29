"""Invalidation: links from later entries to those whose value they take the place of, which can be taken back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tidal_plugins.embedding.identity import scale_of
from tidal_plugins.errors import Closed, Corrupt, EmbeddingError, NotFound, StorageError
from tidal_plugins.facts.claims import of_fact
from tidal_plugins.facts.conflicts import between, write_conflict
from tidal_plugins.facts.rivals import rivals_among
from tidal_plugins.facts.statements import statements
from tidal_plugins.facts.versions import KEY
from tidal_plugins.jobs.handler import Handler
from tidal_plugins.jobs.queue import CLAIM, Job, Jobs
from tidal_plugins.model.entry import CONVERSATION, FACT, GRAPH_CHANNEL, REPEAT, SYNTHESIS, WORDING, Entry, Link, Scope
from tidal_plugins.model.fact import SUPERSEDES, Replacement, Supersession, supersession_id
from tidal_plugins.secrets.screening import screening
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Match, Span, Storage, Where, WhereLinks
from tidal_plugins.storage.shorthands import passage_vectors
from tidal_plugins.storage.transactions import retry
from tidal_plugins.tuning import Weights, tunable
from tidal_plugins.validation import page_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class SupersessionTuning(Weights, group="supersession"):
    """What later statements supersede."""

    sure: float = tunable(0.85, gt=0, le=1)
    """Confidence from which on a whisper leaves out what is superseded, and tells the value that was replaced."""
    candidates: int = tunable(16, gt=0)
    """The nearest earlier entries that a passage of a turn is compared with."""


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
        few = self.storage.links(self.scope, replace(where, kinds=[SUPERSEDES]), limit=FOLLOWED + 1)
        if len(few) <= FOLLOWED:
            return [_supersession(link) for link in few if link.superseded_at is None]
        steps = self.storage.frontier(self.scope, earlier, [SUPERSEDES], each=FOLLOWED, where=where)
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


# Finding: each passage of a turn or a note is compared with what was said before it and after it, whatever was recorded
# first. A job does so after every write.


SUPERSEDE = "job:supersede"
"""Jobs by episode, and by note."""

MOMENT = timedelta(microseconds=1)
"""The smallest difference of two times."""

FURTHER = 4
"""Times that the search is repeated among what is newer than the newest value found. With 16 candidates each reaches
into the last sixteenth of the rest, so that five searches reach the newest of 65,536 values of one thing."""

NEWEST = 4
"""Superseded entries of one search that always get a link, the newest. The others get one only if nothing that search
finds supersedes them yet: it leads on."""

AGAIN = "said again"
"""The reason for a link from a repetition to what had superseded the words that it repeats."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SupersessionFinder(Handler[int]):
    """Looks for what turns and notes supersede, and returns how many links it made. What two workers find is the same,
    and is written once. A link between two texts without a word of change opens a conflict, too."""

    storage: Storage
    jobs: Jobs
    settings: SupersessionTuning
    stand_alone: Callable[[Scope, Collection[str]], None]
    """Lets search find those of some entries that repeat others, because they hold again."""

    kind = SUPERSEDE
    spares = (StorageError, Closed, EmbeddingError)
    most = 16
    """Turns and notes whose links are written in one transaction."""

    @property
    def claim(self) -> float:
        return CLAIM

    def do(self, scope: Scope, jobs: Sequence[Job]) -> int:
        pairs: list[Pair] = []
        for job in jobs:
            found = self._pairs(scope, job.subject)
            self.stand_alone(scope, {later.id for later, _, _ in found})  # the next one is compared with it
            pairs += found
        with self.storage.transaction():
            made = SupersessionStore(self.storage, scope).add(pairs)
            for pair in made:
                if (conflict := between(scope, *pair)) is not None:
                    write_conflict(self.storage, scope, conflict)
            self.jobs.finish(scope, SUPERSEDE, jobs)
        return len(made)

    def _pairs(self, scope: Scope, subject: str) -> Sequence[Pair]:
        try:
            with self.storage.snapshot():
                said = self.storage.find(scope, Where(kinds={CONVERSATION}, episodes={subject}))
                said = said or list(self.storage.get(scope, [subject]).values())
                compared = Comparison(self.storage, scope, self.settings)
                return [pair for entry in said for pair in compared.pairs(entry)]
        except Corrupt:
            logger.error("what a turn or a note supersedes is not known: a row is damaged")
            return ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares the entries of one scope."""

    storage: Storage
    scope: Scope
    settings: SupersessionTuning

    def pairs(self, entry: Entry) -> Iterator[Pair]:
        """Yield what an entry supersedes, and what supersedes it, of each pair of texts the surest replacement.

        A repetition has the vectors of the entry that it repeats, and is compared only with what was said between
        the two. It then holds again.
        """
        [repeats, *_] = [*self.storage.links(self.scope, WhereLinks(sources=[entry.id], kinds=[REPEAT])), None]
        found = list(self.storage.get(self.scope, [repeats.target]).values()) if repeats else [entry]
        for like in found:
            passages = passage_vectors(self.storage, self.scope, [like.id])
            behind = repeats is None and self._was_overtaken(entry)
            for span, unit in zip(passages.spans, passages.units, strict=True):
                first = None if like is entry else like
                earlier = list(self._earlier(entry, span, unit, first)) if may_replace(entry) else []
                yield from earlier
                if behind:
                    yield from self._later(entry, span, unit)
                    yield from self._said_again(earlier)

    def _earlier(self, entry: Entry, span: Span, unit: NDArray[np.float32], after: Entry | None) -> Iterator[Pair]:
        """Yield what a passage supersedes among the nearest earlier entries, and again among what is newer than those,
        until nothing newer is superseded."""
        said = entry.text[span.start : span.end]
        if not any(
            one.real and (one.values or one.over or one.cue or one.denied)
            for one in statements(said, entry.occurred_at)
        ):
            return
        where = replace(self._others(entry), since=after.occurred_at if after else None, until=entry.occurred_at)
        for _ in range(1 + FURTHER):
            near = list(self._near(unit, where))
            pairs = [
                (entry, earlier, found)
                for match, earlier in near
                if (found := _judged(entry, span, earlier, match, match.score))
                or (found := _again(after, span, earlier, match))
            ]
            pairs.sort(key=lambda pair: pair[1].occurred_at, reverse=True)
            yield from pairs[:NEWEST]
            yield from self._not_led_on(pairs[NEWEST:])
            same = [earlier for _, earlier in near if earlier.text == entry.text]  # they hide what is newer
            reached = [earlier.occurred_at for earlier in [*same, *(pair[1] for pair in pairs[:1])]]
            if not reached:
                return
            where = replace(where, since=max(reached) + MOMENT)

    def _later(self, entry: Entry, span: Span, unit: NDArray[np.float32]) -> Iterator[Pair]:
        """Yield what supersedes a passage among the nearest later entries that were recorded before it."""
        for match, later in self._near(unit, self._overtaking(entry)):
            if may_replace(later) and (found := _judged(later, match, entry, span, match.score)):
                yield later, entry, found

    def _said_again(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the later repetitions of what an entry supersedes: they supersede the entry."""
        first = {earlier.id: (entry, found) for entry, earlier, found in pairs}
        links = self.storage.links(self.scope, WhereLinks(targets=first, kinds=[REPEAT])) if first else []
        again = self.storage.get(self.scope, [link.source for link in links])
        for link in links:
            entry, found = first[link.target]
            if link.source in again and again[link.source].occurred_at > entry.occurred_at:
                yield again[link.source], entry, _reversed(found)

    def _near(self, unit: NDArray[np.float32], where: Where) -> Iterator[tuple[Match, Entry]]:
        near, scale = self.storage.nearest(self.scope, unit, self.settings.candidates, where), scale_of(self.storage)
        entries = self.storage.get(self.scope, [match.id for match in near])
        return (
            (match._replace(score=scale.of_texts(match.score)), entries[match.id])
            for match in near
            if match.id in entries
        )

    def _not_led_on(self, pairs: list[Pair]) -> Iterator[Pair]:
        """Yield the pairs whose earlier entry nothing supersedes yet that search finds."""
        if not pairs:
            return
        known = SupersessionStore(self.storage, self.scope).newer([pair[1].id for pair in pairs])
        indexed = self.storage.summaries(self.scope, {link.later for link in known})
        led = {link.earlier for link in known if link.later in indexed and indexed[link.later].passages}
        yield from (pair for pair in pairs if pair[1].id not in led)

    def _was_overtaken(self, entry: Entry) -> bool:
        """Return whether something that was said later was recorded before an entry."""
        return bool(self.storage.find(self.scope, self._overtaking(entry), limit=1))

    def _overtaking(self, entry: Entry) -> Where:
        where = replace(self._others(entry), kinds=(CONVERSATION, "kb"), known_at=entry.recorded_at)
        return replace(where, since=entry.occurred_at + MOMENT)

    def _others(self, entry: Entry) -> Where:
        return Where(kinds=KINDS, exclude=[entry.episode or entry.id], not_channels=(SYNTHESIS, GRAPH_CHANNEL))


def _judged(
    later: Entry, said: Span | Match, earlier: Entry, before: Span | Match, cosine: float
) -> Replacement | None:
    """Return how a passage of a later entry replaces one of an earlier entry."""
    text = later.text[said.start : said.end]
    if earlier.kind == FACT and KEY in earlier.metadata:
        key, _, value = earlier.text.partition(": ")
        found = of_fact(text, later.occurred_at, key, value, later.role)
    else:
        own = later.speaker is None or earlier.speaker is None or later.speaker == earlier.speaker
        held = statements(earlier.text[before.start : before.end], earlier.occurred_at)
        sizes = len(later.text), len(earlier.text)
        found = rivals_among(statements(text, later.occurred_at), held, cosine, one_speaker=own, sizes=sizes)
    if found and later.role == "assistant" and not found.reason:
        return None
    return _without_secrets(found, later, earlier) if found else None


def _again(first: Entry | None, span: Span, between: Entry, match: Match) -> Replacement | None:
    """Return how the repetition of an entry replaces what had superseded that one in between."""
    found = _judged(between, match, first, span, match.score) if first else None
    return _reversed(found) if found else None


def _reversed(found: Replacement) -> Replacement:
    return replace(found, old=found.new or found.reason, new=found.old, reason=AGAIN)


def _without_secrets(replacement: Replacement, later: Entry, earlier: Entry) -> Replacement:
    """Return a replacement that quotes no secret of either entry: links are shown by ``explain()``."""
    old, new, reason = replacement.old, replacement.new, replacement.reason
    for entry in (later, earlier):
        for start, end, kind in screening(entry).secrets:
            old, new, reason = (one.replace(entry.text[start:end], f"[{kind}]") for one in (old, new, reason))
    return replace(replacement, old=old, new=new, reason=reason)
