"""The acts and tags of an entry's sentences, read in the background and kept with the entry.

What is kept is known by a hash of each sentence, so that it means nothing once the entry has another text. Until a job
has read an entry, and wherever else nothing is kept, its sentences are read by n-grams when somebody asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from tidal_plugins.english.sentences import sentences
from tidal_plugins.errors import Closed, ComponentError, Corrupt, EmbeddingError, StorageError
from tidal_plugins.jobs.handler import Handler
from tidal_plugins.jobs.queue import CLAIM, Job, Jobs
from tidal_plugins.language.importance import VITAL, importance_of
from tidal_plugins.language.tagger import tag
from tidal_plugins.model.entry import CONVERSATION, EPISODE, Entry, Scope
from tidal_plugins.model.sentence import ACTS, TAGS, SentenceTags
from tidal_plugins.patterns import lazy_re
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Record, Storage, Where

if TYPE_CHECKING:
    from tidal_plugins.protocols import SentenceTagger

SENTENCES = "sentences"
"""Collection of what was read, by entry."""

TAG = "job:tag"
"""Jobs by episode, and by entry for notes."""

MOST = 64
"""Sentences of one entry that are read, the first ones: a longer text is a document."""

_ITEM = lazy_re(r"(?:(?<=\s)|\A)(?:\(?\d{1,2}[).]|[-*•])\s+")
_HASH = 6  # bytes
_SCALE = 255


def units(text: str) -> list[str]:
    """Return the sentences of a text, and the items of the lists in them one by one."""
    found: dict[str, None] = {}
    for start, end in sentences(text):
        said = text[start:end]
        found[said] = None
        if len(items := [item.strip() for item in re.split(_ITEM.pattern, said)]) > 1:
            found.update(dict.fromkeys(filter(None, items)))
    return list(found)


@dataclass(frozen=True)
class SentenceReading(Handler[int]):
    """Reads the sentences of entries, and returns of how many entries. A turn that then turns out to be vital does not
    fade, though the n-grams that were read at once did not show it."""

    storage: Storage
    jobs: Jobs
    tagger: Callable[[], SentenceTagger]
    """Returns the tagger, which is made when it is first needed."""

    kind = TAG
    most = 4
    spares = (StorageError, Closed, EmbeddingError)

    @property
    def claim(self) -> float:
        return CLAIM

    def do(self, scope: Scope, jobs: Sequence[Job]) -> int:
        try:
            entries = self._entries(scope, [job.subject for job in jobs])
        except Corrupt:
            entries = {}  # they are read by n-grams, and found damaged by whoever asks for them
        said = {id_: units(entry.text)[:MOST] for id_, entry in entries.items()}
        texts = [one for own in said.values() for one in own]
        roles = [role_of(entries[id_]) for id_, own in said.items() for _ in own]
        read = iter(self._tagged(texts, roles) if texts else ())
        tagged = {id_: [next(read) for _ in own] for id_, own in said.items()}
        kept = {id_: dict(zip(map(_key, own), map(_packed, tagged[id_]), strict=True)) for id_, own in said.items()}
        with self.storage.transaction():
            still = {job.subject for job in self.jobs.finish(scope, TAG, jobs)}
            there = self.storage.get(scope, [id_ for id_ in kept if {id_, entries[id_].episode} & still])
            if made := {id_: kept[id_] for id_ in there if there[id_].text == entries[id_].text}:
                self.storage.write_documents(scope, SENTENCES, made)
                self._keep({id_: (there[id_], tagged[id_]) for id_ in made}, scope)
        return len(made)

    def _tagged(self, texts: Sequence[str], roles: Sequence[str]) -> list[SentenceTags]:
        read = list(self.tagger().tag(texts, roles))
        if len(read) != len(texts):
            raise ComponentError(
                f"the tagger answered {len(read)} times for {len(texts)} sentences: return one for each"
            )
        for one in read:
            if one.act not in ACTS or not all(0 <= chance <= 1 for chance in one.scores.values()):
                raise ComponentError(
                    f"the tagger's {shown(one)} is none: an act is one of {ACTS}, and a chance in [0, 1]"
                )
        return read

    def _keep(self, read: Mapping[str, tuple[Entry, Sequence[SentenceTags]]], scope: Scope) -> None:
        """Let turns that are vital by their forms fade no more. How they are ranked stays as it was recorded."""
        kept = [
            Record(replace(entry, tier=None), passages=None)
            for entry, tagged in read.values()
            if entry.kind == CONVERSATION and entry.tier and importance_of(entry.text, entry.role, tagged) >= VITAL
        ]
        if kept:
            self.storage.put(scope, kept, replace=True)

    def _entries(self, scope: Scope, subjects: Sequence[str]) -> dict[str, Entry]:
        """Return the notes, and the entries of the turns, that jobs are on."""
        found = dict(self.storage.get(scope, subjects))
        if turns := {id_ for id_, entry in found.items() if entry.kind == EPISODE}:
            said = self.storage.find(scope, Where(kinds={CONVERSATION}, episodes=turns))
            found |= {entry.id: entry for entry in said}
        return {id_: entry for id_, entry in found.items() if id_ not in turns}


@dataclass
class Readings:
    """What the sentences of some entries do and carry: what was kept with them, or else what n-grams say."""

    storage: Storage
    scope: Scope
    _kept: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _read: dict[tuple[str, str], SentenceTags] = field(default_factory=dict)

    def load(self, ids: Iterable[str]) -> None:
        """Read what is kept with entries, all at once."""
        missing = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._kept]
        self._kept |= {id_: {} for id_ in missing}
        if missing:
            found = self.storage.documents(self.scope, SENTENCES, missing)
            self._kept |= {document.key: document.value for document in found}

    def of(self, entry: Entry, said: Sequence[str]) -> list[SentenceTags]:
        """Return the tags of sentences of an entry."""
        self.load([entry.id])
        kept, role = self._kept[entry.id], role_of(entry)
        found = {one: _unpacked(packed) for one in said if (packed := kept.get(_key(one)))}
        unread = [one for one in dict.fromkeys(said) if one not in found and (role, one) not in self._read]
        self._read.update(zip(((role, one) for one in unread), tag(unread, role), strict=True))
        return [found.get(one) or self._read[role, one] for one in said]


def role_of(entry: Entry) -> str:
    """Return who says an entry, to a tagger: a note is its user's."""
    return entry.role or ("assistant" if entry.channel == "agent" else "user")


def forget_sentences(storage: Storage, scope: Scope, ids: Collection[str]) -> None:
    """Remove what is kept with entries. Call it inside the transaction that erases them or changes their text."""
    storage.erase_documents(scope, SENTENCES, ids)


def _key(said: str) -> str:
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=_HASH).hexdigest()


def _packed(read: SentenceTags) -> str:
    """Return a byte for each chance, in hexadecimal, and the bits of the tags."""
    chances = bytes(round(_SCALE * read.scores.get(name, 0.0)) for name in (*ACTS, *TAGS))
    bits = sum(1 << place for place, name in enumerate(TAGS) if name in read.tags)
    return f"{ACTS.index(read.act)}{chances.hex()}{bits:x}"


def _unpacked(packed: str) -> SentenceTags:
    names = (*ACTS, *TAGS)
    chances = bytes.fromhex(packed[1 : 1 + 2 * len(names)])
    bits = int(packed[1 + 2 * len(names) :], 16)
    return SentenceTags(
        ACTS[int(packed[0])],
        frozenset(name for place, name in enumerate(TAGS) if bits >> place & 1),
        {name: chance / _SCALE for name, chance in zip(names, chances, strict=True)},
    )
