"""Reading of the turns that a context stands in for: their episodes, and what of them may be condensed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tidal_plugins.compaction.recorded import Recorded, Recorder, forgotten, holds
from tidal_plugins.compaction.state import Covered
from tidal_plugins.compaction.turns import Turn
from tidal_plugins.errors import BrokenInvariant
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.loss import LossLedger
from tidal_plugins.model.summary import Source, Statement
from tidal_plugins.summarising.quotes import cut, folded
from tidal_plugins.summarising.sources import source_of

MAX_ANSWER = 120
"""Characters of the answer that stand for a turn of which nothing else is worth telling."""


@dataclass
class Reading:
    """The episodes behind the turns of a thread. ``used`` collects those that were read, as they were then."""

    recorder: Recorder
    thread: str | None
    now: datetime
    used: dict[str, Episode] = field(default_factory=dict)
    read: dict[Covered, list[Source]] = field(default_factory=dict)

    def recorded(self, turns: Sequence[Turn]) -> list[Recorded]:
        """Return the turns with their episodes, which are recorded if they were not."""
        recorded = self.recorder.recorded(turns, self.thread, self.now)
        self.used |= {each.episode.id: each.episode for each in recorded}
        return recorded

    def episodes(self, ids: Iterable[str]) -> list[Episode]:
        """Return episodes by id, except those that were forgotten as a whole."""
        wanted = list(dict.fromkeys(ids))
        unread = [id_ for id_ in wanted if id_ not in self.used]
        if unread:
            self.used |= self.recorder.episodes(unread)
        return [self.used[id_] for id_ in wanted if id_ in self.used and not forgotten(self.used[id_])]

    def sources(self, turns: Sequence[Covered]) -> tuple[Source, ...]:
        """Return what may be condensed of the turns."""
        new = [turn for turn in turns if turn not in self.read]
        self.episodes(turn.episode for turn in new)  # all at once
        self.read |= {turn: self.source(turn, turn.indexes) for turn in new}
        return tuple(source for turn in turns for source in self.read[turn])

    def source(self, turn: Covered, indexes: Iterable[int]) -> list[Source]:
        """Return the messages of a turn's episode as a source; nothing if it was forgotten."""
        return [source_of(each, self.recorder.writer.frames, indexes) for each in self.episodes([turn.episode])]

    def check(self, ledger: LossLedger, messages: Sequence[Message]) -> None:
        """Raise ``BrokenInvariant`` if a message does not stand in its episode at the place that the ledger names.

        Episodes that were not read for this compaction were checked when they were read.
        """
        for loss in ledger:
            episode = self.used.get(loss.episode)
            if (
                episode
                and not forgotten(episode)
                and not holds(self.recorder.writer, episode, loss.index, messages[loss.position])
            ):
                raise BrokenInvariant(f"message {loss.position} is not number {loss.index} of [ep:{loss.episode}]")


def covered(recorded: Recorded) -> Covered:
    """Return a recorded turn as one that a state covers."""
    plain = recorded.places == tuple(range(len(recorded.places)))
    places = None if plain else recorded.places
    return Covered(recorded.turn.key, recorded.turn.mark, recorded.episode.id, len(recorded.places), places)


def answered(sources: Sequence[Source]) -> tuple[Statement, ...]:
    """Return the beginning of the last answer, for a turn that came to nothing more."""
    said = [
        (source.id, each) for source in sources for each in source.messages if each.role == "assistant" and each.text
    ]
    if not said:
        return ()
    id_, message = said[-1]
    text = cut(folded(message.text), MAX_ANSWER)
    return (Statement(text, (id_,), (message.id,) if message.id else ()),) if text else ()
