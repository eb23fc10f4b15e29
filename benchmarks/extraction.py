"""Measure how much of what turns say the rules of the graph read, and how much of their reading is right.

    python benchmarks/extraction.py --data turns.jsonl

A row of labelled turns has ``source``, ``speaker``, ``context`` (the turns before), ``text`` and ``relations``, each
with ``subject``, ``predicate``, ``object``, ``polarity`` and ``status``: holds, ended, planned, wished, asked,
hypothetical or joke. Only the text is read. «I», «my» and «we» are the speaker, «you» the other one. A relation read
counts as right if a labelled one has the same predicate, or a synonym of the table here, and shares content words with
it in subject and object. A plan may be labelled as anything that is planned, a wish as anything wished. Relations
between two pieces of code are left out, because nobody labelled them. Of an appointment and a deadline the words of
both ends count together: the person may be its subject, or the event. A labelled one counts once; reading it twice is
neither right nor wrong. No model is called.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from rich.console import Console

from benchmarks.tables import options, table, wide
from tidal_plugins import Extraction, RuleExtractor
from tidal_plugins.english.words import stem
from tidal_plugins.model.graph import Assertion

OWN = Path(__file__).resolve().parents[1] / "training" / "data" / "relations.jsonl"

Row = Mapping[str, Any]


def main(argv: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--data", type=Path, default=OWN, help="labelled turns, one object a line")
    parser.add_argument("--faults", action="store_true", help="show what was read wrongly or missed")
    args = parser.parse_args(argv)
    rows = [json.loads(line) for line in args.data.read_text("utf-8").splitlines()]
    report(wide(100), rows, faults=args.faults)


def report(console: Console, rows: Sequence[Row], *, faults: bool = False) -> None:
    """Print how much of labelled turns is read, and how much of the reading is right, by source and predicate."""
    tallies, lines, pace = score(rows)
    if faults:
        console.print("\n".join(lines), markup=False, highlight=False)
    columns = ("", "turns", "right", "wrong", "missed", "precision", "recall", "taken as holding")
    found = table("Relations by source (missed: of those that hold, are planned or ended)", *columns)
    for source, tally in tallies.items():
        counts = (tally.turns, tally.right.total(), tally.wrong.total(), tally.missed.total())
        shares = (f"{tally.precision:.3f}", f"{tally.recall:.3f}")
        found.add_row(source, *map(str, counts), *shares, str(tally.unreal))
    console.print(found)
    found = table("Relations by predicate", "", "right", "wrong", "missed")
    for predicate in sorted(set[str]().union(*(each.right | each.wrong | each.missed for each in tallies.values()))):
        counted = zip(*(tally.row(predicate) for tally in tallies.values()), strict=True)
        found.add_row(predicate, *(str(sum(counts)) for counts in counted))
    console.print(found)
    console.print(f"{pace:.0f} turns a second")


# reading


SAME = (
    "plans wants promised",
    "plans decided chose must",
    "plans attends",
    "plans diet",
    "likes prefers",
    "attends visited",
    "plays attends",
    "works_as is responsible_for manages",
    "child_of son_of daughter_of grandchild_of",
    "parent_of mother_of father_of",
    "sibling_of sister_of brother_of twin_of",
    "partner_of husband_of wife_of girlfriend_of boyfriend_of",
    "relative_of aunt_of uncle_of cousin_of niece_of nephew_of grandmother_of grandfather_of",
    "responsible_for manages on_call",
    "decided chose",
    "decided must never always",
    "owns has_pet",
    "appointment deadline",
    "uses depends_on",
)
"""Predicates that say the same of a turn, whatever word the reader of it chose."""
INVERSE = {"parent_of": "child_of", "child_of": "parent_of"}
"""Predicates that say the same with their ends swapped."""
SYMMETRIC = frozenset("sibling_of partner_of friend_of neighbour_of relative_of".split())
UNREAL = frozenset("asked hypothetical joke".split())
"""Statuses of what must not be read at all."""
WANTED = frozenset("holds planned ended".split())
"""Statuses of what should be read."""
WARMING = 30
"""Rows that are read before the time is taken."""
_SELF, _OTHER = frozenset("i me my mine we us our".split()), frozenset("you your yours".split())
_GROUPS = [frozenset(line.split()) for line in SAME]


class Told(NamedTuple):
    """A relation in words: its predicate, the content words of its ends, and its status."""

    subject: frozenset[str]
    predicate: str
    object: frozenset[str]
    status: str


@dataclass(slots=True)
class Tally:
    """Counts by predicate of what was read rightly and wrongly, and of what was labelled and missed."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    unreal: int = 0
    turns: int = 0

    @property
    def precision(self) -> float:
        return share(self.right.total(), self.wrong.total())

    @property
    def recall(self) -> float:
        return share(self.found.total(), self.missed.total())

    found: Counter[str] = field(default_factory=Counter)
    """What was labelled as holding, planned or ended and was read."""

    def row(self, predicate: str) -> tuple[int, int, int]:
        return self.right[predicate], self.wrong[predicate], self.missed[predicate]


def share(part: int, rest: int) -> float:
    """Return ``part`` of both, 0 if there is neither."""
    return part / (part + rest) if part + rest else 0.0


