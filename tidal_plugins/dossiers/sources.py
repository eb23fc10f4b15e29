"""Sources of a dossier: the most salient entries about its topic, and the sentences of them that it has room for
[Capsule]."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING, Self

import numpy as np

from tidal_plugins.dossiers.current import links_of, standing, uncontradicted
from tidal_plugins.dossiers.scorer import worth
from tidal_plugins.dossiers.sentences import AGENT, Reader, Sentence
from tidal_plugins.dossiers.tasks import tasks
from tidal_plugins.embedding.identity import scale_of
from tidal_plugins.english.words import TIME_WORDS
from tidal_plugins.model.clock import hours_between, local
from tidal_plugins.model.dossier import HEADINGS, Part
from tidal_plugins.model.entry import CONVERSATION, DOSSIER, FACT, KINDS, SYNTHESIS, Entry, Scope
from tidal_plugins.model.fact import Supersession
from tidal_plugins.model.recall import Hit
from tidal_plugins.patterns import lazy_re
from tidal_plugins.retrieval.pipeline import Recaller, hide_secrets, without_secrets
from tidal_plugins.retrieval.understand import MAX_LIMIT, Request, active
from tidal_plugins.retrieval.weights import WhisperTuning
from tidal_plugins.scoring.ranking import rarity
from tidal_plugins.scoring.salience import source_salience
from tidal_plugins.scoring.text import stems, terms
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.shorthands import passage_vectors
from tidal_plugins.tuning import Weights, tunable

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class DossierTuning(Weights, group="dossier"):
    """[Capsule]."""

    refresh: float = tunable(2.0, ge=0)
    """Hours after which a dossier is due again."""
    max_tokens: int = tunable(600, gt=0)
    """Tokens of a dossier's text, citations included."""
    versions: int = tunable(20, ge=0)
    """Earlier versions that stay readable."""
    refresh_all: float = tunable(4.0, ge=0)
    """Hours after which consolidation refreshes a dossier that nobody asked for."""
    sources: int = tunable(40, gt=0, le=400)
    """The most salient entries that feed a dossier."""
    half_life: float = tunable(30.0, gt=0)
    """Days in which a source loses half of its recency."""
    floor: float = tunable(0.2, ge=0, le=1)
    """Recency that the oldest source keeps."""
    base: float = tunable(0.3, ge=0, le=1)
    """Share of its salience that a source hardly about the topic keeps."""
    threshold: float = tunable(0.35, ge=0)
    """The nearness, cosine and keywords as in a whisper, that a source needs. It is lower than a whisper's threshold: a
    topic is a word or two, which lie further from a sentence about them than a question does."""
    shrunk: float = tunable(0.8, ge=0, le=1)
    """Share of the length of the text in place below which a new one counts as shorter."""
    lost: float = tunable(0.5, gt=0, le=1)
    """Share of the sources of the text in place that a shorter one may not lose."""


OWN = 0.3
"""Share of the entries with a label that are on the topic already, from which on the label is the topic's own."""
RARE = 12
"""Entries that have a label beyond which it belongs to many topics."""
NEAR, LIKELY = 0.5, 0.32
"""Cosines with an entry on the topic from which on an entry that shares such a label with it is on the topic too, and
one that shares several, or a label that several on the topic have."""
MOST_RELATED = 6
"""Entries that are added at once, the nearest ones."""


