"""A ledger of calls: from what was acknowledged it tells what must be in a memory, and what must not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.trust.deeds import Deed, Event, do, key_of, note_of, turn_of, value_of, word_of
from tidal_plugins import NotFound, TidalMemory


@dataclass(slots=True)
class Ledger:
    """What calls have told.

    Attributes:
        texts: the ids of turns and notes that were acknowledged, by the number of the call; the episode's first.
        facts: the value of each fact.
        forgotten: the ids of what was forgotten, by the number of the call that had written it.
        begun: the call that is under way.
        acknowledged: how many calls have ended.
    """

    texts: dict[int, tuple[str, ...]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    forgotten: dict[int, tuple[str, ...]] = field(default_factory=dict)
    begun: Deed | None = None
    acknowledged: int = 0

    def add(self, event: Event) -> None:
        """Note what was told."""
        deed = event.deed
        if not event.done:
            self.begun = deed
            return
        self.begun = None
        self.acknowledged += 1
        if event.ids:
            self.texts[deed.number] = event.ids
        elif deed.kind == "fact":
            self.facts[key_of(deed.number)] = value_of(deed.number)
        elif deed.kind == "forget":
            self.texts.pop(deed.of, None)
            self.forgotten[deed.of] = deed.ids

    def lost(self, memory: TidalMemory) -> list[str]:
        """Return what was acknowledged and is not so."""
        begun = self.begun
        losses = []
        for number, ids in self.texts.items():
            if begun is None or begun.of != number:
                losses += [] if _is_there(memory, number, ids) else [f"call {number} is not there as it was made"]
        for key, value in self.facts.items():
            allowed = {value} | ({value_of(begun.number)} if begun and begun.kind == "fact" else set())
            if (now := memory.facts.get(key)) not in allowed:
                losses.append(f"fact {key} is {now!r} and not {value!r}")
        back = [number for number, ids in self.forgotten.items() if any(_has(memory, id_) for id_ in ids)]
        return losses + [f"call {number} was forgotten and is there again" for number in back]

    def settle(self, memory: TidalMemory) -> list[str]:
        """Make the call that was under way once more, and return what it had left half done.

        Afterwards it counts as acknowledged.
        """
        deed, self.begun = self.begun, None
        if deed is None:
            return []
        faults = []
        if deed.kind == "forget" and len({_has(memory, id_) for id_ in deed.ids}) > 1:
            faults.append(f"call {deed.of} was forgotten in part")
        ids = do(memory, deed)
        self.add(Event(deed, True, ids))
        if deed.kind == "record":
            query = turn_of(deed.number)[0]
            told = sum(episode.query == query for episode in memory.episodes.list())
            faults += [f"call {deed.number} made {told} episodes"] if told != 1 else []
        return faults

    def residue(self, path: Path) -> list[str]:
        """Return the words of what was forgotten whose bytes a closed file still holds."""
        data = b"".join(file.read_bytes() for file in _files(path))
        return [word_of(number) for number in self.forgotten if word_of(number).encode() in data]


def _files(path: Path) -> Iterator[Path]:
    for ending in ("", "-wal"):
        if (file := Path(f"{path}{ending}")).exists():
            yield file


def _is_there(memory: TidalMemory, number: int, ids: tuple[str, ...]) -> bool:
    """Return whether a turn or a note is in a memory with the texts that it was stored with."""
    try:
        texts = [memory.get(id_).text for id_ in ids]
        if len(ids) == 1:
            return texts == [note_of(number)]
        told = tuple(message.text for message in memory.episodes[ids[0]].messages)
    except NotFound:
        return False
    return told == turn_of(number) and set(texts[1:]) == set(told)


def _has(memory: TidalMemory, id_: str) -> bool:
    try:
        memory.get(id_)
    except NotFound:
        return False
    return True
