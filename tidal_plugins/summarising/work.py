"""State of the work: the goal, branch, files, tests, open items and rules, as the turns so far leave them.

It stands ahead of a summary, in a few lines that cite the turns they come from, and only lines that exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from tidal_plugins.actions.calls import Tools
from tidal_plugins.actions.results import bare, rewritten
from tidal_plugins.english.cues import CUE
from tidal_plugins.english.sentences import sentences
from tidal_plugins.model.delimiters import inert
from tidal_plugins.model.dossier import Source
from tidal_plugins.model.exchange import Message, ToolCall, answers
from tidal_plugins.model.sentence import SentenceTags
from tidal_plugins.patterns import lazy_re
from tidal_plugins.protocols import TokenCounter
from tidal_plugins.scoring.text import terms
from tidal_plugins.summarising.outcomes import Check, Does, Done, covers, done, kind_of, open_items
from tidal_plugins.summarising.quotes import cut, folded, readings
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


Touch = Literal["created", "edited", "deleted"]

_MAX_FILES, _MAX_BRANCHES, _MAX_CITED = 40, 2, 2
"""Files that are remembered, other branches and citations that are told: the newest."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What was done to a file, the episode of the last time, and the branches on which that holds.

    ``""`` stands for the first branch while its name is not known.
    """

    path: str
    touch: Touch
    source: str
    branches: tuple[str, ...] = ("",)

    def apart_from(self, branch: str) -> Touched:
        """Return this without one of its branches, where something else was done to the file since."""
        return replace(self, branches=tuple(each for each in self.branches if each != branch))


def touched(
    files: Sequence[Touched], path: str, source: str, *, branch: str, deleted: bool, written: bool, created: bool
) -> tuple[Touched, ...]:
    """Return the files after one of them was deleted, ``written`` as a whole or edited on a branch."""
    same = [each for each in files if each.path == path]
    before = next((each.touch for each in same if branch in each.branches), None)
    touch: Touch = "deleted" if deleted else "edited"
    if (written and (created or before == "created")) or (touch == "edited" and before == "created"):
        touch = "created"
    others = [each.apart_from(branch) if each in same else each for each in files]
    return (*(each for each in others if each.branches), Touched(path, touch, source, (branch,)))[-_MAX_FILES:]


def branched_off(files: Sequence[Touched], before: str, branch: str) -> tuple[Touched, ...]:
    """Return the files after a new branch began: it has all that the one before had."""
    return tuple(
        replace(each, branches=(*each.branches, branch)) if before in each.branches else each for each in files
    )


def named(files: Sequence[Touched], branch: str) -> tuple[Touched, ...]:
    """Return the files after the name of the first branch became known."""
    return tuple(replace(each, branches=(branch,)) if each.branches == ("",) else each for each in files)


def told(files: Sequence[Touched], branch: str, most: int) -> str:
    """Return the files by what was done to them, at most so many of each kind, with the last citations.

    What was done on other branches alone comes last.
    """
    parts = _touches([each for each in files if branch in each.branches], most)
    others: dict[str, list[Touched]] = {}
    for each in files:
        if branch not in each.branches:
            others.setdefault(each.branches[-1], []).append(each)
    for name, found in list(reversed(others.items()))[:_MAX_BRANCHES]:
        where = f"on {_quoted(name)}" if name else "on an earlier branch"
        parts.append(f"{where}: {', '.join(_touches(found, max(1, most // 4)))}")
    last = list(dict.fromkeys(each.source for each in reversed(files)))[:_MAX_CITED]
    return " ".join(["; ".join(parts), *(f"[ep:{source}]" for source in last)])


def _touches(files: Sequence[Touched], most: int) -> list[str]:
    parts = []
    for touch in ("edited", "created", "deleted"):
        names = [each.path for each in reversed(files) if each.touch == touch]
        if names:
            more = f" and {len(names) - most} more" if len(names) > most else ""
            parts.append(f"{touch} {', '.join(_quoted(name) for name in names[:most])}{more}")
    return parts


def _quoted(name: str) -> str:
    """Return a name between backticks, of which it has none itself."""
    return "`" + inert(name).replace("`", "'") + "`"


_MAX_SINCE = 3
"""Changes after a check that are told: the newest."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a check found last: tests, a build, a linter. ``since`` names what has changed after it, the newest last."""

    name: str
    targets: tuple[str, ...]
    text: str
    tests: bool
    source: str
    at: datetime | None = None
    since: tuple[str, ...] = ()

    @property
    def check(self) -> Check:
        return self.name, frozenset(self.targets)

    @property
    def branch(self) -> str:
        """Return the branch that the command switched to first, if it did."""
        return self.name.partition(" on ")[2]

    @property
    def told(self) -> str:
        """Return what it found, when, and what has changed since."""
        when = f"at {self.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if self.at else ""
        names, more = self.since[-_MAX_SINCE:], len(self.since) - _MAX_SINCE
        since = f"changed since: {', '.join(reversed(names))}" + (f" and {more} more" if more > 0 else "")
        beside = "; ".join(filter(None, [when, since if names else ""]))
        return f"{self.text} ({beside})" if beside else self.text


