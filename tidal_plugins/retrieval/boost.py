"""Signals raise and lower entries [tidalDB].

An entry gains by the annotations and rewards of the session that asks, and gains or loses by the signals of its scope.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

import numpy as np

from tidal_plugins.errors import NotFound, SessionClosed
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.session import Annotation
from tidal_plugins.retrieval.candidates import Candidates
from tidal_plugins.scoring.ranking import hinted, saturated
from tidal_plugins.scoring.text import terms
from tidal_plugins.sessions.ledger import SHARED, Ledger, Scores, SignalTuning, session_node
from tidal_plugins.settings import REWARD, Settings
from tidal_plugins.storage.base import Storage

JOINED = 10
"""Entries, the most rewarded ones, that take part in a recall of their session which did not find them."""


KEPT_WORDS = 4096
"""Entries whose words are kept in memory: a session asks for nearly the same ones again and again."""

KEPT_SESSIONS = 64
"""Sessions whose annotations are kept in memory."""

Notes = Mapping[str, Sequence[frozenset[str]]]
"""The annotations as keywords, by each keyword."""

ANNOTATION, REWARDED, SIGNALS = "session annotation", "session reward", "signals"
GAINS = frozenset({ANNOTATION, REWARDED, SIGNALS})
"""Names of the parts that signals add to a score."""

T = TypeVar("T")
Read = Callable[[Sequence[str]], Mapping[str, Entry]]
Words = Mapping[str, frozenset[str]]


def boosted(ranked: Candidates, signals: SessionSignals, words: Callable[[Sequence[str]], Words]) -> Candidates:
    """Return a ranking with the gains that signals give added to its scores, sorted again.

    ``words`` returns the words of entries, if these are needed.
    """
    if signals.session is None and not signals.shared:
        return ranked
    ids = ranked.ids
    gains = signals.gains(ids, lambda: words(ids))
    if not gains:
        return ranked
    named = {name: np.full(len(ids), np.nan) for gain in gains.values() for name in gain}
    for place, id_ in enumerate(ids):
        for name, gain in gains.get(id_, {}).items():
            named[name][place] = gain
    return ranked.raised(named).by_score()


@dataclass(frozen=True, slots=True)
class SessionSignals:
    """The signals that influence a recall: those of its scope, and those of its session if it has one.

    ``shared`` are the types of the scope's signals that count for something.
    """

    scores: Scores
    now: datetime
    session: int | None = None
    notes: Notes = field(default_factory=dict)
    shared: frozenset[str] = frozenset()

    @property
    def rewarded(self) -> list[str]:
        """Return the ids of the entries that the session rewarded most."""
        if self.session is None:
            return []
        return self.scores.strongest(session_node(self.session), REWARD, self.now, JOINED)

    def signalled(self, limit: int) -> list[str]:
        """Return the ids of the entries with the strongest signals, of the session and of the scope."""
        shared = (id_ for type_ in self.shared for id_ in self.scores.strongest(SHARED, type_, self.now, limit))
        return sorted({*self.rewarded, *shared})

    def gains(
        self, entries: Collection[str], words: Callable[[], Mapping[str, frozenset[str]]]
    ) -> dict[str, dict[str, float]]:
        """Return the gains and losses of entries, by name. ``words`` returns their words, if these are needed."""
        most, found = self.scores.settings[SignalTuning].hint, self._scored(entries)
        for id_, own in (words() if self.notes else {}).items():
            if hint := most * hinted(self._near(own), own):
                found.setdefault(id_, {})[ANNOTATION] = hint
        return found

    def _near(self, words: frozenset[str]) -> set[frozenset[str]]:
        """Return the annotations that have a keyword in common with an entry."""
        return {note for word in words & self.notes.keys() for note in self.notes[word]}

    def _scored(self, entries: Collection[str]) -> dict[str, dict[str, float]]:
        settings, found = self.scores.settings[SignalTuning], defaultdict[str, dict[str, float]](dict)
        if self.session is not None:
            for reward in self.scores.of(session_node(self.session), [REWARD], entries, self.now):
                found[reward.entry][REWARDED] = settings.reward * saturated(reward.score)
        for entry, score in self._shared(entries).items():
            if score:
                found[entry][SIGNALS] = settings.shared * saturated(score)
        return found

    def _shared(self, entries: Collection[str]) -> dict[str, float]:
        """Return the sum of the scope's signals of all types, with their signs, by entry."""
        signs = {type_: self.scores.settings.signals[type_].sign for type_ in self.shared}
        found: dict[str, float] = {}
        for type_, entry, score in self.scores.of(SHARED, signs, entries, self.now) if signs else ():
            found[entry] = found.get(entry, 0.0) + signs[type_] * score
        return found


@dataclass(frozen=True, slots=True)
class Boosts:
    """Reads the signals of one store.

    It keeps words and annotations in memory until entries are erased or replaced (``Statistics.erasures``).
    """

    storage: Storage
    settings: Settings
    _words: dict[Hashable, frozenset[str]] = field(default_factory=dict)
    _notes: dict[Hashable, Notes] = field(default_factory=dict)

    def signals(self, scope: Scope, session: int | None, now: datetime, *, shared: bool = True) -> SessionSignals:
        """Return the signals of the scope, if they are ``shared``, and those of a session.

        Raises ``NotFound`` and ``SessionClosed`` for the session.
        """
        scores = Scores(self.storage, scope, self.settings)
        ledger = Ledger(self.storage, scope, self.settings, NotFound, dict)
        types = ledger.shared_types if shared else ()
        signed = frozenset(type_ for type_ in types if self.settings.signals[type_].sign)
        if session is None:
            return SessionSignals(scores, now, shared=signed)
        info = ledger.info(session)
        if not info.is_open:
            raise SessionClosed(f"session {session} was closed, and shapes no recall any more")
        state = (session, info.accepted, self.storage.statistics(scope).erasures)
        notes = self._notes.get(state)
        if notes is None:
            notes = _by_keyword(ledger.annotations(session))
            _keep(self._notes, {state: notes}, KEPT_SESSIONS)
        return SessionSignals(scores, now, session, notes, signed)

    def words(self, scope: Scope, ids: Sequence[str], read: Read) -> dict[str, frozenset[str]]:
        """Return the words of entries, of texts, labels and metadata. They are read unless their words are known."""
        state = (scope, self.storage.statistics(scope).erasures)
        known = {id_: words for id_ in ids if (words := self._words.get((state, id_))) is not None}
        unknown = [id_ for id_ in ids if id_ not in known]
        fresh = {id_: frozenset(terms(_labelled(entry))) for id_, entry in read(unknown).items()} if unknown else {}
        _keep(self._words, {(state, id_): words for id_, words in fresh.items()}, KEPT_WORDS)
        return known | fresh


def _keep(kept: dict[Hashable, T], fresh: Mapping[Hashable, T], most: int) -> None:
    if len(kept) + len(fresh) > most:
        kept.clear()
    kept.update(fresh)


def _by_keyword(annotations: Iterable[Annotation]) -> Notes:
    notes = defaultdict[str, list[frozenset[str]]](list)
    for keywords in {frozenset(terms(annotation.text)) for annotation in annotations}:
        for word in keywords:
            notes[word].append(keywords)
    return notes


def _labelled(entry: Entry) -> str:
    return "\n".join([entry.text, *entry.tags, entry.source or "", *map(str, entry.metadata.values())])
