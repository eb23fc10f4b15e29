"""Conflicts: texts that contradict a fact. They are flagged when stored, and stay open until somebody resolves them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any

from tidal_plugins.aio import in_time
from tidal_plugins.english.cues import STATES
from tidal_plugins.english.sentences import sentences
from tidal_plugins.errors import NotFound
from tidal_plugins.facts.claims import by_rules, contradicts
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.model.codec import decode, encode
from tidal_plugins.model.delimiters import inert
from tidal_plugins.model.entry import Entry, Link, Scope, derive_id
from tidal_plugins.model.fact import SUPERSEDES, Claim, Fact, FactConflict, Replacement, supersession_id
from tidal_plugins.protocols import ClaimExtractor
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.secrets.finding import masked, masked_value
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import Document, Storage, WhereLinks
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.rows import to_json
from tidal_plugins.storage.shorthands import read_document, write_document

CONFLICTS = "conflicts"
"""Collection of open conflicts, by id."""

NO_ID = frozenset({"id"})

FACT_CHANNEL = "facts"
"""The channel of the entries by which recall finds facts."""

STATE_LASTS = timedelta(hours=24)
"""Time within which two people's word on a state is at odds: a day later the door may have been opened."""

MAX_QUOTE = 500
"""Characters of a quoted sentence."""

MAX_CLAIMS = 50
"""Claims that are kept of one text that an extractor read."""

MAX_CLAIM = 16 * 1024
"""Bytes that a claim's value may have as JSON."""

logger = logging.getLogger(__name__)

Said = tuple[Entry, Claim]
"""An entry and what it claims."""


def claimed(
    facts: Mapping[str, Fact], entries: Sequence[Entry], extractor: ClaimExtractor | None, timeout: float
) -> list[Said]:
    """Return what entries claim of facts, as ``extractor`` reads them.

    Rules read them if there is no extractor, if it fails, or if it does not answer within ``timeout`` seconds. May
    wait for a model; call it without holding locks.
    """
    if not facts or not entries:
        return []
    values = {fact.key: fact.value for fact in facts.values()}
    if extractor is not None:
        try:
            return in_time(partial(_extracted, extractor, entries, values), timeout)
        except Exception as error:  # its message may hold the text, which belongs into no log
            pass_interrupt(error)
            names = type(extractor).__name__, type(error).__name__
            logger.warning("%s failed with %s; contradictions are looked for by rules", *names)
    return [(entry, claim) for entry in entries for claim in by_rules(entry, values)]


def flag(storage: Storage, scope: Scope, facts: Mapping[str, Fact], said: Iterable[Said]) -> None:
    """Open a conflict for every claim that contradicts a fact. Call it inside the transaction that stores the entries.

    ``facts`` are the current facts by folded key. A text from before a fact had its value contradicts nothing.
    """
    for entry, claim in said:
        fact = facts.get(normal(claim.key))
        if fact and entry.occurred_at >= fact.since and contradicts(fact.value, claim):
            write_conflict(storage, scope, _conflict(scope, fact, entry, claim))


def between(scope: Scope, later: Entry, earlier: Entry, found: Replacement) -> FactConflict | None:
    """Return the conflict of two texts of which the later one gives another value without a word of change.

    Only what persons say counts. A state may have changed within a day, and a fact has conflicts of its own.
    """
    own = all(entry.role in (None, "user") and entry.channel != FACT_CHANNEL for entry in (later, earlier))
    passed = {
        found.old.casefold(),
        found.new.casefold(),
    } <= STATES and later.occurred_at - earlier.occurred_at > STATE_LASTS
    if not own or passed or found.reason or not found.new:
        return None
    claim, fact = (_sentence(entry.text, value) for entry, value in ((later, found.new), (earlier, found.old)))
    return FactConflict(
        id=derive_id(scope, CONFLICTS, "observed", earlier.id, later.id),
        key=_subject(claim, found.new),
        fact=fact,
        claim=claim,
        negated=False,
        quote=claim,
        entry=later.id,
        citation=later.citation,
        at=later.occurred_at,
        against=earlier.id,
    )


def _sentence(text: str, value: str) -> str:
    """Return the sentence of a text in which a value stands, so that nothing in it can act or cite."""
    spans = sentences(text)
    found = next((text[start:end] for start, end in spans if value in text[start:end]), text)
    return inert(found)[:MAX_QUOTE]


def _subject(sentence: str, value: str) -> str:
    """Return the words that a sentence has before its value."""
    before = sentence.partition(value)[0] or sentence
    return " ".join(terms(before)[:4])


def write_conflict(storage: Storage, scope: Scope, found: FactConflict) -> None:
    """Open a conflict. Call it inside a transaction."""
    write_document(storage, scope, CONFLICTS, found.id, encode(found, exclude=NO_ID))


