"""Stages ``read_supersessions`` and ``newest_first``: the newest value first, what it supersedes right below it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tidal_plugins.english.former import asks_for_former
from tidal_plugins.model.supersession import Supersession
from tidal_plugins.retrieval.read import depth
from tidal_plugins.retrieval.search import intact
from tidal_plugins.retrieval.state import Found, Ranked, State
from tidal_plugins.scoring.text import stems
from tidal_plugins.supersession.store import SupersessionStore

NEAR_ENOUGH = 0.6
"""Share of the cosine of what it supersedes that an entry needs which has no word of the question."""

ABOVE = 1e-6
"""The difference of score by which a newer entry stands above the one that it supersedes."""


def read_supersessions(state: State) -> None:
    """Read what supersedes the first of the ranking, and let the newest take part, if the filter lets it through.

    A question about what was before is left as it is.
    """
    request, storage = state.request, state.store.storage
    if not state.settings.supersession.enabled or _asks_for_former(state):
        return
    first = [item.id for item in state.ranked[: depth(state)]]
    links = SupersessionStore(storage, request.scope).chains(first, request.now)
    if not links:
        return
    ranked = {item.id: item for item in state.ranked}
    over = {link.earlier for link in links}
    newest = sorted({link.later for link in links} - over - ranked.keys())
    summaries = intact(lambda ids: storage.summaries(request.scope, ids, request.where), newest, state.channels.damaged)
    cosines = state.channels.cosines(list(summaries))
    for id_, summary in summaries.items():
        match = cosines.get(id_)
        found = Found(id_, match.score if match else 0.0, 0.0, None, None, match, None)
        ranked[id_] = Ranked(found, summary, 0.0, found.cosine, 0.0, {})
    asked = set(stems(request.text))
    about = {id_ for id_, item in ranked.items() if asked & set(stems(item.summary.head))}
    state.supersessions = [
        link for link in links if link.later not in ranked or link.later in about or _as_near(link, ranked)
    ]  # an entry in the middle of a chain need not take part for the chain to hold
    there = {link.later for link in state.supersessions}
    state.ranked = [item for id_, item in ranked.items() if id_ not in summaries or id_ in there]
    for item in state.ranked:
        state.dropped.pop(item.id, None)  # a stage before had dropped what a link brings back


def _as_near(link: Supersession, ranked: Mapping[str, Ranked]) -> bool:
    """Return whether a newer entry is about as near to the question as what it supersedes.

    An entry may tell of two things, and only the one that the question is not about may have changed.
    """
    earlier = ranked.get(link.earlier)
    return earlier is None or ranked[link.later].found.cosine >= NEAR_ENOUGH * earlier.found.cosine


def newest_first(state: State) -> None:
    """Put the newest of each chain where the first of its chain stands, and the others right below it.

    The newest has the best chance of its chain to help. What it supersedes helps only if the link is wrong.
    """
    if not state.supersessions:
        return
    later = _grouped(state.supersessions, "earlier")
    earlier = _grouped(state.supersessions, "later")
    known = {item.id: item for item in state.ranked}
    order: dict[str, Ranked] = {}
    for item in state.ranked:
        if item.id in order:
            continue
        newer = [known[id_] for id_ in _newer(item.id, later) if id_ in known and id_ not in order]
        best, surest = item.score, item
        for one in [item, *reversed(newer)]:
            raised = one.plus({"newest": best - one.score}) if one.score < best else one
            surest = max(surest, raised, key=lambda each: each.confidence)
            raised = raised._replace(confidence=surest.confidence, features=surest.features)
            known[one.id], best = raised, max(best, raised.score) + ABOVE
        for one in [*(known[one.id] for one in newer), known[item.id]]:
            replaces, by = tuple(earlier.get(one.id, ())), tuple(later.get(one.id, ()))
            wrong = [
                known[link.later].confidence * (1 - link.replacement.confidence) for link in by if link.later in known
            ]
            chance = min([one.confidence, *wrong])
            order[one.id] = one._replace(confidence=chance, replaces=replaces, superseded_by=by)
    state.ranked = list(order.values())


def drop_superseded(state: State) -> None:
    """Drop what is superseded for sure by an entry that is still there. Of documents, only the order changes."""
    sure, there = state.settings.supersession.sure, {item.id for item in state.ranked}
    later = _grouped(state.supersessions, "earlier")
    reasons = {
        item.id: str(link)
        for item in state.ranked
        for link in item.superseded_by
        if item.summary.role
        and link.replacement.confidence >= sure
        and there & {link.later, *_newer(link.later, later)}
    }
    state.ranked = [item for item in state.ranked if item.id not in reasons]
    state.drop("supersession", reasons.items())


def _asks_for_former(state: State) -> bool:
    past = any(time.end is not None and time.end <= state.request.now for time in state.times)
    return asks_for_former(state.request.text, past)


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
