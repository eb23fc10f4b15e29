"""Asks a memory the checks of a story, one function for each type of check.

Nothing is changed by asking, but a dossier is made when it is asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.story import Check, Story
from tidal_plugins import Compaction, DiskFiles, Exchange, Message, Settings, TidalMemory
from tidal_plugins.model.compaction import RestoredFile
from tidal_plugins.model.exchange import turn as messages_of
from tidal_plugins.model.graph import Relation
from tidal_plugins.protocols import Embedder

SETTINGS: Final = Settings(storage={"durability": "fast"}, graph={"background": False})
"""The defaults, but no thread reads turns while the next one is under way: nothing is left to chance."""

Answer = tuple[str, list[str]]
"""The answer of a memory as a text, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks ``memory``, whose file is at ``path``, the checks of a story. ``memory`` tells the time."""

    story: Story
    memory: TidalMemory
    embedder: Embedder
    path: Path
    whispers: dict[tuple[str, str], str] = field(default_factory=dict)
    """The whispers before the turns that were lived, by scope and the user's words."""

    def answer(self, check: Check) -> Answer:
        """Return the answer to a check, judged. Raises ``TidalError`` where the memory raises it."""
        return _ASKED[check.type](self, self.memory.scoped(check.scope), check)

    def _whispered(self, memory: TidalMemory, check: Check) -> str:
        lived = self.whispers.get((check.scope, check.fields["turn"]))
        return str(memory.whisper(check.fields["turn"])) if lived is None else lived

    def _whisper(self, memory: TidalMemory, check: Check) -> Answer:
        return _judged(self._whispered(memory, check), check)

    def _silent(self, memory: TidalMemory, check: Check) -> Answer:
        text = self._whispered(memory, check)
        return text, silent_faults(text)

    def _remembered(self, memory: TidalMemory, check: Check) -> Answer:
        return _judged(str(memory.whisper(check.fields["query"])), check)

    def _recall(self, memory: TidalMemory, check: Check) -> Answer:
        hits = memory.recall(check.fields["query"], limit=check.fields.get("limit", 5))
        return _judged("\n".join(hit.text for hit in hits), check)

    def _capsule(self, memory: TidalMemory, check: Check) -> Answer:
        return _judged(str(memory.capsule.read()), check)

    def _dossier(self, memory: TidalMemory, check: Check) -> Answer:
        return _judged(str(memory.dossiers.refresh(check.fields["topic"])), check)

    def _brief(self, memory: TidalMemory, check: Check) -> Answer:
        return _judged(str(memory.dossiers.brief(check.fields["topic"])), check)

    def _relation(self, memory: TidalMemory, check: Check) -> Answer:
        found = _between(memory, check)
        return _said(memory, found), relation_faults(found, check.fields, memory.now())

    def _no_relation(self, memory: TidalMemory, check: Check) -> Answer:
        found = _between(memory, check)
        return _said(memory, found), no_relation_faults(found)

    def _conflict(self, memory: TidalMemory, check: Check) -> Answer:
        found = memory.facts.conflicts()
        text = "\n".join(f"{one.key}: {one.claim}, in «{one.quote}»" for one in found)
        return text, conflict_faults([one.key for one in found], check.fields)

    def _mood(self, memory: TidalMemory, check: Check) -> Answer:
        valence = memory.affect.state().valence
        return f"valence {valence:+.2f}", mood_faults(valence, check.fields["valence"])

    def _compaction(self, memory: TidalMemory, check: Check) -> Answer:
        return _judged("\n".join(map(_shown, self._compacted(check).messages)), check)

    def _files(self, memory: TidalMemory, check: Check) -> Answer:
        found = [piece for piece in self._compacted(check).view if isinstance(piece, RestoredFile)]
        text = "\n\n".join(f"{file.path}\n{file.content}" for file in found)
        return text, file_faults([File(file.path, file.content) for file in found], check.fields, self.story.disk)

    def _compacted(self, check: Check) -> Compaction:
        """Return the context rebuilt from the session up to the check's turn.

        A memory goes on from the context that it rebuilt last, so each check is asked of a copy.
        """
        session, number = check.fields["session"], check.fields["after_turn"]
        turns = [turn for turn in self.story.turns if turn.session == session and turn.number <= number]
        history = [Exchange(messages_of(turn.user, turn.agent, turn.tools), session, turn.key) for turn in turns]
        with TemporaryDirectory(prefix="tidal-story-") as folder:
            path = Path(folder, "copy.db")
            self.memory.backup(path)
            with TidalMemory(path, embedder=self.embedder, settings=SETTINGS, clock=self.memory.now) as memory:
                disk = Path(folder, "disk")
                _written(self.story.disk, disk)
                files = DiskFiles(disk) if self.story.disk else None
                scoped = memory.scoped(check.scope)
                compactor = scoped.compactor(max_tokens=check.fields["max_tokens"], files=files)
                return compactor.compact(history, thread=session, force="compact")


def _written(disk: Mapping[str, str], root: Path) -> None:
    """Write the files that the agent's disk holds at the end of the story."""
    for name, text in disk.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


_ASKED: Final[Mapping[str, Callable[[Asking, TidalMemory, Check], Answer]]] = {
    "whisper": Asking._whisper,
    "silent": Asking._silent,
    "recall": Asking._recall,
    "remembered": Asking._remembered,
    "capsule": Asking._capsule,
    "dossier": Asking._dossier,
    "brief": Asking._brief,
    "relation": Asking._relation,
    "no_relation": Asking._no_relation,
    "conflict": Asking._conflict,
    "compaction": Asking._compaction,
    "files": Asking._files,
    "mood": Asking._mood,
}
TYPES: Final = tuple(_ASKED)
"""The types of checks, in the order in which they are shown."""


def _judged(text: str, check: Check) -> Answer:
    return text, text_faults(text, check.fields)


def _between(memory: TidalMemory, check: Check) -> list[Relation]:
    """Return the relations between the subjects and the objects of a check, as they are believed, ended ones too."""
    subjects, objects = (_entities(memory, check.fields[end]) for end in ("subject", "object"))
    believed = [one for id_ in subjects for one in memory.graph.timeline(id_) if one.superseded_at is None]
    pairs = {(a, b) for a in subjects for b in objects}
    return list(
        {one.id: one for one in believed if {(one.subject, one.object), (one.object, one.subject)} & pairs}.values()
    )


def _entities(memory: TidalMemory, names: Sequence[str]) -> set[str]:
    """Return the ids of the entities that go by one of these names."""
    wanted = set(map(folded, names))
    return {
        each.id for each in memory.graph.entities() if wanted & {folded(name) for name in (each.name, *each.aliases)}
    }


def _said(memory: TidalMemory, relations: Sequence[Relation]) -> str:
    said = memory.graph.sentences(relations)
    return "\n".join(
        f"{said[one.id]} ({one.predicate}, until {one.valid_until})" for one in relations if one.id in said
    )


def _shown(message: Message) -> str:
    """Return a message as a model reads it, with the calls that it makes."""
    calls = (f"{call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}" for call in message.tool_calls)
    return "\n".join([message.text, *calls])


# judging: each function returns what is wrong, one text for each fault. Texts are compared without regard to case and
# white space.


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
