"""Summaries of episodes by the summariser that a memory was given, made later, in place of their extracts [SIYA §3.2].

They share the day's budget of the model that reads along. Where such a reader is set, it writes the summaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from tidal_plugins.aio import in_time
from tidal_plugins.english.dates import named_days, with_dates
from tidal_plugins.graph.reader.budget import Budget, Spent
from tidal_plugins.ingestion.episodes import SUMMARISE, read_corrected, summarised, without_shown
from tidal_plugins.ingestion.writer import IngestionTuning, Writer
from tidal_plugins.jobs.handler import Handler, NotNow
from tidal_plugins.jobs.queue import CLAIM, Job
from tidal_plugins.model.dossier import Source
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.exchange import Episode
from tidal_plugins.secrets.finding import masked

TOKENS = 120
"""Tokens that a summary may have: about the characters that are kept of it."""


@dataclass(frozen=True)
class EpisodeSummaries(Handler[int]):
    """Has episodes summarised, and returns of how many at least a sentence stands that the episode bears out."""

    writer: Writer
    budget: Budget

    kind = SUMMARISE
    own_first = True

    @property
    def claim(self) -> float:
        return CLAIM + self.writer.settings.models.timeout

    def ready(self, now: datetime) -> datetime | None:
        if self.writer.model.summariser is None:
            return None
        return self.budget.tomorrow(now) if self.budget.is_spent(now) else now

    def do(self, scope: Scope, jobs: Sequence[Job]) -> int:
        writer, storage = self.writer, self.writer.storage
        found = read_corrected(storage, scope, [job.subject for job in jobs])
        made = {id_: text for id_, episode in found.items() if (text := self._summary(scope, episode))}
        for id_, text in made.items():
            summarised(writer, scope, id_, text)
        with storage.transaction():
            writer.jobs.finish(scope, SUMMARISE, jobs)
            if made:
                self.budget.add(scope, summaries=len(made))
        return len(made)

    def _summary(self, scope: Scope, episode: Episode) -> str:
        """Return the sentences of a model's summary that the episode bears out, or nothing."""
        summariser, settings = self.writer.model.summariser, self.writer.settings
        assert summariser is not None
        messages = without_shown(episode, self.writer.delimiters).messages
        told = tuple(replace(message, text=masked(message.text), reasoning="") for message in messages)
        sources, at = [Source(episode.id, told, episode.occurred_at)], episode.occurred_at
        try:
            self.budget.take_call(scope, self.writer.jobs.now())
        except Spent:
            raise NotNow from None
        ask = partial(summariser.summarise, sources, purpose="synthesis", max_tokens=TOKENS)
        text = " ".join(one.text for one in in_time(lambda: list(ask()), settings.models.timeout))
        said = [message.text for message in told] + [call.text for call in episode.tool_calls]
        said += [call.result for call in episode.tool_calls if call.result]
        days = {day for each in said for day in (at.date(), *named_days(each, at))}
        evidence = "\n".join(with_dates(each, at) for each in said)
        from tidal_plugins.graph.reader.statements import borne_out  # a first recall does without it

        return borne_out(text, evidence, days, settings[IngestionTuning].summary_chars)[0]
