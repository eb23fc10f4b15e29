"""An ordinary life in calls of a memory, and a ledger of them, for the arms that attack a memory."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, Literal, NamedTuple, TypeVar

from tidal_plugins import EmbedderMismatch, HashingEmbedder, NotFound, Settings, TidalMemory

TURNS: Final = (
    ("My kiln is a second-hand Rohde and it trips the fuse above 1,200 degrees.", "Then an electrician should look."),
    ("The electrician comes on Thursday at nine.", "Noted, Thursday at nine."),
    ("My sister Paula teaches cello in Ghent.", "How nice, does she play in an orchestra too?"),
    ("We decided to price the small bowls at 28 euros.", "28 euros for the small bowls it is."),
    ("I'm allergic to walnuts, so no walnut cake at the opening, please.", "No walnuts, understood."),
    ("The opening of the studio is on 12 June.", "I'll keep 12 June in mind."),
    ("The spare key hangs behind the blue shelf.", "Good to know."),
    ("Never send an invoice before I have read it.", "I will always show you first."),
    ("Glaze batch 14 came out too green, there was too much copper.", "Less copper next time then."),
    ("For batch 15 I halved the copper and it is a lovely celadon.", "Great, that fixed it."),
    ("The market is every first Sunday of the month.", "First Sundays are market days."),
)
"""Turns of a person and an agent."""

TOPICS: Final = (
    "studio",
    "bowl",
    "glaze",
    "electrician",
    "Biscuit",
    "rent",
    "course",
    "Faenza",
    "cups",
    "boat",
    "market",
)
"""Topics of that life, for dossiers."""


# the calls that the arms make of a memory; each bears a number, by which its texts are known


Kind = Literal["record", "remember", "fact", "forget", "maintain", "dossier", "reembed", "backup"]

OFTEN: Final[dict[Kind, int]] = {
    "record": 10, "remember": 4, "fact": 4, "forget": 2, "maintain": 1, "dossier": 1, "reembed": 1,
}  # fmt: skip
"""How often each kind of call is made, of 23."""

SIZES: Final = (64, 96)
"""Dimensions of the vectors between which re-embedding goes to and fro. They need no model, and are quick."""

THREADS, KEYS = 5, 7
"""Conversations, and names of facts."""


class Deed(NamedTuple):
    """A call. ``number`` names what it writes, ``ids`` what it forgets, which ``of`` is the number of."""

    kind: Kind
    number: int
    of: int = -1
    ids: tuple[str, ...] = ()


class Event(NamedTuple):
    """The beginning of a call, or its end with the ids that it returned."""

    deed: Deed
    done: bool
    ids: tuple[str, ...] = ()


def word_of(number: int) -> str:
    """Return a word that stands in the texts of one call and in no others."""
    return f"jar{number:05d}q"


def turn_of(number: int) -> tuple[str, str]:
    user, agent = TURNS[number % len(TURNS)]
    return f"{user} It is written on jar {word_of(number)}.", f"{agent} I found jar {word_of(number)}."


def note_of(number: int) -> str:
    return f"The label of jar {word_of(number)} says: {' '.join(TURNS[number % len(TURNS)])}"


def key_of(number: int) -> str:
    return f"shelf {number % KEYS}"


def value_of(number: int) -> str:
    return f"jar {number}"


def thread_of(number: int) -> str:
    return f"day-{number % THREADS}"


def open_memory(path: Path, *, durability: Literal["full", "fast"] = "full", background: bool = False) -> TidalMemory:
    """Open a memory with whichever embedder its vectors are from."""
    settings = Settings(
        storage={"durability": durability, "busy_timeout": 5.0, "query_deadline": 60.0},
        graph={"background": background},
    )
    for size in SIZES:
        memory = TidalMemory(path, embedder=HashingEmbedder(size), settings=settings)
        try:
            memory.warm()
            return memory
        except EmbedderMismatch:
            memory.close()
        except BaseException:
            memory.close()
            raise
    raise AssertionError("the vectors are of neither embedder")


def choose(dice: Random, number: int, forgettable: dict[int, tuple[str, ...]]) -> Deed:
    """Choose a call by chance. It forgets something of ``forgettable``, which it is taken out of."""
    [kind] = dice.choices(list(OFTEN), list(OFTEN.values()))
    if kind != "forget":
        return Deed(kind, number)
    if not forgettable:
        return Deed("record", number)
    of = dice.choice(list(forgettable))
    return Deed("forget", number, of, forgettable.pop(of))


def do(memory: TidalMemory, deed: Deed) -> tuple[str, ...]:
    """Make a call, and return the ids of what it stored: an episode's before those of its entries."""
    kind, number = deed.kind, deed.number
    if kind == "record":
        episode = memory.record(*turn_of(number), thread=thread_of(number), id=f"turn-{number}")
        return (episode.id, *episode.entries)
    if kind == "remember":
        return (memory.remember(note_of(number), source=f"page-{number % THREADS}.md").id,)
    if kind == "fact":
        memory.facts[key_of(number)] = value_of(number)
    elif kind == "forget":
        memory.forget(*deed.ids)
    elif kind == "maintain":
        memory.maintenance.run()
    elif kind == "dossier":
        memory.dossiers.refresh(TOPICS[number % len(TOPICS)])
    elif kind == "reembed":
        memory.reembed(HashingEmbedder(SIZES[number % len(SIZES)]))
    else:
        memory.backup(f"{memory.path}.copy", replace=True)
    return ()


# what was acknowledged, so what must be in a memory, and what must not


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


# processes that share the work of an arm


T = TypeVar("T")
R = TypeVar("R")

WORKERS = 2
"""Processes that work at once, by default: the cores of the machine of development."""
CHUNK = 8
"""Items that a process takes at a time."""


def each(function: Callable[[T], R], items: Sequence[T], workers: int) -> Iterator[R]:
    """Yield what a function of a module returns for each item, in order. With one worker, this process does it."""
    if workers < 2:
        yield from map(function, items)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([function.__module__])
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from pool.map(function, items, chunksize=CHUNK)


@contextmanager
def quiet() -> Iterator[None]:
    """Log nothing inside: a damaged file has hundreds of errors to report."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
