"""Forgetting on request: entries and episodes are removed from every place in one transaction [Tidal §2.2].

Derived documents that rest on them are emptied, known by their mark and their sources
(:mod:`tidal_plugins.ingestion.derived`). Forgetting leaves tombstones: the ids, so that citations resolve to
«forgotten», and a keyed hash of each text, so that it is not captured again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from tidal_plugins.english.words import EVERYDAY
from tidal_plugins.errors import InvalidInput
from tidal_plugins.facts.mapping import Facts
from tidal_plugins.facts.versions import forget_facts
from tidal_plugins.ingestion.derived import forget_derived, purge
from tidal_plugins.ingestion.episodes import (
    from_entry,
    read_episodes,
    showing,
    summary,
    to_entry,
    unframed,
    without_shown,
    wordings,
)
from tidal_plugins.ingestion.tombstones import add_text_tombstone, add_tombstones, note_erasure
from tidal_plugins.ingestion.writer import IngestionTuning, Writer, duplicates, message_entry_id, promote
from tidal_plugins.jobs.queue import drop_scope
from tidal_plugins.model.entry import EPISODE, Entry, Scope, bare_id
from tidal_plugins.model.exchange import FORGOTTEN_TEXT, Episode, Message
from tidal_plugins.model.reports import Receipt
from tidal_plugins.reading.sentences import forget_sentences
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.sessions.ledger import SESSIONS
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Record, Storage, Volume, Where, WhereLinks
from tidal_plugins.storage.damage import ENTRIES, UNKNOWN, Damaged, noticed
from tidal_plugins.storage.scrubbing import mark_unscrubbed, scrub
from tidal_plugins.storage.transactions import retry


def facts_of(writer: Writer, scope: Scope) -> Facts:
    """Return the facts of a scope."""

    def remove(ids: Collection[str]) -> int:
        return forget(writer, scope, ids, writer.jobs.now()).count

    given = writer.storage, scope, writer.jobs.now, writer, remove
    return Facts(*given, writer.redaction.value)


def forget(
    writer: Writer,
    scope: Scope,
    ids: Collection[str],
    now: datetime,
    *,
    source: str | None = None,
    everywhere: bool = False,
    dry_run: bool = False,
) -> Receipt:
    """Remove entries and episodes by id, and what facts have from ``source``, and return a receipt.

    A fact that loses a value counts as one. An episode goes with all its entries. An entry that was said in an episode
    is blanked there, and the episode's summary is made anew from the rest; an episode with nothing left goes too.
    Unknown ids are passed over; damaged entries go as others do. ``everywhere`` removes what has the same texts in it,
    too, and blanks what tools were given and returned with them. ``dry_run`` does it all, rolls it back, and says what
    would go.
    """
    said = {*ids, *wordings(writer.storage, scope, ids)} if everywhere else set()
    texts = texts_of(writer.storage, scope, said) if everywhere else None
    receipt = _forgotten(writer, scope, ids, now, source, texts, dry_run)
    return receipt if dry_run else replace(receipt, remains=scrub(writer.storage))


SOURCES = "sources"
"""Collection of the documents that stand, by source: the digest, the ids of the parts, and those to remove."""


class _OnlyLooked(Exception):
    """Rolls back what a dry run did."""


@retry
def _forgotten(
    writer: Writer,
    scope: Scope,
    ids: Collection[str],
    now: datetime,
    source: str | None,
    texts: Texts | None,
    dry_run: bool,
) -> Receipt:
    """Remove what is to be forgotten in one transaction, and return the receipt."""
    while True:
        plan = _planned(writer, scope, ids, texts)
        try:
            with writer.storage.transaction():
                if _is_outdated(writer, scope, ids, plan, texts):
                    continue
                receipt = _erased(writer, scope, ids, plan, now, source, texts or Texts())
                if dry_run:
                    raise _OnlyLooked
                note_erasure(writer.storage, scope, receipt, now)
        except _OnlyLooked:
            return replace(receipt, dry_run=True)
        return receipt


def _erased(
    writer: Writer,
    scope: Scope,
    ids: Collection[str],
    plan: _Plan,
    now: datetime,
    source: str | None,
    texts: Texts,
) -> Receipt:
    """Do what a plan says, inside a transaction, and return what went."""
    _leave_tombstones(writer, scope, plan.to_delete.values(), now)
    add_tombstones(writer.storage, scope, plan.broken, now)
    promote(writer, scope, plan.gone, plan.promoted, now)
    facts = forget_facts(writer.storage, scope, plan.to_delete.values(), ids, source, texts.are_in)
    sources = _forget_sources(writer.storage, scope, source, plan.gone)
    sessions = _blank_sessions(writer.storage, scope, texts)
    if plan.gone or facts or sources or sessions:
        mark_unscrubbed(writer.storage)
    derived = forget_derived(writer, scope, plan.to_delete.values(), plan.told.keys() - plan.gone, now)
    links = writer.storage.erase_links(scope, WhereLinks(ends=plan.gone))
    forget_sentences(writer.storage, scope, plan.gone)
    writer.storage.erase(scope, list(plan.gone))
    writer.put(scope, plan.records, replace=True)
    ended = facts.difference(plan.gone, writer.storage.summaries(scope, facts))
    add_tombstones(writer.storage, scope, ended, now)
    emptied = purge(writer.storage, scope, {*plan.gone, *plan.told, *facts, *derived}, now)
    more = Counter(fact=len(facts - plan.gone), graph=len(derived), documents=sources, sessions=sessions)
    shelves = plan.kinds + more + Counter(emptied)
    removed, stay = sorted(facts | plan.gone), sorted(plan.told.keys() - plan.gone)
    return Receipt(len(removed), dict(shelves), tuple(removed), tuple(stay), links=links)


def _forget_sources(storage: Storage, scope: Scope, source: str | None, gone: Collection[str]) -> int:
    """Remove the names and digests of documents, by source or with the last of their parts; return how many went."""
    found = storage.documents(scope, SOURCES)
    parts = {document.key: {*document.value["parts"], *document.value["stale"]} for document in found}
    ended = [key for key, ids in parts.items() if key == source or (ids and ids <= set(gone))]
    storage.erase_documents(scope, SOURCES, ended)
    return len(ended)


def _blank_sessions(storage: Storage, scope: Scope, texts: Texts) -> int:
    """Blank what sessions have in their metadata of some texts, and return in how many there was something."""
    changed = {}
    for session in storage.documents(scope, SESSIONS) if texts else ():
        metadata = texts.blank(session.value["metadata"])
        if metadata != session.value["metadata"]:
            changed[session.key] = {**session.value, "metadata": metadata}
    storage.write_documents(scope, SESSIONS, changed)
    return len(changed)


def named(storage: Storage, scope: Scope, ids: Collection[str], source: str | None, thread: str | None) -> set[str]:
    """Return the ids of what is named by id or citation, by source, and by thread."""
    chosen = {bare_id(id_) for id_ in ids}
    if texts := [id_ for id_ in chosen if any(map(str.isspace, id_))]:
        raise InvalidInput(f"{shown(texts[0])} is no id or citation; memory.recall(…).ids has those of texts")
    with noticed() as damaged:
        for where in (source and Where(sources={source}), thread and Where(threads={thread})):
            if where:
                chosen.update(entry.id for entry in storage.find(scope, where))
    return chosen | ids_of(damaged)


def erase_scope(writer: Writer, scope: Scope, now: datetime, *, below: bool) -> Receipt:
    """Remove everything that a scope has, and with ``below`` the scopes that begin with it, and return a receipt."""
    receipt = _emptied(writer, scope, now, below)
    return replace(receipt, remains=scrub(writer.storage))


@retry
def _emptied(writer: Writer, scope: Scope, now: datetime, below: bool) -> Receipt:
    """Remove what scopes have in one transaction, and return the receipt."""
    shelves = Counter[str]()
    with writer.storage.transaction():
        scopes = sorted({scope, *(writer.storage.scopes(scope, Where()) if below else ())})
        for one in scopes:  # all are locked, in this order, before anything of the whole store is
            for (kind, _), volume in writer.storage.statistics(one).volumes.items():
                shelves[kind] += volume.entries
        for one in scopes:
            writer.storage.erase(one, None)
            drop_scope(writer.storage, one)
        mark_unscrubbed(writer.storage)
        shelves = +shelves
        receipt = Receipt(shelves.total(), dict(shelves))
        note_erasure(writer.storage, scope, receipt, now)
    return receipt


@dataclass(frozen=True, slots=True)
class _Plan:
    """Describes what a call forgets, as read before its transaction.

    Attributes:
        volumes: the entries and characters of the scope by kind and channel.
        broken: the ids of damaged entries to delete.
        to_delete: the other entries to delete, by id.
        shown: the ids of episodes in which an entry to delete was shown.
        told: the episodes that lose a part, by id, as they stand.
        records: the episodes that lose a part and stay, without it.
        repeating: the ids of entries that say again what an entry to delete says.
        promoted: the records of those entries.
    """

    volumes: Mapping[tuple[str, str], Volume]
    broken: Collection[str]
    to_delete: Mapping[str, Entry]
    shown: set[str]
    told: Mapping[str, Episode]
    records: list[Record]
    repeating: Collection[str]
    promoted: list[Record]

    @property
    def gone(self) -> set[str]:
        """Return the ids of everything to delete."""
        return {*self.to_delete, *self.broken}

    @property
    def kinds(self) -> Counter[str]:
        """Count what is to be deleted by kind."""
        damaged = Counter(damaged=len(self.gone) - len(self.to_delete))
        return Counter(entry.kind for entry in self.to_delete.values()) + damaged


def _planned(writer: Writer, scope: Scope, ids: Collection[str], texts: Texts | None) -> _Plan:
    """Read what goes with ``ids`` and, with ``texts``, what has one of them in it."""
    volumes = writer.storage.statistics(scope).volumes
    having, episodes = (set(), set()) if texts is None else find_texts(writer.storage, scope, texts)
    broken = damaged_entries(writer.storage, scope, {*ids, *having})
    to_delete = _chosen(writer, scope, {*ids, *having, *broken.said})
    shown = showing(writer, scope, to_delete.values())
    losing = _blanked(to_delete) | ((episodes | shown | broken.heard) - to_delete.keys())
    told = read_episodes(writer.storage, scope, losing)
    lost = {*to_delete, *broken.ids}
    blanked = [_blank(writer, episode, lost, texts or Texts(), shown) for episode in told.values()]
    to_delete |= {episode.id: to_entry(episode) for episode in blanked if _is_empty(episode)}
    gone = {*to_delete, *broken.ids}
    records = writer.records([to_entry(episode) for episode in blanked if episode.id not in gone])
    repeating = duplicates(writer, scope, gone)
    promoted = writer.records(list(writer.storage.get(scope, repeating).values()))
    return _Plan(volumes, broken.ids, to_delete, shown, told, records, repeating, promoted)


def _is_outdated(writer: Writer, scope: Scope, ids: Collection[str], plan: _Plan, texts: Texts | None) -> bool:
    """Return whether something was written since the plan was made that it would miss."""
    storage = writer.storage
    return bool(
        _chosen(writer, scope, ids).keys() - plan.to_delete.keys()  # recorded into these episodes
        or showing(writer, scope, plan.to_delete.values()) - plan.shown  # shown in another turn
        or plan.told != read_episodes(storage, scope, plan.told)
        or plan.repeating != duplicates(writer, scope, plan.gone)  # said again
        or (texts is not None and plan.volumes != storage.statistics(scope).volumes)  # anything that may have them
    )


def _chosen(writer: Writer, scope: Scope, ids: Collection[str]) -> dict[str, Entry]:
    found = writer.storage.get(scope, ids)
    episodes = {entry.id for entry in found.values() if entry.kind == EPISODE}
    if episodes:
        found |= {entry.id: entry for entry in writer.storage.find(scope, Where(episodes=episodes))}
    return found | wordings(writer.storage, scope, found)


def _blanked(to_delete: Mapping[str, Entry]) -> set[str]:
    """Return the ids of the episodes that lose a part and are not deleted themselves."""
    return {entry.episode for entry in to_delete.values() if entry.episode} - to_delete.keys()


def _is_empty(episode: Episode) -> bool:
    return not any(message.text not in ("", FORGOTTEN_TEXT) for message in episode.messages)


def _blank(
    writer: Writer, episode: Episode, to_delete: Collection[str], texts: Texts, shown: Collection[str]
) -> Episode:
    if episode.id in shown:
        episode = without_shown(episode, writer.delimiters)
    gone = {message_entry_id(episode, message) for message in episode.messages} & set(to_delete)
    messages = tuple(
        texts.without(replace(message, text=FORGOTTEN_TEXT) if message_entry_id(episode, message) in gone else message)
        for message in episode.messages
    )
    if messages != episode.messages:  # a model thinks about what was said to it
        messages = tuple(replace(message, reasoning="") for message in messages)
    return replace(
        episode,
        messages=messages,
        summary=summary(unframed(messages, writer.delimiters), writer.settings[IngestionTuning].summary_chars),
        entries=tuple(id_ for id_ in episode.entries if id_ not in gone),
    )


def _leave_tombstones(writer: Writer, scope: Scope, entries: Collection[Entry], now: datetime) -> None:
    add_tombstones(writer.storage, scope, [entry.id for entry in entries], now)
    for entry in entries:
        if entry.kind != EPISODE and not is_everyday(entry.text):
            add_text_tombstone(writer.storage, scope, writer.mark(entry.text), now)


# what has the same words


DISTINCT = 4
"""Content words from which on a text is looked for within others, unless it has digits as secrets do."""
PAGE = 500
"""Entries that are read at once."""
TELLING = 2
"""Content words from which on a text of every day is looked for as the whole of another: «Noted.» is everywhere."""


def is_everyday(text: str) -> bool:
    """Return whether a text tells nothing and is said again any day: «ok», «thanks», «run the tests again».

    Forgetting one must not blank every other. Any other text, however short, is recognised again: «He has HIV.»
    """
    return EVERYDAY.issuperset(terms(text))


def is_distinct(text: str) -> bool:
    """Return whether a text is recognised within a longer one."""
    words = set(terms(text))
    return len(words) >= DISTINCT or any(character.isdigit() for word in words for character in word)


class Texts:
    """Texts that are looked for, with case and space folded. One of every day counts only as the whole of another."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        folded = {text: normal(text) for text in texts}
        self._whole = {
            said for text, said in folded.items() if len(set(terms(text))) >= TELLING or not is_everyday(text)
        }
        self._parts = {
            said: re.compile(rf"(?<!\w){re.escape(said)}(?!\w)") for text, said in folded.items() if is_distinct(text)
        }

    def __bool__(self) -> bool:
        return bool(self._whole or self._parts)

    def are_in(self, text: str) -> bool:
        """Return whether one of them stands in a text."""
        said = normal(text)
        return said in self._whole or any(
            part in said and bool(form.search(said)) for part, form in self._parts.items()
        )

    def without(self, message: Message) -> Message:
        """Return a message with a note in the place of its text, and of each argument and result, that has one."""
        calls = tuple(
            replace(call, arguments=self.blank(dict(call.arguments)), result=self.blank(call.result))
            for call in message.tool_calls
        )
        text, reasoning = self.blank(message.text), self.blank(message.reasoning)
        return replace(message, text=text, tool_calls=calls, reasoning=reasoning)

    def blank(self, value: Any) -> Any:
        """Return a JSON value with a note in the place of each string in it that has one of them."""
        if isinstance(value, str):
            return FORGOTTEN_TEXT if self.are_in(value) else value
        if isinstance(value, Mapping):
            return {key: self.blank(item) for key, item in value.items()}
        return [self.blank(item) for item in value] if isinstance(value, list | tuple) else value