def open_conflicts(storage: Storage, scope: Scope) -> list[FactConflict]:
    """Return the open conflicts, in the order in which they were said."""
    found = [_conflict_of(document) for document in storage.documents(scope, CONFLICTS)]
    return sorted(found, key=lambda conflict: (conflict.at, conflict.id))


def without_secrets(conflict: FactConflict) -> FactConflict:
    """Return a conflict as it may be shown: secrets are masked in its quote and its values."""
    quote = masked(conflict.quote)
    shown: dict[str, Any] = {}
    for name, value in (("fact", conflict.fact), ("claim", conflict.claim)):
        shown[name] = masked_value(value, conflict.key)
        if isinstance(value, str) and shown[name] != value:  # the key gives it away, the sentence alone does not
            quote = quote.replace(value, shown[name])
    return replace(conflict, **shown, quote=quote)


@whole()
def conflict(storage: Storage, scope: Scope, id_: str) -> FactConflict:
    """Return an open conflict by its id. Raises ``NotFound``."""
    document = read_document(storage, scope, CONFLICTS, id_) if isinstance(id_, str) else None
    if document is None:
        raise NotFound(f"no open conflict {shown(id_)} in scope {shown_scope(scope)}; conflicts() lists them")
    return _conflict_of(document)


def close(storage: Storage, scope: Scope, folded: str, like: FactConflict | None = None) -> list[FactConflict]:
    """Close the open conflicts of a fact, all or those that claim the same as ``like``, and return them."""
    of_fact = [item for item in open_conflicts(storage, scope) if normal(item.key) == folded]
    closed = [item for item in of_fact if like is None or _says(item) == _says(like)]
    storage.erase_documents(scope, CONFLICTS, [item.id for item in closed])
    return closed


def reject(storage: Storage, scope: Scope, found: FactConflict, entry: str, now: datetime) -> None:
    """Take back for good that the text of a conflict supersedes an entry, also where nobody has read that yet.

    Call it inside a transaction.
    """
    id_ = supersession_id(scope, found.entry, entry)
    links = storage.links(scope, WhereLinks(ids=[id_]))
    if not links:
        shown = without_secrets(found)
        old, new = (one if isinstance(one, str) else to_json(one) for one in (shown.fact, shown.claim))
        unread = Replacement(old, new, "", 0.0)
        links = [Link(id_, SUPERSEDES, found.entry, entry, now, valid_from=found.at, metadata=asdict(unread))]
    storage.put_links(scope, [replace(links[0], superseded_at=links[0].superseded_at or now)])


def close_quoting(storage: Storage, scope: Scope, entries: Collection[str]) -> None:
    """Close the open conflicts that quote any of these entries."""
    gone = set(entries)
    quoting = [item.id for item in open_conflicts(storage, scope) if gone.intersection((item.entry, item.against))]
    storage.erase_documents(scope, CONFLICTS, quoting)


def _extracted(extractor: ClaimExtractor, entries: Sequence[Entry], values: Mapping[str, Any]) -> list[Said]:
    return _checked(extractor.extract([entry.text for entry in entries], values), entries, values)


def _checked(
    found: Sequence[Sequence[Claim]], entries: Sequence[Entry], values: Mapping[str, Any]
) -> list[tuple[Entry, Claim]]:
    """Return the claims that name a fact and quote their text. Raises for an answer of the wrong shape."""
    made = zip(entries, found, strict=True)
    said = [(entry, claim) for entry, some in made for claim in islice(some, MAX_CLAIMS)]
    for _, claim in said:
        if not isinstance(claim, Claim):
            raise TypeError(f"a claim must be a Claim, got {type(claim).__name__}")
        if len(to_json([claim.value, claim.negated]).encode()) > MAX_CLAIM:  # raises for what cannot be stored
            raise ValueError(f"a claim's value has more than {MAX_CLAIM:,} bytes as JSON")
    return [(e, claim) for e, claim in said if claim.key in values and claim.quote and claim.quote in e.text]


def _says(conflict: FactConflict) -> tuple[str, bool]:
    said = conflict.claim
    return normal(said if isinstance(said, str) else to_json(said)), conflict.negated


def _conflict(scope: Scope, fact: Fact, entry: Entry, claim: Claim) -> FactConflict:
    return FactConflict(
        id=derive_id(scope, CONFLICTS, normal(fact.key), entry.id, claim.negated, to_json(claim.value)),
        key=fact.key,
        fact=fact.value,
        claim=claim.value,
        negated=claim.negated,
        quote=claim.quote[:MAX_QUOTE],
        entry=entry.id,
        citation=entry.citation,
        at=entry.occurred_at,
    )


def _conflict_of(document: Document) -> FactConflict:
    return decode(FactConflict, {**document.value, "id": document.key})
