"""The finder: a step for later that looks for what each recorded turn supersedes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tidal_plugins.english.secrets import secrets
from tidal_plugins.errors import Corrupt
from tidal_plugins.model.entry import CONVERSATION, SYNTHESIS, Entry, Scope
from tidal_plugins.model.graph import GRAPH_CHANNEL
from tidal_plugins.model.supersession import Replacement, Utterance
from tidal_plugins.storage.base import Line, Match, Storage, Where
from tidal_plugins.supersession.detector import may_supersede, supersedes
from tidal_plugins.supersession.store import Pair, SupersessionStore
from tidal_plugins.tuning import SupersessionTuning

QUEUE = "supersession"
"""Log of the waiting episodes, by id. Erasing an episode removes its line."""

BATCH = 16
"""Episodes whose links are written in one transaction."""

SUPERSEDED_KINDS = (CONVERSATION, "kb", "fact")
"""Kinds of entries that a turn may supersede. Dossiers and skills are kept up to date by others."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SupersessionFinder:
    """Looks for what recorded turns supersede, in small transactions. With ``enabled`` false it queues nothing new.

    Any process may take up the queue: what two find is the same, and is written once.
    """

    storage: Storage
    settings: SupersessionTuning
    step: Callable[[], AbstractContextManager[None]]
    """Enters one step of the background work."""

    def queue(self, scope: Scope, episode: str, now: datetime) -> bool:
        """Queue an episode, new or grown. Called inside the transaction that stores it."""
        if self.settings.enabled:
            self.storage.trim_log(scope, QUEUE, keys=[episode])
            self.storage.append_log(scope, QUEUE, [Line(episode, now, {})])
        return self.settings.enabled

    def run(self, scope: Scope, proceed: Callable[[], bool]) -> timedelta | None:
        """Look through the episodes that wait. Safe to interrupt and to run concurrently."""
        self.find(scope, proceed)
        return None

    def find(self, scope: Scope, proceed: Callable[[], bool] = lambda: True) -> int:
        """Look through the episodes that wait, and return how many links were made."""
        made = 0
        while proceed() and (lines := self.storage.read_log(scope, QUEUE, limit=BATCH)):
            with self.step():
                made += self._find(scope, lines)
        return made

    def is_done(self, scope: Scope) -> bool:
        """Return whether no episode waits."""
        return not self.storage.read_log(scope, QUEUE, limit=1)

    def forget(self, scope: Scope, entries: Collection[Entry], blanked: Collection[str], now: datetime) -> set[str]:
        """Do nothing: erasing an entry removes its links, with the values that they quote."""
        return set()

    def _find(self, scope: Scope, lines: Sequence[Line]) -> int:
        pairs = [pair for line in lines for pair in self._pairs(scope, line.key)]
        with self.storage.transaction():
            read = {line.key: line.seq for line in lines}
            now = {line.key: line.seq for line in self.storage.read_log(scope, QUEUE, keys=read)}
            done = {key for key, seq in read.items() if now.get(key) == seq}  # others have grown, or are done
            made = SupersessionStore(self.storage, scope).add(pair for pair in pairs if pair[0].episode in done)
            self.storage.trim_log(scope, QUEUE, keys=done)
        return made

    def _pairs(self, scope: Scope, episode: str) -> Iterator[Pair]:
        try:
            with self.storage.snapshot():
                said = self.storage.find(scope, Where(kinds={CONVERSATION}, episodes={episode}))
                found = [pair for entry in said if may_supersede(entry.text) for pair in self._superseded(scope, entry)]
        except Corrupt as error:
            logger.error("what an episode supersedes is not known: %s", error)
            return
        yield from found

    def _superseded(self, scope: Scope, later: Entry) -> Iterator[Pair]:
        """Yield what one entry supersedes among the nearest earlier ones, of each of those the surest."""
        passages = self.storage.vectors(scope, [later.id])
        for span, unit in zip(passages.spans, passages.units, strict=True):
            text = later.text[span.start : span.end]
            if not may_supersede(text):
                continue
            where = Where(
                kinds=SUPERSEDED_KINDS,
                until=later.occurred_at,
                exclude=[later.episode or later.id],
                not_channels=(SYNTHESIS, GRAPH_CHANNEL),
            )
            near = self.storage.nearest(scope, unit, self.settings.candidates, where)
            entries = self.storage.get(scope, [match.id for match in near])
            for match in near:
                if match.id in entries and (pair := _judged(later, text, entries[match.id], match)):
                    yield pair


def _judged(later: Entry, text: str, earlier: Entry, match: Match) -> Pair | None:
    said = Utterance(text, later.occurred_at, later.speaker)
    before = Utterance(earlier.text[match.start : match.end], earlier.occurred_at, earlier.speaker)
    replacement = supersedes(said, before, match.score)
    return (later, earlier, _without_secrets(replacement, later, earlier)) if replacement else None


def _without_secrets(replacement: Replacement, later: Entry, earlier: Entry) -> Replacement:
    """Return a replacement that quotes no secret of either entry: links are shown by ``explain()``."""
    said = {field: getattr(replacement, field) for field in ("old", "new", "reason")}
    for entry in (later, earlier):
        for start, end, kind in secrets(entry.text):
            said = {field: text.replace(entry.text[start:end], f"[{kind}]") for field, text in said.items()}
    return replace(replacement, **said)