def find_texts(storage: Storage, scope: Scope, texts: Texts) -> tuple[set[str], set[str]]:
    """Return the ids of the entries in which one of some texts stands, and those of the episodes whose messages have
    one."""
    ids, episodes, after = set[str](), set[str](), 0
    while page := storage.find(scope, Where(), limit=PAGE, after=after):
        after += len(page)
        for entry in page:
            if entry.kind != EPISODE:
                ids |= {entry.id} if texts.are_in(entry.text) else set()
            elif any(texts.without(message) != message for message in from_entry(entry).messages):
                episodes.add(entry.id)
    return ids, episodes


def texts_of(storage: Storage, scope: Scope, ids: Collection[str]) -> Texts:
    """Return the texts of entries, and of all that was said in episodes."""
    entries = storage.get(scope, ids)
    said = {entry.id for entry in entries.values() if entry.kind == EPISODE}
    within = storage.find(scope, Where(episodes=said)) if said else []
    return Texts(entry.text for entry in [*entries.values(), *within] if entry.kind != EPISODE)


# damaged entries


class DamagedEntries(NamedTuple):
    """The ids of damaged entries that are to be forgotten, of the intact entries that were said in those of them that
    are episodes, and of the intact episodes in which they were said."""

    ids: set[str]
    said: set[str]
    heard: set[str]


