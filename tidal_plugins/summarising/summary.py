"""Summary: sources condensed by a model, checked, or without one [SIYA §2.2]."""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from tidal_plugins.actions.calls import NO_TOOLS, Tools
from tidal_plugins.aio import in_time
from tidal_plugins.english.dates import named_days, with_dates
from tidal_plugins.english.faithful import names_in, unsupported
from tidal_plugins.english.sentences import sentences
from tidal_plugins.english.tools import REFUSAL
from tidal_plugins.errors import CompactionError
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.language.importance import importances
from tidal_plugins.model.dossier import Source, Statement
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.exchange import Message
from tidal_plugins.patterns import lazy_re
from tidal_plugins.protocols import Purpose, Summariser, TokenCounter
from tidal_plugins.scoring.priority import specificity, states
from tidal_plugins.scoring.text import terms
from tidal_plugins.shown import shown
from tidal_plugins.summarising.extractive import ExtractiveSummariser
from tidal_plugins.summarising.quotes import cut, folded

_REASON = 200  # characters


@dataclass(frozen=True, slots=True)
class Condensed:
    """Statements, and what wrote them. ``fallback`` says why it was not the model that was asked; ``unknown`` counts
    the citations that were taken out because they lead nowhere."""

    statements: tuple[Statement, ...]
    by: Literal["model", "extractive"]
    fallback: str | None = None
    unknown: int = 0


def condense(
    summariser: Summariser | None,
    sources: Sequence[Source],
    *,
    purpose: Purpose,
    previous: Sequence[Statement] = (),
    max_tokens: int,
    counter: TokenCounter,
    timeout: float = 60.0,
    tools: Tools = NO_TOOLS,
) -> Condensed:
    """Summarise sources, and statements on earlier ones, in at most ``max_tokens``, citations included.

    A model's answer is checked: each statement must cite sources that were given, or stood in ``previous``. Other
    citations are removed and counted; a statement without citations is dropped, and so is a sentence with a number, a
    date, a name or a quotation that is not in what it cites. The extractive summariser replaces a
    model that raises, refuses, returns nothing usable, or returns nothing within ``timeout`` seconds. Raises
    ``CompactionError`` if that fails too.
    """
    if summariser is None or isinstance(summariser, ExtractiveSummariser):
        extractive = summariser or ExtractiveSummariser(counter, tools)
        return Condensed(_extracted(extractive, sources, purpose, previous, max_tokens), "extractive")
    model, unknown = summariser, 0

    def ask() -> tuple[list[Statement], int]:
        answer = model.summarise(sources, purpose=purpose, previous=previous, max_tokens=max_tokens)
        found, unknown = _checked(answer, _known(sources, previous))  # in time too: it may come piece by piece
        return list(_faithful(found, sources, previous)), unknown

    try:
        statements, unknown = in_time(ask, timeout)
        fitting = _fitting(statements, max_tokens, counter)
        if fitting:
            return Condensed(tuple(_attributed(fitting, sources, previous)), "model", unknown=unknown)
        reason = f"no statement of its answer fits {max_tokens} tokens" if statements else "its answer cites no source"
    except Exception as error:
        pass_interrupt(error)
        reason = cut(folded(f"{type(error).__name__}: {error}"), _REASON)
    found = _extracted(ExtractiveSummariser(counter, tools), sources, purpose, previous, max_tokens)
    return Condensed(found, "extractive", reason, unknown)


def by_importance(statements: Sequence[Statement]) -> list[int]:
    """Return the places of statements, the most important first; of equal ones the latest first."""
    texts = [statement.text for statement in statements]
    found = zip(importances(texts, [None] * len(texts)), map(specificity, texts), strict=True)
    worth = [importance * specific for importance, specific in found]
    return sorted(range(len(texts)), key=lambda place: (worth[place], place), reverse=True)


def _extracted(
    summariser: ExtractiveSummariser,
    sources: Sequence[Source],
    purpose: Purpose,
    previous: Sequence[Statement],
    max_tokens: int,
) -> tuple[Statement, ...]:
    try:
        found = summariser.summarise(sources, purpose=purpose, previous=previous, max_tokens=max_tokens)
        return tuple(replace(statement, text=folded(statement.text)) for statement in found)
    except Exception as error:
        pass_interrupt(error)
        raise CompactionError(f"nothing could be extracted, and nothing is dropped: {shown(error)}") from error


