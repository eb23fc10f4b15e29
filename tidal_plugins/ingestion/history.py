"""Histories that are passed whole: which episodes hold their turns, and which episodes they have other turns for.

User interfaces and OpenAI-style servers send all earlier turns with every call, without ids. A turn is known by its id,
or else by its words: the user's and the final answer, in order. What was said between (calls of tools, their results)
is seldom passed back. Links say which turn followed which, so that the turns of a thread are a tree: a turn that was
regenerated or edited begins a branch of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tidal_plugins.ingestion.episodes import from_entry, read_episodes, unframed
from tidal_plugins.ingestion.writer import FIRST, Writer, duplicates, promote, reinforced, unfading
from tidal_plugins.model.entry import EPISODE, Entry, Link, Scope, Tier, derive_id
from tidal_plugins.model.exchange import FORGOTTEN_TEXT, Episode, Exchange, Message, final_of, query_of
from tidal_plugins.storage.base import Storage, Where, WhereLinks
from tidal_plugins.storage.shorthands import set_tiers
from tidal_plugins.validation import storable

FOLLOWS = "follows"
"""Kind of the link from an episode to the one before it in the history that it was recorded from."""

LOOK_BACK, LOOK_BACK_EACH = 64, 4
"""Newest episodes of a thread among which the turns of a history are looked for: a number, and one for each turn. They
leave room for as many branches. A history that is cut short is the end of its thread."""

EXAMPLE_FROM = 4
"""Different questions, none of which was gone on from, that make the turn before them a fixed example that a program
sends ahead of each call. Fewer are edits of one question: who words it anew reads the answer and goes on."""


@dataclass(frozen=True, slots=True)
class HistoryMatch:
    """What a store knows of a history.

    Attributes:
        episodes: for each turn the episode that holds it, or ``None``.
        replaced: the ids of the episodes that the history has other turns in place of.
        away: the ids of episodes that are out of recall because another branch took their place, and that belong there:
            those of ``episodes``, and those that an example was sent ahead of.
        forgotten: the positions of the turns whose questions were forgotten on request.
        repeated: the positions of the turns that were answered anew, in the words of their episodes.
    """

    episodes: tuple[Episode | None, ...]
    replaced: tuple[str, ...] = ()
    away: tuple[str, ...] = ()
    forgotten: frozenset[int] = frozenset()
    repeated: frozenset[int] = frozenset()

    @property
    def ids(self) -> list[str]:
        """Return the ids of the episodes that hold turns of the history."""
        return [episode.id for episode in self.episodes if episode]


def match(writer: Writer, scope: Scope, thread: str | None, history: Sequence[Exchange]) -> HistoryMatch:
    """Return what the store knows of the turns of a history.

    The last turn may be open or have just been answered. If it was not recorded under its id it is a new one, unless
    the same words followed the turn before it already. Without a ``thread`` conversations cannot be told apart, and
    only the same question asked again replaces a turn.
    """
    delimiters = writer.delimiters
    history = [replace(exchange, messages=said(writer, exchange.messages)) for exchange in history]
    ids = [writer.episode_id(scope, thread, exchange.key) if exchange.key else "" for exchange in history]
    with writer.storage.snapshot():
        rows = _rows(writer.storage, scope, thread, len(history))
        whole = {row.id: from_entry(row) for row in rows}
        known = [replace(episode, messages=unframed(episode.messages, delimiters)) for episode in whole.values()]
        masked = masked_words(writer, scope, history)
        held, stale, repeated = _by_id(writer, scope, ids, history, known)
        follows = _follows(writer.storage, scope, [episode.id for episode in known])
    words = [words_of(exchange.messages) for exchange in history]
    _by_words(held, known, words, masked)
    last = len(history) - 1
    if held and held[-1] is None and words[-1].answer:
        held[-1] = _again(held, known, words[-1], follows)
    branch = _Branch(known, follows, {episode.id for episode in held if episode})
    replaced = branch.replaced(None if thread else _next(held, words))
    if len(history) == len(known) == 1 and thread and held == [None] and _asks(known[0], words[0]):
        replaced = [known[0].id]
    away = {row.id for row in rows if row.tier and row.tier.archived_at}
    apart = branch.apart(held[-2].id, words[-1].question) if thread and len(held) > 1 and held[-2] else []
    return HistoryMatch(
        tuple(episode and whole.get(episode.id, episode) for episode in held),
        tuple(dict.fromkeys([*(episode.id for episode in stale), *(id_ for id_ in replaced if id_ not in apart)])),
        tuple(id_ for id_ in [*(episode.id for episode in held if episode), *apart] if id_ in away),
        frozenset(n for n in range(last) if held[n] is None and FORGOTTEN_TEXT in masked[n].question),
        repeated,
    )


@dataclass(frozen=True, slots=True)
class _Branch:
    """The turns of a thread as a tree. ``held`` are those of the branch that a history passes."""

    known: Sequence[Episode]
    follows: Mapping[str, str]
    held: set[str]

    def replaced(self, asked: Mapping[str, str] | None) -> list[str]:
        """Return the episodes on branches that left the history's own.

        ``asked`` is what the history asks after each of its episodes; if given, only branches that ask the same count.
        """
        kept, firsts = self._kept(), self._firsts()
        questions = {} if asked is None else {e.id: words_of(e.messages).question for e in self.known}

        def counts(first: str) -> bool:
            return asked is None or questions.get(first) == asked.get(self.follows[first])

        found = {episode.id: firsts.get(episode.id) for episode in self.known if episode.id not in kept}
        return [id_ for id_, first in found.items() if first and counts(first)]

    def apart(self, before: str, question: str) -> list[str]:
        """Return the episodes that followed ``before`` with other questions, if ``before`` is a fixed example.

        Of a question that was answered again it is the newest one.
        """
        asked = {words_of(e.messages).question: e.id for e in self.known if self.follows.get(e.id) == before}
        others = [id_ for other, id_ in asked.items() if other != question]
        gone_on = set(self.follows.values()) & set(asked.values())
        return [] if gone_on or len(others) + 1 < EXAMPLE_FROM else others

    def _kept(self) -> set[str]:
        """Return the episodes that those of the history followed."""
        kept: set[str] = set()
        for id_ in self.held:
            while (id_ := self.follows.get(id_, "")) and id_ not in kept:
                kept.add(id_)
        return kept

    def _firsts(self) -> dict[str, str | None]:
        """Return for each episode on a branch that left the history's own the first one of its branch.

        Each link is followed once: a history may have hundreds of turns.
        """
        firsts: dict[str, str | None] = {}
        for episode in self.known:
            line, id_ = list[str](), episode.id
            while id_ and id_ not in self.held and id_ not in firsts:
                firsts[id_] = None
                line.append(id_)
                id_ = self.follows.get(id_, "")
            if line:
                firsts.update(dict.fromkeys(line, line[-1] if id_ in self.held else firsts.get(id_)))
        return firsts


def _rows(storage: Storage, scope: Scope, thread: str | None, turns: int) -> list[Entry]:
    """Return the newest episodes of a thread, oldest first."""
    where = Where(kinds={EPISODE}, threads=None if thread is None else {thread})
    rows = storage.find(scope, where, limit=LOOK_BACK + LOOK_BACK_EACH * turns, newest_first=True)
    return [row for row in reversed(rows) if row.thread == thread]


def _by_id(
    writer: Writer, scope: Scope, ids: Sequence[str], history: Sequence[Exchange], known: Sequence[Episode]
) -> tuple[list[Episode | None], list[Episode], frozenset[int]]:
    """Return the episodes that were recorded under the ids of the turns, those of them that have other answers, and the
    positions of the turns that were answered anew in the same words.

    Only those that are not ``known`` are read from the store.
    """
    found = {episode.id: episode for episode in known}
    if unknown := [id_ for id_ in ids if id_ and id_ not in found]:
        found |= read_episodes(writer.storage, scope, unknown)
    held: list[Episode | None] = []
    stale, repeated = [], set()
    for n, (id_, exchange) in enumerate(zip(ids, history, strict=True)):
        episode = found.get(id_)
        stored = unframed(episode.messages, writer.delimiters) if episode else ()
        if episode and not _goes_on(stored, exchange.messages):
            stale.append(episode)
            episode = None
        elif episode and _answered_again(stored, exchange.messages):
            repeated.add(n)
        held.append(episode)
    return held, stale, frozenset(repeated)


def _goes_on(stored: Sequence[Message], passed: Sequence[Message]) -> bool:
    """Return whether a turn is the one of an episode: the answer of either is in the other, or one has none yet.

    A turn that compaction has cut short lacks its answer.
    """
    ours, theirs = final_of(stored), final_of(passed)
    return not ours or not theirs or _says(passed, ours) or _says(stored, theirs)


def _answered_again(stored: Sequence[Message], passed: Sequence[Message]) -> bool:
    """Return whether a turn has the words of an episode's answer in another message: a run was retried or replayed."""
    ours, theirs = final_of(stored), final_of(passed)
    if not ours or not theirs or folded(ours.text) != folded(theirs.text):
        return False
    return ours.id not in {message.id for message in passed} and theirs.id not in {message.id for message in stored}


