"""The read path: ``understand → search → rank → select → result`` over one store [Tidal §2.3], [Anamnesis].

Each step is a function that takes the values of those before it and returns its own. Reading writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tidal_plugins.embedding.identity import StoreEmbedder
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.recall import Dropped, Explanation, Hit, LeftOut, Recall, Window
from tidal_plugins.protocols import Reranker
from tidal_plugins.retrieval.boost import Boosts, boosted
from tidal_plugins.retrieval.candidates import NEARNESS_PARTS, Candidates
from tidal_plugins.retrieval.rank import rank
from tidal_plugins.retrieval.rerank import RERANKER, reranked
from tidal_plugins.retrieval.search import Channels, Pool, search
from tidal_plugins.retrieval.select import Selection, for_recall, for_whisper, is_small_talk
from tidal_plugins.retrieval.supersede import NO_LINKS, Links
from tidal_plugins.retrieval.understand import HOT, Question, Request, to_query, understand, visible
from tidal_plugins.retrieval.weights import RerankTuning, WhisperTuning
from tidal_plugins.secrets.finding import Secret, is_tagged, mask, masked, masked_value
from tidal_plugins.secrets.screening import Screening, screening
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.damage import ENTRIES, named, note, noticed


@dataclass(frozen=True, slots=True)
class Answer:
    """A recall of one store, and the question as it was understood there: ``None`` for small talk."""

    recall: Recall
    question: Question | None


@dataclass(frozen=True, slots=True)
class Recaller:
    """One store, asked without its peers."""

    storage: Storage
    embedder: StoreEmbedder
    settings: Settings
    boosts: Boosts
    reranker: Reranker | None = None

    def recall(self, request: Request) -> Recall:
        """Return the entries that rank highest, and why the other candidates fell out."""
        return self.answer(request).recall

    def whisper(self, request: Request) -> Recall:
        """Return the entries to show in a whisper, and why the other candidates fell out."""
        return self.answer(request, whispers=True).recall

    def answer(self, request: Request, *, whispers: bool = False) -> Answer:
        """Return what the store brings up for a request, and how it was understood.

        Damaged rows that were left out are told in ``degraded``, by their tables; damaged candidates are among
        ``dropped``, too.
        """
        with noticed() as left_out:
            answer = self._answer(request, whispers)
        if not left_out:
            return answer
        recall = answer.recall
        return replace(answer, recall=replace(recall, degraded=(*recall.degraded, *named(left_out))))

    def _answer(self, request: Request, whispers: bool) -> Answer:
        if request.profile == HOT:
            return Answer(self._hot(request), None)
        storage, settings = self.storage, self.settings
        with storage.snapshot():
            request, statistics = request.now_felt(), storage.statistics(request.scope)
        query = to_query(request.text, statistics.speakers)
        if whispers and is_small_talk(query, settings[WhisperTuning]):
            nothing = Recall(request.text, query.terms, (), (), request.affect, request.profile, request.now)
            return Answer(nothing, None)
        question = understand(request, query, statistics.corpus, self.embedder, settings)
        depth = max(request.limit, settings[RerankTuning].depth if self.reranker else 0)
        with storage.snapshot():
            question = question.current(self.embedder)
            today = request.where.known_at is None
            signals = self.boosts.signals(request.scope, request.session, request.now, shared=today)
            pool = search(storage, question, signals, settings)
            ranked, select = rank(pool, question, settings), for_whisper if whispers else for_recall
            selection = select(ranked, pool, question, signals, self.boosts, settings, depth)
        order, degraded = None, pool.channels.degraded
        if self.reranker and (texts := selection.texts):
            order = reranked(self.reranker, query.text, texts, selection.ranked, settings[RerankTuning].seconds)
            degraded = degraded if order else [*degraded, RERANKER]
        recall = result(selection.finished(order), pool, question, degraded)
        if whispers:
            from tidal_plugins.retrieval.units import with_units

            return Answer(with_units(recall, question, settings[WhisperTuning]), question)
        recall = self._associated(recall, pool, question) if request.associative else recall
        return Answer(with_windows(recall, pool.channels, request.window), question)

    def _hot(self, request: Request) -> Recall:
        from tidal_plugins.retrieval.hot import hot

        with self.storage.snapshot():
            request, today = request.now_felt(), request.where.known_at is None
            signals = self.boosts.signals(request.scope, request.session, request.now, shared=today)
            channels, found = hot(self.storage, self.embedder.embedder, request, signals, self.settings)
            words = partial(self.boosts.words, request.scope, read=channels.entries)
            ranked = boosted(found.by_score(), signals, words)
            entries = channels.entries(ranked.ids, request.limit)
        ranked = ranked.without(channels.damaged)
        found_hits = tuple(hits(ranked, ranked.ids[: request.limit], entries, {}, HOT))
        trimmed = _trimmed(ranked.ids, ranked.score[request.limit :].tolist(), request.limit)
        dropped = (*trimmed, *channels.unreadable())
        recall = Recall(
            "", (), found_hits, dropped, request.affect, HOT, request.now, degraded=tuple(channels.degraded)
        )
        return with_windows(recall, channels, request.window)

    def _associated(self, recall: Recall, pool: Pool, question: Question) -> Recall:
        """Return a recall with the entries that its hits lead to. The graph's modules load when one is asked for."""
        from tidal_plugins.retrieval.associate import add_associations

        with self.storage.snapshot():  # another one than that of the candidates
            embedded = question.current(self.embedder).embedded
            channels = replace(
                pool.channels, embedded=embedded, columns=self.storage.columns(question.request.scope, whole=False)
            )
            return add_associations(recall, channels, question.request.now, self.settings)


