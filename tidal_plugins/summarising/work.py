"""State of the work: the goal, branch, files, tests, open items and rules, as the turns so far leave them.

It stands ahead of a summary, in a few lines that cite the turns they come from, and only lines that exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tidal_plugins.actions.results import bare
from tidal_plugins.actions.table import Tools
from tidal_plugins.english.instructions import DECISION, OWN_PLANS, RULE
from tidal_plugins.english.sentences import sentences
from tidal_plugins.model.exchange import Message, ToolCall, answers
from tidal_plugins.model.summary import Source
from tidal_plugins.protocols import TokenCounter
from tidal_plugins.scoring.text import terms
from tidal_plugins.summarising.calls import Does, Done, done, kind_of
from tidal_plugins.summarising.outcomes import Check, covers
from tidal_plugins.summarising.plans import open_items
from tidal_plugins.summarising.quotes import cut, folded
from tidal_plugins.summarising.verdicts import check_key, verdict

Touch = Literal["created", "edited", "deleted"]

_MAX_FILES, _MAX_RULES, _MAX_OPEN, _MAX_CHECKS = 40, 8, 8, 4
"""How many of each are remembered: the newest."""
_MAX_GOAL, _MAX_RULE, _MAX_ITEM = 160, 160, 80  # characters
_BRANCH = re.compile(r"^(?:Switched to (?:a new )?branch '|On branch |\[)([\w./-]+)", re.MULTILINE)
_COMMIT = re.compile(r"^\[[\w./-]+(?: \([\w-]+\))? ([0-9a-f]{7,40})\]", re.MULTILINE)
_CREATED = re.compile(r"\bcreated\b", re.IGNORECASE)
_GLANCE = 4_000  # characters of a result that are read


@dataclass(frozen=True, slots=True)
class Noted:
    """A line of the state, and the episode that it comes from."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Touched:
    """What was done to a file, and the episode of the last time."""

    path: str
    touch: Touch
    source: str


@dataclass(frozen=True, slots=True)
class Ran:
    """What a check found last: tests, a build, a linter."""

    name: str
    targets: tuple[str, ...]
    text: str
    tests: bool
    source: str

    @property
    def check(self) -> Check:
        return self.name, frozenset(self.targets)

    @property
    def branch(self) -> str:
        """Return the branch that the command switched to first, if it did."""
        return self.name.partition(" on ")[2]