def _known(sources: Sequence[Source], previous: Sequence[Statement]) -> set[str]:
    return {source.id for source in sources} | {id_ for statement in previous for id_ in statement.sources}


_BRACKETS = lazy_re(r" ?\[([^\[\]]{1,400})\]")
_IDS = lazy_re(r"(?: ?(?:ep|mem) ?: ?[\w-]+ ?[,;]?)+ ?", re.IGNORECASE)
_CITED = lazy_re(r"(?:ep|mem)\s*:\s*([\w-]+)", re.IGNORECASE)


def _checked(answer: object, known: Collection[str]) -> tuple[list[Statement], int]:
    """Return the statements of an answer that cite something known, and how many citations were unknown."""
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise TypeError(f"a summariser returns a sequence of Statements, and this one returned {type(answer).__name__}")
    found, unknown = [], 0
    for statement in answer:
        if not isinstance(statement, Statement) or not isinstance(statement.text, str):
            continue
        cited = list(dict.fromkeys([*_named(statement.sources), *_inline(statement.text)]))
        text = folded(_BRACKETS.sub(lambda found: "" if _IDS.fullmatch(found[1]) else found[0], _line(statement.text)))
        sources = tuple(id_ for id_ in cited if id_ in known)
        unknown += len(cited) - len(sources)
        if sources and terms(text):
            found.append(Statement(text, sources))
    if found and all(REFUSAL.match(statement.text) for statement in found):
        return [], unknown
    return found, unknown


def _faithful(
    statements: Iterable[Statement], sources: Sequence[Source], previous: Sequence[Statement]
) -> Iterator[Statement]:
    """Yield statements without the sentences that what they cite does not bear out."""
    evidence = defaultdict[str, list[Evidence]](list)
    for source in sources:
        evidence[source.id].append(Evidence.of_source(source))
    for earlier in previous:
        for id_ in earlier.sources:
            evidence[id_].append(Evidence(earlier.text))
    names = all_names(evidence)
    for statement in statements:
        if terms(text := borne_out(statement.text, statement.sources, evidence, names)):
            yield replace(statement, text=text)


def _named(sources: object) -> Iterator[str]:
    """Yield ids as they were given: bare, or as the citation."""
    for source in [sources] if isinstance(sources, str) else sources if isinstance(sources, Iterable) else []:
        yield from _CITED.findall(str(source)) or [str(source).strip()]


def _inline(text: str) -> Iterator[str]:
    for inside in _BRACKETS.findall(_line(text)):
        if _IDS.fullmatch(inside):
            yield from _CITED.findall(inside)


def _line(text: str) -> str:
    return " ".join(text.split())


def _fitting(statements: Sequence[Statement], max_tokens: int, counter: TokenCounter) -> list[Statement]:
    """Leave out the least important statements until the tokens fit. The order stays the same."""
    costs = [counter.count(str(statement)) for statement in statements]
    excess = sum(costs) - max_tokens
    dropped = set()
    for place in reversed(by_importance(statements)):
        if excess <= 0:
            break
        dropped.add(place)
        excess -= costs[place]
    return [statement for place, statement in enumerate(statements) if place not in dropped]


def _attributed(
    statements: Iterable[Statement], sources: Sequence[Source], previous: Sequence[Statement]
) -> Iterator[Statement]:
    """Yield statements with the ids of the messages that each one states, of the sources that it cites."""
    told = defaultdict[str, list[tuple[frozenset[str], tuple[str, ...]]]](list)
    for source in sources:
        told[source.id] += [
            (frozenset(terms(message.text)), (message.id,)) for message in source.messages if message.id
        ]
    for earlier in previous:
        for id_ in earlier.sources:
            told[id_].append((frozenset(terms(earlier.text)), earlier.messages))
    for statement in statements:
        said = frozenset(terms(statement.text))
        ids = [id_ for source in statement.sources for words, ids in told[source] if states(said, words) for id_ in ids]
        yield replace(statement, messages=tuple(dict.fromkeys(ids)))


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
