"""The state of an agent's work, as the newest thread in which tools changed or checked something has left it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tidal_plugins.actions.calls import Tools
from tidal_plugins.dossiers.sections import CapsuleTuning, Line
from tidal_plugins.ingestion.episodes import TOOL_TAG, from_entry
from tidal_plugins.language.emphasis import shouts
from tidal_plugins.model.delimiters import Delimiters
from tidal_plugins.model.entry import EPISODE, Entry, Scope
from tidal_plugins.storage.base import Storage, Where
from tidal_plugins.storage.shorthands import secret
from tidal_plugins.summarising.sizes import ApproximateCounter
from tidal_plugins.summarising.sources import source_of
from tidal_plugins.summarising.work import Work

_NEWEST, _OF_THREAD, _THREADS = 100, 300, 3
"""Episodes in which a thread with tools is looked for, episodes of it that are read, and threads that are tried."""


@dataclass(frozen=True, slots=True)
class LastWork:
    """What the agent of a scope worked on last. Talk without tools is no work.

    ``tools`` are those that a user added to the table.
    """

    storage: Storage
    scope: Scope
    limits: CapsuleTuning
    tools: Tools
    now: datetime

    def lines(self, beside: Iterable[str] = ()) -> list[Line]:
        """Return the state of the work in a few lines, each with its citations; none without work of tools.

        Rules and decisions that stand in the lines ``beside`` these are left out, and those that are shouted; so is a
        shouted goal if one of these lines is shouted.
        """
        work = self._work()
        if work is None:
            return []
        sources = tuple(dict.fromkeys(work.sources))
        shown = lines_of(work, self.limits, beside)
        return [Line(f"- {text}", sources) for text in shown[: max(1, self.limits.recent_work // 2)]]

    def is_told(self, text: str) -> bool:
        """Return whether a text has the state of the work as it is now; its rules may stand elsewhere."""
        found = [str(line) for line in self.lines()]
        return all(line in text for line in found if not line.startswith("- Rules and decisions: "))

    def _work(self) -> Work | None:
        newest = self._episodes(Where(kinds={EPISODE}), _NEWEST)
        since = self.now - timedelta(days=self.limits.days)
        tried: dict[str | None, None] = {}
        for entry in newest:
            if any(tag.startswith(TOOL_TAG) for tag in entry.tags) and entry.occurred_at >= since:
                tried.setdefault(entry.thread)
        for thread in list(tried)[:_THREADS]:
            alone = [entry for entry in newest if entry.thread is None]
            found = self._episodes(Where(kinds={EPISODE}, threads={thread}), _OF_THREAD) if thread else alone
            episodes = sorted(map(from_entry, found), key=lambda episode: (episode.turn, episode.occurred_at))
            delimiters = Delimiters(secret(self.storage))
            work = Work().after([source_of(episode, delimiters) for episode in episodes], self.tools)
            if work.tools:
                return work
        return None

    def _episodes(self, where: Where, limit: int) -> Sequence[Entry]:
        return self.storage.find(self.scope, where, limit=limit, newest_first=True)


def lines_of(work: Work, limits: CapsuleTuning, beside: Iterable[str] = ()) -> list[str]:
    """Return the state of the work in a few lines with citations, as :meth:`LastWork.lines` does."""
    told = [*beside]
    new = (rule for rule in work.rules if not any(_words(rule.text) in _words(line) for line in told))
    rules = tuple(rule for rule in new if not shouts(rule.text))
    loud = work.goal is not None and shouts(work.goal.text) and any(map(shouts, told))
    shown = replace(work, rules=rules, goal=None if loud else work.goal)
    return shown.lines(ApproximateCounter(), limits.work_tokens)


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