def damaged_entries(storage: Storage, scope: Scope, ids: Collection[str]) -> DamagedEntries:
    """Return the damaged entries that ``ids`` name, themselves or as the episodes in which they were said."""
    with noticed() as damaged:
        found = storage.get(scope, ids).values()
        storage.get(scope, [said for entry in found if entry.kind == EPISODE for said in from_entry(entry).entries])
        episodes = ids_of(damaged)
        said = storage.find(scope, Where(episodes=episodes)) if episodes else []
    broken = ids_of(damaged)
    return DamagedEntries(broken, {entry.id for entry in said}, _heard(storage, scope, broken) if broken else set())


def ids_of(damaged: Iterable[Damaged]) -> set[str]:
    """Return the ids of those damaged rows that are entries."""
    return {row.name for row in damaged if row.table == ENTRIES and row.name != UNKNOWN}


def _heard(storage: Storage, scope: Scope, ids: Collection[str]) -> set[str]:
    """Return the episodes that have one of these entries: a damaged row does not say whose it is."""
    heard, after, where = set[str](), 0, Where(kinds={EPISODE})
    while page := storage.find(scope, where, limit=PAGE, after=after):
        after += len(page)
        heard.update(entry.id for entry in page if not set(ids).isdisjoint(from_entry(entry).entries))
    return heard
