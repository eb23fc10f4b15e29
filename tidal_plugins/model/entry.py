"""Entries: the units of memory, with the links between them, and the filters and notes by which they are asked for and
written."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple, TypedDict, get_args

from tidal_plugins.encoding import json_encoder
from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import aware
from tidal_plugins.shown import shown

Scope = tuple[str, ...]
State = Literal["warm", "cold", "archived", "expired"]

CONVERSATION, FACT, DOSSIER = "conversation", "fact", "dossier"
KINDS = (CONVERSATION, "skill", "kb", FACT, DOSSIER)
"""Kinds that recall searches."""

EPISODE = "episode"
"""Kind of the entries that hold whole episodes."""

SYNTHESIS = "synthesis"
"""Channel of what memory made of other entries."""

GRAPH_CHANNEL = "graph"
"""Channel of the entries by which recall finds entities and relations."""

STATED_CHANNEL = "stated"
"""Channel of those for which nothing but an agent's own statements speaks: no other text says what they say."""

MAX_SEGMENTS, MAX_SEGMENT = 32, 1_000
"""Segments of a scope, and characters of one: as many as any other name may have (``validation.MAX_LABEL``)."""

_encode = json_encoder(default=str)
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: read aloud without mistakes
_LETTERS = frozenset(_ALPHABET)
_PAIRS = [second + first for first in _ALPHABET for second in _ALPHABET]  # by ten bits, of which the lower come first
_ID_LENGTH = 13  # of 5 bits each; every citation in a context costs its tokens
_MARK_LENGTH = 2
_SALT_LENGTH = 13


@dataclass(frozen=True, slots=True)
class Tier:
    """The strength of an entry, and when it changes by itself [Tidal §2.4].

    The weight at time t is ``weight · 2^(−(t − anchored_at) / half_life)``.

    Attributes:
        weight: the weight at ``anchored_at``.
        anchored_at: the time of the last change of weight.
        half_life: hours in which the weight falls by half.
        cold_at: when the entry turns cold; ``None`` for never.
        archived_at: when it is archived; ``None`` for never.
        expires_at: when it leaves active queries unless it is used before; set if the write gate found it trivial
            [Anamnesis].
    """

    weight: float
    anchored_at: datetime
    half_life: float
    cold_at: datetime | None = None
    archived_at: datetime | None = None
    expires_at: datetime | None = None

    def state(self, now: datetime) -> State:
        """Return ``warm``, ``cold``, ``archived`` or ``expired``, as of ``now``, an aware time.

        Recall finds warm and cold entries, and the others if asked to. An entry that the write gate let expire is
        ``expired`` from then on, at any weight.
        """
        now = aware(now, "now")
        if self.expires_at and self.expires_at <= now:
            return "expired"
        if self.archived_at and self.archived_at <= now:
            return "archived"
        return "cold" if self.cold_at and self.cold_at <= now else "warm"


