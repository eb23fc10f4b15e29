"""Card: all that is known of one entity, in sentences, as one would note it on a card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tidal_plugins.graph.phrases import definite, sentence
from tidal_plugins.model.graph import Entity, Relation
from tidal_plugins.model.link import Link

MAX_NOTES = 12
"""Notes of a part of a card: what is so, what was, and what is planned. Those learned last stay."""

READ = 4 * MAX_NOTES
"""Relations that hold of which a card is made: both what is so and what is planned are among them."""

_PLANNED = frozenset(("plans", "wants", "promised", "appointment", "deadline"))


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence of a card, with the time from which and until which it is true, as far as that is known.

    ``said_in`` cites the newest turn that says so, if any does.
    """

    text: str
    since: datetime | None
    until: datetime | None
    said_in: str | None


@dataclass(frozen=True, slots=True)
class Card:
    """An entity with what is so, what was so, and what is planned, each learned last first."""

    entity: Entity
    current: tuple[Note, ...]
    past: tuple[Note, ...]
    planned: tuple[Note, ...]


def newest_of(rows: Iterable[Link], now: datetime) -> list[Link]:
    """Return the rows of relations that a card may show: of what is so and of what was, those that began last."""
    believed = sorted((row for row in rows if row.superseded_at is None), key=_begun, reverse=True)
    over = [row for row in believed if row.valid_until is not None and row.valid_until <= now]
    gone = {row.id for row in over}
    return [row for row in believed if row.id not in gone][:READ] + over[:MAX_NOTES]


def _begun(row: Link) -> datetime:
    return row.valid_from or row.recorded_at


def card_of(
    entity: Entity, relations: Iterable[Relation], names: Mapping[str, str], now: datetime, reader: str | None = None
) -> Card:
    """Return the card of an entity. ``names`` has the names of all ends by id; ``reader`` is told of as «you»."""
    current, past, planned = list[Note](), list[Note](), list[Note]()
    for one in sorted(relations, key=_learned, reverse=True):
        if one.subject not in names or one.object not in names:
            continue
        over = one.valid_until is not None and one.valid_until <= now
        ahead = one.predicate in _PLANNED or (one.valid_from is not None and one.valid_from > now)
        part = past if over else planned if ahead else current
        part.append(_note(one, names, reader, over))
    return Card(entity, *map(_distinct, (current, past, planned)))


def _distinct(notes: list[Note]) -> tuple[Note, ...]:
    """Return the notes that say different things. Of the same ones the one that goes back furthest stays."""
    return tuple({note.text: note for note in notes}.values())[:MAX_NOTES]


def _learned(relation: Relation) -> tuple[datetime, str]:
    return relation.valid_from or relation.recorded_at, relation.id


def _note(relation: Relation, names: Mapping[str, str], reader: str | None, over: bool) -> Note:
    subject, object_ = (_called(names[id_], reader) for id_ in (relation.subject, relation.object))
    whose, predicate = definite(subject, relation.predicate), relation.predicate
    said = sentence(whose, predicate, object_, negated=relation.negated, past=over)
    if object_ == "you" and said.endswith(" of you"):  # «Ada is your sister»
        who, _, kin = said.removesuffix(" of you").rpartition(" the ")
        said = f"{who} your {kin}"
    told = (
        said
        if said.startswith(f"{subject} ") and " " not in subject and subject != "you"
        else said[:1].upper() + said[1:]
    )
    cited = f"ep:{relation.episodes[0]}" if relation.episodes else None
    return Note(told, relation.valid_from, relation.valid_until, cited)


def _called(name: str, reader: str | None) -> str:
    if reader is not None and name.casefold() == reader.casefold():
        return "you"
    if reader is not None and name.casefold().startswith(f"{reader.casefold()}'s "):
        return f"your{name[len(reader) + 2 :]}"
    return {"user": "the user", "assistant": "the assistant"}.get(name, name)
