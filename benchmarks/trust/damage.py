"""Damage: files in which one value of a table, or some raw bytes, are not what was written.

Every door of the memory is asked the same questions of the intact file and of the damaged one. An answer may be the
same, an error of the library, or shorter with the damage told. One that differs and is not told then, nor by
``memory.check()``, is silent; a text that was never stored is forged.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.trust.asking import Answer, answer, fill, open_file, questions
from benchmarks.trust.damaging import PAGES, Damage, apply, damages
from benchmarks.trust.workers import WORKERS, each, quiet
from tidal_plugins import StorageError, TidalMemory

FILES = 1000

VERBATIM = ("get", "recall", "episodes", "facts", "history")
"""The doors whose lines are texts that were stored, as they were stored."""


KEY = """\
refused: SQLite did not let it happen, or the file was refused as a whole with a typed error.
stuck: no more turns are taken until a repair. found: check() names a fault. told: an answer was an error or told of
damage. later: an answer differed, and check() alone tells why. harmless: every answer was that of the intact file.
repaired: check(repair=True) left no fault, and every answer is that of the intact file. Goal: no bad one, that is no
answer that differs untold, no text that was never stored, no scope without any answer for a damaged value, no foreign
error, and nothing wrong after a repair that left no fault."""


@dataclass(frozen=True, slots=True)
class Intact:
    """The file that copies of are damaged, the ids of its entries by scope, its answers, and the texts in them."""

    path: Path
    ids: Mapping[str, tuple[str, ...]]
    answers: Mapping[str, Answer]
    texts: frozenset[str]


@dataclass(slots=True)
class Outcome:
    """What came of one damage.

    Attributes:
        damage: the damage.
        refused: the error with which SQLite did not let it happen, or the memory did not open the file.
        stuck: the error with which the memory took no more turns until it was repaired.
        found: whether ``check()`` found it.
        told: answers that were errors, or that told of damage.
        later: answers that differed, which only ``check()`` tells of.
        silent: the names of those that nothing tells of.
        forged: texts that were never stored.
        failed: the scopes in which no question was answered any more.
        broken: errors that are not the library's own.
        repaired: whether a repair left no fault, and afterwards every answer was that of the intact file.
        wrong: the answers that differed after a repair that left no fault, and the error if no turn is taken then.
    """

    damage: Damage
    refused: str = ""
    stuck: str = ""
    found: bool = False
    told: int = 0
    later: int = 0
    silent: list[str] = field(default_factory=list)
    forged: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    repaired: bool = False
    wrong: list[str] = field(default_factory=list)

    @property
    def bad(self) -> list[str]:
        """Return what must not be, in words."""
        what = {
            "silent": self.silent, "forged": self.forged, "failed": self.failed, "broken": self.broken,
            "wrong after repair": self.wrong,
        }  # fmt: skip
        return [f"{name}: {', '.join(map(str, items))[:200]}" for name, items in what.items() if items]


def run(files: int, console: Console, workers: int = WORKERS) -> bool:
    """Damage files, print what came of it, and return whether nothing was silent, forged or lost as a whole."""
    begun = time.monotonic()
    outcomes = damaged(files, workers)
    table = Table("table", "files", "refused", "stuck", "found", "told", "later", "harmless", "repaired", "bad")
    table.title = "Damaged files"
    for name in sorted({outcome.damage.table for outcome in outcomes}):
        table.add_row(name, *_row([outcome for outcome in outcomes if outcome.damage.table == name]))
    table.add_section()
    table.add_row("all", *_row(outcomes))
    console.print(table)
    bad = [outcome for outcome in outcomes if outcome.bad]
    for outcome in bad[:40]:
        console.print(f"  {outcome.damage}: {'; '.join(outcome.bad)}", markup=False)
    console.print(f"{KEY} {time.monotonic() - begun:.0f} s")
    return not bad


def _row(outcomes: list[Outcome]) -> list[str]:
    harmless = [one for one in outcomes if not (one.refused or one.told or one.later or one.bad)]
    counts = Counter(
        refused=sum(bool(one.refused) for one in outcomes),
        stuck=sum(bool(one.stuck) for one in outcomes),
        found=sum(one.found for one in outcomes),
        told=sum(one.told > 0 for one in outcomes),
        later=sum(one.later > 0 for one in outcomes),
        harmless=len(harmless),
        repaired=sum(one.repaired for one in outcomes),
        bad=sum(bool(one.bad) for one in outcomes),
    )
    return [f"{len(outcomes):,}", *(f"{count:,}" for count in counts.values())]


def damaged(files: int, workers: int) -> list[Outcome]:
    """Damage that many files, and return what came of each."""
    with TemporaryDirectory(prefix="tidal-damage-") as folder:
        path = Path(folder, "intact.db")
        ids = fill(path)
        with open_file(path) as memory:
            answers = {name: answer(question) for name, question in questions(memory, ids).items()}
            ids_only = {name: one for name, one in answers.items() if name.split()[1] in VERBATIM}
        texts = frozenset(line for one in ids_only.values() for line in one.lines)
        return list(each(partial(suffer, Intact(path, ids, answers, texts)), damages(path, files), workers))


@quiet()
def suffer(intact: Intact, damage: Damage) -> Outcome:
    """Damage a copy of a file, and return what comes of it."""
    outcome = Outcome(damage)
    with TemporaryDirectory(prefix="damaged-", dir=intact.path.parent) as folder:
        path = Path(folder, "agent.db")
        shutil.copy(intact.path, path)
        if apply(path, damage):
            try:
                _use(path, intact, outcome)
            except StorageError as error:
                outcome.refused = type(error).__name__
            except Exception as error:
                outcome.broken.append(repr(error))
        else:
            outcome.refused = "ConstraintError"
    return outcome


def _use(path: Path, intact: Intact, outcome: Outcome) -> None:
    with open_file(path) as memory:
        answers = {name: answer(question) for name, question in questions(memory, intact.ids).items()}
        outcome.found = not memory.check().ok
        _judge(answers, intact, outcome)
        try:
            memory.record("The tram leaves at six.", "At six, noted.", thread="later")
        except StorageError as error:
            outcome.stuck = type(error).__name__
    with open_file(path) as memory:
        if not outcome.found or not _is_repaired(memory, outcome):
            return
        try:
            memory.record("The tram leaves at six.", "At six, noted.", thread="later")
        except StorageError as error:
            outcome.wrong.append(f"still stuck: {error}")
            return
        for episode in memory.episodes.list(thread="later"):
            memory.forget(episode.id)
        after = {name: answer(question) for name, question in questions(memory, intact.ids).items()}
        outcome.wrong = [name for name in intact.answers if after[name].lines != intact.answers[name].lines]
        outcome.repaired = not outcome.wrong


def _is_repaired(memory: TidalMemory, outcome: Outcome) -> bool:
    """Repair what can be rebuilt, and return whether nothing else is wrong."""
    try:
        return memory.check(repair=True).ok
    except StorageError as error:
        if outcome.damage.table != PAGES:
            outcome.broken.append(f"no repair: {error}")
        return False


def _judge(answers: Mapping[str, Answer], intact: Intact, outcome: Outcome) -> None:
    for name, right in intact.answers.items():
        now = answers[name]
        if name.split()[1] in VERBATIM:
            outcome.forged += [line for line in now.lines if line not in intact.texts]
        if now.lines == right.lines and now.error == right.error:
            continue
        if now.told or now.error:
            outcome.told += 1
        elif outcome.found:
            outcome.later += 1
        else:
            outcome.silent.append(name)
    verbatim = [name for name, right in intact.answers.items() if name.split()[1] in VERBATIM and right.lines]
    for scope in () if outcome.damage.table == PAGES else ("own", "other"):
        asked = [name for name in verbatim if name.startswith(scope)]
        if not any(any(answers[name].lines) for name in asked):
            outcome.failed.append(scope)
