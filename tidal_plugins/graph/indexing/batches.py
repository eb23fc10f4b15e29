"""Batches: what was read in an episode, in portions that one short transaction can write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tidal_plugins.graph.indexing.checking import Supported, supported
from tidal_plugins.graph.indexing.paths import renamed, renamed_ends
from tidal_plugins.graph.records.entities import Named, Place
from tidal_plugins.graph.records.names import entity_id
from tidal_plugins.graph.records.relations import Triple
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.graph import Assertion, Mention, Reading
from tidal_plugins.tuning import GraphTuning

Said = tuple[Triple, Assertion]


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A part of the mentions and assertions of one message; all mentions come before the assertions.

    Of what is ``parsed`` from code recall gets entries for a few relations only.
    """

    place: Place
    named: Sequence[Named] = ()
    said: Sequence[Said] = ()
    parsed: bool = False

    def __len__(self) -> int:
        return len(self.named) + len(self.said)


@dataclass(slots=True)
class WriteBatch:
    """Entities and assertions of an episode that one transaction writes."""

    parts: list[MessagePart] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self.parts))


def to_batches(
    scope: Scope, episode: Episode, readings: Sequence[Reading], settings: GraphTuning, paths: dict[str, str]
) -> tuple[list[WriteBatch], int]:
    """Return the readings of an episode as batches of at most ``settings.slice`` things, to be written in order.

    Files go by their whole paths in ``paths``. The second value counts the mentions and assertions that the texts do
    not support. Raises ``InvalidInput`` for a reading that is no extraction.
    """
    checked = [supported(episode, reading, settings) for reading in readings]
    checked = (
        [
            replace(one, mentions=renamed(one.mentions, paths), assertions=renamed_ends(one.assertions, paths))
            for one in checked
        ]
        if paths
        else checked
    )
    batches: list[WriteBatch] = []
    for found in checked:
        for part in _parts(scope, found, settings.slice):
            if not batches or len(batches[-1]) + len(part) > settings.slice:
                batches.append(WriteBatch())
            batches[-1].parts.append(part)
    return batches, sum(found.dropped for found in checked)


def _parts(scope: Scope, found: Supported, size: int) -> Iterator[MessagePart]:
    """Yield what one message names, including the ends of its assertions, and then its assertions."""
    known: dict[tuple[str, str, str], str] = {}

    def identify(mention: Mention) -> str:
        key = (mention.name, mention.type, mention.category)
        if key not in known:
            known[key] = entity_id(scope, mention)
        return known[key]

    named: dict[str, Named] = {}
    for mention in _all(found.mentions, found.assertions):
        id_ = identify(mention)
        item = named.setdefault(id_, Named(id_, mention.name, mention.type, mention.category))
        if (mention.start, mention.end) not in item.spans:
            item.spans.append((mention.start, mention.end))
    said = [(Triple(identify(a.subject), a.predicate, identify(a.object), a.negated), a) for a in found.assertions]
    items = list(named.values())
    place = found.place
    parsed, starts = found.parsed, (range(0, len(items), size), range(0, len(said), size))
    yield from (MessagePart(place, named=items[start : start + size], parsed=parsed) for start in starts[0])
    yield from (MessagePart(place, said=said[start : start + size], parsed=parsed) for start in starts[1])


def _all(mentions: Iterable[Mention], assertions: Iterable[Assertion]) -> Iterator[Mention]:
    yield from mentions
    for assertion in assertions:
        yield assertion.subject
        yield assertion.object