_MARK = lazy_re(r"(?:\(?\d{1,2}[.)]|[-*•])\s+")
"""The mark of an item in a list, which a sentence does not need alone."""
_DECIDED = lazy_re(
    r"\b(?:we|i|let)\b.{0,12}\b(?:decide|decided|agreed|settled|chose|go with|going with|stick with)\b|\bdecision\b"
)
_RULED, _LASTING = 0.12, 0.5
"""Chances of a rule, and of what is of use in months, that together are enough for a rule."""
_CLEAR = 0.6
"""Chance of a rule from which on it needs none of its words."""
_CUE = lazy_re(r"\b(?:always|never|must|only|don['’]t|do not|rules?|from now on|at (?:most|least))\b", re.IGNORECASE)
_SURE = 0.5
"""Chance of an act from which on a sentence is taken for a question or a request."""
_WORD = lazy_re(r"[^\W_]+(?:[-_.:'’][^\W_]+)*")
_AROUND, _MOST = 4, 3
"""Words that two rules share around the one place where they differ, and the most that differ there."""
_SAME = 0.6
"""Share of the words of a rule from which a newer one is taken to replace it. Set by hand."""


def rules(text: str) -> list[str]:
    """Return the sentences of a user that set a rule or take a decision, verbatim."""
    found = [folded(text[start:end]) for start, end in sentences(text[:8_000])]
    said = [one[mark.end() :] if (mark := _MARK.match(one)) else one for one in found]
    return [one for one, read in zip(said, readings(said, ["user"] * len(said)), strict=True) if _is_rule(one, read)]


def _is_rule(said: str, read: SentenceTags) -> bool:
    chances = read.scores
    if said.endswith(("?", "？", "؟")) or chances["question"] >= _SURE:
        return False
    ruled = "rule" in read.tags or (chances["rule"] >= _RULED and chances["lasting"] >= _LASTING)
    clear = chances["rule"] >= _CLEAR or _CUE.search(said) is not None
    return (ruled and clear) or _DECIDED.search(said.lower()) is not None


def replaced(known: Sequence[Noted], said: Sequence[str]) -> tuple[list[Noted], list[str]]:
    """Return the known rules that stay beside new ones, and the texts of those that hold no longer.

    A rule gives way to one that shares most words of the shorter of the two. That it no longer holds is sure only where
    they share most words of the longer one, and the newer one says that another held before or has another value.
    """
    words = [frozenset(terms(text)) for text in said]
    old = [(each, frozenset(terms(each.text))) for each in known]
    kept = [each for each, before in old if not any(_shared(before, new, min) >= _SAME for new in words)]
    lifted = [
        each.text
        for each, before in old
        if any(
            before != new and _shared(before, new, max) >= _SAME and _changes(text, each.text)
            for new, text in zip(words, said, strict=True)
        )
    ]
    return kept, lifted


def _changes(newer: str, older: str) -> bool:
    """Return whether a rule says that another held before, or what an older one says with other words in one place."""
    return CUE.search(newer) is not None or _differ_in_one_place(newer, older)


def _differ_in_one_place(newer: str, older: str) -> bool:
    one, other = (_WORD.findall(CUE.sub(" ", text).lower()) for text in (newer, older))
    shorter = min(len(one), len(other))
    start = next((place for place in range(shorter) if one[place] != other[place]), shorter)
    rest = shorter - start
    end = next((place for place in range(rest) if one[-1 - place] != other[-1 - place]), rest)
    return start > 0 and start + end >= _AROUND and all(0 < len(words) - start - end <= _MOST for words in (one, other))


def _shared(one: frozenset[str], other: frozenset[str], of: Callable[[int, int], int]) -> float:
    return len(one & other) / of(len(one), len(other)) if one and other else 0.0


@dataclass(frozen=True, slots=True)
class Noted:
    """A note, and the episode that it comes from."""

    text: str
    source: str


def cited(items: Sequence[Noted]) -> str:
    """Return the texts, one after another, each run from one source with its citation.

    What the texts quote cannot pass for a citation or for a frame.
    """
    parts: list[str] = []
    for place, item in enumerate(items):
        last = place + 1 == len(items) or items[place + 1].source != item.source
        text = inert(item.text).rstrip(".;")
        parts.append(f"{text} [ep:{item.source}]" if last else text)
    return "; ".join(parts)
