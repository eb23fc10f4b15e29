"""What follows a write: the jobs that are stored with it, and the appraisal of turns that were imported.

An import stores what a recall needs to find its turns. How much they matter, how they feel and what else is read in
them follows in batches, each of which enqueues the jobs that a turn has at once when it is recorded by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tidal_plugins.affect.state import COLLECTION, KEY, AffectLoop
from tidal_plugins.errors import Closed, EmbeddingError, StorageError
from tidal_plugins.facts.invalidation import SUPERSEDE, may_replace
from tidal_plugins.graph.handlers import READ
from tidal_plugins.graph.reader.budget import MODEL
from tidal_plugins.ingestion.appraise import appraised, impressions
from tidal_plugins.ingestion.episodes import SUMMARISE, read_episodes, without_shown
from tidal_plugins.ingestion.plan import Plan, Stored
from tidal_plugins.ingestion.uses import LINK, links_of
from tidal_plugins.ingestion.writer import Writer, firsts
from tidal_plugins.jobs.handler import Handler
from tidal_plugins.jobs.queue import CLAIM, Job, enqueue, enqueue_all, note
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.reading.sentences import TAG
from tidal_plugins.storage.base import Record
from tidal_plugins.storage.shorthands import passage_vectors, read_document, write_document
from tidal_plugins.storage.transactions import retry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tidal_plugins.ingestion.appraise import Passages
    from tidal_plugins.model.exchange import Episode

APPRAISE = "job:appraise"
"""Jobs by episode: turns that were imported, and that the other jobs on turns wait for."""


def follow(writer: Writer, scope: Scope, stored: Sequence[Stored], appraised: Collection[str], now: datetime) -> None:
    """Store the jobs that follow: what came up together is linked, what is said is read, and what it supersedes is
    looked for. Turns that are not ``appraised`` are so first."""
    turns = {turn.episode.id: turn for turn in stored if turn.episode}
    if later := turns.keys() - appraised:
        enqueue(writer.storage, scope, APPRAISE, {id_: None for id_ in turns if id_ in later}, now)
    known = {turn.known.id for turn in turns.values() if turn.known}
    links = links_of(writer, scope, [turn for id_, turn in turns.items() if id_ not in later or turn.shown])
    read_turns(writer, scope, [id_ for id_ in turns if id_ not in later], known, now, links)
    if turns:
        note(writer.storage, scope, now)
    read_notes(writer, scope, [entry for each in stored if each.episode is None for entry in each.entries], now)


def read_notes(writer: Writer, scope: Scope, notes: Sequence[Entry], now: datetime) -> None:
    """Have the sentences of notes read, and what they supersede looked for. Call it inside the transaction that stores
    them."""
    if notes:
        ids = [entry.id for entry in notes]
        enqueue(writer.storage, scope, TAG, dict.fromkeys(ids), now, replacing=ids)
        if writer.settings.graph.supersession:
            said = [entry.id for entry in notes if may_replace(entry)]
            enqueue(writer.storage, scope, SUPERSEDE, dict.fromkeys(said), now, replacing=said)
        note(writer.storage, scope, now)


def read_turns(
    writer: Writer,
    scope: Scope,
    episodes: Sequence[str],
    grown: Collection[str],
    now: datetime,
    links: Mapping[str, Any] = MappingProxyType({}),
) -> bool:
    """Have turns read, of which ``grown`` may wait for it already, and return whether there are any. ``links`` are the
    jobs that link turns.

    Call it inside the transaction that changes them. A worker first reads those that its own process has stored.
    """
    jobs, settings = dict.fromkeys(episodes), writer.settings
    kinds: dict[str, tuple[Mapping[str, Any], str]] = {TAG: (jobs, "")} | (
        {SUPERSEDE: (jobs, "")} if settings.graph.supersession else {}
    )
    readers = [READ] if settings.graph.enabled else []
    if writer.model.reader or writer.model.summariser:  # of two who may write summaries, the reader does
        readers.append(MODEL if writer.model.reader else SUMMARISE)
    kinds |= dict.fromkeys(readers, (jobs, writer.jobs.throttle.name)) | ({LINK: (links, "")} if links else {})
    enqueue_all(writer.storage, scope, kinds, now, replacing=grown)
    return bool(jobs)


@dataclass(frozen=True)
class Appraiser(Handler[int]):
    """Appraises turns that were imported, and returns how many. They move the mood in their order, as far as nothing
    later has moved it meanwhile."""

    writer: Writer
    affect: AffectLoop

    kind = APPRAISE
    most = 64
    spares = (StorageError, Closed, EmbeddingError)

    @property
    def claim(self) -> float:
        return CLAIM

    @retry
    def do(self, scope: Scope, jobs: Sequence[Job]) -> int:
        storage, turns = self.writer.storage, self._turns(scope, [job.subject for job in jobs])
        felt = impressions(self.affect, list(turns.values()), self._passages(scope, turns.values()))
        with storage.transaction():
            still = self.writer.jobs.finish(scope, APPRAISE, jobs)
            mine = [(job, turn) for job in still if (turn := turns.get(job.subject))]
            there = storage.get(scope, [entry.id for _, turn in mine for entry in turn.entries])
            state = read_document(storage, scope, COLLECTION, KEY)
            mood, moved, records = state and state.value, False, list[Record]()
            for job, turn in mine:
                now = replace(turn, entries=[there[entry.id] for entry in turn.entries if entry.id in there])
                entries, _, after = appraised(self.affect, now, felt, mood, self.writer.settings, job.since)
                records += [Record(entry, passages=None, appraised=True) for entry in entries]
                mood, moved = (mood, moved) if after is None else (after, True)
            if records:
                storage.put(scope, records, replace=True)
            if moved:
                write_document(storage, scope, COLLECTION, KEY, mood)
            self._follow(scope, still, turns)
        return len(still)

    def _turns(self, scope: Scope, ids: Sequence[str]) -> dict[str, Plan]:
        """Return turns, with those of their entries that are not appraised."""
        with self.writer.storage.snapshot():
            episodes = read_episodes(self.writer.storage, scope, ids)
            known = self.writer.storage.get(scope, [id_ for one in episodes.values() for id_ in one.entries])
        turns = {}
        for id_, episode in episodes.items():
            entries = [known[one] for one in episode.entries if one in known and known[one].affect is None]
            whole = without_shown(episode, self.writer.delimiters)
            turns[id_] = Plan(entries, episode, None, whole.query, whole.answer)
        return turns

    def _passages(self, scope: Scope, turns: Iterable[Plan]) -> dict[str, Passages]:
        """Return the passages of the entries of turns, by id; those of a repetition are those of the first."""
        ids = [entry.id for turn in turns for entry in turn.entries]
        first = firsts(self.writer, scope, ids)
        found = passage_vectors(self.writer.storage, scope, [first.get(id_, id_) for id_ in ids])
        passages: dict[str, list[tuple[int, NDArray[np.float32]]]] = {}
        for span, unit in zip(found.spans, found.units, strict=True):
            passages.setdefault(span.id, []).append((span.end - span.start, unit))
        return {id_: passages.get(first.get(id_, id_), []) for id_ in ids}

    def _follow(self, scope: Scope, jobs: Sequence[Job], turns: Mapping[str, Plan]) -> None:
        """Enqueue what follows turns that are appraised, as of when they were stored."""
        writer, by_time = self.writer, dict[datetime, list[str]]()
        for job in jobs:
            if job.subject in turns:
                by_time.setdefault(job.since, []).append(job.subject)
        linked = {line.key for line in writer.storage.read_log(scope, LINK, keys=list(turns))}
        for at, ids in by_time.items():
            pairs = [id_ for id_ in ids if id_ not in linked and len(_episode(turns[id_]).entries) > 1]
            read_turns(writer, scope, ids, ids, at)
            enqueue(writer.storage, scope, LINK, dict.fromkeys(pairs), at)


def _episode(turn: Plan) -> Episode:
    assert turn.episode is not None
    return turn.episode
