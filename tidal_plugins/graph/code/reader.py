"""Traffic reader: the relations of code that the calls of an episode's tools show, and those that they end.

Runs in the background, when the episode is indexed. Calls no model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tidal_plugins.actions.table import Tools
from tidal_plugins.english.secrets import blanked
from tidal_plugins.graph.code.code_file import CodeFile, FactKey
from tidal_plugins.graph.code.contents import ContentReader, fragment, without_secrets
from tidal_plugins.graph.code.facts import Fact, Thing, fact_of
from tidal_plugins.graph.code.manifests import is_manifest
from tidal_plugins.graph.code.outcomes import outcomes
from tidal_plugins.graph.code.outline import is_installed, language_of
from tidal_plugins.graph.code.project import MAX_EPISODES, Project
from tidal_plugins.graph.code.runs import MAX_RUN
from tidal_plugins.graph.code.spans import Locator
from tidal_plugins.graph.code.statements import Said, readings
from tidal_plugins.graph.code.steps import MAX_CALLS, Ran, Step, Steps
from tidal_plugins.model.clock import MICROSECOND, from_micros, to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.graph import Reading
from tidal_plugins.storage.base import Storage

SURE = 0.95
"""Confidence of what a syntax tree says: as that of code in a text."""
MAX_PARSED = 5_000_000
"""Characters of code that are parsed for one episode, which takes some ten seconds."""
CONFIRMED_AFTER = timedelta(days=7)
"""The relations of a file that is read again are confirmed this long after the last time: confidence fades by half in
half a year, so that more often would only cost."""


APART = 2 * MICROSECOND
"""Time between two calls of one turn, of which nobody noted the times: room for what ends before the next begins."""


@dataclass(slots=True)
class Traffic:
    """What the calls of an episode say. ``shown`` are the places of results that are code and no prose; ``project`` has
    the changes to be stored with the readings."""

    readings: list[Reading]
    shown: frozenset[int]
    project: Project
    paths: frozenset[str] = frozenset()

    @property
    def new(self) -> list[str]:
        """Return the paths of the files that were not known before."""
        return self.project.new()

    def store(self, storage: Storage) -> bool:
        """Write what is known of the code now. Call it inside the transaction of the last reading; ``False`` if another
        process was faster."""
        return self.project.store(storage)


@dataclass(frozen=True, slots=True)
class TrafficReader:
    """Reads the tool calls of episodes of one scope.

    ``extra`` are the tools that a user adds to the table. Files in ``foreign`` folders are no code of the project.
    ``max_facts`` is the number of relations that one call may state.
    """

    storage: Storage
    scope: Scope
    extra: Tools
    foreign: Collection[str]
    max_facts: int

    def read(self, episode: Episode) -> Traffic:
        """Return what the calls of an episode say that were not read before."""
        project = Project(self.storage, self.scope, self.foreign)
        if not any(message.tool_calls for message in episode.messages):
            return Traffic([], frozenset(), project)
        reading = _Reading(self, episode, project, ContentReader(project))
        reading.run()
        return Traffic(readings(reading.said), frozenset(reading.shown), project, frozenset(reading.paths))


@dataclass(slots=True)
class _Reading:
    reader: TrafficReader
    episode: Episode
    project: Project
    contents: ContentReader
    said: list[Said] = field(default_factory=list)
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
            self.said.append(Said(fact, self._locator(step).find(fact.line, "", fact.object.name), False, at, until))

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
            self.said.append(Said(fact, locate.old(fact.subject.name, fact.object.name), True, at))
        content = step.after or fragment("\n".join(new for _, new in step.edits))
        for fact in fresh:
            line = content.lines.get(fact.line + 1, "")
            self.said.append(Said(fact, locate.find(fact.line, line, fact.object.name), False, at))

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
                self.said.append(Said(fact_of(key), locate.named(key[0], key[3]), True, at))
            for fact, line in outcome.fresh:
                self.said.append(Said(fact, locate.find(0, line, fact.object.name), False, at))
            self._note(outcome.file, at, confirmed=False)


def _renamed(key: FactKey, names: Mapping[str, str]) -> Fact:
    subject, object_ = (Thing(names.get(name, name), type_) for name, type_ in (key[:2], key[3:]))
    return Fact(subject, key[2], object_, -1)
