"""A run of the consolidator: what it does, that it does it once, that it goes on and can be undone."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.inside import associate, contents, dying, links, stored, uses
from tests.waiting import PATIENCE
from tidal_plugins import (
    Closed,
    Consolidation,
    Entry,
    HashingEmbedder,
    InvalidInput,
    NotFound,
    Settings,
    Statement,
    TidalMemory,
    Tier,
)
from tidal_plugins.model.dossier import Source
from tidal_plugins.testing import NOON, FrozenClock

DAY = timedelta(days=1)
WARM_ENDS = timedelta(hours=478.357)  # 72 · log2(100)
COLD_ENDS = timedelta(hours=4783.570)  # 720 · log2(100)
MINUTE = timedelta(minutes=1)
ASKED, ANSWERED = "What should I practise?", "Practise jazz piano scales slowly."


@pytest.fixture
def open_memory(open_memory: OpenMemory) -> OpenMemory:
    """Opens memories without what is read in between: the graph would make more entries and facts."""

    def open_(name: str = "agent.db", **options: Any) -> TidalMemory:
        settings = options.pop("settings", Settings())
        graph = settings.graph.model_copy(update={"enabled": False, "supersession": False})
        return open_memory(name, settings=settings.model_copy(update={"graph": graph}), **options)

    return open_


def run(memory: TidalMemory) -> Consolidation:
    return memory.maintenance.run()


def told(memory: TidalMemory, text: str = "I play jazz piano", **options: Any) -> str:
    return memory.record(text, **options).entries[0]


def tier(memory: TidalMemory, id_: str) -> Tier:
    found = memory.get(id_).tier
    assert found
    return found


# tiers


def test_an_entry_turns_cold_as_of_the_moment_it_did(memory: TidalMemory, clock: FrozenClock) -> None:
    id_, fresh = told(memory), told(memory, "fresh words")
    before = tier(memory, id_)
    clock.advance(days=15)
    memory.record("?", "fresh words", surfaced=[fresh])
    clock.advance(days=15)
    report = run(memory)
    after = tier(memory, id_)
    assert report.settled == 1
    assert after.cold_at
    assert after.cold_at - NOON == pytest.approx(WARM_ENDS, abs=MINUTE)
    assert after == Tier(1.0, after.cold_at, 720.0, after.cold_at, before.archived_at)
    assert after.archived_at
    assert after.archived_at - after.cold_at == pytest.approx(COLD_ENDS, abs=MINUTE)
    assert tier(memory, fresh).half_life == 168


def test_what_does_not_decay_and_what_expires_is_left_alone(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(recording={"gate": True}))
    skill, small = memory.remember("how to deploy", kind="skill"), told(memory, "ok then")
    assert tier(memory, small).expires_at
    clock.advance(days=30)
    report = run(memory)
    assert memory.get(skill.id).tier is None or tier(memory, skill.id).cold_at is None
    assert memory.get(small).text == "ok then"
    assert tier(memory, small).expires_at == NOON + 14 * DAY
    assert not memory.recall("ok then", kinds={"conversation"})
    assert 0 < report.ephemeral <= 1


# associations


def test_faded_associations_go(memory: TidalMemory, clock: FrozenClock) -> None:
    memory.record("Which bridge?", "The green one.")
    clock.advance(days=60)
    kept = memory.record("Which soup?", "Tomato.")
    clock.advance(days=30)  # 0.95^90 = 0.0099
    report = run(memory)
    [(source, target, _)] = links(memory).values()
    assert (report.pruned, {source, target}) == (1, set(kept.entries))


# facts


def use(memory: TidalMemory, clock: FrozenClock, *ids: str, turns: int = 3, hours: float = 2, answer: str = "") -> None:
    for n in range(turns):
        memory.record(f"{ASKED} {n}", answer or ANSWERED, surfaced=ids)
        clock.advance(hours=hours)


def facts(memory: TidalMemory) -> list[Entry]:
    return stored(memory, "fact")


def test_what_three_turns_of_a_day_use_becomes_a_fact_that_cites_it(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    for made in (0, 0, 1, 0):
        use(memory, clock, id_, turns=1)
        report = run(memory)
        assert len(report.facts) == made, "uses before and after a run count together"
    [fact] = facts(memory)
    source = memory.get(id_)
    assert fact.text == f"I play jazz piano [{source.citation}]"
    assert fact.metadata == {"sources": [id_]}
    assert (fact.kind, fact.tier, fact.channel, fact.trust) == ("fact", None, "synthesis", source.trust)
    assert fact.occurred_at == source.occurred_at
    assert memory.recall("jazz piano", kinds={"fact"})[0].passage == "I play jazz piano"
    for turns, hours, made in ((3, 11, 1), (3, 13, 0), (9, 12.5, 0), (2, 1, 0)):
        other = memory.scoped(f"{turns} turns", f"{hours} hours")
        use(other, clock, told(other), turns=turns, hours=hours)
        assert len(run(other).facts) == made, (turns, hours)


@pytest.mark.parametrize("hangs", [True, False])
def test_a_model_that_hangs_or_fails_is_stood_in_for(open_memory: Any, clock: FrozenClock, hangs: bool) -> None:
    gate = threading.Event()

    def fail() -> None:
        if not hangs:
            raise RuntimeError("no model today")
        gate.wait(PATIENCE)

    memory = open_memory(summariser=Model(then=fail), settings=Settings(models={"timeout": 0.1 if hangs else 60.0}))
    use(memory, clock, told(memory))
    report = memory.maintenance.run()
    gate.set()
    assert report.errors == ()
    assert facts(memory)[0].text.startswith("I play jazz piano [ep:")


def test_entries_that_the_same_turns_use_are_one_fact(memory: TidalMemory, clock: FrozenClock) -> None:
    first, second = told(memory), told(memory, "I practise scales slowly")
    other = told(memory, "tomato soup needs basil")
    use(memory, clock, first, second)
    use(memory, clock, other, answer="Tomato soup: basil.")
    run(memory)
    assert [fact.metadata["sources"] for fact in facts(memory)] == [[first, second], [other]]
    [both, _] = facts(memory)
    citations = [f"[{memory.get(id_).citation}]" for id_ in (first, second)]
    assert both.text == f"I play jazz piano\nI practise scales slowly {' '.join(citations)}"


class Model:
    """Writes one statement that cites the first source, or fails."""

    def __init__(self, text: str = "The user plays jazz piano.", then: Callable[[], object] | None = None) -> None:
        self.text, self.then, self.asked = text, then, 0

    def summarise(self, sources: Sequence[Source], **_: Any) -> list[Statement]:
        self.asked += 1
        if self.then:
            self.then()
        return [Statement(self.text, (sources[0].id,))]


def test_a_summariser_writes_the_fact_and_is_asked_once(open_memory: OpenMemory, clock: FrozenClock) -> None:
    model = Model()
    memory = open_memory(summariser=model)
    first, second = told(memory), told(memory, "I practise scales slowly")
    use(memory, clock, first, second)
    for _ in range(2):
        run(memory)
    [fact] = facts(memory)
    assert fact.text == f"The user plays jazz piano. [{memory.get(first).citation}]"
    assert fact.metadata["sources"] == [first, second], "what it wrote may come from any of them"
    assert model.asked == 1


def test_no_lock_is_held_while_a_model_writes(open_memory: OpenMemory, clock: FrozenClock) -> None:
    calm = {"background": False}  # the one that reads turns writes too
    impatient = open_memory(settings=Settings(storage={"busy_timeout": 0.0}, graph=calm))
    memory = open_memory(summariser=Model(then=lambda: impatient.record("meanwhile")), settings=Settings(graph=calm))
    use(memory, clock, told(memory))
    assert len(run(memory).facts) == 1
    assert impatient.episodes.list()[-1].query == "meanwhile"


def test_what_is_forgotten_while_a_model_writes_becomes_no_fact(
    memory: TidalMemory, open_memory: OpenMemory, clock: FrozenClock
) -> None:
    id_ = told(memory)
    use(memory, clock, id_)
    report = run(open_memory(summariser=Model(then=lambda: memory.forget(id_))))
    assert (report.facts, facts(memory), report.errors) == ((), [], ())


def test_forgetting_a_source_takes_the_fact_along(memory: TidalMemory, clock: FrozenClock) -> None:
    first = told(memory, "my grandmother Zerbinetta hides gold under the xylophone")
    second = told(memory, "Zerbinetta lives in Graz")
    use(memory, clock, first, second, answer="Zerbinetta hides gold under the xylophone, she lives in Graz.")
    run(memory)
    [fact] = facts(memory)
    memory.forget(first)
    assert facts(memory) == []
    with pytest.raises(NotFound):
        memory.get(fact.id)
    use(memory, clock, second, answer="Zerbinetta lives in Graz, surely.")
    run(memory)
    assert [fact.metadata["sources"] for fact in facts(memory)] == [[second]], "what is left may recur by itself"


# thought seeds

PLAN, SOUP = "The practice plan starts with slow scales.", "We cooked tomato soup for Anna."
ERRANDS = (
    "The green kayak leaks at the stern.",
    "Our landlord replaced the boiler valve.",
    "Marta borrowed my torque wrench.",
    "The choir sings Bach in November.",
    "Two beehives stand behind the barn.",
    "Leo broke his left wrist skating.",
    "The printer ran out of cyan ink.",
    "Grandpa collects railway timetables.",
)


def test_what_only_asks_or_thanks_two_documents_and_what_an_exchange_brought_up_are_no_thought(
    memory: TidalMemory,
) -> None:
    said = told(memory, thread="a")
    asked, thanked = told(memory, "What time does the bakery open?", thread="b"), told(memory, "Thanks!", thread="c")
    first, second = (memory.remember(text, source=text).id for text in (PLAN, ERRANDS[0]))
    brought = memory.record("What do I practise?", thread="d", surfaced=[first]).entries[0]
    for pair in ((said, asked), (said, thanked), (first, second), (first, brought)):
        associate(memory, *pair, times=9)
    assert run(memory).seeds == ()


def test_a_capsule_shows_seeds_behind_the_priorities_and_a_whisper_may(
    open_memory: OpenMemory, clock: FrozenClock
) -> None:
    memory = open_memory(settings=Settings(whisper={"thoughts": True}))
    associate(memory, told(memory, thread="a"), told(memory, SOUP, thread="b"), times=9)
    assert "keep coming up together" not in str(memory.capsule.read())
    run(memory)
    assert "keep coming up together" in memory.capsule.read()["current_priorities"]
    assert "thought: " in str(memory.whisper("Which jazz do I play on the piano?"))
    clock.advance(days=8)
    assert "keep coming up together" not in str(memory.capsule.read())
    assert "thought: " not in str(memory.whisper("Which jazz do I play on the piano?"))
    memory.close()


def test_pairs_that_keep_coming_up_together_across_threads_are_seeds(memory: TidalMemory) -> None:
    spoken, note = told(memory, thread="monday"), memory.remember(PLAN, source="plan.md").id
    same, once = told(memory, "scales", thread="monday"), told(memory, "soup", thread="friday")
    associate(memory, spoken, note, times=4)
    associate(memory, spoken, same, times=4)
    associate(memory, note, once, times=1)
    [seed] = run(memory).seeds
    assert {seed.first.text, seed.second.text} == {"I play jazz piano", PLAN}
    for part in ("“I play jazz piano”", "“The practice plan starts with slow scales”", "keep coming up together"):
        assert part in str(seed)
    assert str(seed).count("[ep:") + str(seed).count("[mem:") == 2
    assert seed.weight == 4
    assert "thread monday" in seed.why
    assert "plan.md" in seed.why


# runs


def lived(memory: TidalMemory, clock: FrozenClock) -> None:
    """A life with something for every step."""
    first, second = told(memory, thread="a"), told(memory, "I practise scales slowly", thread="b")
    told(memory, "tomato soup", thread="c")
    memory.record("Which bridge?", "The green one.", thread="d")
    clock.advance(days=100)
    use(memory, clock, first, second)
    memory.associations.link_pending()
    memory.graph.index_pending()


def test_to_run_again_or_in_another_scope_or_with_a_clock_that_went_back_changes_nothing_more(
    memory: TidalMemory, clock: FrozenClock
) -> None:
    other = memory.scoped("other")
    lived(memory, clock)
    told(other, "nothing to be done")
    other.graph.index_pending()
    before = contents(memory.path)
    assert run(other) == Consolidation(None, memory.now())
    assert contents(memory.path) == before
    report = run(memory)
    assert report.run
    assert all((report.settled, report.pruned, report.facts, report.seeds))
    before = contents(memory.path)
    again = run(memory)
    assert again == replace(report, run=None, settled=0, pruned=0, facts=())
    clock.set(NOON - 365 * DAY)
    back = run(memory)
    assert (back.run, back.errors) == (None, ())
    assert contents(memory.path) == before
    with pytest.raises(InvalidInput):
        memory.maintenance.run(NOON.replace(tzinfo=None))
    memory.close()
    with pytest.raises(Closed):
        run(memory)


@pytest.mark.parametrize("after", [0, 1, 2, 3, 5, 8, 11])
def test_a_run_that_was_cut_off_goes_on_to_the_same_end(
    open_memory: OpenMemory, clock: FrozenClock, tmp_path: Path, after: int
) -> None:
    settings = Settings(tuning={"consolidation.batch": 2})
    with open_memory("whole.db", settings=settings) as memory:
        for n in range(5):
            memory.record(f"word{n}", f"answer{n}")
        ids = [told(memory, f"I play jazz piano {n}", thread=str(n)) for n in range(2)]
        clock.advance(days=100)
        for n in range(4):
            memory.record(f"{ASKED} {n}", ANSWERED, surfaced=ids)
    shutil.copy(tmp_path / "whole.db", tmp_path / "cut.db")
    whole, cut = (open_memory(name, settings=settings) for name in ("whole.db", "cut.db"))
    report = run(whole)
    with dying(cut, after):
        run(cut)
    assert run(cut).run in (report.run, None)
    assert contents(cut.path) == contents(whole.path)


def test_a_step_that_fails_is_named_and_noted_and_leaves_the_others_alone(
    open_memory: OpenMemory, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    lived(memory, clock)
    told(memory, "The bridge is green.")
    memory.dossiers.refresh("bridge")
    clock.advance(hours=5)
    told(memory, "The bridge was opened by Carla.")
    embed = HashingEmbedder.embed

    def fail(self: HashingEmbedder, texts: Sequence[str]) -> Any:
        if any("Carla" in text for text in texts):
            raise ValueError(f"cannot read {texts[0]}")
        return embed(self, texts)

    with monkeypatch.context() as failing:
        failing.setattr(HashingEmbedder, "embed", fail)
        report = run(memory)
    [noted] = [one for one in memory.maintenance.runs() if one.errors]
    for errors in (report.errors, noted.errors):
        assert [error.partition(":")[0] for error in errors] == ["dossiers"]
    assert "Carla" in str(report.errors)
    assert "Carla" not in str(noted)
    assert all((report.run, report.settled, report.pruned, report.facts, report.seeds))
    clock.advance(hours=5)
    assert run(memory).dossiers == ("bridge",)
    assert "Carla" in str(memory.dossiers["bridge"])
    assert run(memory).dossiers == ()


# undo


def test_undo_puts_back_tiers_and_associations_and_removes_facts(memory: TidalMemory, clock: FrozenClock) -> None:
    lived(memory, clock)
    tiers = {entry.id: entry.tier for entry in stored(memory)}
    edges = links(memory)
    report = run(memory)
    assert report.run
    assert memory.maintenance.undo(report.run) == report.settled + report.pruned + len(report.facts)
    assert {entry.id: entry.tier for entry in stored(memory)} == tiers
    assert links(memory) == edges
    assert facts(memory) == []


def test_undo_leaves_alone_what_changed_since(memory: TidalMemory, clock: FrozenClock) -> None:
    id_, gone = told(memory), told(memory, "tomato soup")
    turn = memory.record("Which bridge?", "The green one.")
    memory.associations.link_pending()
    clock.advance(days=100)
    report = run(memory)
    assert (report.settled, report.pruned) == (4, 1)
    memory.record(ASKED, ANSWERED, surfaced=[id_])
    memory.record("?", surfaced=[turn.id])
    memory.associations.link_pending()
    memory.forget(gone)
    warm = tier(memory, id_)
    assert report.run
    assert memory.maintenance.undo(report.run) == 0
    assert tier(memory, id_) == warm
    assert {weight for _, _, weight in links(memory).values()} == {1.0}


def test_undo_needs_a_run_that_can_be_undone(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(tuning={"consolidation.runs": 2}))
    runs = []
    for n in range(4):
        told(memory, f"word{n}")
        clock.advance(days=30)
        runs.append(run(memory).run)
    assert len(set(runs)) == 4
    for old in (*runs[:2], "unknown"):
        with pytest.raises(NotFound, match="undo"):
            memory.maintenance.undo(old)
    assert memory.maintenance.undo(runs[2]) == 1
    with pytest.raises(NotFound):
        memory.maintenance.undo(runs[2])


@pytest.mark.parametrize("after", range(3))
def test_undo_that_was_cut_off_can_be_run_again(memory: TidalMemory, clock: FrozenClock, after: int) -> None:
    lived(memory, clock)
    tiers = {entry.id: entry.tier for entry in stored(memory)}
    report = run(memory)
    assert report.run
    with dying(memory, after):
        memory.maintenance.undo(report.run)
        pytest.fail("it was not cut off")
    memory.maintenance.undo(report.run)
    assert {entry.id: entry.tier for entry in stored(memory)} == tiers


@pytest.mark.parametrize("changed", [True, False], ids=["after a change", "before its first change"])
def test_a_run_that_is_under_way_is_left_alone(
    memory: TidalMemory, open_memory: OpenMemory, clock: FrozenClock, changed: bool
) -> None:
    if changed:
        lived(memory, clock)
    else:
        use(memory, clock, told(memory))
    reports: list[Consolidation] = []
    first = run(open_memory(summariser=Model(then=lambda: reports.append(run(memory)))))
    assert first.run
    assert not first.errors
    assert first.facts == tuple(fact.id for fact in facts(memory))
    assert reports == [Consolidation(None, memory.now(), errors=("another consolidation is under way",))]


@pytest.mark.parametrize(("hours", "resumed"), [(0.5, False), (1.5, True)])
def test_a_run_of_another_machine_counts_as_cut_off_after_a_while(
    memory: TidalMemory, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch, hours: float, resumed: bool
) -> None:
    lived(memory, clock)
    with monkeypatch.context() as elsewhere, dying(memory, 1):
        elsewhere.setattr("socket.gethostname", lambda: "elsewhere")
        run(memory)
        pytest.fail("it was not cut off")
    clock.advance(hours=hours)
    report = run(memory)
    assert bool(report.run) is resumed
    assert bool(report.errors) is not resumed


def test_an_undone_fact_stays_away_and_the_rest_is_done_anew(memory: TidalMemory, clock: FrozenClock) -> None:
    lived(memory, clock)
    report = run(memory)
    assert report.run
    memory.maintenance.undo(report.run)
    use(memory, clock, *dict.fromkeys(uses(memory)))
    again = run(memory)
    assert again.run not in (None, report.run)
    assert (again.settled, again.pruned, again.facts) == (report.settled, report.pruned, ())


def test_a_fact_that_was_forgotten_is_not_made_again(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    use(memory, clock, id_)
    memory.forget(*run(memory).facts)
    use(memory, clock, id_)
    run(memory)
    assert facts(memory) == []


def test_seeds_do_not_come_again_until_long_after(memory: TidalMemory, clock: FrozenClock) -> None:
    pair = told(memory, thread="a"), told(memory, SOUP, thread="b")
    associate(memory, *pair, times=9)
    assert len(run(memory).seeds) == 1
    clock.advance(hours=1)
    assert run(memory).seeds == ()
    clock.advance(days=30)
    associate(memory, *pair, times=2)
    assert len(run(memory).seeds) == 1


def test_a_run_that_was_taken_over_adds_nothing(
    memory: TidalMemory, open_memory: OpenMemory, clock: FrozenClock
) -> None:
    def much_later() -> None:
        clock.advance(hours=2)
        reports.append(run(memory))

    lived(memory, clock)
    reports: list[Consolidation] = []
    first = run(open_memory(summariser=Model(then=much_later)))
    assert (first.facts, reports[0].errors) == ((), ())
    assert reports[0].facts == tuple(fact.id for fact in facts(memory))


def test_undo_takes_along_what_was_made_of_a_fact(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    use(memory, clock, id_)
    report = run(memory)
    assert report.run
    dossier = memory.dossiers.refresh("jazz piano")
    assert set(report.facts) <= set(dossier.sources)
    memory.maintenance.undo(report.run)
    assert not memory.dossiers["jazz piano"]
    use(memory, clock, id_)
    assert run(memory).facts == ()