class Screened(NamedTuple):
    """What was stored of the secrets of an entry, and what was searched for them: it says nothing of other texts."""

    found: str | None
    text: str
    source: str | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory that recall can find.

    Attributes:
        id: its id in the store.
        kind: ``conversation``, ``skill``, ``kb``, ``fact``, ``dossier`` or ``episode``.
        text: the text, verbatim.
        scope: its owner.
        occurred_at: when it happened. Questions about time use it.
        recorded_at: when it was stored. Decay uses it.
        tier: its strength; ``None`` if it does not fade.
        thread: the conversation that it belongs to.
        episode: the id of the turn in which it was said.
        position: its place in its thread or episode.
        speaker: the name of the person who said it.
        role: ``user``, ``assistant`` or ``tool``.
        source: its origin, such as a path or a title.
        channel: who wrote it: ``user``, ``agent``, ``tool`` or ``document``; or what made it, such as ``synthesis``.
        trust: how far it is trusted, in [0, 1], by its channel. What memory made of others has the lowest of theirs.
        importance: in [1, 10].
        affect: the mood after its exchange, with the emotions of its own text.
        tags: its labels.
        valid_from: the time from which it holds.
        valid_until: the time until which it holds.
        metadata: further fields, as JSON values.
        admission: the decision of the write gate on it; ``None`` if the gate was off.
        screened: what its store knows of the secrets in it. It belongs to the entry as it was read, and is no part of
            what it says.
    """

    id: str
    kind: str
    text: str
    scope: Scope
    occurred_at: datetime
    recorded_at: datetime
    tier: Tier | None = None
    thread: str | None = None
    episode: str | None = None
    position: int | None = None
    speaker: str | None = None
    role: str | None = None
    source: str | None = None
    channel: str = "user"
    trust: float = 1.0
    importance: float = 5.0
    affect: Affect | None = None
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    admission: Admission | None = None
    screened: Screened | None = field(default=None, repr=False, compare=False)

    @property
    def citation(self) -> str:
        """Return the text that cites the entry: ``ep:`` and its episode if it has one, else ``mem:`` and its id."""
        return f"ep:{self.episode}" if self.episode else f"mem:{self.id}"


def bare_id(citation: str) -> str:
    """Return the id in a citation such as ``[ep:6k1m…]``; an id stays as it is."""
    if not isinstance(citation, str):
        raise InvalidInput(f"an id must be a string, got {shown(citation)}")
    return citation.strip().strip("[]").removeprefix("ep:").removeprefix("mem:")


def user_of(scope: Scope) -> str | None:
    """Return the user of a scope such as ``("user", "42")``; ``None`` if the scope names none."""
    return next((name for label, name in pairwise(scope) if label == "user"), None)


def derive_id(scope: Scope, *parts: object) -> str:
    """Return the id that ``parts`` have in ``scope``: 13 characters, 65 bits, the same on every retry."""
    digest = blake2b(_encode([scope, parts]).encode(), digest_size=9).digest()
    number = int.from_bytes(digest)
    return "".join([_PAIRS[number >> place & 1023] for place in range(0, 5 * _ID_LENGTH, 10)])[:_ID_LENGTH]


def salted_id(salt: str, scope: Scope, *parts: object) -> str:
    """Return the id that ``parts`` have in ``scope`` of the store with this ``salt``, the same on every retry.

    The id is 13 characters: the mark of the store and 11 characters, 55 bits, that depend on the whole salt. So two
    stores share no id, even when their marks are equal, as they are in one of 1,024 pairs.
    """
    return marked_id(salt[:_MARK_LENGTH], scope, salt, *parts)


def marked_id(mark: str, scope: Scope, *parts: object) -> str:
    """Return an id as :func:`salted_id` does, of parts that differ between stores, such as the id of an episode."""
    return mark + derive_id(scope, *parts)[: _ID_LENGTH - _MARK_LENGTH]


def new_salt() -> str:
    """Return the salt of a new store: random characters, of which the first two are its mark."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_SALT_LENGTH))


def mark_of(id: str) -> str:
    """Return the mark of the store that made an id, or ``""`` for a text that is no such id."""
    is_id = len(id) == _ID_LENGTH and _LETTERS.issuperset(id)
    return id[:_MARK_LENGTH] if is_id else ""


def check_scope(scope: object) -> Scope:
    """Return ``scope`` as it is, or raise :class:`InvalidInput`."""
    if not isinstance(scope, tuple) or not scope or not all(isinstance(part, str) and part for part in scope):
        raise InvalidInput(f"a scope is a tuple of non-empty strings such as ('user', '42'), got {shown(scope)}")
    if len(scope) > MAX_SEGMENTS or any(len(part) > MAX_SEGMENT for part in scope):
        raise InvalidInput(
            f"a scope has at most {MAX_SEGMENTS} segments of at most {MAX_SEGMENT:,} characters, got {shown(scope)}"
        )
    if any("\0" in part or not part.isprintable() for part in scope):
        raise InvalidInput(f"a scope's segments must be printable, got {shown(scope)}")
    return scope


@dataclass(frozen=True, slots=True)
class Admission:
    """The decision of the write gate on a new entry: kept for good, or for a while.

    Attributes:
        importance: in [1, 10].
        intensity: of the mood, in [0, 1].
        surprise: how far it is from everything known, in [0, 1].
        salience: the weighed sum of the three, in [0, 1].
        why: what decided, such as ``a salience of 0.29 is below 0.35``.
        expires_at: when it leaves active queries unless it is used before; ``None`` if it is kept for good.
    """

    importance: float
    intensity: float
    surprise: float
    salience: float
    why: str
    expires_at: datetime | None = None

    @property
    def ephemeral(self) -> bool:
        return self.expires_at is not None


Channel = Literal["user", "agent", "tool", "document"]
"""Who writes: a person who uses the agent, the agent, a tool, or a text from elsewhere."""
CHANNELS: Final[tuple[Channel, ...]] = get_args(Channel)

TRUST: Final[Mapping[Channel, float]] = {"user": 1.0, "agent": 0.8, "document": 0.7, "tool": 0.5}
"""The trust of each channel. Only the order counts: an agent repeats what it read, a document was at least chosen to be
remembered, and a tool returns whatever others wrote. What memory makes of entries has the lowest trust of these, and
what a peer tells at most the trust of the peer."""