@dataclass(frozen=True, slots=True)
class Work:
    """What is known of the work. Each field is empty until something is known."""

    goal: Noted | None = None
    branch: Noted | None = None
    commit: Noted | None = None
    files: tuple[Touched, ...] = ()
    """The last touched file is the last one."""
    checks: tuple[Ran, ...] = ()
    open: tuple[Noted, ...] = ()
    rules: tuple[Noted, ...] = ()

    def after(self, sources: Sequence[Source], tools: Tools) -> Work:
        """Return the state after these turns, the oldest first. ``tools`` are those that a user added to the table."""
        work = self
        for source in sources:
            work = work._after(source, tools)
        return work

    def _after(self, source: Source, tools: Tools) -> Work:
        work = self
        for message, results in zip(source.messages, answers(source.messages), strict=True):
            if message.role == "user":
                work = work._heard(message, source.id)
            for call, answer in zip(message.tool_calls, results, strict=True):
                if answer is not None:
                    for does in done(call, answer.text, tools):
                        work = work._ran(call, answer, does, source.id)
        if work.files != self.files:
            asked = " ".join(folded(message.text) for message in source.messages if message.role == "user")
            work = replace(work, goal=Noted(cut(asked, _MAX_GOAL), source.id)) if asked else work
        return work

    def _heard(self, message: Message, source: str) -> Work:
        """Return the state with the rules and decisions that the user gave, the newer of two alike.

        People who go by their names talk to each other: what they must and never do is no rule for an agent.
        """
        found = [] if message.speaker else [Noted(cut(text, _MAX_RULE), source) for text in rules(message.text)]
        if not found:
            return self
        words = [frozenset(terms(each.text)) for each in found]
        kept = [each for each in self.rules if not any(_alike(frozenset(terms(each.text)), new) for new in words)]
        return replace(self, rules=(*kept, *found)[-_MAX_RULES:])

    def _ran(self, call: ToolCall, answer: Message, does: Done, source: str) -> Work:
        if does.does == "plan" and (items := open_items(call.arguments)) is not None:
            return replace(self, open=tuple(Noted(cut(folded(item), _MAX_ITEM), source) for item in items[:_MAX_OPEN]))
        bad = kind_of(call, answer, does.does) == "failed"
        work = self
        for did, path in () if bad else does.touches:
            created = bool(_CREATED.search(answer.text[:200]))
            work = work._touched(did, path, source, created=created or does.does in ("command", "move"))
        return work._commanded(does, answer.text, source, bad=bad) if does.does == "command" else work

    def _commanded(self, does: Done, output: str, source: str, *, bad: bool) -> Work:
        work = self
        if check := check_key(does.command):
            found = verdict(bare(output), failed=bad)
            said = f"`{' '.join(does.command.split())[:80]}`: {found.text or ('failed' if bad else 'no output')}"
            ran = Ran(check[0], tuple(sorted(check[1])), folded(said), bool(found.tests), source)
            kept = [each for each in self.checks if not covers(check, each.check)]
            work = replace(work, checks=(*kept, ran)[-_MAX_CHECKS:])
        if "git" in does.command:
            text = output[-_GLANCE:]
            if branches := _BRANCH.findall(text):
                work = replace(work, branch=Noted(branches[-1], source), commit=None)
            if commits := _COMMIT.findall(text):
                work = replace(work, commit=Noted(commits[-1], source))
        return work

    def _touched(self, does: Does, path: str, source: str, *, created: bool) -> Work:
        if not path:
            return self
        before = next((each.touch for each in self.files if each.path == path), None)
        touch: Touch = "deleted" if does == "delete" else "edited"
        if (does == "write" and (created or before == "created")) or (touch == "edited" and before == "created"):
            touch = "created"
        others = [each for each in self.files if each.path != path]
        return replace(self, files=(*others, Touched(path, touch, source))[-_MAX_FILES:])

    # how it is told

    def lines(self, counter: TokenCounter, max_tokens: int, *, shown: str | None = None) -> list[str]:
        """Return the lines that fit ``max_tokens``, each with its citations.

        A line of several items loses the oldest ones where they do not all fit. The words of the turn ``shown`` are
        left out, because they stand beside these lines verbatim.
        """
        found = list(self._beside(shown)._lines())
        chosen: dict[int, str] = {}
        left = max_tokens
        for place in sorted(range(len(found)), key=lambda place: _ORDER.index(found[place][0])):
            label, forms = found[place]
            lines = (f"{label}: {form}\n" for form in forms)
            fitting = next((line for line in lines if counter.count(line) <= left), "")
            if fitting:
                chosen[place] = fitting.removesuffix("\n")
                left -= counter.count(fitting)
        return [chosen[place] for place in sorted(chosen)]

    def _beside(self, shown: str | None) -> Work:
        goal = None if self.goal and self.goal.source == shown else self.goal
        return replace(self, goal=goal, rules=tuple(each for each in self.rules if each.source != shown))

    def _lines(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the label of each line, and its forms from the longest to the shortest."""
        if self.goal:
            yield "Goal", [_cited([self.goal])]
        if self.branch:
            commit = f", commit {self.commit.text}" if self.commit else ""
            yield "Branch", [f"`{self.branch.text}`{commit} [ep:{(self.commit or self.branch).source}]"]
        elif self.commit:
            yield "Commit", [_cited([self.commit])]
        if self.files:
            yield "Files", [self._files(most) for most in (12, 8, 5, 3, 1)]
        here = [each for each in self.checks if each.branch in ("", self.branch.text if self.branch else "")]
        noted = {
            tests: [Noted(each.text, each.source) for each in here if each.tests == tests] for tests in (False, True)
        }
        for label, items in (
            ("Tests", noted[True]), ("Checks", noted[False]), ("Open", self.open), ("Rules and decisions", self.rules)
        ):  # fmt: skip
            if items:
                yield label, [_cited(items[start:]) for start in range(len(items))]

    def _files(self, most: int) -> str:
        parts = []
        for touch in ("edited", "created", "deleted"):
            names = [each.path for each in reversed(self.files) if each.touch == touch]
            if names:
                more = f" and {len(names) - most} more" if len(names) > most else ""
                parts.append(f"{touch} {', '.join(f'`{name}`' for name in names[:most])}{more}")
        last = list(dict.fromkeys(each.source for each in reversed(self.files)))[:2]
        return " ".join(["; ".join(parts), *(f"[ep:{source}]" for source in last)])


_ORDER = ("Tests", "Files", "Rules and decisions", "Branch", "Commit", "Open", "Goal", "Checks")
"""Which line goes first where not all of them fit."""


def rules(text: str) -> list[str]:
    """Return the sentences of a user that set a rule or take a decision, verbatim."""
    found = []
    for start, end in sentences(text[:8_000]):
        said = folded(text[start:end])
        plain = said.lower().replace("’", "'")
        ruled = RULE.search(plain) and not OWN_PLANS.search(plain)
        if (ruled or DECISION.search(plain)) and not plain.endswith("?"):
            found.append(said)
    return found


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= 0.6 * min(len(one), len(other)) if one and other else False


def _cited(items: Sequence[Noted]) -> str:
    """Return the texts, one after another, each run from one source with its citation."""
    parts: list[str] = []
    for place, item in enumerate(items):
        last = place + 1 == len(items) or items[place + 1].source != item.source
        text = item.text.rstrip(".;")
        parts.append(f"{text} [ep:{item.source}]" if last else text)
    return "; ".join(parts)
