"""Finding: each passage of a turn or a note is compared with what was said before it and after it, whatever was
recorded first. A job does so after every write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from tidal_plugins.errors import Closed, Corrupt, EmbeddingError, StorageError
from tidal_plugins.facts.claims import of_fact
from tidal_plugins.facts.conflicts import between, write_conflict
from tidal_plugins.facts.invalidation import ANSWER, KINDS, Pair, SupersessionStore, may_replace
from tidal_plugins.facts.rivals import WEIGHTS, rivals_among
from tidal_plugins.facts.statements import statements
from tidal_plugins.facts.versions import KEY
from tidal_plugins.jobs.handler import Handler
from tidal_plugins.jobs.queue import Job, Jobs
from tidal_plugins.model.entry import CONVERSATION, FACT, GRAPH_CHANNEL, SYNTHESIS, Entry, Scope
from tidal_plugins.model.link import REPEAT
from tidal_plugins.model.supersession import Replacement
from tidal_plugins.secrets.finding import secrets
from tidal_plugins.storage.base import Match, Span, Storage, Where, WhereLinks
from tidal_plugins.storage.shorthands import passage_vectors
from tidal_plugins.tuning import SupersessionTuning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        return self.jobs.settings.claim

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
        near = self.storage.nearest(self.scope, unit, self.settings.candidates, where)
        entries = self.storage.get(self.scope, [match.id for match in near])
        return ((match, entries[match.id]) for match in near if match.id in entries)

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
        found = rivals_among(statements(text, later.occurred_at), held, cosine, one_speaker=own)
    long = len(later.text) > ANSWER or len(earlier.text) > ANSWER
    if found and long and (not found.reason or found.confidence < WEIGHTS.cued):
        return None  # a plan says the same of each of its days in the same words
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
        for start, end, kind in secrets(entry.text):
            old, new, reason = (one.replace(entry.text[start:end], f"[{kind}]") for one in (old, new, reason))
    return replace(replacement, old=old, new=new, reason=reason)
