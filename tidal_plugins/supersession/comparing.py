"""Comparing: each passage of a turn with what was said before it and after it, whatever was recorded first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from tidal_plugins.english.changes import CHANGE_VERB
from tidal_plugins.english.secrets import secrets
from tidal_plugins.english.values import values
from tidal_plugins.model.entry import CONVERSATION, GRAPH_CHANNEL, SYNTHESIS, Entry, Scope
from tidal_plugins.model.link import REPEAT
from tidal_plugins.model.supersession import Replacement, Utterance
from tidal_plugins.storage.base import Match, Span, Storage, Where, WhereLinks
from tidal_plugins.storage.shorthands import passage_vectors
from tidal_plugins.supersession.detector import may_supersede, supersedes
from tidal_plugins.supersession.named import replaces_fact
from tidal_plugins.supersession.store import Pair, SupersessionStore
from tidal_plugins.tuning import SupersessionTuning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUPERSEDED_KINDS = (CONVERSATION, "kb", "fact")
"""Kinds of entries that a turn may supersede. Dossiers and skills are kept up to date by others."""

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
                earlier = list(self._earlier(entry, span, unit, None if like is entry else like))
                yield from earlier
                if behind:
                    yield from self._later(entry, span, unit)
                    yield from self._said_again(earlier)

    def _earlier(self, entry: Entry, span: Span, unit: NDArray[np.float32], after: Entry | None) -> Iterator[Pair]:
        """Yield what a passage supersedes among the nearest earlier entries, and again among what is newer than those,
        until nothing newer is superseded."""
        said = _said(entry, span)
        if not may_supersede(said.text):
            return
        where = replace(self._others(entry), since=after.occurred_at if after else None, until=entry.occurred_at)
        for _ in range(1 + FURTHER):
            near = list(self._near(unit, where))
            pairs = [
                (entry, earlier, found)
                for match, earlier in near
                if (found := _judged(entry, said, earlier, _said(earlier, match), match.score))
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
        before = _said(entry, span)
        for match, later in self._near(unit, self._overtaking(entry)):
            if found := _judged(later, _said(later, match), entry, before, match.score):
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
        where = replace(self._others(entry), kinds=[CONVERSATION], known_at=entry.recorded_at)
        return replace(where, since=entry.occurred_at + MOMENT)

    def _others(self, entry: Entry) -> Where:
        return Where(
            kinds=SUPERSEDED_KINDS,
            exclude=[entry.episode or entry.id],
            not_channels=(SYNTHESIS, GRAPH_CHANNEL),
        )


def _said(entry: Entry, span: Span | Match) -> Utterance:
    return Utterance(entry.text[span.start : span.end], entry.occurred_at, entry.speaker)


def _judged(later: Entry, said: Utterance, earlier: Entry, before: Utterance, cosine: float) -> Replacement | None:
    found = replaces_fact(earlier, said, later.role) or supersedes(said, before, cosine)
    if found and _says_too_much(found, later, said, earlier, before):
        return None
    return _without_secrets(found, later, earlier) if found else None


def _says_too_much(found: Replacement, later: Entry, said: Utterance, earlier: Entry, before: Utterance) -> bool:
    """Return whether a replacement is read into one passage of a long turn, which lists or advises.

    A plan says the same of each of its days in the same words; «extend the trip to 13 days» is an option there, and
    «breathe with the belly rather than the chest» an instruction.
    """
    listed = not found.reason and (_is_part(later, said) or _is_part(earlier, before))
    option = CHANGE_VERB.fullmatch(found.reason) is not None and not found.reason.endswith("ed")
    return listed or (_is_part(later, said) and (option or not values(found.old)))


def _is_part(entry: Entry, said: Utterance) -> bool:
    """Return whether what was said is one passage of a long turn."""
    return entry.kind == CONVERSATION and said.text != entry.text


def _again(first: Entry | None, span: Span, between: Entry, match: Match) -> Replacement | None:
    """Return how the repetition of an entry replaces what had superseded that one in between."""
    if first is None:
        return None
    found = _judged(between, _said(between, match), first, _said(first, span), match.score)
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