def _says(messages: Sequence[Message], final: Message) -> bool:
    if final.text == FORGOTTEN_TEXT:
        return True
    said = [message for message in messages if message.role == "assistant"]
    text = folded(final.text)
    return any((m.id and m.id == final.id) or folded(m.text) == text for m in said)


def _by_words(
    held: list[Episode | None], known: Sequence[Episode], words: Sequence[Words], masked: Sequence[Words]
) -> None:
    """Find the episodes of all turns but the last by their words: in order, else (without ids) anywhere."""
    stored, with_ids = [words_of(episode.messages) for episode in known], any(held[:-1])
    places = {episode.id: place for place, episode in enumerate(known)}

    def same(turn: int, place: int) -> bool:
        if (episode := held[turn]) is not None:
            return episode.id == known[place].id
        return words[turn].same(stored[place]) or masked[turn] == stored[place]

    used = {places[episode.id] for episode in held if episode and episode.id in places}
    for turn, place in aligned(len(held) - 1, len(known), same):
        if held[turn] is None and place not in used:
            held[turn] = known[place]
            used.add(place)
    for turn in range(0 if with_ids else len(held) - 1):
        if held[turn] is None:
            for place in (p for p in reversed(range(len(known))) if p not in used and same(turn, p)):
                held[turn] = known[place]
                used.add(place)
                break