@dataclass(frozen=True, slots=True)
class Related:
    """Finds them in one scope. ``where`` filters what may be added."""

    storage: Storage
    scope: Scope
    where: Where

    def to(self, topical: Sequence[Entry], known: Collection[str], topic: Collection[str]) -> list[str]:
        """Return the ids of entries, beside those known, that have to do with some entries on a topic.

        ``topic`` are the stems of its words: of agents and documents only what has one of them tells.
        """
        by_label = defaultdict[str, set[str]](set)
        for entry in topical:
            said = entry.role != AGENT or not set(stems(entry.text)).isdisjoint(topic)
            for label in entry.tags if said else ():
                if label not in TIME_WORDS:
                    by_label[label].add(entry.id)
        shared = defaultdict[str, list[set[str]]](list)
        for label, there in by_label.items():
            found = self.storage.find(self.scope, replace(self.where, tags=[label]), limit=RARE + 1)
            having = {entry.id for entry in found}
            own = having.intersection(known) | there
            if len(having) <= RARE and len(own) >= OWN * len(having | own):
                for id_ in having.difference(known):
                    shared[id_].append(there)
        return self._near(shared)

    def _near(self, shared: Mapping[str, Sequence[Collection[str]]]) -> list[str]:
        others = {id_: set[str]().union(*there) for id_, there in shared.items()}
        vectors = self._vectors({*shared, *(id_ for ids in others.values() for id_ in ids)})
        scale = scale_of(self.storage)
        found: dict[str, float] = {}
        for id_, there in shared.items():
            near = [
                scale.of_texts(float(np.max(vectors[id_] @ vectors[one].T)))
                for one in others[id_]
                if id_ in vectors and one in vectors
            ]
            sure = len(there) > 1 or len(others[id_]) > 1
            if max(near, default=0.0) >= (LIKELY if sure else NEAR):
                found[id_] = max(near)
        return sorted(found, key=lambda id_: -found[id_])[:MOST_RELATED]

    def _vectors(self, ids: Collection[str]) -> dict[str, NDArray[np.float32]]:
        found = passage_vectors(self.storage, self.scope, ids)
        rows = defaultdict[str, list[int]](list)
        for place, span in enumerate(found.spans):
            rows[span.id].append(place)
        return {id_: found.units[places] for id_, places in rows.items()}


PRIMARY_KINDS = tuple(kind for kind in KINDS if kind != DOSSIER)
"""Kinds of entries that texts are made from: none is made from one that was itself so made."""

ROUNDS = 2
"""How often entries are added that have to do with those that were found: «knee» leads to the physio, and he to the MRI
of which she spoke."""
FEW = 10
"""Turns on a topic from which on what has only to do with them is not looked for: enough is said of it."""
ASIDE = 0.5
"""Relevance of an entry that is about the topic by what it has to do with others, not by its own words."""
REPORTS = 4
"""Later statements that are looked at for each open task, those with most of its words. With none of them a task that
is done stands open in one of the 14 briefs of the development stories."""
HALF = 0.5
"""Share of the words of a topic, each by its rarity, that an entry has which is about it. At .3, at .8 and without it
one of the 14 briefs of the development stories fails."""
WHOLE = 2_000
"""Characters up to which the whole of what somebody said is read, and not the passage about the topic alone."""
OVERHEAD = 18
"""Tokens of the date and the citation of a line."""
_ASIDE = 0.3
"""Worth of a sentence that has no word of the topic, as a share of that of one that has them all."""
_BESIDE = 0.5
"""Share of the topic that a sentence counts with that stands in a turn which is about the topic."""
_PARTS: Mapping[Part, float] = {"now": 1.0, "decided": 1.2, "open": 1.2, "done": 1.0, "earlier": 0.5, "documents": 0.8}
"""Worth of a sentence by its part: what was decided and what is open says most, plans whose day is over least."""
MANY, _ASIDES = 12, 4
"""Sentences that a document has with those which have no word of the topic, and how many of these at least."""
BEGINNING = 4
"""Sentences of a document that are quoted at most."""
_CHANGED = 1.3
"""Worth of a sentence that replaces an earlier value."""

_CITATIONS = lazy_re(r"(?:\s*\[(?:ep|mem):\w+\])+$")


@dataclass(frozen=True, slots=True)
class Topic:
    """The words of a topic, each as the stems that it may have: those of its parts and of the whole."""

    words: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, topic: str) -> Self:
        return cls(tuple(found for word in topic.split() if (found := frozenset(stems(word)))))

    @property
    def stems(self) -> frozenset[str]:
        return frozenset[str]().union(*self.words)

    def share(self, said: Collection[str], weights: Mapping[str, float]) -> float:
        """Return the share of the words that a text with these stems has, in [0, 1], each by its weight.

        ``weights`` tell how rare each stem is. A word that no text has counts for nothing.
        """
        worth = [max(weights.get(stem, 0.0) for stem in word) for word in self.words]
        there = (weight for word, weight in zip(self.words, worth, strict=True) if word <= frozenset(said))
        return sum(there) / sum(worth) if sum(worth) else 0.0


@dataclass(frozen=True, slots=True)
class Material:
    """The entries that a document on a topic is made from, what each is worth, and what supersedes what among them."""

    reader: Reader
    entries: Sequence[Entry] = ()
    worth: Mapping[str, float] = field(default_factory=dict)
    links: Sequence[Supersession] = ()
    direct: frozenset[str] = frozenset()
    """The turns, and entries of no turn, that are about the topic by their own words or their meaning."""

    def standing(self, today: date) -> list[Sentence]:
        """Return what the entries state as it holds ``today``, the newest first."""
        return uncontradicted(standing(self.reader, self.entries, self.links, today), self.entries)

    def is_about(self, entry: Entry) -> bool:
        return (entry.episode or entry.id) in self.direct


