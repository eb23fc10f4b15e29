"""Fourth step of a recall: the entries of a ranking that are returned. Only here a recall and a whisper differ.

An explicit recall has no threshold: it returns the best there is, and says how likely each hit is to help. A whisper
shows only what is likely enough to help, says nothing twice, and nothing that the turn says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, repeat

import numpy as np

from tidal_plugins.english.words import PLEASANTRIES
from tidal_plugins.facts.invalidation import SupersessionTuning
from tidal_plugins.language.importance import VITAL
from tidal_plugins.model.entry import SYNTHESIS, Entry
from tidal_plugins.model.fact import Supersession
from tidal_plugins.model.recall import Dropped
from tidal_plugins.retrieval.boost import Boosts, SessionSignals, boosted
from tidal_plugins.retrieval.calibration import estimated, shipped
from tidal_plugins.retrieval.candidates import Candidates, Flags
from tidal_plugins.retrieval.ongoing import prefer_ongoing
from tidal_plugins.retrieval.rank import traits_of
from tidal_plugins.retrieval.search import Channels, Pool
from tidal_plugins.retrieval.supersede import Links, doubted, newest_first, replaced_for_sure, superseded
from tidal_plugins.retrieval.understand import Query, Question
from tidal_plugins.retrieval.weights import RecallTuning, WhisperTuning
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.settings import Settings
from tidal_plugins.storage.columns.view import among

LASTING = "lasting"
"""Name of a factor of a score."""

SAID = 3.0
"""Importance from which on an entry says more than a phrase."""

OF_A_KIND = 2
"""Entries that say nearly the same and may surface: «at 11:00» is seen beside the «at 10:00» that it changes, «not
allergic» beside «allergic»; a third takes the place of something else."""

GO_ON = frozenset({"continue", "proceed", "resume"})
"""Words that say to go on and not with what: «continue», «please proceed»."""

REPEATS = 5
"""Entries that may say word for word what the turn says before a whisper loses a place."""

KEEP_EVERY_WORD: frozenset[str] = frozenset()
"""No stop words: «not» makes a difference."""

ECHO = "says word for word what the turn says"
SHOUT = "is shouted, and another one is nearer"


@dataclass(frozen=True, slots=True)
class Selection:
    """The entries to return, best first, and by id why others fell out.

    ``entries`` are the first of ``ranked`` as they are stored. ``confidence`` is the chance that the recall holds
    something that helps, ``threshold`` the one below which nothing surfaces.
    """

    ranked: Candidates
    entries: Mapping[str, Entry]
    confidence: float
    supersessions: Sequence[Supersession] = ()
    links: Mapping[str, Links] = field(default_factory=dict)
    dropped: Mapping[str, Dropped] = field(default_factory=dict)
    threshold: float = 0.0

    @property
    def texts(self) -> dict[int, str]:
        """Return the passages that matched, by the places of the entries that were read."""
        found = self.ranked
        there = [(place, id_) for place, id_ in enumerate(found.ids) if id_ in self.entries]
        return {place: found.passage(place, self.entries[id_].text) for place, id_ in there}

    def finished(self, order: Candidates | None) -> Selection:
        """Return the same in another order, if there is one, but the newest first: a reranker knows nothing of what
        changed."""
        if not self.supersessions:
            return replace(self, ranked=order) if order else self
        if order is None:
            return replace(self, ranked=doubted(self.ranked, self.links))
        ranked, links = newest_first(order, self.supersessions)
        return replace(self, ranked=ranked, links=links)


def for_recall(
    ranked: Candidates,
    pool: Pool,
    question: Question,
    signals: SessionSignals,
    boosts: Boosts,
    settings: Settings,
    depth: int,
) -> Selection:
    """Return the first ``depth`` of a ranking for an explicit recall."""
    ranked, confidence = estimated(ranked, question, pool.channels, settings)
    ranked = prefer_lasting(prefer_ongoing(ranked, question, settings), question, settings)
    ranked = _boosted(ranked, signals, boosts, pool.channels)
    ranked, supersessions = superseded(ranked, pool, question, depth) if settings.graph.supersession else (ranked, ())
    ranked, links = newest_first(ranked, supersessions)
    entries = pool.channels.entries(ranked.columns.ids(ranked.rows[:depth]))
    if pool.channels.damaged:  # others stand in for what cannot be read
        entries = pool.channels.entries(ranked.ids, depth)
    return Selection(ranked.without(pool.channels.damaged), entries, confidence, supersessions, links)


def for_whisper(
    ranked: Candidates,
    pool: Pool,
    question: Question,
    signals: SessionSignals,
    boosts: Boosts,
    settings: Settings,
    depth: int,
) -> Selection:
    """Return the entries to show in a whisper, of which the first ``depth`` are read at least."""
    said, channels = normal(question.request.text), pool.channels
    again = traits_of(ranked.columns).says(ranked.columns, ranked.rows, said)  # before they count as rivals
    dropped = _dropped("threshold", sorted(ranked.take(again).ids), repeat(ECHO)) if again.any() else {}
    ranked = ranked.take(~again) if again.any() else ranked
    ranked, confidence = estimated(ranked, question, channels, settings)
    ranked = _boosted(prefer_ongoing(ranked, question, settings), signals, boosts, channels)
    ranked, threshold, unlikely = likely(ranked, confidence, question, settings)
    dropped |= unlikely
    ranked, shouts = without_shouts(ranked)
    dropped |= shouts
    ranked, supersessions = superseded(ranked, pool, question, depth) if settings.graph.supersession else (ranked, ())
    if supersessions:
        back = set(ranked.ids)  # a link brings back what was dropped before
        dropped = {id_: item for id_, item in dropped.items() if id_ not in back}
    ranked, links = newest_first(ranked, supersessions)
    sure = replaced_for_sure(ranked, supersessions, links, settings[SupersessionTuning].sure) if supersessions else {}
    ranked = ranked.without(sure)
    dropped |= _dropped("supersession", list(sure), sure.values())
    more = alike(ranked)
    ranked = ranked.without(more)
    dropped |= _dropped("diversity", list(more), more.values())
    ranked, entries, repeated = _news(ranked, channels, said, question.request.limit, depth + REPEATS)
    return Selection(ranked, entries, confidence, supersessions, links, dropped | repeated, threshold)


def is_small_talk(query: Query, settings: WhisperTuning) -> bool:
    """Return whether a turn has too few words with a content, or is read as thanks and hardly says anything else."""
    content = len(set(query.terms) - PLEASANTRIES - GO_ON) + len(query.names)
    thanks = query.is_social and 2 * content < len(query.terms)
    return content < settings.least_words or (thanks and settings.least_words > 0)


def prefer_lasting(ranked: Candidates, question: Question, settings: Settings) -> Candidates:
    """Raise the scores of what a person said for good, such as an allergy or a rule, if the turn asks, and sort again.

    A turn that asks may need it in whatever words. Only an explicit recall does so: with it a whisper shows rules to
    two of 18 turns of the development stories that call for none. Used by the profile ``balanced`` alone.
    """
    factor = settings[RecallTuning].lasting
    if factor == 1 or question.query.only_tells or question.request.profile != "balanced":
        return ranked
    lasting = is_lasting(ranked, VITAL)
    return ranked.weighed(LASTING, np.where(lasting, factor, np.nan)).by_score() if lasting.any() else ranked


def is_lasting(found: Candidates, least: float) -> Flags:
    """Return which entries are what a person said for good, with an importance of at least ``least``.

    What is shouted is not: whoever shouts wants to be heard everywhere. Health never counts as shouted.
    """
    arrays = found.columns.arrays
    lasting = among(arrays.role[found.rows], arrays.names.known(["user"])) & (arrays.importance[found.rows] >= least)
    some = np.flatnonzero(lasting)
    if len(some):
        lasting[some] = ~traits_of(found.columns).shouted(found.columns, found.rows[some])
    return np.asarray(lasting)


def least(question: Question, settings: WhisperTuning) -> float:
    """Return the chance below which nothing surfaces for the turn."""
    query = question.query
    chance = settings.least(query.only_tells, query.goes_on, len(query.text.split()))
    return chance * settings.share(question.request.profile)


def likely(
    ranked: Candidates, confidence: float, question: Question, settings: Settings
) -> tuple[Candidates, float, dict[str, Dropped]]:
    """Return every entry that is individually likely enough to help, or none if nothing is; and the threshold.

    A question that the memory cannot answer still has neighbours there, as near as many an answer is. So how far the
    first stands out, not nearness, decides whether anything surfaces. A line that is far behind the first may still add
    to it, so that how far the first is ahead tells nothing about the others.
    """
    weights, profile = settings[WhisperTuning], question.request.profile
    if not (threshold := least(question, weights)):
        return ranked, 0.0, {}
    threshold = max(threshold, _needed(ranked, question, weights))
    if confidence < threshold:
        reasons = [f"confidence {confidence:.3f} under the threshold of {threshold:.3f}"] * len(ranked)
        spared = np.zeros(len(ranked), bool)
        if not question.query.only_tells and confidence >= weights.important * threshold:
            # «Is this safe for me to eat?» has hardly a word of «I'm allergic to walnuts», and to miss it is worse than
            # a line too many.
            first = ranked.take(slice(weights.max_entries))
            spared[: len(first)] = is_lasting(first, VITAL)
    else:
        line = weights.line_threshold * weights.share(profile)
        chances = confidence * shipped(profile).of_line(ranked.features) if len(ranked) else ranked.score
        spared = chances >= line
        reasons = [f"confidence {chance:.3f} under a line's threshold of {line:.3f}" for chance in chances.tolist()]
    out = (~spared).tolist()
    return ranked.take(spared), threshold, _dropped("threshold", ranked.take(~spared).ids, compress(reasons, out))


def without_shouts(ranked: Candidates) -> tuple[Candidates, dict[str, Dropped]]:
    """Return a ranking without entries that are shouted, unless one is the very first: what is said loudly must be the
    best there is.

    What another one would show in fourth place, a shout would show everywhere. It runs when few are left, since to tell
    a shout takes a while.
    """
    if len(ranked) < 2:
        return ranked, {}
    loud = traits_of(ranked.columns).shouted(ranked.columns, ranked.rows)
    loud[0] = False
    if not loud.any():
        return ranked, {}
    return ranked.take(~loud), _dropped("threshold", ranked.take(loud).ids, repeat(SHOUT))


def alike(ranked: Candidates) -> dict[str, str]:
    """Return by id why an entry is the third, or a further one, of those that say nearly the same.

    No maximal marginal relevance: to weigh how new a memory is against how near costs answers
    (docs/capabilities/whisper.md).
    """
    shown: dict[int, list[str]] = {}
    more: dict[str, str] = {}
    for id_, leader in zip(ranked.ids, ranked.leader.tolist(), strict=True):
        others = shown.setdefault(leader, [])
        if len(others) < OF_A_KIND:
            others.append(id_)
        else:
            more[id_] = f"says nearly the same as {' and '.join(others)}"
    return more


def said_again(shown: Iterable[tuple[Entry, str]]) -> dict[str, str]:
    """Return by id why entries, each with the passage that it shows, are no news after those before them: the same
    person says the same in the same words.

    A fact that memory made of others is left to the whisper, which prefers these.
    """
    told: dict[tuple[str | None, frozenset[str]], str] = {}
    again = {}
    for entry, passage in shown:
        if entry.channel == SYNTHESIS:
            continue
        words = entry.speaker, frozenset(terms(passage, stop=KEEP_EVERY_WORD))
        if words[1] and (before := told.setdefault(words, entry.id)) != entry.id:
            again[entry.id] = f"says in the same words what {before} says"
    return again


def _news(
    ranked: Candidates, channels: Channels, said: str, limit: int, most: int
) -> tuple[Candidates, dict[str, Entry], dict[str, Dropped]]:
    """Return a ranking without what repeats the turn or an entry before it, and its first entries as they are stored.

    Reading ends once as many other entries are left as may be shown.
    """
    while True:
        entries = channels.entries(ranked.ids, most)
        whole = ranked.without(channels.damaged)
        echoes = sorted(id_ for id_, entry in entries.items() if normal(entry.text) == said)
        others = whole.without(set(echoes))
        there = [(place, entries[id_]) for place, id_ in enumerate(others.ids) if id_ in entries]
        more = said_again((entry, others.passage(place, entry.text)) for place, entry in there)
        kept = others.without(more)
        if most >= len(ranked) or all(id_ in entries for id_ in kept.ids[:limit]):
            break
        most *= 2
    dropped = _dropped("threshold", echoes, repeat(ECHO)) | _dropped("diversity", list(more), more.values())
    return kept, entries, dropped


def _boosted(ranked: Candidates, signals: SessionSignals, boosts: Boosts, channels: Channels) -> Candidates:
    return boosted(ranked, signals, lambda ids: boosts.words(channels.scope, ids, channels.entries))


def _needed(ranked: Candidates, question: Question, settings: WhisperTuning) -> float:
    """Return the chance that a turn of thanks and the like needs: that of a statement, and more than any for another
    mere phrase.

    Without that a short turn in a language that the tagger hardly knows is near to whatever a small memory holds.
    """
    if not question.query.is_social or question.query.names or not len(ranked):
        return 0.0
    if float(ranked.columns.arrays.importance[ranked.rows[0]]) < SAID:
        return 1.0
    return settings.statement_threshold * settings.share(question.request.profile)


def _dropped(stage: str, ids: Sequence[str], reasons: Iterable[str]) -> dict[str, Dropped]:
    """Return by id that entries fell out at a stage, and why each did."""
    return dict(zip(ids, map(Dropped, ids, repeat(stage), reasons), strict=False))
