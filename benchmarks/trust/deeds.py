"""The calls that the arms make of a memory. Each bears a number, by which its texts are known."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final, Literal, NamedTuple

from benchmarks.trust.life import QUESTIONS, TURNS
from tidal_plugins import EmbedderMismatch, HashingEmbedder, Settings, TidalMemory

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
        memory.dossiers.refresh(QUESTIONS[number % len(QUESTIONS)])
    elif kind == "reembed":
        memory.reembed(HashingEmbedder(SIZES[number % len(SIZES)]))
    else:
        memory.backup(f"{memory.path}.copy", replace=True)
    return ()