@dataclass(frozen=True, slots=True)
class Sources:
    """Finds the sources on a topic in one scope."""

    recaller: Recaller
    settings: Settings
    scope: Scope

    def of(self, topic: str, now: datetime, also: Iterable[Entry] = ()) -> Material:
        """Return the most salient entries about a topic, and those of ``also``.

        The other half of an exchange comes with each, and what supersedes it. Of a document there is the passage that
        is about the topic.
        """
        most, reader = self.settings[DossierTuning].sources, Reader(self.storage, self.scope)
        near = self.near(topic, active(now, kinds=PRIMARY_KINDS), now, limit=min(MAX_LIMIT, 2 * most))
        worth = {
            hit.id: worth_of(reader, hit.entry, hit.why.relevance, now, self.settings[DossierTuning]) for hit in near
        }
        best = sorted(near, key=lambda hit: (-worth[hit.id], hit.id))[:most]
        found = {hit.id: _part(hit) for hit in best}
        for entry in also:
            found.setdefault(entry.id, entry)
        links = links_of(self.storage, self.scope, found.values(), self.settings, now)
        found |= self._others([link.later for link in links], found, now)
        found |= self._exchanges(found, now)
        topical = {hit.id: found[hit.id] for hit in best}
        few = len({hit.entry.episode for hit in best if hit.entry.episode}) < FEW
        for _ in range(ROUNDS if few else 0):
            new = self._related(topic, topical, found, now)
            topical |= new
            found |= new
            found |= self._exchanges(found, now)
        found |= self._reports(reader, found, now)
        links = links_of(self.storage, self.scope, found.values(), self.settings, now)
        turns = {hit.entry.episode: worth[hit.id] for hit in best if hit.entry.episode}
        for id_ in found.keys() - worth.keys():
            aside = worth_of(reader, found[id_], ASIDE if id_ in topical else 0.0, now, self.settings[DossierTuning])
            worth[id_] = turns.get(found[id_].episode or "", aside)
        direct = frozenset(hit.entry.episode or hit.id for hit in best)
        return Material(
            reader, [localised(entry, self.settings.zone) for entry in found.values()], worth, links, direct
        )

    def _related(
        self, topic: str, topical: Mapping[str, Entry], found: Mapping[str, Entry], now: datetime
    ) -> dict[str, Entry]:
        """Return entries that have to do with those on the topic."""
        related = Related(self.storage, self.scope, active(now, kinds=(CONVERSATION, FACT)))
        return self._others(related.to(list(topical.values()), found, Topic.of(topic).stems), found, now)

    def _reports(self, reader: Reader, found: Mapping[str, Entry], now: datetime) -> dict[str, Entry]:
        """Return the turns, beside those found, that report tasks among these as done."""
        near: list[str] = []
        for task in tasks(reader, found.values()):
            if task.done is None:
                where = active(now, kinds=(CONVERSATION,), since=task.said.entry.occurred_at)
                words = terms(task.said.raw)
                near += [match.id for match in self.storage.matching(self.scope, words, REPORTS, where)]
        later = self._others(near, found, now)
        if not later:
            return {}
        later |= self._exchanges(later, now)
        done = [
            task.done.turn
            for task in tasks(reader, [*found.values(), *later.values()])
            if task.done and task.said.entry.id in found
        ]
        return {id_: entry for id_, entry in later.items() if id_ not in found and entry.episode in done}

    def _others(self, ids: Iterable[str], found: Mapping[str, Entry], now: datetime) -> dict[str, Entry]:
        where = replace(active(now, kinds=PRIMARY_KINDS), ids=[id_ for id_ in ids if id_ not in found])
        return {entry.id: without_secrets(entry) for entry in self.storage.find(self.scope, where)}

    def _exchanges(self, found: Mapping[str, Entry], now: datetime) -> dict[str, Entry]:
        """Return the other entries of the turns of those that were found."""
        turns = {entry.episode for entry in found.values() if entry.episode}
        where = replace(active(now, kinds=(CONVERSATION,), exclude=list(found)), episodes=turns)
        return {entry.id: without_secrets(entry) for entry in self.storage.find(self.scope, where)} if turns else {}

    @property
    def storage(self) -> Storage:
        return self.recaller.storage

    def near(self, topic: str, where: Where, now: datetime, *, limit: int) -> list[Hit]:
        """Return the hits of a recall that have all words of a topic or are near it.

        A hit that is only less far than the rest is left out. Secrets are hidden: a text that is made of them is shown.
        """
        found = hide_secrets(self.recaller.recall(Request(self.scope, topic, where, now, limit)))
        asked, said = Topic.of(topic), {hit.id: set(stems(hit.passage)) for hit in found}
        weights = rarity(list(said.values()))
        shares = {id_: asked.share(has, weights) for id_, has in said.items()}
        return [hit for hit in found if asked.stems <= said[hit.id] or self._is_near(hit, shares[hit.id])]

    def _is_near(self, hit: Hit, share: float) -> bool:
        if share < HALF:
            return hit.why.cosine >= self.settings[DossierTuning].threshold
        keywords = self.settings[WhisperTuning].keywords * hit.why.keyword_strength
        return hit.why.cosine + keywords >= self.settings[DossierTuning].threshold


