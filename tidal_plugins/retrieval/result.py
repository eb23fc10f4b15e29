"""Last step of a recall: a selection as hits with their reasons, and with the turns around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import repeat

from tidal_plugins.model.entry import Entry
from tidal_plugins.model.recall import Dropped, Explanation, Hit, Recall, Window
from tidal_plugins.retrieval.candidates import NEARNESS_PARTS, Candidates
from tidal_plugins.retrieval.request import visible
from tidal_plugins.retrieval.search import Channels, Pool
from tidal_plugins.retrieval.select import Selection
from tidal_plugins.retrieval.supersede import NO_LINKS, Links
from tidal_plugins.retrieval.understand import Question

TOO_FAR = "too far down in both channels together"
"""Why an entry was not ranked in full."""

LEAST_REASON = 0.005
"""A part of nearness that is smaller than this is left out of explanations."""


def result(selection: Selection, pool: Pool, question: Question, degraded: Sequence[str]) -> Recall:
    """Return the first of a selection as hits, up to the limit, and why each other candidate fell out."""
    request, ranked = question.request, selection.ranked
    limit, ids = request.limit, ranked.ids
    rest = zip(ids[limit:], ranked.score[limit:].tolist(), strict=True)
    trimmed = [
        Dropped(id_, "trim", f"score {score:.3f} at place {n}") for n, (id_, score) in enumerate(rest, limit + 1)
    ]
    there = set(ids)  # a supersession may bring back what was far down
    far = [id_ for id_ in pool.far.ids if id_ not in there]
    dropped = dict(selection.dropped)
    dropped.update(zip(far, map(Dropped, far, repeat("shortlist"), repeat(TOO_FAR)), strict=False))
    dropped.update((item.id, item) for item in pool.channels.unreadable())
    return Recall(
        query=request.text,
        words=question.query.terms,
        hits=tuple(hits(ranked, ids[:limit], selection.entries, selection.links, request.profile)),
        dropped=(*trimmed, *dropped.values()),
        affect=question.affect,
        profile=request.profile,
        at=request.now,
        degraded=tuple(degraded),
        confidence=selection.confidence,
        times=tuple(map(str, pool.times)),
        threshold=selection.threshold,
    )


def hits(
    found: Candidates, ids: Sequence[str], entries: Mapping[str, Entry], links: Mapping[str, Links], profile: str
) -> list[Hit]:
    """Return the hits that show the first of some candidates, whose ``ids`` these are."""
    count = len(ids)
    parts = {name: part[:count].tolist() for name, part in found.parts.items()}
    features = {name: part[:count].tolist() for name, part in found.features.items()}
    names = ("keyword_rank", "bm25", "vector_rank", "cosine", "strength", "fused", "relevance")
    told = zip(*(getattr(found, name)[:count].tolist() for name in names), strict=True)
    score, confidence = found.score[:count].tolist(), found.confidence[:count].tolist()
    made = []
    for place, (id_, numbers) in enumerate(zip(ids, told, strict=True)):
        keyword_rank, keyword_score, vector_rank, cosine, strength, fused, relevance = numbers
        entry, own = entries[id_], ((name, part[place]) for name, part in parts.items())
        replaces, superseded_by = links.get(id_, NO_LINKS)
        why = Explanation(
            keyword_rank=keyword_rank or None,
            keyword_score=keyword_score,
            vector_rank=vector_rank or None,
            cosine=cosine,
            keyword_strength=strength,
            fused=fused,
            relevance=relevance,
            factors={
                name: part
                for name, part in own
                if part == part and (name not in NEARNESS_PARTS or abs(part) >= LEAST_REASON)  # NaN is not itself
            },
            profile=profile,
            feeling=entry.affect.in_words() if entry.affect else "",
            replaces=replaces,
            superseded_by=superseded_by,
            features={name: part[place] for name, part in features.items()},
        )
        made.append(Hit(entry, score[place], found.passage(place, entry.text), why, confidence=confidence[place]))
    return made


def with_windows(recall: Recall, channels: Channels, turns: int) -> Recall:
    """Return a recall whose hits have the entries before and after them in their threads, as many ``turns`` of each.

    Neighbours only have to be visible at all. The rest of the filter applies to hits alone, so that «what did Ann say»
    shows the question that Ann answered.
    """
    if not turns:
        return recall
    adjacent = channels.storage.adjacent(channels.scope, recall.ids, turns, visible(channels.where))
    entries = channels.entries(list(dict.fromkeys(item.other for item in adjacent)))
    near: dict[str, list[tuple[int, Entry]]] = {}
    for item in adjacent:
        if item.other in entries:
            near.setdefault(item.id, []).append((item.places, entries[item.other]))
    return replace(recall, hits=tuple(replace(hit, window=_window(near.get(hit.id, ()))) for hit in recall))


def _window(placed: Sequence[tuple[int, Entry]]) -> Window:
    ordered = sorted(placed, key=lambda item: item[0])
    return Window(
        tuple(entry for place, entry in ordered if place < 0), tuple(entry for place, entry in ordered if place > 0)
    )
