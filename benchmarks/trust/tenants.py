"""Tenants: many scopes in one file, with the same words in each. Does any door show one scope another's memories?

Each scope has a word of its own, its canary, in all of its memories. Threads of two processes ask at every public door
of the views, the stores and the adapters, also with ids, threads and times of other scopes. A foreign canary in what a
call returns or raises is a leak.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.embedders import CachedEmbedder
from benchmarks.trust.tenant_doors import HEAVY, Ids, doors
from benchmarks.trust.tenant_life import CANARY, canary, fill
from tidal_plugins import HashingEmbedder, Settings, TidalError, TidalMemory

SETTINGS: Final = Settings(storage={"durability": "fast"}, graph={"background": False})
"""Each call is to be over when it returns."""
PROCESSES, THREADS = 2, 4
CALLS = 50_000
"""Calls at least, all threads together."""
ROUND_OF_HEAVY = 12
"""A thread goes through the heavy doors of a scope once in so many rounds: they take some ten times as long."""
DEPTH = 12
"""Levels of an answer that are looked into."""

SCOPES: Final[Sequence[tuple[str, ...]]] = (
    ("default",), ("default", "default"), ("Default",), ("default ",), (" default",),
    ("a",), ("a", "b"), ("a", "b", "c"), ("ab",), ("ab", "c"), ("a", "bc"), ("abc",), ("a", "a"), ("b", "a"), ("A",),
    ("a/b",), ("a\\b",), ("a.b",), ("a:b",), ("a|b",), ("a,b",), ('a","b',), ('["a","b"]',),
    ("a%",), ("%",), ("a_",), ("_",), ("*",), ("a*",), ("?",), ("[a]",), ("'; DROP TABLE entries; --",), ("' OR 1=1",),
    ("\u0430",), ("\uff41",), ("à",), ("a\u0300",), ("ß",), ("ss",), ("\u0130",), ("i\u0307",), ("\ufb01",), ("fi",),
    ("K",), ("\u212a",), ("k",), ("a\ufe0f",), ("🦜",), ("東京",), ("user", "1"), ("user", "11"), ("user", "1", "1"),
    ("user", "01"), ("user1",), ("../a",), ("a", ".."), ("null",), ("0",), ("-1",), ("x" * 1_000,),
    ("x" * 999 + "y",), ("n",) * 24, ("n",) * 23,
)  # fmt: skip
"""Scopes that a sloppy comparison would take for one another: prefixes, separators, wildcards, folded letters."""


@dataclass
class Counts:
    """What came of the calls."""

    calls: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.calls + other.calls,
            self.refused + other.refused,
            self.leaks + other.leaks,
            self.errors + other.errors,
        )


def run(embedder: CachedEmbedder, data: Path | None, console: Console) -> bool:
    """Fill every scope, ask at every door, and return whether nothing foreign was seen or changed."""
    with TemporaryDirectory(prefix="tidal-tenants-") as folder:
        path = str(Path(folder, "tenants.db"))
        ids, before = prepare(path, SCOPES)
        counts = attack(path, SCOPES, ids, calls=CALLS, processes=PROCESSES, threads=THREADS)
        changed = sum(before[scope] != found for scope, found in standing(path, SCOPES).items())
    table = Table("scopes", "doors", "calls", "refused", "foreign texts", "scopes changed", "other errors")
    total, refused = counts.calls.total(), counts.refused.total()
    row = len(SCOPES), len(counts.calls), total, refused, len(counts.leaks), changed, len(counts.errors)
    table.add_row(*(f"{number:,}" for number in row))
    console.print(table)
    for line in [*dict.fromkeys(counts.leaks), *dict.fromkeys(counts.errors)][:20]:
        console.print(line, markup=False)
    console.print("Goals: no foreign text, no scope changed by another, no error but the library's own.")
    return not (counts.leaks or counts.errors or changed)


def prepare(path: str, scopes: Sequence[tuple[str, ...]]) -> tuple[dict[tuple[str, ...], Ids], Mapping[Any, object]]:
    """Fill the scopes of a new file, each with its canary. Return the ids that each has, and what stands in each."""
    with _opened(path) as memory:
        ids = {scope: fill(memory.scoped(*scope), number) for number, scope in enumerate(scopes)}
    return ids, standing(path, scopes)


def standing(path: str, scopes: Sequence[tuple[str, ...]]) -> Mapping[tuple[str, ...], object]:
    """Return what people said and set in each scope: no call of another scope may change it."""
    with _opened(path) as memory:
        views = {scope: memory.scoped(*scope) for scope in scopes}
        return {scope: (view.episodes.list(), dict(view.facts)) for scope, view in views.items()}


def attack(
    path: str,
    scopes: Sequence[tuple[str, ...]],
    ids: Mapping[tuple[str, ...], Ids],
    *,
    calls: int,
    processes: int,
    threads: int,
) -> Counts:
    """Make at least so many calls, from so many processes with so many threads each."""
    work = partial(_process, path, tuple(scopes), dict(ids), calls // processes + 1, threads)
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        return sum(pool.map(work, range(processes)), Counts())


def _process(
    path: str,
    scopes: Sequence[tuple[str, ...]],
    ids: Mapping[tuple[str, ...], Ids],
    calls: int,
    threads: int,
    seed: int,
) -> Counts:
    with _opened(path) as memory, ThreadPoolExecutor(threads) as pool:
        work = partial(_thread, memory, scopes, ids, calls // threads + 1)
        return sum(pool.map(work, range(seed * threads, (seed + 1) * threads)), Counts())


def _thread(
    memory: TidalMemory, scopes: Sequence[tuple[str, ...]], ids: Mapping[tuple[str, ...], Ids], calls: int, seed: int
) -> Counts:
    chance, counts, rounds = random.Random(seed), Counts(), 0
    while counts.calls.total() < calls:
        scope, other = chance.sample(range(len(scopes)), 2)
        view, foreign, rounds = memory.scoped(*scopes[scope]), ids[scopes[other]], rounds + 1
        with_heavy = rounds % ROUND_OF_HEAVY == seed % ROUND_OF_HEAVY
        for name, door in doors(view, ids[scopes[scope]], foreign).items():
            if name not in HEAVY or with_heavy:
                counts.calls[name] += 1
                try:
                    seen = "\n".join(_texts(door()))
                except TidalError as error:
                    counts.refused[name] += 1
                    seen = str(error)
                except Exception as error:
                    counts.errors.append(f"{name} in {scopes[scope]!r:.40}: {type(error).__name__}: {error!s:.100}")
                    seen = str(error)
                if others := {one.lower() for one in CANARY.findall(seen)} - {canary(scope).lower()}:
                    counts.leaks.append(f"{name} in {scopes[scope]!r:.40} showed {', '.join(sorted(others))}")
    return counts


def _texts(value: object, depth: int = DEPTH) -> Iterator[str]:
    """Yield every text in an answer, also those that its own text would cut short."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key, depth - 1)
            yield from _texts(item, depth - 1)
    elif depth and isinstance(value, Sequence | set | frozenset):
        for item in value:
            yield from _texts(item, depth - 1)
    elif depth and dataclasses.is_dataclass(value):
        for part in dataclasses.fields(value):
            if not part.name.startswith("_"):
                yield from _texts(getattr(value, part.name), depth - 1)
    else:
        yield repr(value)


def _opened(path: str) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(), settings=SETTINGS)
