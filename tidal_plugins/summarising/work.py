"""State of the work: the goal, branch, files, tests, open items and rules, as the turns so far leave them.

It stands ahead of a summary, in a few lines that cite the turns they come from, and only lines that exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidal_plugins.actions.results import bare, rewritten
from tidal_plugins.actions.table import Tools
from tidal_plugins.model.exchange import Message, ToolCall, answers
from tidal_plugins.model.summary import Source
from tidal_plugins.patterns import lazy_re
from tidal_plugins.protocols import TokenCounter
from tidal_plugins.summarising.calls import Does, Done, done, kind_of
from tidal_plugins.summarising.noted import Noted, cited
from tidal_plugins.summarising.outcomes import covers
from tidal_plugins.summarising.plans import open_items
from tidal_plugins.summarising.quotes import cut, folded
from tidal_plugins.summarising.ran import Ran
from tidal_plugins.summarising.rulings import replaced, rules
from tidal_plugins.summarising.touches import Touched, branched_off, named, told, touched
from tidal_plugins.summarising.verdicts import check_key, verdict

_MAX_RULES, _MAX_OPEN, _MAX_CHECKS, _MAX_LIFTED, _MAX_LOOKED = 8, 8, 4, 32, 40
"""How many of each are remembered: the newest."""
_MAX_GOAL, _MAX_RULE, _MAX_ITEM, _MAX_COMMAND = 160, 160, 80, 80  # characters
_BRANCH = lazy_re(
    r"^(?:(Switched to (?:a new )?branch) '|On branch |\[(?=\S+ (?:\([\w-]+\) )?[0-9a-f]{7,40}\]))([\w./-]+)",
    re.MULTILINE,
)
_COMMIT = lazy_re(r"^\[[\w./-]+(?: \([\w-]+\))? ([0-9a-f]{7,40})\]", re.MULTILINE)
_CREATED = lazy_re(r"\bcreated\b", re.IGNORECASE)
_UPDATED = lazy_re(r"\b(?:updated|overwr[io]te|overwritten|replaced|modified)\b", re.IGNORECASE)
_GLANCE = 4_000  # characters of a result that are read


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
    lifted: tuple[str, ...] = ()
    """Rules and decisions that later ones replaced, as they were said."""
    looked: tuple[str, ...] = ()
    """The files that were read: who writes one of them does not create it."""

    @property
    def tools(self) -> bool:
        """Return whether tools have changed or checked anything: talk alone is no work."""
        return bool(self.files or self.checks or self.branch or self.open)

    @property
    def sources(self) -> list[str]:
        """Return the episodes that this comes from, with repeats."""
        notes = [each for each in (self.goal, self.branch, self.commit, *self.open, *self.rules) if each]
        steps = [*(each.source for each in self.files), *(each.source for each in self.checks)]
        return [*(each.source for each in notes), *steps]

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
                        work = work._ran(call, answer, does, source)
        if work.files != self.files:
            asked = " ".join(folded(message.text) for message in source.messages if message.role == "user")
            work = replace(work, goal=Noted(cut(asked, _MAX_GOAL), source.id)) if asked else work
        return work

    def _heard(self, message: Message, source: str) -> Work:
        """Return the state with the rules and decisions that the user gave, the newer of two alike.

        People who go by their names talk to each other: what they must and never do is no rule for an agent.
        """
        said = [] if message.speaker else rules(message.text)
        kept, lifted = replaced(self.rules, said)
        found = [Noted(cut(text, _MAX_RULE), source) for text in said]
        lifted = [text for text in dict.fromkeys([*self.lifted, *lifted]) if text not in said]
        return replace(self, rules=(*kept, *found)[-_MAX_RULES:], lifted=tuple(lifted[-_MAX_LIFTED:]))

    def _ran(self, call: ToolCall, answer: Message, does: Done, source: Source) -> Work:
        if does.does == "plan" and (items := open_items(call.arguments)) is not None:
            found = (Noted(cut(folded(item), _MAX_ITEM), source.id) for item in items[:_MAX_OPEN])
            return replace(self, open=tuple(found))
        if not does.path and not does.touches and does.does != "command":
            return self
        bad = kind_of(call, answer, does.does) == "failed"
        work = self._looked_at(does.path) if does.does == "read" and does.path and not bad else self
        for did, path in () if bad else does.touches:
            created = does.does == "move" or self._created(path, answer.text[:200])
            work = work._touched(did, path, source.id, created=created)
        return work._commanded(does, answer, source, bad=bad) if does.does == "command" else work

    def _commanded(self, does: Done, answer: Message, given: Source, *, bad: bool) -> Work:
        work, output, source = self, answer.text, given.id
        command = " ".join(does.command.split())[:_MAX_COMMAND]
        if rewritten(output):
            work = work._since(f"files by `{command}`")
        if check := check_key(does.command):
            found = verdict(bare(output), failed=bad)
            said = f"`{command}`: {found.text or ('failed' if bad else 'no output')}"
            ran = Ran(check[0], tuple(sorted(check[1])), folded(said), bool(found.tests), source, answer.at or given.at)
            kept = [each for each in self.checks if not covers(check, each.check)]
            work = replace(work, checks=(*kept, ran)[-_MAX_CHECKS:])
        if "git" in does.command:
            text = output[-_GLANCE:]
            for switched, branch in _BRANCH.findall(text):
                work = work._on(Noted(branch, source), switched)
            if commits := _COMMIT.findall(text):
                work = replace(work, commit=Noted(commits[-1], source))
        return work

    def _looked_at(self, path: str) -> Work:
        return replace(self, looked=(*(each for each in self.looked if each != path), path)[-_MAX_LOOKED:])

    def _created(self, path: str, said: str) -> bool:
        """Return whether a file that is written is a new one: its tool says so, or nothing speaks of an older one."""
        here = {each.path for each in self.files if each.touch != "deleted" and self._branch in each.branches}
        gone = any(each.path == path and each.touch == "deleted" for each in self.files)
        before = path in here or (path in self.looked and not gone)
        return bool(_CREATED.search(said)) or not (before or _UPDATED.search(said))

    def _touched(self, does: Does, path: str, source: str, *, created: bool) -> Work:
        if not path:
            return self
        files = touched(
            self.files,
            path,
            source,
            branch=self._branch,
            deleted=does == "delete",
            written=does == "write",
            created=created,
        )
        return replace(self, files=files)._since(f"`{path}`")

    @property
    def _branch(self) -> str:
        return self.branch.text if self.branch else ""

    def _on(self, branch: Noted, switched: str) -> Work:
        """Return the state on a branch. ``switched`` is what git said of going there, if it did."""
        if branch.text == self._branch:
            return self
        files = self.files
        if "new" in switched:
            files = branched_off(files, self._branch, branch.text)
        elif not switched:  # it was this one all the time
            files = named(files, branch.text)
        work = replace(self, branch=branch, commit=None, files=files)
        return work._since(f"the branch, now `{branch.text}`") if switched else work

    def _since(self, what: str) -> Work:
        """Return the state in which every check knows that something changed after it."""
        checks = (replace(each, since=(*(one for one in each.since if one != what), what)) for each in self.checks)
        return replace(self, checks=tuple(checks))

    # how it is told

    def lines(self, counter: TokenCounter, max_tokens: int, *, shown: str | None = None) -> list[str]:
        """Return the lines that fit ``max_tokens``, each with its citations.

        A line of several items loses the oldest ones where they do not all fit. The words of the turn ``shown`` are
        left out, because they stand beside these lines verbatim.
        """
        found = list(self._without_shown(shown)._lines())
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

    def _without_shown(self, shown: str | None) -> Work:
        goal = None if self.goal and self.goal.source == shown else self.goal
        return replace(self, goal=goal, rules=tuple(each for each in self.rules if each.source != shown))

    def _lines(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the label of each line, and its forms from the longest to the shortest."""
        if self.goal:
            yield "Goal", [cited([self.goal])]
        if self.branch:
            commit = f", commit {self.commit.text}" if self.commit else ""
            yield "Branch", [f"`{self.branch.text}`{commit} [ep:{(self.commit or self.branch).source}]"]
        elif self.commit:
            yield "Commit", [cited([self.commit])]
        if self.files:
            yield "Files", [told(self.files, self._branch, most) for most in (12, 8, 5, 3, 1)]
        here = [each for each in self.checks if each.branch in ("", self._branch)]
        noted = {
            tests: [Noted(each.told, each.source) for each in here if each.tests == tests] for tests in (False, True)
        }
        for label, items in (
            ("Tests", noted[True]), ("Checks", noted[False]), ("Open", self.open), ("Rules and decisions", self.rules)
        ):  # fmt: skip
            if items:
                yield label, [cited(items[start:]) for start in range(len(items))]


_ORDER = ("Tests", "Files", "Rules and decisions", "Branch", "Commit", "Open", "Goal", "Checks")
"""Which line goes first where not all of them fit."""