def _again(
    held: Sequence[Episode | None], known: Sequence[Episode], words: Words, follows: Mapping[str, str]
) -> Episode | None:
    """Return the episode that said the same after the same turn: a call that was sent again."""
    before = held[-2].id if len(held) > 1 and held[-2] else None
    later = [episode for episode in known if before and follows.get(episode.id) == before]
    return next((episode for episode in later if words.same(words_of(episode.messages))), None)


def _next(held: Sequence[Episode | None], words: Sequence[Words]) -> dict[str, str]:
    """Return what is asked after each episode of a history."""
    return {episode.id: following.question for episode, following in zip(held, words[1:], strict=False) if episode}


def _follows(storage: Storage, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
    return {link.source: link.target for link in storage.links(scope, WhereLinks(sources=ids, kinds=[FOLLOWS]))}


def _asks(episode: Episode, words: Words) -> bool:
    return bool(words.question) and words_of(episode.messages).question == words.question


# the words of turns


@dataclass(frozen=True, slots=True)
class Words:
    """The words that a turn is known by, white space folded. ``said`` is all that the agent said in it, without any."""

    question: str
    answer: str
    said: str = field(default="", compare=False)

    def same(self, stored: Words) -> bool:
        """Return whether an episode with the words ``stored`` holds this turn, as far as it was not forgotten.

        A client that streams puts all that the agent said in a turn into one message.
        """
        if stored == self or (stored.question == self.question and stored.said == self.said):
            return bool(self.question or self.answer)
        blank = stored.question == FORGOTTEN_TEXT, stored.answer == FORGOTTEN_TEXT
        question, answer = blank[0] or self.question == stored.question, blank[1] or self.answer == stored.answer
        return question and answer and any(blank) and not all(blank)


def masked_words(writer: Writer, scope: Scope, history: Sequence[Exchange]) -> list[Words]:
    """Return the words of turns as they would be stored: those that were forgotten on request are blank."""
    turns = [[replace(message, text=storable(message.text)) for message in exchange.messages] for exchange in history]
    gone = writer.forgotten(scope, {message.text for messages in turns for message in messages if message.text})
    return [
        words_of([replace(message, text=FORGOTTEN_TEXT) if message.text in gone else message for message in messages])
        for messages in turns
    ]


def words_of(messages: Sequence[Message]) -> Words:
    final = final_of(messages)
    said = [folded(message.text) for message in messages if message.role == "assistant" and message.text]
    answer = folded(final.text) if final else ""
    return Words(folded(query_of(messages)), answer, "".join(said).replace(" ", ""))


def folded(text: str) -> str:
    return " ".join(storable(text).split())


def said(writer: Writer, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return passed messages as the stored ones are compared: without what recall added, secrets replaced."""
    return unframed(writer.redaction.comparable(messages), writer.delimiters)


# branches


def follow(
    writer: Writer,
    scope: Scope,
    follows: Mapping[str, str],
    now: datetime,
    *,
    replaced: Collection[str] = (),
    back: Collection[str] = (),
) -> None:
    """Note which episode followed which, take ``replaced`` episodes out of recall and ``back`` ones into it again.

    Nothing is lost: the episodes stay readable, and a recall with ``include_archived`` finds them. Words that were said
    again elsewhere are found there. Episodes of ``back`` that are in recall stay as they are, and ids that are not
    known say nothing.
    """
    there = writer.storage.summaries(scope, back) if back else {}
    back = [id_ for id_, row in there.items() if row.tier and row.tier.archived_at]
    if not (follows or replaced or back):
        return
    links = [Link(derive_id(scope, FOLLOWS, later), FOLLOWS, later, earlier, now) for later, earlier in follows.items()]
    if not (replaced or back):  # a turn that goes on, as nearly all do
        writer.storage.put_links(scope, links)
        return
    while True:
        aside, returning = _rows_of(writer, scope, replaced), _rows_of(writer, scope, back)
        repeating = duplicates(writer, scope, aside.keys())
        promoted = writer.records(list(writer.storage.get(scope, repeating).values()))
        with writer.storage.transaction():
            if repeating != duplicates(writer, scope, aside.keys()):
                continue  # said again meanwhile
            writer.storage.put_links(scope, links)
            promote(writer, scope, aside.keys(), promoted, now)
            writer.storage.erase_links(scope, WhereLinks(targets=aside.keys(), kinds=[FIRST]))
            tiers = {
                id_: replace(entry.tier or unfading(now), archived_at=now)
                for id_, entry in aside.items()
                if entry.tier is None or entry.tier.state(now) != "archived"
            }
            tiers |= {id_: tier for id_, entry in returning.items() if (tier := _returned(writer, entry, now))}
            set_tiers(writer.storage, scope, tiers)
        return


def _rows_of(writer: Writer, scope: Scope, episodes: Collection[str]) -> dict[str, Entry]:
    """Return the rows of episodes, and the entries of their texts."""
    if not episodes:
        return {}
    rows = {id_: row for id_, row in writer.storage.get(scope, list(episodes)).items() if row.kind == EPISODE}
    if not rows:
        return {}
    return rows | {entry.id: entry for entry in writer.storage.find(scope, Where(episodes=set(rows)))}


def _returned(writer: Writer, entry: Entry, now: datetime) -> Tier | None:
    """Return the tier of an entry that is in recall again: warm if it decays."""
    if entry.tier is None:
        return None
    tier = replace(entry.tier, archived_at=None)
    return reinforced(replace(entry, tier=tier), 0.0, now, writer.settings, used=False) or tier


# alignment


def aligned(left: int, right: int, same: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Return the pairs of positions of two sequences of these lengths that are the same, in order, as many as can be.

    What is alike at the ends is paired first, so that a history that only grew takes as many comparisons as it has
    turns.
    """
    end: list[tuple[int, int]] = []
    while left and right and same(left - 1, right - 1):
        left, right = left - 1, right - 1
        end.append((left, right))
    start = 0
    while start < min(left, right) and same(start, start):
        start += 1
    head = [(place, place) for place in range(start)]
    return [*head, *_longest(range(start, left), range(start, right), same), *reversed(end)]


def _longest(left: range, right: range, same: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Return the pairs of a longest common subsequence by the usual table."""
    if not left or not right:
        return []
    lengths = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    alike = [[same(one, other) for other in right] for one in left]
    for i, row in enumerate(alike):
        for j, equal in enumerate(row):
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if equal else max(lengths[i][j + 1], lengths[i + 1][j])
    pairs, i, j = [], len(left), len(right)
    while i and j:
        if alike[i - 1][j - 1]:
            i, j = i - 1, j - 1
            pairs.append((left[i], right[j]))
        elif lengths[i - 1][j] >= lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return pairs[::-1]
