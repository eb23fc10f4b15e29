"""A run of the consolidator: what it does, that it does it once, that it goes on and can be undone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from tidal_plugins import Closed, InvalidInput, Note, NotFound, Settings, TidalMemory
from tidal_plugins.associations.web import ASSOCIATION, AssociationWeb
from tidal_plugins.ingestion.forget import DOSSIERS, RECURRING
from tidal_plugins.ingestion.uses import USES
from tidal_plugins.maintenance.consolidator import Consolidator
from tidal_plugins.maintenance.runs import Run, UnderWay, run_id
from tidal_plugins.model.clock import to_micros
from tidal_plugins.model.consolidation import Consolidation
from tidal_plugins.model.entry import Entry, Tier
from tidal_plugins.model.summary import Source, Statement
from tidal_plugins.storage.base import Where, WhereLinks
from tidal_plugins.testing import NOON, FrozenClock
from tidal_plugins.tuning import Tuning

DAY = timedelta(days=1)
WARM_ENDS = timedelta(hours=478.357)  # 72 · log2(100)
COLD_ENDS = timedelta(hours=4783.570)  # 720 · log2(100)
MINUTE = timedelta(minutes=1)
ASKED, ANSWERED = "What should I practise?", "Practise jazz piano scales slowly."


def consolidator(memory: TidalMemory, **options: Any) -> Consolidator:
    return Consolidator(memory._services.writer, memory.scope, **options)


def run(memory: TidalMemory, **options: Any) -> Consolidation:
    return consolidator(memory, **options).run(memory.now())


def told(memory: TidalMemory, text: str = "I play jazz piano", **options: Any) -> str:
    return memory.record(text, **options).entries[0]


def tier(memory: TidalMemory, id_: str) -> Tier:
    found = memory.get(id_).tier
    assert found
    return found


def contents(memory: TidalMemory) -> list[Any]:
    """Everything in the file, row by row."""
    connection = apsw.Connection(memory.path)
    tables = ("entries", "passages", "vectors", "links", "log", "documents", "earlier_documents")
    try:
        return [(table, row) for table in tables for row in connection.execute(f"SELECT * FROM {table}")]
    finally:
        connection.close()


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


def test_settling_changes_no_ranking_and_no_reinforcement(open_memory: Any, clock: FrozenClock) -> None:
    settled, lazy = open_memory("settled.db"), open_memory("lazy.db")
    ids = [told(memory, id="t") for memory in (settled, lazy)]
    for memory, id_ in zip((settled, lazy), ids, strict=True):
        memory.record(ASKED, ANSWERED, id="u", surfaced=[id_])  # used once: its half-life is 168 from then on
    clock.advance(days=100)
    assert run(settled).settled == 3
    assert settled.recall("jazz")[0].score == lazy.recall("jazz")[0].score
    for memory, id_ in zip((settled, lazy), ids, strict=True):
        memory.record(ASKED, "No idea.", id="v", surfaced=[id_])
    assert tier(settled, ids[0]) == tier(lazy, ids[1])
    assert tier(settled, ids[0]).half_life == 168


def test_what_does_not_decay_and_what_expires_is_left_alone(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(gate={"enabled": True}))
    skill, small = memory.remember("how to deploy", kind="skill"), told(memory, "ok then")
    assert tier(memory, small).expires_at
    clock.advance(days=30)
    report = run(memory)
    assert memory.get(skill.id).tier is None or tier(memory, skill.id).cold_at is None
    assert memory.get(small).text == "ok then"
    assert tier(memory, small).expires_at == NOON + 14 * DAY
    assert not memory.recall("ok then", kinds={"conversation"})
    assert 0 < report.ephemeral <= 1


def test_large_stores_settle_in_batches(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Tuning(consolidation={"batch": 7}))
    memory.remember([Note(f"word{n}", kind="conversation") for n in range(30)])
    clock.advance(days=30)
    assert run(memory).settled == 30
    assert run(memory).settled == 0


def test_a_damaged_entry_keeps_its_tier_and_stops_nothing(
    memory: TidalMemory, clock: FrozenClock, tmp_path: Path
) -> None:
    ids = [told(memory, f"word{n}") for n in range(3)]
    connection = apsw.Connection(str(tmp_path / "agent.db"))
    connection.execute("UPDATE entries SET text = 'forged' WHERE id = ?", (ids[1],))
    connection.close()
    clock.advance(days=30)
    report = run(memory)
    assert (report.settled, report.errors) == (2, ())


# associations


def test_faded_associations_go(memory: TidalMemory, clock: FrozenClock) -> None:
    memory.record("Which bridge?", "The green one.")
    clock.advance(days=60)
    kept = memory.record("Which soup?", "Tomato.")
    clock.advance(days=30)  # 0.95^90 = 0.0099
    report = run(memory)
    [edge] = memory._services.storage.links(memory.scope, WhereLinks(kinds=[ASSOCIATION]))
    assert (report.pruned, {edge.source, edge.target}) == (1, set(kept.entries))


# facts


def use(memory: TidalMemory, clock: FrozenClock, *ids: str, turns: int = 3, hours: float = 2, answer: str = "") -> None:
    for n in range(turns):
        memory.record(f"{ASKED} {n}", answer or ANSWERED, surfaced=ids)
        clock.advance(hours=hours)


def facts(memory: TidalMemory) -> list[Entry]:
    return memory._services.storage.find(memory.scope, Where(kinds=["fact"]))


def test_what_three_turns_of_a_day_use_becomes_a_fact_that_cites_it(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    use(memory, clock, id_, turns=2)
    assert run(memory).facts == ()
    use(memory, clock, id_, turns=1)
    report = run(memory)
    [fact] = facts(memory)
    source = memory.get(id_)
    assert report.facts == (fact.id,)
    assert fact.text == f"I play jazz piano [{source.citation}]"
    assert fact.metadata == {"sources": [id_]}
    assert (fact.kind, fact.tier, fact.channel, fact.trust) == ("fact", None, "synthesis", source.trust)
    assert fact.occurred_at == source.occurred_at
    assert memory.recall("jazz piano", kinds={"fact"})[0].passage == "I play jazz piano"


@pytest.mark.parametrize(("turns", "hours", "made"), [(3, 11, 1), (3, 13, 0), (9, 12.5, 0), (2, 1, 0)])
def test_the_uses_must_be_near_enough(
    memory: TidalMemory, clock: FrozenClock, turns: int, hours: float, made: int
) -> None:
    id_ = told(memory)
    use(memory, clock, id_, turns=turns, hours=hours)
    assert len(run(memory).facts) == made


def test_uses_before_and_after_a_run_count_together(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    for made in (0, 0, 1, 0):
        use(memory, clock, id_, turns=1)
        assert len(run(memory).facts) == made
    assert len(facts(memory)) == 1


def uses(memory: TidalMemory) -> list[str]:
    return [line.key for line in memory._services.storage.read_log(memory.scope, USES)]


def test_uses_that_count_no_more_go_but_for_the_last_of_each_entry(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Tuning(consolidation={"turns": 4, "batch": 2}))
    jazz, soup = told(memory), told(memory, "tomato soup needs basil")
    use(memory, clock, jazz)
    use(memory, clock, soup, turns=1, answer="Tomato soup: basil.")
    memory.maintenance.run()
    assert uses(memory) == [jazz, jazz, jazz, soup]
    clock.advance(hours=60)
    memory.maintenance.run()
    assert uses(memory) == [jazz, jazz, jazz, soup], "nothing is new beside which they could count"
    use(memory, clock, soup, turns=1, answer="Tomato soup: basil.")
    memory.maintenance.run(clock() - DAY * 300)
    assert len(uses(memory)) == 5, "a clock that went back ages nothing"
    memory.maintenance.run()
    assert uses(memory) == [jazz, soup]


def test_what_was_used_once_stays_so_for_the_next_strengthening(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    use(memory, clock, id_)
    clock.advance(days=300)
    use(memory, clock, told(memory, "tomato soup needs basil"), answer="Tomato soup: basil.")
    memory.maintenance.run()
    memory.record("Anything else?", "No.", surfaced=[id_])
    assert tier(memory, id_).half_life == 168


def test_a_model_that_hangs_is_stood_in_for_in_time(open_memory: Any, clock: FrozenClock) -> None:
    gate = threading.Event()
    memory = open_memory(summariser=Model(then=lambda: gate.wait(30)), settings=Settings(models={"timeout": 0.1}))
    use(memory, clock, told(memory))
    started = time.monotonic()
    report = memory.maintenance.run()
    assert time.monotonic() - started < 5
    gate.set()
    assert report.errors == ()
    assert facts(memory)[0].text.startswith("I play jazz piano [")


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


def test_what_is_knowledge_already_becomes_no_fact(memory: TidalMemory, clock: FrozenClock) -> None:
    note, spoken = memory.remember("I play jazz piano", kind="kb"), told(memory, "jazz piano, I said")
    use(memory, clock, note.id, spoken)
    assert len(run(memory).facts) == 1
    use(memory, clock, facts(memory)[0].id)
    assert run(memory).facts == ()


def test_of_a_long_entry_the_sentence_that_matters_speaks(memory: TidalMemory, clock: FrozenClock) -> None:
    small = "We had coffee and looked out of the window for a while. " * 6
    id_ = told(memory, f"{small} Remember: we decided to deploy on Fridays only. {small}")
    use(memory, clock, id_, answer="Deploy on Fridays only, as decided. Remember?")
    run(memory)
    assert facts(memory)[0].text.startswith("Remember: we decided to deploy on Fridays only. [ep:")


class Model:
    """Writes one statement that cites the first source, or fails."""

    def __init__(self, text: str = "The user plays jazz piano.", then: Callable[[], object] | None = None) -> None:
        self.text, self.then, self.asked = text, then, 0

    def summarise(self, sources: Sequence[Source], **_: Any) -> list[Statement]:
        self.asked += 1
        if self.then:
            self.then()
        return [Statement(self.text, (sources[0].id,))]


def test_a_summariser_writes_the_fact_and_is_asked_once(memory: TidalMemory, clock: FrozenClock) -> None:
    first, second = told(memory), told(memory, "I practise scales slowly")
    use(memory, clock, first, second)
    model = Model()
    for _ in range(2):
        run(memory, summariser=model)
    [fact] = facts(memory)
    assert fact.text == f"The user plays jazz piano. [{memory.get(first).citation}]"
    assert fact.metadata["sources"] == [first, second], "what it wrote may come from any of them"
    assert model.asked == 1


def test_where_a_summariser_fails_the_entry_speaks_for_itself(memory: TidalMemory, clock: FrozenClock) -> None:
    def fail() -> None:
        raise RuntimeError("no model today")

    use(memory, clock, told(memory))
    report = run(memory, summariser=Model(then=fail))
    assert report.errors == ()
    assert facts(memory)[0].text.startswith("I play jazz piano [ep:")


def test_no_lock_is_held_while_a_model_writes(memory: TidalMemory, open_memory: Any, clock: FrozenClock) -> None:
    impatient = open_memory(settings=Settings(storage={"busy_timeout": 0.2}))
    use(memory, clock, told(memory))
    model = Model(then=lambda: impatient.record("meanwhile"))
    assert len(run(memory, summariser=model).facts) == 1


def test_what_is_forgotten_while_a_model_writes_becomes_no_fact(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    use(memory, clock, id_)
    report = run(memory, summariser=Model(then=lambda: memory.forget(id_)))
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


def test_a_fact_that_was_forgotten_is_not_made_again(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    use(memory, clock, id_)
    memory.forget(*run(memory).facts)
    use(memory, clock, id_)
    run(memory)
    assert facts(memory) == []


# dossiers


def test_due_dossiers_are_refreshed(memory: TidalMemory, clock: FrozenClock, dossiers: Any) -> None:
    told(memory, "The bridge is green.")
    dossiers.current("bridge", memory.now())
    clock.advance(hours=5)
    told(memory, "The bridge was opened by Carla.")
    report = run(memory, refresh=dossiers.refresh_due)
    assert report.dossiers == ("bridge",)
    assert "Carla" in str(dossiers.all()[0])
    assert run(memory, refresh=dossiers.refresh_due).dossiers == ()


# thought seeds


def associated(memory: TidalMemory, *ids: str, times: int = 2) -> None:
    web = AssociationWeb(memory._services.storage)
    for _ in range(times):
        web.commit_context(memory.scope, web.activate(ids), memory.now())


def test_pairs_that_keep_coming_up_together_across_threads_are_seeds(memory: TidalMemory) -> None:
    spoken, note = told(memory, thread="monday"), memory.remember("practice plan", source="plan.md").id
    same, once = told(memory, "scales", thread="monday"), told(memory, "soup", thread="friday")
    associated(memory, spoken, note, times=4)
    associated(memory, spoken, same, times=4)
    associated(memory, note, once, times=1)
    [seed] = run(memory).seeds
    assert {seed.first.text, seed.second.text} == {"I play jazz piano", "practice plan"}
    assert seed.weight == 4
    assert "thread monday" in seed.why
    assert "plan.md" in seed.why


def test_seeds_do_not_come_again_until_long_after(memory: TidalMemory, clock: FrozenClock) -> None:
    pair = told(memory, thread="a"), told(memory, "soup", thread="b")
    associated(memory, *pair, times=9)
    assert len(run(memory).seeds) == 1
    clock.advance(hours=1)
    assert run(memory).seeds == ()
    clock.advance(days=30)
    associated(memory, *pair)
    assert len(run(memory).seeds) == 1


def test_of_many_pairs_the_strongest_few_are_seeds_and_the_next_run_has_others(
    memory: TidalMemory, clock: FrozenClock
) -> None:
    ids = [told(memory, f"word{n}", thread=str(n)) for n in range(8)]
    for n, id_ in enumerate(ids[1:], 2):
        associated(memory, ids[0], id_, times=n)
    first, again = run(memory).seeds, run(memory).seeds
    assert [round(seed.weight) for seed in first] == [8, 7, 6]
    assert again == first, "at the same time the same"
    clock.advance(minutes=30)
    assert [round(seed.weight) for seed in run(memory).seeds] == [5, 4, 3]


def test_near_duplicates_derived_and_archived_entries_are_no_seeds(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Tuning(ingestion={"near": 0.8}))
    text = "the weekly planning meeting with the design team takes place at {}:00"
    near = [told(memory, text.format(n), thread=str(n)) for n in (10, 11)]
    source = told(memory, thread="c")
    use(memory, clock, source)
    run(memory)
    archived = told(memory, "tomato soup", thread="d")
    associated(memory, *near, times=9)
    associated(memory, source, facts(memory)[0].id, times=9)
    clock.advance(days=230)
    associated(memory, archived, told(memory, "bridge", thread="e"), times=9)
    assert run(memory).seeds == ()


# runs


def lived(memory: TidalMemory, clock: FrozenClock) -> None:
    """A life with something for every step."""
    first, second = told(memory, thread="a"), told(memory, "I practise scales slowly", thread="b")
    told(memory, "tomato soup", thread="c")
    memory.record("Which bridge?", "The green one.", thread="d")
    clock.advance(days=100)
    use(memory, clock, first, second)


def test_to_run_again_changes_nothing_more(memory: TidalMemory, clock: FrozenClock) -> None:
    lived(memory, clock)
    report = run(memory)
    assert report.run
    assert all((report.settled, report.pruned, report.facts, report.seeds))
    before = contents(memory)
    again = run(memory)
    assert contents(memory) == before
    assert again == replace(report, run=None, settled=0, pruned=0, facts=())


def test_a_run_of_nothing_writes_nothing(memory: TidalMemory) -> None:
    told(memory)
    before = contents(memory)
    assert run(memory) == Consolidation(None, memory.now())
    assert contents(memory) == before


class Kill(BaseException):
    pass


@pytest.mark.parametrize("after", range(1, 12))
def test_a_run_that_was_cut_off_goes_on_to_the_same_end(
    open_memory: Any, clock: FrozenClock, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lives(name: str) -> TidalMemory:
        memory = open_memory(name, settings=Tuning(consolidation={"batch": 2}))
        clock.set(NOON)
        for n in range(5):
            memory.record(f"word{n}", f"answer{n}", id=str(n))
        ids = [memory.record(f"I play jazz piano {n}", id=f"j{n}", thread=str(n)).entries[0] for n in range(2)]
        clock.advance(days=100)
        for n in range(4):
            memory.record(f"{ASKED} {n}", ANSWERED, id=f"u{n}", surfaced=ids)
        return memory

    whole, cut = lives("whole.db"), lives("cut.db")
    report = run(whole)
    notes = 0

    def note(self: Any, before: Any) -> None:
        nonlocal notes
        notes += 1
        if notes == after:
            raise Kill
        original(self, before)

    original = Run.note
    with monkeypatch.context() as dying:
        dying.setattr(Run, "note", note)
        try:
            run(cut)
        except Kill:
            assert after < 12
    resumed = run(cut)
    assert resumed.run in (report.run, None)
    assert state(cut) == state(whole)


def state(memory: TidalMemory) -> list[Any]:
    storage, scope = memory._services.storage, memory.scope
    links = storage.links(scope, WhereLinks(kinds=[ASSOCIATION]))
    return [
        storage.find(scope, Where()),
        sorted((link.id, link.weight) for link in links),
        storage.documents(scope, RECURRING),
        [(document.key, document.value) for document in storage.documents(scope, "consolidation")],
        [(line.key, line.value) for line in storage.read_log(scope, "consolidation")],
    ]


def test_a_step_that_fails_is_named_and_leaves_the_others_alone(memory: TidalMemory, clock: FrozenClock) -> None:
    def fail(now: Any) -> Any:
        raise ValueError("no dossiers today")

    lived(memory, clock)
    report = run(memory, refresh=fail)
    assert report.errors == ("dossiers: ValueError: no dossiers today",)
    assert all((report.run, report.settled, report.pruned, report.facts, report.seeds))


def test_a_closed_memory_says_so(memory: TidalMemory) -> None:
    memory.close()
    with pytest.raises(Closed):
        run(memory)


def test_a_time_needs_a_time_zone(memory: TidalMemory) -> None:
    with pytest.raises(InvalidInput):
        consolidator(memory).run(NOON.replace(tzinfo=None))


def test_a_clock_that_goes_back_changes_nothing(memory: TidalMemory, clock: FrozenClock) -> None:
    lived(memory, clock)
    run(memory)
    before = state(memory)
    clock.set(NOON - 365 * DAY)
    report = run(memory)
    assert (report.run, report.errors) == (None, ())
    assert state(memory) == before


def test_other_scopes_are_left_alone(memory: TidalMemory, clock: FrozenClock) -> None:
    other = memory.scoped("other")
    lived(other, clock)
    before = state(other)
    assert run(memory).run is None
    assert state(other) == before


# undo


def test_undo_puts_back_tiers_and_associations_and_removes_facts(memory: TidalMemory, clock: FrozenClock) -> None:
    lived(memory, clock)
    tiers = {entry.id: entry.tier for entry in memory._services.storage.find(memory.scope, Where())}
    edges = memory._services.storage.links(memory.scope, WhereLinks(kinds=[ASSOCIATION]))
    report = run(memory)
    assert report.run
    assert consolidator(memory).undo(report.run, memory.now()) == report.settled + report.pruned + len(report.facts)
    after = memory._services.storage.find(memory.scope, Where())
    assert {entry.id: entry.tier for entry in after} == tiers
    back = memory._services.storage.links(memory.scope, WhereLinks(kinds=[ASSOCIATION]))
    assert {edge.id: edge for edge in back} == {edge.id: edge for edge in edges}
    assert facts(memory) == []


def test_an_undone_fact_stays_away_and_the_rest_is_done_anew(memory: TidalMemory, clock: FrozenClock) -> None:
    lived(memory, clock)
    report = run(memory)
    assert report.run
    consolidator(memory).undo(report.run, memory.now())
    used = [line.key for line in memory._services.storage.read_log(memory.scope, USES)]
    use(memory, clock, *dict.fromkeys(used))
    again = run(memory)
    assert again.run not in (None, report.run)
    assert (again.settled, again.pruned, again.facts) == (report.settled, report.pruned, ())


def test_undo_leaves_alone_what_changed_since(memory: TidalMemory, clock: FrozenClock) -> None:
    id_, gone = told(memory), told(memory, "tomato soup")
    turn = memory.record("Which bridge?", "The green one.")
    clock.advance(days=100)
    report = run(memory)
    assert (report.settled, report.pruned) == (4, 1)
    memory.record(ASKED, ANSWERED, surfaced=[id_])
    memory.record("?", surfaced=[turn.id])
    memory.forget(gone)
    warm = tier(memory, id_)
    assert report.run
    assert consolidator(memory).undo(report.run, memory.now()) == 0
    assert tier(memory, id_) == warm
    found = AssociationWeb(memory._services.storage).strongest(memory.scope, memory.now(), 99)
    assert {pair.weight for pair in found} == {1.0}


def test_undo_needs_a_run_that_can_be_undone(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=Settings(consolidation={"runs": 2}))
    runs = []
    for n in range(4):
        told(memory, f"word{n}")
        clock.advance(days=30)
        runs.append(run(memory).run)
    assert len(set(runs)) == 4
    for old in (*runs[:2], "unknown"):
        with pytest.raises(NotFound, match="undo"):
            consolidator(memory).undo(old, memory.now())
    assert consolidator(memory).undo(runs[2], memory.now()) == 1
    with pytest.raises(NotFound):
        consolidator(memory).undo(runs[2], memory.now())


def test_undo_that_was_cut_off_can_be_run_again(
    memory: TidalMemory, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived(memory, clock)
    tiers = {entry.id: entry.tier for entry in memory._services.storage.find(memory.scope, Where())}
    report = run(memory)
    assert report.run
    storage = type(memory._services.storage)

    def die(*_: Any, **__: Any) -> None:
        raise Kill

    with monkeypatch.context() as dying:
        dying.setattr(storage, "put", die)
        with pytest.raises(Kill):
            consolidator(memory).undo(report.run, memory.now())
    consolidator(memory).undo(report.run, memory.now())
    assert {entry.id: entry.tier for entry in memory._services.storage.find(memory.scope, Where())} == tiers


def test_a_run_that_is_under_way_is_left_alone(memory: TidalMemory, clock: FrozenClock) -> None:
    lived(memory, clock)
    reports: list[Consolidation] = []
    first = run(memory, summariser=Model(then=lambda: reports.append(run(memory))))
    assert first.run
    assert not first.errors
    assert reports == [Consolidation(None, memory.now(), errors=("another consolidation is under way",))]


@pytest.mark.parametrize(("host", "hours", "resumed"), [("elsewhere", 0.5, False), ("elsewhere", 1.5, True)])
def test_a_run_of_another_machine_counts_as_cut_off_after_a_while(
    memory: TidalMemory, clock: FrozenClock, host: str, hours: float, resumed: bool
) -> None:
    lived(memory, clock)
    state = [7, True, host, 1, "theirs", to_micros(clock())]
    memory._services.storage.write_document(memory.scope, "consolidation", "last", state)
    clock.advance(hours=hours)
    report = run(memory)
    assert report.run == (run_id(memory.scope, 8) if resumed else None)
    assert bool(report.errors) is not resumed


def test_a_run_that_was_taken_over_stops(memory: TidalMemory, clock: FrozenClock) -> None:
    first, second = (Run(memory._services.storage, memory.scope, clock() + n * timedelta(hours=2), 9) for n in range(2))
    first.note({})
    second.note({})
    with pytest.raises(UnderWay):
        first.note({})
    assert first.close() == second.close() == run_id(memory.scope, 1)


def test_undo_takes_along_what_was_made_of_a_fact(memory: TidalMemory, clock: FrozenClock) -> None:
    id_ = told(memory)
    use(memory, clock, id_)
    report = run(memory)
    assert report.run
    fact = report.facts[0]
    storage = memory._services.storage
    storage.write_document(memory.scope, DOSSIERS, "jazz", {"sources": [fact], "entry": "none"})
    consolidator(memory).undo(report.run, memory.now())
    assert [document.value for document in storage.documents(memory.scope, DOSSIERS)] == [None]
    use(memory, clock, id_)
    assert run(memory).facts == ()


def test_an_entry_and_the_exchange_that_brought_it_up_are_no_seed(memory: TidalMemory) -> None:
    note = memory.remember("practice plan", source="plan.md").id
    asked = memory.record("What do I practise?", thread="a", surfaced=[note]).entries[0]
    associated(memory, note, asked, times=9)
    assert run(memory).seeds == ()
