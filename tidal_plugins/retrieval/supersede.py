"""The newest value of a thing first in a ranking, and what it supersedes right below it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from tidal_plugins.english.moods import asks_for_former
from tidal_plugins.facts.claims import fact_statement
from tidal_plugins.facts.conflicts import FACT_CHANNEL
from tidal_plugins.facts.invalidation import SupersessionStore, may_replace
from tidal_plugins.facts.rivals import may_end, rivalries, rivals_among
from tidal_plugins.facts.statements import Statement, statements, stems_of, taken_apart
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.fact import Supersession
from tidal_plugins.retrieval.candidates import Candidates, candidates
from tidal_plugins.retrieval.search import Channels, Pool
from tidal_plugins.retrieval.understand import Question
from tidal_plugins.scoring.text import stems

NEAR_ENOUGH = 0.6
"""Share of the cosine of what it supersedes that an entry needs which has no word of the question."""

RIVALS = 6
"""The first of the ranking, among which rivals are looked for that no link joins."""

RIVALLING = 0.5
"""Share of the highest cosine that they need."""

ABOVE = 1e-6
"""The difference of score by which a newer entry stands above the one that it supersedes."""

Links = tuple[tuple[Supersession, ...], tuple[Supersession, ...]]
"""What an entry supersedes, and what supersedes it."""

NO_LINKS: Links = ((), ())

NEWEST = "newest"
"""Name of the part of a score that puts an entry above what it supersedes."""


def superseded(
    found: Candidates, pool: Pool, question: Question, depth: int
) -> tuple[Candidates, Sequence[Supersession]]:
    """Return what supersedes the first ``depth`` of a ranking, and the ranking with the newest, if the filter lets it
    through. A question about what was before is left as it is."""
    request, channels, columns = question.request, pool.channels, found.columns
    past = any(time.end is not None and time.end <= request.now for time in pool.times)
    if asks_for_former(request.text, past):
        return found, ()
    store, first = SupersessionStore(channels.storage, request.scope), columns.ids(found.rows[: max(RIVALS, depth)])
    links = store.chains(first[:depth], request.now)
    links += _unlinked(found, first, links, store, channels, request.text)
    if not links:
        return found, ()
    ranked, later = set(found.ids), {link.later for link in links}
    newest = columns.rows(sorted(later - {link.earlier for link in links} - ranked))
    newest = newest[newest >= 0]
    newest = newest[columns.passes(newest, request.where)]
    cosine, vector = channels.cosines(newest)
    found = found.followed(candidates(columns, newest, cosine=cosine, vector=vector, fused=cosine))
    near, asked = dict(zip(found.ids, found.cosine.tolist(), strict=True)), set(stems(request.text))
    new = [(id_, row) for id_, row in zip(near, found.rows.tolist(), strict=True) if id_ in later]
    heads = columns.heads(np.array([row for _, row in new], np.int64))
    about = {id_ for (id_, _), (head, _) in zip(new, heads, strict=True) if asked & set(stems(head))}
    links = [
        link for link in links if link.later not in near or link.later in about or _as_near(link, near)
    ]  # an entry in the middle of a chain need not take part for the chain to hold
    there = ranked | {link.later for link in links}
    return found.without({id_ for id_ in near if id_ not in there}), links


def _unlinked(
    ranked: Candidates,
    ids: Sequence[str],
    links: Sequence[Supersession],
    store: SupersessionStore,
    channels: Channels,
    question: str,
) -> list[Supersession]:
    """Return the rivals among the first of the ranking that no link joins yet: what the question is about says that
    they are of one thing. Nothing is stored, and what was undone stays so."""
    cosines, asked = ranked.cosine[:RIVALS].tolist(), stems_of(question)
    if len(cosines) < 2 or not asked:
        return []
    near = [place for place, cosine in enumerate(cosines) if cosine >= RIVALLING * max(cosines)]
    entries = channels.entries(ids)
    said = [entry for place in near if (entry := entries.get(ids[place])) and may_replace(entry)]
    told = [(entry, _statements(entry, taken_apart)) for entry in said] if len(said) > 1 else []
    made = {}
    for later, new in told:
        before = [pair for pair in told if _may_be_superseded(pair[0], later)]
        ending = [one for one in new if may_end(one)] if before else []
        for earlier, old in before if ending else ():
            own = later.speaker is None or earlier.speaker is None or later.speaker == earlier.speaker
            sizes = len(later.text), len(earlier.text)
            if not any(rivalries(ending, old, 0.0, one_speaker=own, asked=asked)):
                continue  # as nearly all, and nobody need ask the tagger what their sentences do
            both = _statements(later, statements), _statements(earlier, statements)
            if replaced := rivals_among(*both, 0.0, one_speaker=own, asked=asked, sizes=sizes):
                ends = later.id, earlier.id
                made[ends] = Supersession(*ends, replaced, later.occurred_at)
    linked = {(link.later, link.earlier) for link in links}
    known = store.known(made.keys() - linked) if made else set()
    return [link for ends, link in made.items() if ends not in linked | known]


def _may_be_superseded(earlier: Entry, later: Entry) -> bool:
    """Return whether an entry was said before another one and elsewhere. A fact supersedes nothing by itself."""
    if later.channel == FACT_CHANNEL or later.episode == (earlier.episode or ""):
        return False
    return earlier.occurred_at < later.occurred_at


def _statements(entry: Entry, read: Callable[[str, datetime], Sequence[Statement]]) -> Sequence[Statement]:
    if entry.channel != FACT_CHANNEL:
        return read(entry.text, entry.occurred_at)
    key, _, value = entry.text.partition(": ")
    return [fact_statement(key, value)]


def _as_near(link: Supersession, near: Mapping[str, float]) -> bool:
    """Return whether a newer entry is about as near to the question as what it supersedes.

    An entry may tell of two things, and only the one that the question is not about may have changed.
    """
    return link.earlier not in near or near[link.later] >= NEAR_ENOUGH * near[link.earlier]


def newest_first(found: Candidates, supersessions: Sequence[Supersession]) -> tuple[Candidates, Mapping[str, Links]]:
    """Return a ranking with the newest of each chain where the first of its chain stands, and the others right below.

    Also return, by id, what each entry supersedes, and what supersedes it.

    The newest has the best chance of its chain to help.
    """
    if not supersessions:
        return found, {}
    later, earlier = _grouped(supersessions, "earlier"), _grouped(supersessions, "later")
    places = {id_: place for place, id_ in enumerate(found.ids)}
    score, raised = found.score.copy(), np.full(len(found), np.nan)
    sure, features = found.confidence.copy(), {name: part.copy() for name, part in found.features.items()}
    order: dict[str, None] = {}
    for id_, place in places.items():
        if id_ in order:
            continue
        newer = [one for one in _newer(id_, later) if one in places and one not in order]
        best, surest = score[place], place
        for one in [id_, *reversed(newer)]:
            at = places[one]
            if score[at] < best:
                raised[at], score[at] = best - score[at], best
            surest = max(surest, at, key=lambda each: sure[each])
            sure[at] = sure[surest]
            for part in features.values():
                part[at] = part[surest]
            best = max(best, score[at]) + ABOVE
        order |= dict.fromkeys([*newer, id_])
    links: dict[str, Links] = {id_: (tuple(earlier.get(id_, ())), tuple(later.get(id_, ()))) for id_ in order}
    parts = dict(found.parts) if np.isnan(raised).all() else {**found.parts, NEWEST: raised}
    found = replace(found, score=score, confidence=sure, parts=parts, features=features)
    return doubted(found.take([places[id_] for id_ in order]), links), links


def doubted(found: Candidates, links: Mapping[str, Links]) -> Candidates:
    """Return a ranking with lower chances of what is superseded: it helps only if the link is wrong.

    Called twice, it discounts what is two links back again: that helps only if both links are wrong.
    """
    places = {id_: place for place, id_ in enumerate(found.ids)}
    sure, chance = found.confidence, found.confidence.copy()
    for id_, (_, by) in links.items():
        for link in by:
            if id_ in places and link.later in places:
                wrong = sure[places[link.later]] * (1 - link.replacement.confidence)
                chance[places[id_]] = min(chance[places[id_]], wrong)
    return replace(found, confidence=chance)


def replaced_for_sure(
    found: Candidates, supersessions: Sequence[Supersession], links: Mapping[str, Links], sure: float
) -> Mapping[str, str]:
    """Return by id why entries are superseded for sure by an entry that is still there. Of documents, only the order
    changes."""
    ids, later = found.ids, _grouped(supersessions, "earlier")
    there, roles = set(ids), found.columns.arrays.role[found.rows].tolist()
    return {
        id_: str(link)
        for id_, role in zip(ids, roles, strict=True)
        for link in links.get(id_, NO_LINKS)[1]
        if role >= 0 and link.replacement.confidence >= sure and there & {link.later, *_newer(link.later, later)}
    }


def _grouped(links: Iterable[Supersession], end: str) -> Mapping[str, Sequence[Supersession]]:
    found: defaultdict[str, list[Supersession]] = defaultdict(list)
    for link in links:
        found[getattr(link, end)].append(link)
    return found


def _newer(id: str, later: Mapping[str, Sequence[Supersession]]) -> list[str]:
    """Return the ids of what supersedes an entry, directly or not, the newest first."""
    since: dict[str, Supersession] = {}
    waiting = [id]
    while waiting:
        for link in later.get(waiting.pop(), ()):
            if link.later not in since:
                since[link.later] = link
                waiting.append(link.later)
    return sorted(since, key=lambda one: (since[one].since, one), reverse=True)