def score(rows: Sequence[Row], threshold: float | None = None) -> tuple[dict[str, Tally], list[str], float]:
    """Return the tallies by source, a line for each mistake, and the turns read in a second."""
    extractor = RuleExtractor() if threshold is None else RuleExtractor(threshold=threshold)
    extractor.extract_graph([row["text"] for row in rows[:WARMING]])  # loads the model
    begun = time.perf_counter()
    read = extractor.extract_graph([row["text"] for row in rows])
    pace = len(rows) / (time.perf_counter() - begun)
    return *tally(rows, read), pace


def tally(rows: Sequence[Row], read: Sequence[Extraction]) -> tuple[dict[str, Tally], list[str]]:
    """Return the tallies by source of what was read of the rows, and a line for each mistake."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    lines: list[str] = []
    for row, extraction in zip(rows, read, strict=True):
        source = row["source"].split(":")[0]
        faults = _judge(tallies[source], row, [_told(one, row) for one in extraction.assertions if not _of_code(one)])
        lines += [f"{row['source']}: {fault}" for fault in faults]
    return dict(tallies), lines


def _judge(tally: Tally, row: Row, read: Iterable[Told]) -> list[str]:
    labelled = [_of_label(one, row) for one in row["relations"]]
    open_, faults = list(labelled), []
    tally.turns += 1
    for told in dict.fromkeys(read):
        fit = next((one for one in open_ if fits(told, one)), None)
        again = fit is None and any(fits(told, one) for one in labelled)
        if fit is not None and fit.status not in UNREAL:
            open_.remove(fit)
            tally.right[fit.predicate] += 1
            tally.found[fit.predicate] += fit.status in WANTED
        elif not again:
            tally.wrong[told.predicate] += 1
            tally.unreal += fit is not None
            faults.append(f"wrong {_shown(told)}{' UNREAL' if fit else ''}")
    for one in open_:
        if one.status in WANTED:
            tally.missed[one.predicate] += 1
            faults.append(f"missed {_shown(one)}")
    return faults


def fits(told: Told, labelled: Told) -> bool:
    """Return whether a relation that was read is the labelled one."""
    if told.status == "ended" and labelled.status == "holds":
        return False
    if told.status == "holds" and labelled.status in ("ended", "wished"):
        return False
    if told.predicate in ("appointment", "deadline") and same(told.predicate, labelled.predicate):
        return overlap(told.subject | told.object, labelled.subject | labelled.object)
    unfulfilled = (told.predicate, labelled.status) in (("plans", "planned"), ("wants", "wished"))
    if unfulfilled or same(told.predicate, labelled.predicate):
        straight = overlap(told.subject, labelled.subject) and overlap(told.object, labelled.object)
        return straight or (
            bool(SYMMETRIC.intersection(_names(labelled.predicate)))
            and overlap(told.subject, labelled.object)
            and overlap(told.object, labelled.subject)
        )
    return any(
        same(told.predicate, INVERSE[one])
        and overlap(told.subject, labelled.object)
        and overlap(told.object, labelled.subject)
        for one in _names(labelled.predicate) & INVERSE.keys()
    )


def same(one: str, other: str) -> bool:
    """Return whether two predicates say the same."""
    return one == other or any({one, other} <= group for group in _GROUPS)


def _names(predicate: str) -> set[str]:
    return {predicate}.union(*(group for group in _GROUPS if predicate in group))


def overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two ends share at least half of the content words of the shorter one."""
    both = len(one & other)
    return both > 0 and 2 * both >= min(len(one), len(other))


def _told(said: Assertion, row: Row) -> Told:
    status = "ended" if said.ended else {"plans": "planned", "wants": "wished"}.get(said.predicate, "holds")
    return Told(words(said.subject.name, row), said.predicate, words(said.object.name, row), status)


def _of_code(said: Assertion) -> bool:
    """Return whether both ends are technical: the readers of the turns kept nothing that stands in code."""
    return said.subject.category == said.object.category == "technical"


def _of_label(one: Mapping[str, Any], row: Row) -> Told:
    return Told(words(one["subject"], row), one["predicate"], words(one["object"], row), one["status"])


def words(name: str, row: Row) -> frozenset[str]:
    """Return the content words of a name, with the speaker and the other one in place of «I» and «you»."""
    others = [line.partition(":")[0] for line in row["context"] if line.partition(":")[0] != row["speaker"]]
    said: list[str] = []
    for word in name.lower().replace("’", "'").split():
        bare = word.strip(".,;:!?'\"()*`").removesuffix("'s")
        if bare in _SELF or bare in ("his", "her", "their"):
            said += row["speaker"].lower().split() if bare in _SELF else []
        elif bare in _OTHER:
            said += others[-1].lower().split() if others else []
        else:
            said += bare.replace("-", " ").split()
    content = [word for word in said if word not in _HOLLOW]
    return frozenset(map(stem, content or said))


_HOLLOW = frozenset("the a an of in on at to for with and or some this that".split())


def _shown(told: Told) -> str:
    return f"{' '.join(sorted(told.subject))} | {told.predicate} | {' '.join(sorted(told.object))} | {told.status}"


if __name__ == "__main__":
    main()
