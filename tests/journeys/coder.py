"""A coding agent of LangGraph whose model follows a script: a turn is a request, steps with real tools, an answer."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from tests.journeys.parcels import RUN_TESTS, Project, check, module

Calls = list[tuple[str, dict[str, Any]]]
Turn = Iterator[str | Calls]
"""First the request, then for each step its calls, then the answer."""

LIMITS = {
    "a parcel": "From now on a parcel must weigh at most {} kg.",
    "a pallet": "From now on a pallet must carry at least {} boxes.",
    "an invoice": "From now on an invoice must be sent within {} days.",
    "a depot": "Never let a depot hold more than {} trailers.",
}
DECISIONS = {
    "money": ["We decided to keep prices in whole cents.", "We decided to keep prices as Decimal after all."],
    "names": ["Let's stick with snake case for route names.", "Let's stick with kebab case for route names."],
}
FACTS = [
    "The depot on Quay Street opens at {}:40.",
    "The courier from Tarn charges {} euros a stop.",
    "Our van number {} has a broken tail lift.",
    "The fair on the Green has {} stalls this year.",
    "Ida in the office has {} days of leave left.",
    "The scale in hall B shows {} grams too much.",
    "We lost {} parcels in the storm last week.",
    "The new customer sends {} crates of tea a month.",
    "My train leaves at 17:{}.",
    "The lease of the yard costs {} euros a day.",
    "The printer needs {} rolls of paper until Friday.",
    "Insurance pays {} percent of a broken pane.",
    "The bridge to Holm is closed for {} days.",
    "The school by the canal ordered {} lunch boxes.",
    "The lift carries {} sacks at once.",
    "Customs wants form {} for coffee.",
]
TASKS = [
    "print the label twice for a parcel abroad",
    "say in the log which driver took over",
    "refuse a route without a depot",
    "round the surcharge for islands",
    "show the tariff of the neighbouring zone",
    "warn before a trailer is overbooked",
]
NEW = "tolls islands pallets trailers couriers stamps scales bridges ferries hubs lockers claims".split()


class Script:
    """What the user asks and the agent does, by a seed.

    The sentences in force stand in ``limits`` and ``decisions``; ``outdated`` has those that another one replaced.
    """

    def __init__(self, project: Project, seed: int) -> None:
        self.project = project
        self.random = random.Random(seed)
        self.limits: dict[str, str] = {}
        self.decisions: dict[str, str] = {}
        self.outdated: dict[str, str] = {}
        self.facts: list[str] = []
        self.request = ""
        self.branches = ["main"]
        self.number = itertools.count(1)
        self._new = iter(NEW)
        self._kinds = [
            *[self.edit] * 5, *[self.chat] * 4, *[self.fact] * 4, *[self.look] * 2, *[self.test] * 2, *[self.plan] * 2,
            *[self.mend] * 2, *[self.format] * 2, *[self.limit] * 2, self.decision, self.add, self.remove, self.note,
            self.rename, self.switch, self.commit,
        ]  # fmt: skip

    def turns(self, count: int) -> Iterator[Turn]:
        first = [*(self.limit_on(name) for name in LIMITS), *(self.decide(name) for name in DECISIONS)]
        first += [
            self.status(),
            self.plan(),
            self.fact(),
            self.note(),
            self.test(),
            self.add(),
            self.remove(),
            self.rename(),
        ]
        yield from first
        for number in range(len(first), count):
            yield self.sweep() if number % 90 == 60 else self.random.choice(self._kinds)()

    # what the user lays down

    def limit(self) -> Turn:
        return self.limit_on(self.random.choice(list(LIMITS)))

    def limit_on(self, name: str) -> Turn:
        yield self.laid_down(self.limits, name, LIMITS[name].format(self.random.randint(13, 98)))
        yield f"Understood, I keep to that for {name}."

    def decision(self) -> Turn:
        return self.decide(self.random.choice(list(DECISIONS)))

    def decide(self, name: str) -> Turn:
        said = next(each for each in DECISIONS[name] if each != self.decisions.get(name))
        yield self.laid_down(self.decisions, name, said)
        yield "All right."

    def laid_down(self, where: dict[str, str], name: str, said: str) -> str:
        before = where.get(name)
        self.outdated.pop(said, None)
        if before and before != said:
            self.outdated[before] = said
        where[name] = said
        return said

    def fact(self) -> Turn:
        said = FACTS[len(self.facts) % len(FACTS)].format(self.random.randint(11, 59))
        self.facts.append(said)
        yield f"{said} Just so that you know."
        yield "Good to know."

    def chat(self) -> Turn:
        asked = ["Is a table faster than a chain of conditions?", "Do you like these names?", "How is it going?"]
        yield f"{self.random.choice(asked)} I ask for the {next(self.number)}. time."
        yield "It hardly matters for so few, and it reads well."

    # what the agent does

    def edit(self) -> Turn:
        """Change a number in a module, badly laid out as often as not."""
        name, value = self.random.choice(self.project.files("parcel")), self.random.randint(100, 999)
        yield f"In {name}, please set the fee to {value} cents."
        if self.random.random() < 0.5:
            yield [("read_file", {"file_path": name})]
        yield [self.edited(name, self.random.choice([f"    return {value}", f"    return (  {value} )"]))]
        if self.random.random() < 0.3:
            yield [("bash", {"command": RUN_TESTS})]
        yield f"The fee in `{name}` is {value} cents now."

    def sweep(self) -> Turn:
        """Change every module, in a turn that may be longer than the context."""
        value = self.random.randint(100, 999)
        yield f"Please set the fee to {value} cents in every module, one after the other, and run the tests."
        for name in self.project.files("parcel"):
            yield [("read_file", {"file_path": name})]
            yield [self.edited(name, f"    return {value}")]
        yield [("bash", {"command": RUN_TESTS})]
        yield f"Every module has the fee {value}."

    def edited(self, name: str, new: str) -> tuple[str, dict[str, Any]]:
        old = next(line for line in self.project.text(name).splitlines() if line.startswith("    return "))
        return "edit_file", {"file_path": name, "old_string": f"{old}\n", "new_string": f"{new}\n"}

    def mend(self) -> Turn:
        """Make the test of a module say what the module does."""
        name = self.random.choice(self.project.files("parcel"))
        test = f"tests/test_{name.removeprefix('parcel/')}"
        yield f"The test of {name} must follow the fee of the module. Mend it."
        yield [("bash", {"command": f"grep -n return {name}"}), ("read_file", {"file_path": test})]
        fee = re.findall(r"^    return \D*(\d+)", self.project.text(name), re.MULTILINE)[0]
        line = next(line for line in self.project.text(test).splitlines() if ".fee(1)" in line)
        new = f"{line.rpartition(',')[0]}, {fee})"
        if new != line:
            yield [("edit_file", {"file_path": test, "old_string": line, "new_string": new})]
        yield [("bash", {"command": RUN_TESTS})]
        yield f"`{test}` expects {fee} now."

    def test(self) -> Turn:
        yield f"Run all the tests, please, for the {next(self.number)}. time."
        yield [("bash", {"command": RUN_TESTS})]
        failing = self.project.tested.failing if self.project.tested else ()
        yield f"{len(failing)} of the tests fail." if failing else "They all pass."

    def look(self) -> Turn:
        name = self.random.choice(self.project.files("parcel"))
        yield f"What does {name} do with heavy parcels?"
        yield [("bash", {"command": f"grep -n HEAVY {name}"}), ("read_file", {"file_path": name})]
        yield f"`{name}` charges heavy parcels by weight."

    def plan(self) -> Turn:
        items = self.random.sample(TASKS, 4)
        yield f"Plan the next steps: {items[-1]}, and what belongs to it. This is plan {next(self.number)}."
        done = self.random.randint(0, 2)
        states = ["completed"] * done + ["in_progress"] + ["pending"] * (3 - done)
        yield [("write_todos", {"todos": [{"content": c, "status": s} for c, s in zip(items, states, strict=True)]})]
        yield "The plan stands."

    def format(self) -> Turn:
        yield f"Format the code. It is round {next(self.number)}."
        yield [("bash", {"command": "ruff format --isolated --no-cache parcel tests"})]
        yield "Formatted."

    def add(self) -> Turn:
        name = next(self._new, None)
        if name is None:
            yield from self.look()
            return
        yield f"We need a module for {name}, with a test."
        yield [("write_file", {"file_path": f"parcel/{name}.py", "content": module(name, 30)})]
        yield [("write_file", {"file_path": f"tests/test_{name}.py", "content": check(name, 30)})]
        yield f"`parcel/{name}.py` is there."

    def remove(self) -> Turn:
        modules = self.project.files("parcel")
        if len(modules) < 6:
            yield from self.look()
            return
        name = self.random.choice(modules).removeprefix("parcel/")
        yield f"We no longer need {name.removesuffix('.py')}: remove that module and its test."
        yield [("bash", {"command": f"rm parcel/{name} tests/test_{name}"})]
        yield f"The module {name.removesuffix('.py')} and its test are gone."

    def note(self) -> Turn:
        name = f"docs/note-{next(self.number)}.md"
        yield f"Write down in {name} why the fees differ."
        text = f"# Why the fees differ\n\nThey follow the weight, see table {self.random.randint(2, 99)}.\n"
        yield [("write_file", {"file_path": name, "content": text})]
        yield f"`{name}` says it."

    def rename(self) -> Turn:
        notes = self.project.files("docs")
        if not notes:
            yield from self.note()
            return
        old, new = self.random.choice(notes), f"docs/about-{next(self.number)}.md"
        yield f"That note should be called {new}, not {old}."
        yield [("bash", {"command": f"mv {old} {new}"})]
        yield f"It is `{new}` now."

    def status(self) -> Turn:
        yield "Where do we stand?"
        yield [("bash", {"command": "git status"})]
        yield f"On {self.project.branch}."

    def commit(self) -> Turn:
        number = next(self.number)
        yield f"Commit what we have, as step {number}."
        yield [("bash", {"command": f"git add -A && git commit -m 'Step {number}'"})]
        yield f"Step {number} is committed."

    def switch(self) -> Turn:
        """Go to another branch, where the files are other ones."""
        others = [name for name in self.branches if name != self.project.branch]
        new = f"feature/{next(self.number)}"
        name = self.random.choice([*others, *others, new])
        yield f"Commit everything, then go on with {name}, please."
        yield [("bash", {"command": f"git add -A && git commit -m 'Before {name}'"})]
        yield [("bash", {"command": f"git switch {'-c ' if name == new else ''}{name}"})]
        self.branches = [*others, self.project.branch]
        yield f"We are on {name}."


class Coder(BaseChatModel):
    """A model that follows the turns of a script."""

    turn: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Coder:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        step = next(self.turn)
        calls = [] if isinstance(step, str) else [(name, given, uuid4().hex[:12]) for name, given in step]
        said = AIMessage(
            step if isinstance(step, str) else "",
            tool_calls=[{"name": name, "args": given, "id": id_} for name, given, id_ in calls],
        )
        return ChatResult(generations=[ChatGeneration(message=said)])
