"""Keep of what a model wrote the sentences that their sources bear out, as far as that can be told without a model."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from tidal_plugins.english.dates import named_days, with_dates
from tidal_plugins.english.faithful import names_in, unsupported
from tidal_plugins.english.sentences import sentences
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.summary import Source

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a source says, with the dates of what it names by «yesterday», and of when it was said."""

    text: str
    days: frozenset[date] = frozenset()

    @classmethod
    def of_entry(cls, entry: Entry) -> Evidence:
        days = {entry.occurred_at.date(), *named_days(entry.text, entry.occurred_at)}
        name = entry.speaker or entry.source or ""
        return cls(f"{name} {with_dates(entry.text, entry.occurred_at)}", frozenset(days))

    @classmethod
    def of_source(cls, source: Source) -> Evidence:
        texts, days = [], set[date]()
        for message in source.messages:
            texts.append(_text(message))
            if message.at:
                texts.append(with_dates(message.text, message.at))
                days |= {message.at.date(), *named_days(message.text, message.at)}
        return cls("\n".join(texts), frozenset(days))


def borne_out(
    claim: str, cited: Collection[str], evidence: Mapping[str, Sequence[Evidence]], names: Iterable[str]
) -> str:
    """Return the sentences of a claim whose numbers, dates, names and quotations occur in the sources that it cites.

    ``evidence`` are what sources say, by their ids, and ``names`` those of all of them. A sentence that is left out is
    logged at the level ``DEBUG``, by what it lacks and what it cites; its words are not.
    """
    found = [piece for id_ in cited for piece in evidence.get(id_, ())]
    text, days = "\n".join(piece.text for piece in found), frozenset(day for piece in found for day in piece.days)
    kept = []
    for start, end in sentences(claim):
        if faults := unsupported(_without(cited, claim[start:end]), text, days, names):
            logger.debug(
                "a sentence of the summariser is left out: its %s is not in what it cites (%s)",
                " and ".join(faults),
                ", ".join(cited),
            )
        else:
            kept.append(claim[start:end])
    return claim if len(kept) == len(sentences(claim)) else " ".join(kept)


def _without(cited: Iterable[str], sentence: str) -> str:
    """Return a sentence without the ids that it cites, which no source says."""
    for id_ in cited:
        sentence = sentence.replace(id_, " ")
    return sentence


def all_names(evidence: Mapping[str, Sequence[Evidence]]) -> set[str]:
    """Return the names that sources have."""
    return {name for pieces in evidence.values() for piece in pieces for name in names_in(piece.text)}


def _text(message: Message) -> str:
    calls = (f"{call.name} {json.dumps(dict(call.arguments), default=str)}" for call in message.tool_calls)
    return " ".join([message.speaker or "", message.text, *calls])