OWN: Final = TRUST["user"]
"""The trust from which on words may become a rule or a priority."""


def check_channel(channel: object) -> Channel:
    """Return ``channel`` as it is, or raise ``InvalidInput`` if there is no such channel."""
    found = next((known for known in CHANNELS if known == channel), None)
    if found is None:
        raise InvalidInput(f"a channel is one of {', '.join(CHANNELS)}, got {shown(channel)}")
    return found


REPEAT = "repeat"
"""Kind of the link from an entry that says again what another one said to that one, word for word."""

WORDING = "wording"
"""Kind of the link from an entry that was corrected to each entry that keeps an earlier wording of it."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link of some ``kind`` between two nodes, which are entries or anything else that has an id.

    ``weight`` is the weight at ``anchored_at``. The writer of a link knows how it fades, and sets ``expires_at`` to the
    time from which the link counts for nothing (``None``: never). Of links that fade alike, the one that lasts longest
    is therefore the strongest at any time. ``valid_from`` and ``valid_until`` say when the link was true,
    ``recorded_at`` and ``superseded_at`` when it was believed. Several links may join the same nodes; links with the
    same id are one.
    """

    id: str
    kind: str
    source: str
    target: str
    recorded_at: datetime
    weight: float = 1.0
    anchored_at: datetime | None = None
    expires_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    superseded_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Filter(TypedDict, total=False):
    """The entries that a recall may return. All fields apply inside each search channel, before its best are cut.

    A field that is not given leaves entries unfiltered; an empty collection matches nothing.
    """

    kinds: Collection[str] | None
    """``conversation``, ``skill``, ``kb``, ``fact``, ``dossier``; also ``episode``, to search episode summaries. Facts
    read into the graph are found only where ``fact`` is named."""
    threads: Collection[str] | None
    """Conversations, by the names that ``record(thread=…)`` gave them."""
    speakers: Collection[str] | None
    """Names of speakers."""
    sources: Collection[str] | None
    """Sources, such as the names of documents."""
    tags: Collection[str] | None
    """Tags of which an entry needs at least one."""
    metadata: Mapping[str, str | int | float | bool | None] | None
    """Metadata items that an entry needs, all of them."""
    since: datetime | None
    """The earliest time of the event."""
    until: datetime | None
    """The time before which the event was."""
    exclude: Collection[str]
    """Ids of entries or episodes to leave out."""
    include_archived: bool
    """Whether archived entries are searched too."""


@dataclass(frozen=True, slots=True)
class Note:
    """A skill, a knowledge document or a fact to remember.

    Attributes:
        text: the text.
        kind: ``skill``, ``kb`` or ``fact``.
        source: where the text comes from, such as a path or a title. It is searched and shown with the text.
        tags: labels, at most 100 of at most 1,000 characters. Default: estimated.
        importance: in [1, 10]. Default: estimated.
        speaker: who said it, by name.
        role: the role of the speaker.
        thread: the conversation that it belongs to.
        occurred_at: when it happened; an aware time. Default: now.
        valid_until: the time until which it holds.
        channel: who wrote it: ``user``, ``agent``, ``tool`` or ``document``. Only a user's words may become a rule or a
            priority.
        trust: how far it is trusted, in [0, 1]. Default: by its channel, 1.0, 0.8, 0.5 and 0.7.
        metadata: further fields, as JSON values.
    """

    text: str
    kind: str = "kb"
    source: str | None = None
    tags: tuple[str, ...] | None = None
    importance: float | None = None
    speaker: str | None = None
    role: str | None = None
    thread: str | None = None
    occurred_at: datetime | None = None
    valid_until: datetime | None = None
    channel: Channel = "document"
    trust: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class NoteFields(TypedDict, total=False):
    """The fields of a :class:`Note` except its text, as keyword arguments."""

    kind: str
    source: str | None
    tags: Sequence[str] | None
    importance: float | None
    speaker: str | None
    role: str | None
    thread: str | None
    occurred_at: datetime | None
    valid_until: datetime | None
    channel: Channel
    trust: float | None
    metadata: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Document:
    """A document that stands under its source.

    Attributes:
        source: its name, such as the path of a file.
        digest: what the caller knows its content by, such as a hash; ``None`` if nothing was given, or as long as not
            all of it is remembered.
        parts: the ids of its entries, in order; none for a document that is to go.
        stale: the ids of entries that it no longer has, and that are still to be removed.
        remembered_at: when it was last put.
    """

    source: str
    digest: str | None
    parts: tuple[str, ...]
    stale: tuple[str, ...]
    remembered_at: datetime
