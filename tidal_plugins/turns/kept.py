"""The place of a whisper in the messages of a call, and the whispers that stay with their turns.

Providers keep the beginning of a prompt in a cache, up to the first byte that differs from the call before. A whisper
that leaves its turn when the next one begins makes all that follows it differ. One that stays does not: it is stored
when it is first shown, apart from histories and checkpoints, and is shown as it was, to the byte, until a compaction
rewrites the context or a memory that it shows is forgotten or corrected.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tidal_plugins.errors import ReadOnly, StorageError
from tidal_plugins.ingestion.derived import write_derived
from tidal_plugins.model.exchange import Exchange
from tidal_plugins.model.recall import OWN, Whisper
from tidal_plugins.storage.base import Document
from tidal_plugins.turns.place import Place
from tidal_plugins.validation import check_choice

Cache = Literal["sticky", "tail", "turn"]
"""Place of a whisper, which decides how much of a prompt a provider finds in its cache.

``sticky``: at the head of the human message, where it stays until the next compaction. ``tail``: the last thing of each
call. ``turn``: at the head of the last human message, and gone with the next one.
"""

CACHE: Cache = "sticky"
"""The default: of three real histories it sends the fewest tokens anew, by ``benchmarks/prompt_cache.py``."""

WHISPERS = "whispers"
"""Collection of the whispers that were shown, derived documents that quote memories."""

BLOCK = 128
"""Turns that are dropped at once: of a conversation the whispers of the last one to two blocks are kept. Dropping one
with each turn would change the beginning of each prompt."""

THOUGHT = "\n- thought: "
"""Line of a whisper whose memories it does not name."""


logger = logging.getLogger(__name__)


def checked_cache(cache: Cache) -> Cache:
    """Return the value of ``cache=``, or raise ``InvalidInput``."""
    return check_choice(cache, "cache", get_args(Cache))


@dataclass(frozen=True, slots=True)
class KeptWhisper:
    """A whisper as it was shown. ``apart`` says that it was a message of its own; ``sources`` are its memories."""

    text: str
    apart: bool = False
    sources: frozenset[str] = frozenset()


def read_kept(place: Place, history: Sequence[Exchange | None]) -> dict[int, KeptWhisper]:
    """Return the whispers that were shown in the turns of a history, by position. ``None`` stands for an empty turn."""
    keys = _keys(place, _openings(history))
    first = max(0, (len(keys) - 1) // BLOCK - 1) * BLOCK
    recent = dict(zip(keys[first:], range(first, len(keys)), strict=True))
    if not recent:
        return {}
    found = place.memory._services.storage.documents(place.memory.scope, WHISPERS, list(recent))
    return {recent[one.key]: _kept(one) for one in found if one.value}


def drop_kept(place: Place, history: Sequence[Exchange | None]) -> None:
    """Remove the whispers of all turns of a history but the last: a compaction has rewritten what stands before it, so
    that nothing of it is in a cache any more, and what they told then may be outdated."""
    keys = _keys(place, _openings(history))[:-1][-2 * BLOCK :]
    storage, scope = place.memory._services.storage, place.memory.scope
    try:
        with storage.transaction():
            storage.erase_documents(scope, WHISPERS, keys)
    except ReadOnly:
        return
    except StorageError as error:
        logger.warning("thread %s: the whispers before a compaction stay: %s", place.thread, error)


def keep(place: Place, history: Sequence[Exchange | None], asked: str, whisper: Whisper, *, apart: bool) -> None:
    """Store the whisper of the last turn of a history, in place of the one that it had; with ``apart`` that of the
    question that comes next.

    An empty whisper is not stored, nor is one that quotes what this store cannot forget: a memory of a peer, or a
    thought. A store that is only read keeps none, and one that is busy or full does not keep this one.
    """
    openings = [*_openings(history), asked] if apart else _openings(history)
    memory, keys = place.memory, _keys(place, openings)
    storage, scope, last = memory._services.storage, memory.scope, len(keys) - 1
    if last < 0 or any(hit.origin != OWN for hit in whisper.hits) or THOUGHT in whisper.text:
        return
    sources = sources_of(whisper)
    try:
        with storage.transaction():
            if last and last % BLOCK == 0:
                storage.erase_documents(scope, WHISPERS, keys[max(0, last - 2 * BLOCK) : last - BLOCK])
            if whisper and storage.summaries(scope, sources).keys() >= sources:
                write_derived(storage, scope, WHISPERS, keys[last], _value(whisper, apart), sources=sources)
            elif storage.documents(scope, WHISPERS, [keys[last]]):
                storage.erase_documents(scope, WHISPERS, [keys[last]])
    except ReadOnly:
        return
    except StorageError as error:
        logger.warning("thread %s: a whisper is not kept: %s", place.thread, error)


def sources_of(whisper: Whisper) -> frozenset[str]:
    """Return the ids of the memories that a whisper quotes."""
    return frozenset(id_ for hit in whisper.hits for id_ in (hit.id, *(link.earlier for link in hit.why.replaces)))


def _value(whisper: Whisper, apart: bool) -> dict[str, Any]:
    return {"text": whisper.text, "apart": apart}


def _kept(document: Document) -> KeptWhisper:
    value: Mapping[str, Any] = document.value
    return KeptWhisper(value["text"], value["apart"], frozenset(value["sources"]))


def _openings(history: Sequence[Exchange | None]) -> list[str]:
    """Return the first message of each turn: what a person asked, or an agent that called this one."""
    return [exchange.messages[0].text if exchange and exchange.messages else "" for exchange in history]


def _keys(place: Place, openings: Sequence[str]) -> list[str]:
    """Return the keys of turns, each made of what opens it and the turns before it.

    So a turn is known in any process, also where its messages get new ids with every call. Ids are keyed hashes, which
    tell nothing of the words.
    """
    keys: list[str] = []
    for opening in openings:
        before = keys[-1] if keys else place.thread
        keys.append(place.memory._services.writer.id_of(place.memory.scope, WHISPERS, before, opening))
    return keys
