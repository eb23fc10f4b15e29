"""Code reader: the relations of code that the calls of an episode's tools show, and those that they end.

Runs in the background, when the episode is indexed. Calls no model. Secrets are not read or kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from tidal_plugins.actions.calls import Tools
from tidal_plugins.actions.files import Content
from tidal_plugins.graph.code.manifests import is_manifest, manifest_facts
from tidal_plugins.graph.code.outline import Outline, is_installed, language_of, outline
from tidal_plugins.graph.code.project import MAX_EPISODES, CodeFile, Fact, FactKey, Project, Thing, fact_of
from tidal_plugins.graph.code.relations import CodeRelations
from tidal_plugins.graph.code.runs import MAX_RUN, outcomes
from tidal_plugins.graph.code.steps import MAX_CALLS, Ran, Step, Steps
from tidal_plugins.model.clock import MICROSECOND, from_micros, to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.exchange import Episode, Message
from tidal_plugins.model.graph import Assertion, Extraction, Mention, Reading
from tidal_plugins.secrets.finding import blanked, secrets
from tidal_plugins.storage.base import Storage

MAX_PARSED = 5_000_000
"""Characters of code that are parsed for one episode, which takes some ten seconds."""
CONFIRMED_AFTER = timedelta(days=7)
"""The relations of a file that is read again are confirmed this long after the last time: confidence fades by half in
half a year, so that more often would only cost."""
APART = 2 * MICROSECOND
"""Time between two calls of one turn, of which nobody noted the times: room for what ends before the next begins."""
MAX_LINE = 200
"""Characters of a line that is evidence as a whole."""


@dataclass(slots=True)
class CodeReading:
    """What the calls of an episode say. ``shown`` are the places of results that are code and no prose; ``project`` has
    the changes to be stored with the readings."""

    readings: list[Reading]
    shown: frozenset[int]
    project: Project
    paths: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CodeReader:
    """Reads the tool calls of episodes of one scope.

    ``extra`` are the tools that a user adds to the table. Files in ``foreign`` folders are no code of the project.
    ``max_facts`` is the number of relations that one call may state.
    """

    storage: Storage
    scope: Scope
    extra: Tools
    foreign: Collection[str]
    max_facts: int

    def read(self, episode: Episode) -> CodeReading:
        """Return what the calls of an episode say that were not read before."""
        project = Project(self.storage, self.scope, self.foreign)
        if not any(message.tool_calls for message in episode.messages):
            return CodeReading([], frozenset(), project)
        reading = _Reading(self, episode, project, ContentReader(project))
        reading.run()
        return CodeReading(_readings(reading.said), frozenset(reading.shown), project, frozenset(reading.paths))


@dataclass(slots=True)
class _Reading:
    reader: CodeReader
    episode: Episode
    project: Project
    contents: ContentReader
    said: list[tuple[Evidence, Assertion]] = field(default_factory=list)
    shown: set[int] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    moved: dict[str, CodeFile] = field(default_factory=dict)
    """The files that are gone, which may be at another place."""
    messages: list[Message] = field(default_factory=list)

    def run(self) -> None:
        self.messages = list(self.episode.messages)
        done = self.project.followed.pop(self.episode.id, 0)
        steps = Steps(self.messages, self.project, self.reader.extra, done)
        for step in steps.run():
            if isinstance(step, Ran):
                self._ran(step)
            else:
                self._step(step)
        self.project.followed[self.episode.id] = steps.count

    # files

    def _step(self, step: Step) -> None:
        language = language_of(step.path)
        if language is None and not is_manifest(step.path):
            return
        if step.read and step.result is not None and (language is None or is_installed(language)):
            self.shown.add(step.result)
        if not self.project.foreign.isdisjoint(step.path.split("/")):
            return
        self.paths.add(step.path)
        file = self.project.file(step.path)
        at = self._time(step, file)
        if step.gone:
            self._gone(step, file, at)
            return
        if file is not None and len(file.episodes) >= MAX_EPISODES:
            file = CodeFile(step.path, names=file.names)
        if file is not None and file.at > to_micros(at):
            self._earlier(step, file, at)
            return
        file = file or CodeFile(step.path)
        names = [*file.names]
        before, after, whole = self._facts(step, file)
        if step.read and whole and file.facts and not step.numbered and (not after or self.contents.damaged):
            file.names |= self.project.claim(step.path, names)
            if not after:
                return  # the words of a tool: «unchanged since you read it»
            before, whole = [], False  # words around code
        wanted = {fact.key: fact for fact in after}
        ended = {*file.facts} if whole else {fact.key for fact in before} & {*file.facts}
        ended -= wanted.keys()
        again = step.read and to_micros(at) - file.confirmed > CONFIRMED_AFTER // MICROSECOND
        fresh = [fact for key, fact in wanted.items() if again or key not in set(file.facts)][: self.reader.max_facts]
        self._say(step, ended, fresh, at)
        file.facts = [key for key in file.facts if key not in ended]
        file.facts += [fact.key for fact in fresh if fact.key not in set(file.facts)]
        self._note(file, at, confirmed=again or not file.confirmed)
        file.keep(without_secrets(step.after) if step.after else None)
        self.project.put(file)

    def _gone(self, step: Step, file: CodeFile | None, at: datetime) -> None:
        if file is not None:
            self._say(step, {*file.facts, *file.runs}, [], at)
            self.moved[step.path] = file
            self.project.remove(step.path)

    def _earlier(self, step: Step, file: CodeFile, at: datetime) -> None:
        """Take a reading that is older than what is known: what is no more ended by then."""
        for fact in self._facts(step, file)[1][: self.reader.max_facts]:
            until = None if fact.key in set(file.facts) else from_micros(file.at)
            self._state(fact, self._locator(step).find(fact.line, "", fact.object.name), at, until)

    def _facts(self, step: Step, file: CodeFile) -> tuple[list[Fact], list[Fact], bool]:
        """Return the relations before and after a step, and whether the latter are all of the file."""
        if step.after is not None:
            whole = step.after.complete
            after = self.contents.facts(step.path, step.after, file, claim=True)
            return [] if whole else self.contents.facts(step.path, step.before, file), after, whole
        if step.moved is not None and (known := self.moved.get(step.moved)) is not None:
            file.names = self.project.claim(step.path, known.names.keys())
            renamed = {step.moved: step.path} | {known.names[name]: now for name, now in file.names.items()}
            return [], [_renamed(key, renamed) for key in known.facts], False
        olds, news = ("\n".join(parts) for parts in zip(*step.edits, strict=True)) if step.edits else ("", "")
        old, new = (fragment(text) for text in (olds, news))
        return self.contents.facts(step.path, old, file), self.contents.facts(step.path, new, file, claim=True), False

    def _note(self, file: CodeFile, at: datetime, *, confirmed: bool) -> None:
        file.at = to_micros(at)
        file.confirmed = file.at if confirmed else file.confirmed
        file.episodes = [*dict.fromkeys([*file.episodes, self.episode.id])]

    # statements

    def _say(self, step: Step, ended: Iterable[FactKey], fresh: Sequence[Fact], at: datetime) -> None:
        locate = self._locator(step)
        for key in sorted(ended):
            fact = fact_of(key)
            self._end(fact, locate.old(fact.subject.name, fact.object.name), at)
        content = step.after or fragment("\n".join(new for _, new in step.edits))
        for fact in fresh:
            line = content.lines.get(fact.line + 1, "")
            self._state(fact, locate.find(fact.line, line, fact.object.name), at)

    def _end(self, fact: Fact, at: Evidence, time: datetime) -> None:
        self._state(fact, at, time - MICROSECOND, time)

    def _state(self, fact: Fact, at: Evidence, begins: datetime, ends: datetime | None = None) -> None:
        subject, object_ = (
            Mention(thing.name, thing.type, "technical", at.start, at.end) for thing in (fact.subject, fact.object)
        )
        said = Assertion(subject, fact.predicate, object_, at.start, at.end, fact.confidence, False, begins, ends)
        self.said.append((at, said))

    def _locator(self, step: Step) -> Locator:
        if step.read and step.result is not None:
            return Locator(self.messages[step.result].text, step.result, None, step.path)
        call = self.messages[step.place].tool_calls[step.call]
        return Locator(call.text, step.place, step.call, step.path, [old for old, _ in step.edits])

    def _time(self, step: Step | Ran, file: CodeFile | None) -> datetime:
        """Return when a call was made. Calls of one time follow each other, the last of them at that time, and so do
        the turns that changed a file at one time."""
        at = self.messages[step.place].at or self.episode.occurred_at
        at -= (MAX_CALLS - step.number) * APART
        last = from_micros(file.at) if file else at - APART
        return last + APART if timedelta(0) <= last - at <= MAX_CALLS * APART else at

    def _ran(self, ran: Ran) -> None:
        """Read the output of a test run."""
        text = blanked(self.messages[ran.result].text[-MAX_RUN:])
        for outcome in outcomes(text, ran.command, self.project):
            at = self._time(ran, outcome.file)
            if outcome.file.at > to_micros(at):
                continue
            locate = Locator(self.messages[ran.result].text, ran.result, None, outcome.file.path)
            for key in sorted(outcome.ended):
                self._end(fact_of(key), locate.named(key[0], key[3]), at)
            for fact, line in outcome.fresh:
                self._state(fact, locate.find(0, line, fact.object.name), at)
            self._note(outcome.file, at, confirmed=False)


def _renamed(key: FactKey, names: Mapping[str, str]) -> Fact:
    subject, object_ = (Thing(names.get(name, name), type_) for name, type_ in (key[:2], key[3:]))
    return Fact(subject, key[2], object_, -1)


@dataclass(slots=True)
class ContentReader:
    """Reads contents of the files of a project. ``parsed`` counts their characters; the last one may be ``damaged``."""

    project: Project
    parsed: int = 0
    damaged: bool = False

    def facts(self, path: str, content: Content, file: CodeFile, *, claim: bool = False) -> list[Fact]:
        """Return the relations of a content. With ``claim`` the file has the names that it defines from now on."""
        text = _text(without_secrets(content))
        self.parsed += len(text)
        if not content.lines or self.parsed > MAX_PARSED:
            return []
        if is_manifest(path):
            return list(manifest_facts(path, text)) if content.complete else []
        language = language_of(path)
        found = outline(text, language) if language else None
        if found is None:
            return []
        self.damaged = found.damaged
        if not content.complete:
            _only_certain(found, text)
        if claim:
            if content.complete:
                self.project.release(path, file.names.keys() - found.definitions.keys())
                file.names = {}
            file.names |= self.project.claim(path, found.definitions.keys())
        facts = CodeRelations(path, found, file.names, self.project).facts()
        return list({fact.key: fact for fact in reversed(list(facts))}.values())[::-1]


def fragment(text: str) -> Content:
    """Return the text of an edit as a content of which not all is known."""
    content = Content.of(text) if text else Content()
    content.total = None
    return content


def without_secrets(content: Content) -> Content:
    """Return a content with spaces in place of its secrets; its lines stay where they are."""
    text = _text(content)
    found = list(secrets(text))
    if not found:
        return content
    for start, end, _ in found:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    lines = text.split("\n")
    return Content({number: lines[number - 1] for number in content.lines}, content.total, content.ends)


def _text(content: Content) -> str:
    """Return the known lines at their places, with empty ones between them."""
    return "\n".join(content.lines.get(number, "") for number in range(1, max(content.lines, default=0) + 1))


def _only_certain(found: Outline, text: str) -> None:
    """Leave out the definitions of a part of a file that stand in something that is not shown: those further in."""
    lines = text.split("\n")
    inner = {
        name
        for name, each in found.definitions.items()
        if each.owner not in found.definitions and lines[each.line][:1].isspace() and "." not in name
    }
    for name in inner:
        del found.definitions[name]


def _readings(said: Iterable[tuple[Evidence, Assertion]]) -> list[Reading]:
    """Return what was said, in order, as one reading for each run of relations with evidence in the same text."""
    return [
        Reading(position, None, Extraction((), tuple(assertion for _, assertion in group)), call, parsed=True)
        for (position, call), group in groupby(said, key=lambda each: each[0][:2])
    ]


class Evidence(NamedTuple):
    """A part of a text: of the message at ``position``, or of the arguments of its ``call``."""

    position: int
    call: int | None
    start: int
    end: int


@dataclass(slots=True)
class Locator:
    """Finds lines in a text. Searches on from the last line that was found, because relations come in order."""

    text: str
    position: int
    call: int | None
    path: str
    olds: Sequence[str] = ()
    last: int = 0

    def find(self, number: int, line: str, name: str) -> Evidence:
        """Return where a line stands, or else a name, or else the path of the file."""
        wanted = line.strip()
        start = self._search(wanted) if number >= 0 and wanted else -1
        if start < 0:
            return self.named(name)
        self.last = start
        return self._at(start, wanted)

    def old(self, *names: str) -> Evidence:
        """Return the line of what an edit replaced that names something that is no more, or else the path."""
        for old in self.olds:
            for line in old.split("\n"):
                if line.strip() and any(name.rpartition(".")[2] in line for name in names):
                    return self.find(0, line, names[0])
        return self.named()

    def _search(self, wanted: str) -> int:
        found = self.text.find(wanted, self.last)
        return found if found >= 0 or not self.last else self.text.find(wanted)

    def named(self, *names: str) -> Evidence:
        """Return where the first of the names stands, or else the path of the file, or else the beginning."""
        for wanted in (*names, self.path, self.path.rpartition("/")[2]):
            start = self.text.find(wanted) if wanted else -1
            if start >= 0:
                return self._line(start, start + len(wanted))
        body = self.text.strip()
        return self._at(self.text.find(body), body[:80]) if body else Evidence(self.position, self.call, 0, 1)

    def _line(self, start: int, end: int) -> Evidence:
        """Return the line around a name, or the name alone in a long one."""
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", end)
        line = self.text[first : len(self.text) if last < 0 else last]
        first += len(line) - len(line.lstrip())
        short = len(line) <= MAX_LINE
        return Evidence(
            self.position, self.call, first if short else start, first + len(line.strip()) if short else end
        )

    def _at(self, start: int, wanted: str) -> Evidence:
        return Evidence(self.position, self.call, start, start + len(wanted))
