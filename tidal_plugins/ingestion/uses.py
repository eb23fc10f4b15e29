"""Use: memories that recall had shown grow stronger with the exchange that they served [Tidal §2.4], and what one
exchange was about comes up together from then on [Capsule].

An entry was *used* if the answer cites it or says what only the entry could have told; else it merely surfaced.
Recalled memories are removed from messages before they come here, so that nothing is strengthened by our own
text.

A turn is linked after it was stored: one that was shown ten memories has some seventy links, which no answer should
wait for.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tidal_plugins.associations.store import Activation, AssociationStore, AssociationTuning
from tidal_plugins.english.moods import has_question
from tidal_plugins.errors import Corrupt
from tidal_plugins.ingestion.episodes import from_entry, read_episodes, without_shown
from tidal_plugins.ingestion.plan import How, Stored
from tidal_plugins.ingestion.writer import UNFADING, Writer, firsts, reinforced
from tidal_plugins.jobs.handler import Handler
from tidal_plugins.jobs.queue import Job
from tidal_plugins.model.entry import EPISODE, Entry, Scope, bare_id
from tidal_plugins.model.exchange import Episode
from tidal_plugins.model.fact import SUPERSEDES
from tidal_plugins.scoring.decay import UseTuning
from tidal_plugins.scoring.text import cites, echoes
from tidal_plugins.storage.base import Line, WhereLinks
from tidal_plugins.storage.shorthands import set_tiers

USES = "uses"
"""Log of uses, under the ids of the entries that were used: in which episode and turn, and how."""

LINK = "job:link"
"""Jobs by episode, with the memories that were shown before it and how it used them (``shown``), and with the ids that
are linked already, with each other, because the turn goes on (``counted``)."""

_USED = 2.0
"""Activation of what an answer used beside 1 of all else: where a context is too large, this stays in it."""

_BESIDE = 8
"""Messages before and after what was shown, of the same turn, that are within its reach."""

logger = logging.getLogger(__name__)


def strengthen(
    writer: Writer, scope: Scope, episode: Episode, known: Episode | None, now: datetime
) -> dict[str, How | None]:
    """Strengthen the memories that were shown before a turn, by how its answer used them, and return how it did.

    If a turn continues (``known`` is what was stored of it), uses that it has counted are not counted again, but a
    memory that had merely surfaced may turn out to be used. Unknown ids, such as those of other stores, are passed
    over. The newest value of something that has changed does not fade any more once it answers a question.
    """
    before = known and without_shown(known, writer.delimiters)
    episode = without_shown(episode, writer.delimiters)
    settings, lines, asked = writer.settings[UseTuning], [], has_question(episode.query)
    seen: dict[str, How | None] = {}
    counted = shown_as(writer, scope, before.surfaced) if before else {}
    shown = shown_as(writer, scope, episode.surfaced)
    for entry in _entries(writer, scope, shown):
        if entry.episode == episode.id:
            continue  # a turn does not strengthen itself
        earlier = _use(before, entry, shown[entry.id], settings) if before and entry.id in counted else None
        how = seen[entry.id] = earlier or _use(episode, entry, shown[entry.id], settings)
        amount = _worth(how, settings) - (_worth(earlier, settings) if entry.id in counted else 0.0)
        ever = how is not None or _was_used(writer, scope, entry.id)
        tier = reinforced(entry, max(0.0, amount), now, writer.settings, used=ever)
        if tier and how and asked and _newest(writer, scope, entry.id):
            tier = replace(tier, half_life=UNFADING, cold_at=None, archived_at=None)
        if tier and (amount > 0 or how != earlier):
            set_tiers(writer.storage, scope, {entry.id: tier})
        if how and not earlier:
            lines.append(Line(entry.id, now, {"episode": episode.id, "turn": episode.turn, "how": how}))
    writer.storage.append_log(scope, USES, lines)
    _stir(writer, scope, shown, counted, episode, now)
    return seen


def _use(episode: Episode, entry: Entry, names: Collection[str], settings: UseTuning) -> How | None:
    """Return how the answer of an episode used an entry that it was shown under any of ``names``, or ``None``."""
    answer = "\n".join(message.text for message in episode.messages if message.role == "assistant")
    if cites(answer, {*names, entry.episode or entry.id}):
        return "cited"
    told = echoes(answer, episode.query, entry.text, words=settings.echo_words, share=settings.echo_share)
    return "echoed" if told else None


def _stir(
    writer: Writer, scope: Scope, shown: Collection[str], counted: Collection[str], episode: Episode, now: datetime
) -> None:
    """Strengthen a little the other entries of the turns whose entries were shown.

    A memory is cited by its turn, so the rest of that turn is within reach.
    """
    amount = writer.settings[UseTuning].same_turn
    if not amount:  # else it would at least be warm again
        return
    told = dict.fromkeys(entry.episode for entry in _entries(writer, scope, shown) if entry.episode)
    stirred = {entry.episode for entry in _entries(writer, scope, counted)}  # this turn did that already
    turns = [known for known in _entries(writer, scope, told) if known.id not in {*stirred, episode.id}]
    said = {id_ for known in turns for id_ in _near(from_entry(known).entries, shown)}
    first = firsts(writer, scope, said)
    beside = {first.get(id_, id_) for id_ in said}.difference(shown)
    for entry in _entries(writer, scope, sorted(beside)):
        used = _was_used(writer, scope, entry.id)
        if tier := reinforced(entry, amount, now, writer.settings, used=used):
            set_tiers(writer.storage, scope, {entry.id: tier})


def _near(entries: Sequence[str], shown: Collection[str]) -> list[str]:
    """Return those of a turn's entries that are near one that was shown. A turn may be thousands of messages long."""
    places = [place for place, id_ in enumerate(entries) if id_ in shown]
    return [id_ for place, id_ in enumerate(entries) if any(abs(place - other) <= _BESIDE for other in places)]


