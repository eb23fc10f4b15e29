"""The newest entries of a scope: what was done, what matters now, what is left to do."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from tidal_plugins.dossiers.sources import PRIMARY_KINDS, without_citations, worth_of
from tidal_plugins.dossiers.tasks import pending
from tidal_plugins.english.excerpt import shortened
from tidal_plugins.english.importance import importance
from tidal_plugins.facts.phrases import Phrase, phrases
from tidal_plugins.ingestion.episodes import from_entry
from tidal_plugins.model.entry import FACT, Entry, Scope
from tidal_plugins.model.episode import FORGOTTEN_TEXT
from tidal_plugins.model.fence import inert
from tidal_plugins.retrieval.request import active
from tidal_plugins.retrieval.secrets import without_secrets
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import Tuning

FACT_SHARE = 0.5
"""Share of the lines of the priorities that facts may take. Each fact counts as important, so that many would leave no
room for what somebody says is to be done."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a generated section, and the entries and episodes that it was made from."""

    text: str
    sources: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Newest:
    """The newest active entries of a scope, by event time, newest first."""

    storage: Storage
    scope: Scope
    settings: Tuning
    now: datetime

    @cached_property
    def entries(self) -> list[Entry]:
        where = active(self.now, kinds=PRIMARY_KINDS)
        found = self.storage.find(self.scope, where, limit=self.settings.capsule.newest, newest_first=True)
        return [without_secrets(without_citations(entry)) for entry in found]

    def work(self) -> list[Line]:
        """List the most salient turns and the notes from outside of turns, a line each, newest first."""
        turns = defaultdict[str, list[Entry]](list)
        for entry in self.entries:
            turns[entry.episode or entry.source or entry.id].append(entry)
        worth = {key: max(entry.importance for entry in found) for key, found in turns.items()}
        kept = [found for key, found in turns.items() if worth[key] >= self.settings.capsule.work]
        best = sorted(kept, key=lambda found: -max(map(self._salience, found)))[: self.settings.capsule.recent_work]
        best.sort(key=lambda found: found[0].occurred_at, reverse=True)
        summaries = self._summaries([found[0].episode for found in best])
        return [line for found in best if (line := self._line_of_turn(found, summaries))]

    def priorities(self) -> list[Line]:
        """List the most salient of the important and recent entries, a line each, people's words before the agent's.

        At most half of them are facts.
        """
        limit = self.settings.capsule
        recent = [entry for entry in self._recent() if entry.importance >= limit.priority]
        best = sorted(recent, key=lambda entry: (entry.role == "assistant", -self._salience(entry)))
        said: dict[str, Phrase] = {}
        for entry in best:
            phrase = max(phrases(entry), key=_weight, default=None)
            if phrase and not phrase.plain.endswith("?"):
                said.setdefault(phrase.plain, phrase)
        facts = [phrase for phrase in said.values() if phrase.entry.kind == FACT]
        beyond = facts[math.ceil(FACT_SHARE * limit.current_priorities) :]
        shown = [phrase for phrase in said.values() if phrase not in beyond]
        return [self._line(phrase.entry, phrase.text) for phrase in shown[: limit.current_priorities]]

    def pending(self) -> list[Line]:
        """List the tasks that are open, newest first."""
        found = pending(list(self._recent()))
        return [self._line(phrase.entry, phrase.text) for phrase in found[: self.settings.capsule.pending_tasks]]

    def _recent(self) -> list[Entry]:
        since = self.now - timedelta(days=self.settings.capsule.days)
        return [entry for entry in self.entries if entry.occurred_at >= since]

    def _salience(self, entry: Entry) -> float:
        return worth_of(entry, 1.0, self.now, self.settings.dossier)

    def _summaries(self, episodes: Sequence[str | None]) -> dict[str, Entry]:
        found = self.storage.get(self.scope, [id_ for id_ in episodes if id_])
        return {id_: without_secrets(episode) for id_, episode in found.items()}

    def _line_of_turn(self, found: Sequence[Entry], summaries: dict[str, Entry]) -> Line | None:
        episode = summaries.get(found[0].episode or "")
        if episode is None:
            return self._line(found[0], found[0].text)
        if not episode.text or FORGOTTEN_TEXT in episode.text:
            return None
        line = self._line(episode, episode.text)
        return Line(line.text, (episode.id, *from_entry(episode).entries))

    def _line(self, entry: Entry, text: str) -> Line:
        said = shortened(inert(text), self.settings.capsule.line)
        return Line(f"- {entry.occurred_at:%Y-%m-%d}: {said} [{entry.citation}]", (entry.id,))


def _weight(phrase: Phrase) -> tuple[float, int]:
    return importance(phrase.text, role=phrase.entry.role), -len(phrase.text)