# result


TOO_FAR = "too far down in both channels together"
"""Why an entry was not ranked in full."""

LEAST_REASON = 0.005
"""A part of nearness that is smaller than this is left out of explanations."""


def result(selection: Selection, pool: Pool, question: Question, degraded: Sequence[str]) -> Recall:
    """Return the first of a selection as hits, up to the limit, and why each other candidate fell out."""
    request, ranked = question.request, selection.ranked
    limit, ids = request.limit, ranked.columns.ids(ranked.rows[: request.limit])
    return Recall(
        query=request.text,
        words=question.query.terms,
        hits=tuple(hits(ranked, ids, selection.entries, selection.links, request.profile)),
        dropped=_left_out(ranked, pool, selection.dropped, limit),
        affect=question.affect,
        profile=request.profile,
        at=request.now,
        degraded=tuple(degraded),
        confidence=selection.confidence,
        times=tuple(map(str, pool.times)),
        threshold=selection.threshold,
    )


def _left_out(ranked: Candidates, pool: Pool, others: Mapping[str, Dropped], limit: int) -> LeftOut:
    """Return the candidates behind the first of a ranking, those too far down for it, and others that fell out."""
    known, rows, scores, far = ranked.columns.arrays.ids, ranked.rows, ranked.score[limit:], pool.far.rows
    unreadable = pool.channels.unreadable()

    def made() -> Iterator[Dropped]:
        ids, dropped = known.at(rows), dict(others)
        there = set(ids)  # a supersession may bring back what was far down
        dropped |= {id_: Dropped(id_, "shortlist", TOO_FAR) for id_ in known.at(far) if id_ not in there}
        dropped |= {item.id: item for item in unreadable}
        yield from _trimmed(ids, scores.tolist(), limit)
        yield from dropped.values()

    return LeftOut(made)


def _trimmed(ids: Sequence[str], scores: Sequence[float], limit: int) -> Iterator[Dropped]:
    """Yield the others behind the first of a ranking, with their scores."""
    for place, (id_, score) in enumerate(zip(ids[limit:], scores, strict=True), limit + 1):
        yield Dropped(id_, "trim", f"score {score:.3f} at place {place}")


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
        entry, own = entries.get(id_), ((name, part[place]) for name, part in parts.items())
        if entry is None:  # the index leads elsewhere: a page of it took the place of another one
            note(ENTRIES, id_)
            continue
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


# secrets


LEAST_TAG = 4
"""Characters of a tag from which on it is taken for a part of the secret that it stands in."""


def hide_secrets(recall: Recall) -> Recall:
    """Return a recall whose hits, with the turns around them, show no secret.

    It comes last, when everything that compares texts is done, so that it reads only what is returned.
    """
    return replace(recall, hits=tuple(map(_hidden, recall.hits)))


def without_secrets(entry: Entry) -> Entry:
    """Return an entry with the kinds of secrets in their place, as it may be shown."""
    return _shown(entry, screening(entry))


def _hidden(hit: Hit) -> Hit:
    entry, screened, window = hit.entry, screening(hit.entry), hit.window
    found = screened.secrets
    if window.before or window.after:
        window = Window(*(tuple(map(without_secrets, turns)) for turns in (window.before, window.after)))
    shown = _shown(entry, screened)
    if not found:
        return hit if shown is entry and window == hit.window else replace(hit, entry=shown, window=window)
    start = entry.text.find(hit.passage)  # the words that give a secret away may stand before the passage
    passage = mask(entry.text, found, start, start + len(hit.passage)) if start >= 0 else masked(hit.passage)
    path = tuple(step for step in hit.why.path if not _tells(step.removeprefix("#"), entry.text, found))
    kept = [secret for secret in found if not is_tagged(entry.text[secret.start : secret.end])]
    kinds = tuple(dict.fromkeys(secret.kind for secret in kept))
    unit = hit.unit and (len(mask(entry.text, found, 0, hit.unit[0])), len(mask(entry.text, found, 0, hit.unit[1])))
    why = replace(hit.why, path=path)
    return replace(hit, entry=shown, passage=passage, unit=unit, why=why, window=window, hidden=kinds)


def _shown(entry: Entry, screened: Screening) -> Entry:
    found = screened.secrets
    metadata = masked_value(entry.metadata) if entry.metadata and screened.beside else entry.metadata
    source = masked(entry.source) if entry.source and screened.beside else entry.source
    if not found and metadata == entry.metadata and source == entry.source:
        return entry
    tags = tuple(tag for tag in entry.tags if not _tells(tag, entry.text, found))
    return replace(entry, text=mask(entry.text, found), source=source, tags=tags, metadata=metadata)


def _tells(tag: str, text: str, found: Sequence[Secret]) -> bool:
    """Return whether a tag was read out of a secret."""
    label = tag.casefold()
    values = (text[secret.start : secret.end].casefold() for secret in found)
    return any(value in label or (len(label) >= LEAST_TAG and label in value) for value in values)