def chosen(
    found: Sequence[Sentence], topic: str, material: Material, *, max_tokens: int, count: Callable[[str], int]
) -> list[Sentence]:
    """Return the sentences of some material that fit ``max_tokens``, by part and the newest first, as they are
    given."""
    found = _answering(found, Topic.of(topic).stems)
    asked, weights = Topic.of(topic), rarity([said.stems for said in found])
    values = [_value(said, asked.share(said.stems, weights), material) for said in found]
    taken, room, asides, direct, times = set[int](), max_tokens, 0, 0, Counter[str]()
    for place in sorted(range(len(found)), key=lambda place: -values[place]):
        said = found[place]
        cost = count(said.text) + (0 if times[said.entry.id] else OVERHEAD)
        aside = said.turn not in material.direct
        if cost <= room and not (aside and asides >= max(_ASIDES, MANY - direct)):
            asides += aside
            direct += not aside and said.part != "documents"
            taken.add(place)
            times[said.entry.id] += 1
            room -= cost
    order = list(HEADINGS)
    return sorted((found[place] for place in sorted(taken)), key=lambda said: order.index(said.part))


def _value(said: Sentence, share: float, material: Material) -> float:
    near = max(share, _BESIDE * (said.turn in material.direct))
    value = material.worth.get(said.entry.id, 0.0) * worth(said) * (_ASIDE + (1 - _ASIDE) * near)
    return value * _PARTS[said.part] * (_CHANGED if said.was else 1.0)


def _answering(found: Sequence[Sentence], asked: frozenset[str]) -> list[Sentence]:
    """Return the sentences without those of documents that do not answer: of each, what has a word of the topic stays.

    Where only the heading of a document has one, or nothing has, its beginning stays.
    """
    sections: dict[str, list[Sentence]] = {}
    for said in found:
        if said.part == "documents":
            sections.setdefault(said.entry.id, []).append(said)
    kept = {
        id(said)
        for section in sections.values()
        for said in ([one for one in section[1:] if asked & one.stems] or section)[:BEGINNING]
    }
    return [said for said in found if said.part != "documents" or id(said) in kept]


def _part(hit: Hit) -> Entry:
    """Return the entry of a hit: all that was said, and of a document the passage that is about the topic."""
    whole = hit.entry.kind == CONVERSATION and len(hit.entry.text) <= WHOLE
    return hit.entry if whole else replace(hit.entry, text=hit.passage)


def without_citations(entry: Entry) -> Entry:
    """Return a fact that memory made without the citations at its end.

    A line that cites the fact cites its sources too, and a cut line would show half of them.
    """
    return replace(entry, text=_CITATIONS.sub("", entry.text)) if entry.channel == SYNTHESIS else entry


def localised(entry: Entry, zone: tzinfo) -> Entry:
    """Return an entry with its time by the clocks of a zone, which tell on which day something was said."""
    return replace(entry, occurred_at=local(entry.occurred_at, zone))


def worth_of(reader: Reader, entry: Entry, relevance: float, now: datetime, settings: DossierTuning) -> float:
    """Return the salience of an entry now. What it says that is vital or lasting does not fade."""
    fades = not any(said.has("vital", "lasting") for said in reader.stated_by(entry))
    return source_salience(
        hours_between(entry.recorded_at, now) / 24 if fades else 0.0,
        entry.importance,
        relevance,
        half_life=settings.half_life,
        floor=settings.floor,
        base=settings.base,
    )