def _was_used(writer: Writer, scope: Scope, id_: str) -> bool:
    return bool(writer.storage.read_log(scope, USES, keys=[id_], limit=1))


def _newest(writer: Writer, scope: Scope, id_: str) -> bool:
    """Return whether an entry supersedes another one and is not superseded itself."""
    found = writer.storage.links(scope, WhereLinks(kinds=[SUPERSEDES], ends=[id_]))
    standing = [link for link in found if link.superseded_at is None]
    return bool(standing) and all(link.source == id_ for link in standing)


def _worth(how: How | None, settings: UseTuning) -> float:
    return settings.used if how else settings.surfaced


def shown_as(writer: Writer, scope: Scope, surfaced: Iterable[str]) -> dict[str, set[str]]:
    """Return the ids of the entries that were shown, with the names under which they were shown.

    An episode stands for its entries, a repetition for the entry that it repeats.
    """
    names: dict[str, set[str]] = {}
    for shown in _entries(writer, scope, map(bare_id, surfaced)):
        for id_ in from_entry(shown).entries if shown.kind == EPISODE else [shown.id]:
            names.setdefault(id_, {id_}).add(shown.id)
    first = firsts(writer, scope, names)
    found: dict[str, set[str]] = {}
    for id_, known_as in names.items():
        target = first.get(id_, id_)
        found.setdefault(target, {target}).update(known_as)
    return found


def _entries(writer: Writer, scope: Scope, ids: Iterable[str]) -> list[Entry]:
    return list(writer.storage.get(scope, list(dict.fromkeys(ids))).values())


# linking


def links_of(writer: Writer, scope: Scope, turns: Sequence[Stored]) -> dict[str, dict[str, Any] | None]:
    """Return the jobs that link turns, with their details, for those that have a pair to link. They replace those that
    turns that go on have already.

    Call it inside the transaction, once the turns are stored.
    """
    grown = {turn.known.id for turn in turns if turn.known}
    before = {line.key: line.value for line in writer.storage.read_log(scope, LINK, keys=grown)} if grown else {}
    return {
        turn.episode.id: _detail(writer, scope, turn, before.get(turn.episode.id))
        for turn in turns
        if turn.episode and len(turn.episode.entries) + len(turn.shown) > 1  # else there is no pair
    }


def _detail(writer: Writer, scope: Scope, turn: Stored, queued: Mapping[str, Any] | None) -> dict[str, Any] | None:
    counted: Collection[str] = ()
    if queued is not None:
        counted = queued.get("detail", {}).get("counted", ())
    elif turn.known is not None:
        said = _said(turn.known.entries, firsts(writer, scope, turn.known.entries))
        counted = sorted({*said, *shown_as(writer, scope, turn.known.surfaced)})
    given = (("shown", list(turn.shown.items())), ("counted", list(counted)))
    return {name: value for name, value in given if value} or None


@dataclass(frozen=True)
class Linker(Handler[int]):
    """Links the memories that were shown before a turn and the entries of the turn, as one context, and returns how
    many turns it linked. If a turn continues, links that it has made are not made again."""

    writer: Writer

    kind = LINK
    most = 64
    """Turns that are linked in one transaction: some thousand links, written in less than a tenth of a second."""

    def do(self, scope: Scope, jobs: Sequence[Job]) -> int:
        writer = self.writer
        web = AssociationStore(writer.storage, writer.settings[AssociationTuning])
        with writer.storage.transaction():
            still = writer.jobs.finish(scope, LINK, jobs)
            try:
                web.commit_contexts(scope, list(_contexts(writer, web, scope, still)))
            except Corrupt:
                logger.error("what came up together in %d turns is not linked: a row is damaged", len(still))
        return len(still)


def _contexts(writer: Writer, web: AssociationStore, scope: Scope, jobs: Sequence[Job]) -> Iterator[Activation]:
    episodes = read_episodes(writer.storage, scope, [job.subject for job in jobs])
    first = firsts(writer, scope, [id_ for episode in episodes.values() for id_ in episode.entries])
    for job in jobs:
        if (episode := episodes.get(job.subject)) is not None:
            detail = job.detail or {}
            shown = detail.get("shown", ())
            context = web.activate((id_ for id_, how in shown if how), strength=_USED)
            context = web.activate((id_ for id_, how in shown if not how), context)
            context = web.activate(_said(episode.entries, first), context)
            yield Activation(context, job.since, frozenset(detail.get("counted", ())))


def _said(entries: Iterable[str], first: Mapping[str, str]) -> Iterable[str]:
    """Return the entries of an episode; a repetition counts as the entry that it repeats."""
    return dict.fromkeys(first.get(id_, id_) for id_ in entries)
