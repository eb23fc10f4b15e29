"""Judges what a memory gave against the checks of a story. Texts are compared without regard to case and white space.

Every function returns what is wrong, one text for each fault, and nothing for an answer that passes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tidal_plugins.model.graph import Relation

OUT_OF_DATE = ("out of date", "may have changed", "has changed since", "changed since")
"""Words by which a restored file is known as one that may have changed."""

_LINE_NUMBERS = re.compile(r"^ *\d+\t", re.MULTILINE)
"""The numbers that tools put before the lines of a file that they read."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that was given back after a compaction."""

    path: str
    content: str


def folded(text: str) -> str:
    """Return a text in lower case, with one space for each run of white space."""
    return " ".join(text.casefold().split())


def text_faults(text: str, fields: Mapping[str, Any]) -> list[str]:
    """Return what a text lacks of ``shows``, has of ``hides`` and has in another ``order``."""
    said = folded(text)
    faults = [f"shows none of {_listed(group)}" for group in fields.get("shows", ()) if _place(said, group) is None]
    faults += [f"must not show «{hidden}»" for hidden in fields.get("hides", ()) if folded(hidden) in said]
    if order := fields.get("order"):
        faults += _order_faults(said, *order, missing_known=order[0] in fields.get("shows", ()))
    return faults


def silent_faults(text: str) -> list[str]:
    """Return a fault for a text that is not empty."""
    return ["is not silent"] if text.strip() else []


def mood_faults(valence: float, expected: Sequence[Any]) -> list[str]:
    """Return a fault for a valence outside of ``["below", x]``, ``["above", x]`` or ``["between", x, y]``."""
    relation, *bounds = expected
    low, high = {"below": (-1.0, bounds[0]), "above": (bounds[0], 1.0), "between": (bounds[0], bounds[-1])}[relation]
    inside = low <= valence <= high
    return [] if inside else [f"valence {valence:+.2f} is not {relation} {' and '.join(map(str, bounds))}"]


def conflict_faults(keys: Collection[str], fields: Mapping[str, Any]) -> list[str]:
    """Return a fault if an open conflict names the fact of the check and none is expected, or the other way round."""
    found = folded(fields["key"]) in set(map(folded, keys))
    if found == fields["expect"]:
        return []
    said = f"«{fields['turn_said']}» against {fields['key']} = {fields['value']}"
    return [f"a conflict is open: {said}" if found else f"no conflict is open: {said}"]


def relation_faults(found: Sequence[Relation], fields: Mapping[str, Any], at: datetime) -> list[str]:
    """Return a fault unless a relation of the check holds at ``at``, or one ended before and none holds.

    ``found`` are the relations between the two, in either direction, as they are believed.
    """
    wanted = set(map(_predicate, fields["predicate"]))
    stated = [one for one in found if not one.negated and _predicate(one.predicate) in wanted]
    holding = [one for one in stated if _holds(one, at)]
    ended = [one for one in stated if one.valid_until is not None and one.valid_until <= at]
    if fields["holds"]:
        return [] if holding else ["is known as ended" if ended else "is not known"]
    return ["is known as holding"] if holding else [] if ended else ["is not known as ended"]


def no_relation_faults(found: Sequence[Relation]) -> list[str]:
    """Return a fault for each relation that was ever true between the two."""
    return [f"they are joined by {one.predicate}" for one in found if not one.negated]


def file_faults(files: Sequence[File], fields: Mapping[str, Any], disk: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the files that were given back; ``disk`` holds them as they are now."""
    given = {file.path: folded(_LINE_NUMBERS.sub("", file.content)) for file in files}
    faults = [f"{path} was given back" for path in fields.get("not_restored", ()) if path in given]
    for wanted in fields.get("restored", ()):
        path = wanted["path"]
        faults += _content_faults(path, given[path], wanted) if path in given else [f"{path} was not given back"]
    for path in fields.get("stale", ()):
        if path not in given:
            faults.append(f"{path} was not given back")
        elif folded(disk[path]) not in given[path] and not any(mark in given[path] for mark in OUT_OF_DATE):
            faults.append(f"{path} was given back as it is no more, without a mark")
    return faults


def _content_faults(path: str, content: str, wanted: Mapping[str, Any]) -> Iterator[str]:
    for text in wanted.get("contains", ()):
        if folded(text) not in content:
            yield f"{path} lacks «{text}»"
    for text in wanted.get("lacks", ()):
        if folded(text) in content:
            yield f"{path} must not hold «{text}»"


def _order_faults(said: str, first: Sequence[str], later: Sequence[str], *, missing_known: bool) -> list[str]:
    """Return a fault for a text that lacks the first, or shows it after the later; one that ``shows`` told is none."""
    before, after = _place(said, first), _place(said, later)
    if before is None:
        return [] if missing_known else [f"shows none of {_listed(first)}, which comes first"]
    return [f"shows {_listed(later)} before {_listed(first)}"] if after is not None and after < before else []


def _place(said: str, group: Sequence[str]) -> int | None:
    """Return where the first of the alternatives begins in a folded text, or ``None`` if none is there."""
    return min((at for text in group if (at := said.find(folded(text))) >= 0), default=None)


def _listed(group: Sequence[str]) -> str:
    return " | ".join(f"«{text}»" for text in group)


def _predicate(text: str) -> str:
    return folded(text.replace("_", " "))


def _holds(relation: Relation, at: datetime) -> bool:
    begun = relation.valid_from is None or relation.valid_from <= at
    return begun and (relation.valid_until is None or at < relation.valid_until)
