"""Sessions: policies, audit, isolation, life and death of a handle, and what signals do to a recall."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Barrier, Thread
from typing import Any

import pytest

from tidal_plugins import (
    Forgotten,
    InvalidInput,
    NotFound,
    Policy,
    PolicyViolation,
    Recall,
    Session,
    SessionClosed,
    Settings,
    SignalType,
    TidalMemory,
)
from tidal_plugins.sessions.session import annotate, meant, reward
from tidal_plugins.testing import FrozenClock

PLANNER = Policy(allow={"reward", "view"}, deny={"skip"}, max_signals=3, max_duration=timedelta(hours=1))


@pytest.fixture
def entry(memory: TidalMemory) -> str:
    return memory.remember("Jazz piano is practised at noon.").id


def test_a_session_counts_scores_and_ends_with_a_summary(memory: TidalMemory, entry: str, clock: FrozenClock) -> None:
    with memory.sessions.open(user="42", agent="planner", policy=PLANNER, metadata={"feed": "music"}) as session:
        session.signal("reward", entry, 2.0, note="jazz  piano")
        clock.advance(hours=0.5)
        signal = session.signal("reward", f"[mem:{entry}]")
        snapshot = session.snapshot()
    assert signal.score == pytest.approx(1 + 2 * 2 ** (-0.5 / 24))
    assert snapshot.scores == {"reward": {entry: pytest.approx(signal.score)}}
    assert snapshot.entries == {entry}
    assert snapshot.counts["reward"] == (1, 2, 2, 2) or snapshot.counts["reward"] == (1, 1, 2, 2)
    assert [note.text for note in snapshot.annotations] == ["jazz piano"]
    info = snapshot.info
    assert (info.user, info.agent, info.policy, info.metadata) == ("42", "planner", PLANNER, {"feed": "music"})
    assert (info.accepted, info.rejected, info.remaining) == (2, 0, 1)
    summary = session.close()
    assert (summary.signals_written, summary.rejections, summary.by_type) == (2, 0, {"reward": 2})
    assert summary.duration == timedelta(hours=0.5)


@pytest.mark.parametrize(
    ("policy", "type_", "rule"),
    [
        (Policy(deny={"skip"}), "skip", "deny"),
        (Policy(allow={"view"}), "reward", "allow"),
        (Policy(max_signals=0), "reward", "max_signals"),
        (Policy(max_signals=0, deny={"skip"}), "skip", "max_signals"),  # the count comes before the lists
        (Policy(max_signals=0, max_duration=timedelta(0)), "reward", "max_duration"),  # and the duration before it
        (Policy(allow={"view"}, deny={"skip"}), "skip", "deny"),
    ],
)
def test_the_four_checks_come_in_order(
    memory: TidalMemory, entry: str, clock: FrozenClock, policy: Policy, type_: str, rule: str
) -> None:
    session = memory.sessions.open(policy=policy)
    assert session.id
    if policy.max_duration is None:  # none at all admits nothing
        clock.advance(hours=1)
    with pytest.raises(PolicyViolation) as caught:
        session.signal(type_, entry)
    assert (caught.value.rule, caught.value.signal) == (rule, type_)
    assert caught.value.reason in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.rule, str(again)) == (PolicyViolation, rule, str(caught.value))
    [decision] = session.audit()
    assert (decision.accepted, decision.reason, decision.type) == (False, caught.value.reason, type_)
    assert (session.info.accepted, session.info.rejected) == (0, 1)
    assert session.snapshot().scores == {}


def test_refusals_do_not_use_up_the_cap(memory: TidalMemory, entry: str) -> None:
    session = memory.sessions.open(policy=PLANNER)
    for _ in range(5):
        with pytest.raises(PolicyViolation, match="denied"):
            session.signal("skip", entry)
    for _ in range(3):
        session.signal("view", entry)
    with pytest.raises(PolicyViolation, match="3 signals already"):
        session.signal("view", entry)
    assert [decision.accepted for decision in session.audit()] == [False] * 5 + [True] * 3 + [False]


def test_late_signals_add_what_is_left_of_them_and_the_future_counts_as_now(
    memory: TidalMemory, entry: str, clock: FrozenClock
) -> None:
    session = memory.sessions.open()
    session.signal("reward", entry)
    assert session.signal("reward", entry, at=clock() - timedelta(hours=24)).score == pytest.approx(1.5)
    future = session.signal("reward", entry, at=clock() + timedelta(days=9_000))
    assert future.at == clock()
    assert future.score == pytest.approx(2.5)
    clock.advance(hours=24)
    assert session.snapshot().scores["reward"][entry] == pytest.approx(1.25)


def test_bad_input_is_refused_and_leaves_no_trace(memory: TidalMemory, entry: str) -> None:
    session = memory.sessions.open()
    before = session.snapshot()
    arguments: list[dict[str, Any]] = [
        *({"weight": weight} for weight in (float("nan"), float("inf"), -1, True, "1")),
        *({"type": type_} for type_ in ("clap", ["reward"])),
        *({"note": note} for note in ("x" * 1_000_000, " ", "a\0b", "a\u202eb", "\ud800")),  # \u202e turns text around
        *({"at": datetime(2026, 1, 1)}, {"entry_id": 7}),
    ]
    for bad in arguments:
        with pytest.raises(InvalidInput):
            session.signal(**{"type": "reward", "entry_id": entry, **bad})
    assert session.snapshot() == before
    assert session.audit() == []


def test_unknown_and_forgotten_entries_are_named(memory: TidalMemory, entry: str) -> None:
    session = memory.sessions.open()
    with pytest.raises(NotFound, match="nowhere"):
        session.signal("reward", "nowhere")
    session.signal("reward", entry, note="jazz")
    memory.forget(entry)
    with pytest.raises(Forgotten):
        session.signal("reward", entry)
    snapshot = session.snapshot()
    assert (snapshot.scores, snapshot.annotations) == ({}, ())
    assert (snapshot.info.accepted, len(session.audit())) == (1, 1)


def test_policies_have_names(open_memory: Callable[..., TidalMemory]) -> None:
    memory = open_memory(settings=Settings(policies={"planner": PLANNER}))
    assert memory.sessions.open(policy="planner").info.policy == PLANNER
    memory.sessions.policies["reader"] = Policy(allow={"view"})
    assert memory.sessions.open(policy="reader").info.policy_name == "reader"
    memory.sessions.policies["reader"] = Policy(max_signals=1)
    assert memory.sessions.open(policy="reader").info.policy.max_signals == 1
    with pytest.raises(InvalidInput, match="known: planner, reader"):
        memory.sessions.open(policy="writer")
    with pytest.raises(InvalidInput, match="another name"):
        memory.sessions.policies["planner"] = Policy()
    for policy in (Policy(allow={"clap"}), {"allow": ["view"]}, 3):
        with pytest.raises(InvalidInput):
            memory.sessions.open(policy=policy)


def test_a_closed_session_can_be_read_and_refuses_use(memory: TidalMemory, entry: str, clock: FrozenClock) -> None:
    with memory.sessions.open(agent="planner") as session:
        session.signal("reward", entry, note="jazz")
    clock.advance(days=30)
    for use in (lambda: session.signal("reward", entry), session.snapshot, session.audit):
        with pytest.raises(SessionClosed, match="was closed"):
            use()
    [info] = memory.sessions.list(agent="planner", open=False)
    assert (session.id, session.info) == (info.id, info)
    with pytest.raises(SessionClosed):
        memory.sessions.resume(info.id)
    with pytest.raises(SessionClosed):
        memory.recall("jazz", session=info.id)
    frozen = memory.sessions.snapshot(info.id)
    assert frozen.scores == {"reward": {entry: 1.0}}, "as it was when it was closed"
    assert [decision.type for decision in memory.sessions.audit(info.id)] == ["reward"]
    assert memory.sessions.list(open=True) == []


def test_another_handle_goes_on_where_the_first_was(open_memory: Callable[..., TidalMemory]) -> None:
    memory = open_memory()
    entry = memory.remember("Jazz piano is practised at noon.").id
    session = memory.sessions.open(user="42", policy=PLANNER, metadata={"a": [1]})
    session.signal("reward", entry, note="jazz")
    before = session.snapshot()
    memory.close()
    memory = open_memory()
    resumed = memory.sessions.resume(session._info.id)
    assert resumed.snapshot() == before
    resumed.signal("view", entry)
    resumed.signal("view", entry)
    with pytest.raises(PolicyViolation, match="signals already"):
        resumed.signal("view", entry)


def test_one_thread_goes_on_in_one_session_until_it_closes(memory: TidalMemory) -> None:
    ask: dict[str, Any] = {"user": "42", "agent": "planner", "policy": PLANNER, "thread": "t1"}
    first = memory.sessions.open(**ask)
    assert memory.sessions.open(**ask).id == first.id
    for other in ({"thread": "t2"}, {"user": "7"}, {"agent": "writer"}, {"policy": None}):
        assert memory.sessions.open(**{**ask, **other}).id != first.id
    assert memory.scoped("elsewhere").sessions.open(**ask).id != first.id
    opened = first.id
    first.close()
    assert memory.sessions.open(**ask).id > opened


def test_a_handle_is_neither_copied_nor_pickled(memory: TidalMemory) -> None:
    session = memory.sessions.open()
    for copy_ in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(InvalidInput, match="use memory"):
            copy_(session)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_handle_refuses_use_in_a_forked_process(
    memory: TidalMemory, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = memory.sessions.open()
    assert session.id
    monkeypatch.setattr(os, "getpid", lambda: -1)
    for use in (lambda: session.signal("reward", entry), session.snapshot, session.close):
        with pytest.raises(SessionClosed, match="use memory"):
            use()


def test_the_audit_and_the_annotations_are_bounded(open_memory: Callable[..., TidalMemory]) -> None:
    memory = open_memory(settings=Settings(tuning={"signals.audit": 250, "signals.annotations": 5}))
    entry = memory.remember("Jazz piano is practised at noon.").id
    session = memory.sessions.open()
    for number in range(400):
        session.annotate(entry, f"note {number}")
    assert [note.text for note in session.snapshot().annotations] == [f"note {n}" for n in range(395, 400)]
    assert len(session.audit()) == 250
    stored = memory._services.storage.read_log(memory.scope, f"audit:{session.id}")
    assert len(stored) <= 350
    assert session.info.accepted == 400


def test_caps_are_exact_under_threads(memory: TidalMemory, entry: str) -> None:
    session, start = memory.sessions.open(policy=Policy(max_signals=50)), Barrier(16)
    accepted: list[int] = []
    refused: list[PolicyViolation] = []

    def write() -> None:
        start.wait()
        for _ in range(6):
            try:
                session.signal("reward", entry)
                accepted.append(1)
            except PolicyViolation as error:
                refused.append(error)

    threads = [Thread(target=write) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(accepted), len(refused)) == (50, 46)
    assert (session.info.accepted, session.info.rejected) == (50, 46)
    assert sum(decision.accepted for decision in session.audit()) == 50
    assert session.snapshot().scores["reward"][entry] == pytest.approx(50)


def test_sessions_work_in_async_code(memory: TidalMemory, entry: str) -> None:
    async def run() -> Session:
        async with await memory.sessions.aopen(agent="planner") as session:
            await asyncio.gather(*(session.asignal("reward", entry) for _ in range(8)))
            await session.aannotate(entry, "jazz")
            assert (await session.asnapshot()).scores["reward"][entry] == pytest.approx(8)
            assert len(await session.aaudit()) == 9
            assert (await memory.arecall("jazz", session=session))[0].id == entry
        return session

    session = asyncio.run(run())
    with pytest.raises(SessionClosed):
        session.signal("reward", entry)


@pytest.mark.parametrize("half_life", [1e9, 1e300])
def test_a_signal_may_fade_later_than_the_calendar_ends(
    open_memory: Callable[..., TidalMemory], half_life: float
) -> None:
    types = {"reward": SignalType(half_life=half_life), "annotate": SignalType()}
    memory = open_memory(settings=Settings(signals=types))
    session, id_ = memory.sessions.open(), memory.remember("Jazz piano is practised at noon.").id
    assert session.signal("reward", id_).score == 1.0
    assert memory.recall("jazz", session=session)[0].why.factors["session reward"] == pytest.approx(0.1)


def test_an_episode_is_refused_with_the_way_to_its_entries(memory: TidalMemory) -> None:
    episode, session = memory.record("Which key?", "In F."), memory.sessions.open()
    for signal in (session.signal, memory.signals.add):
        with pytest.raises(InvalidInput, match=r"memory.episodes.entry_ids"):
            signal("view", f"[{episode.citation}]")
    assert (session.audit(), session.snapshot().scores, memory.signals.tally().scores) == ([], {}, {})
    assert session.signal("view", memory.episodes.entry_ids(episode.citation)[0])


def test_a_copied_policy_is_validated_before_it_is_stored(memory: TidalMemory) -> None:
    both = Policy(allow={"view"}).model_copy(update={"deny": frozenset({"view"})})
    with pytest.raises(InvalidInput, match="both allows and denies view"):
        memory.sessions.open(policy=both)
    assert memory.sessions.list() == []


def test_actions_beside_signals_are_held_against_the_policy(memory: TidalMemory) -> None:
    with memory.sessions.open(policy=Policy(allow={"remember"}, max_signals=2)) as session:
        session.permit("remember")
        with pytest.raises(PolicyViolation, match="only these are allowed"):
            session.permit("forget", "abc")
        session.permit("remember")
        with pytest.raises(PolicyViolation, match="signals already"):
            session.permit("remember")
        decided = [(one.type, one.entry, one.accepted) for one in session.audit()]
    done, refused = ("remember", "", True), ("remember", "", False)
    assert decided == [done, ("forget", "abc", False), done, refused]
    with pytest.raises(SessionClosed):
        session.permit("remember")
    with pytest.raises(InvalidInput, match="remember, forget"):
        memory.sessions.open().permit("erase")


# what a model asks of a session by its tools, and what it is told


@pytest.fixture
def ids(memory: TidalMemory) -> list[str]:
    return [memory.remember(f"Entry {number}.").id for number in range(3)]


def test_each_entry_that_is_meant_is_rewarded_and_the_first_one_gets_the_note(
    memory: TidalMemory, ids: list[str]
) -> None:
    session = memory.sessions.open()
    assert reward(session, ids, 2.0, "jazz") == "Rewarded: it ranks higher in this conversation from now on."
    assert session.snapshot().scores == {"reward": dict.fromkeys(ids, 2.0)}
    assert [(note.entry, note.text) for note in session.snapshot().annotations] == [(ids[0], "jazz")]


def test_a_note_is_made_once(memory: TidalMemory, ids: list[str]) -> None:
    session = memory.sessions.open(policy=Policy(max_signals=5))
    assert annotate(session, ids, "jazz").endswith(" Signals left in this session: 4.")
    assert [note.entry for note in session.snapshot().annotations] == [ids[0]]


def test_a_reward_that_is_refused_half_way_says_so(memory: TidalMemory, ids: list[str]) -> None:
    session = memory.sessions.open(policy=Policy(max_signals=2))
    assert reward(session, ids, 1.0, None).startswith("Rewarded in part, 2 of 3 entries. signal 'reward' was refused")
    with pytest.raises(PolicyViolation, match="signals already"):
        reward(session, ids, 1.0, None)


def test_what_was_shown_is_meant_and_all_of_it_where_that_is_not_known() -> None:
    assert meant(["a", "b", "c"], ["c", "b", "x"]) == ["b", "c"]
    assert meant(["a", "b"], ["x"]) == ["a", "b"]


def test_a_citation_means_an_entry_or_what_was_said_in_an_episode(memory: TidalMemory, ids: list[str]) -> None:
    episode = memory.record("Which key?", "In F.")
    assert memory.episodes.entry_ids(f"[mem:{ids[0]}]") == (ids[0],)
    assert (
        memory.episodes.entry_ids(f"[{episode.citation}]") == memory.episodes.entry_ids(episode.id) == episode.entries
    )
    memory.forget(episode.entries[0])
    assert memory.episodes.entry_ids(episode.citation) == episode.entries[1:]
    for citation, error in (("nowhere", NotFound), (episode.entries[0], Forgotten)):
        with pytest.raises(error):
            memory.episodes.entry_ids(citation)


# what signals do to a recall: in their session, in their scope, and nowhere else


TEXTS = (
    "Jazz piano practice is at noon.",
    "The jazz festival sells tickets.",
    "A guide to the rust programming language.",
    "Pasta is cooked with tomatoes.",
)


@pytest.fixture
def noted(memory: TidalMemory) -> list[str]:
    return [memory.remember(text).id for text in TEXTS]


def scores(recall: Recall) -> dict[str, float]:
    return {hit.id: hit.score for hit in recall}


def test_an_entry_rewarded_ten_times_ranks_higher_in_its_session_and_only_there(
    memory: TidalMemory, noted: list[str]
) -> None:
    before = memory.recall("jazz piano")
    with memory.sessions.open(user="70", agent="a") as session, memory.sessions.open(user="71", agent="b") as other:
        for _ in range(10):
            session.signal("reward", noted[3], 2.0)
        other.signal("reward", noted[1])
        inside = memory.recall("jazz piano", session=session)
        assert inside.ids.index(noted[3]) < before.ids.index(noted[3])
        assert scores(inside)[noted[3]] - scores(before)[noted[3]] == pytest.approx(0.2 * 20 / 21)
        assert "session reward 0.19" in inside.explain()
        assert scores(memory.recall("jazz piano")) == scores(before), "nothing without session"
        lane = scores(memory.recall("jazz piano", session=other))
        assert lane == {**scores(before), noted[1]: pytest.approx(scores(before)[noted[1]] + 0.1)}, "the other lane"


def test_annotations_lift_what_they_speak_of(memory: TidalMemory, noted: list[str]) -> None:
    before = scores(memory.recall("jazz piano"))
    session = memory.sessions.open()
    session.annotate(noted[0], "rust programming language")
    session.annotate(noted[0], "the rust book")
    hit = next(hit for hit in memory.recall("jazz piano", session=session) if hit.id == noted[2])
    assert hit.score - before[noted[2]] == pytest.approx(0.3)
    assert hit.why.factors["session annotation"] == pytest.approx(0.3)
    session.annotate(noted[0], "of the and")  # has no keyword
    assert scores(memory.recall("jazz piano", session=session))[noted[2]] == pytest.approx(hit.score)


def test_rewarded_entries_outside_the_pool_join_it_through_the_same_filters(
    open_memory: Callable[..., TidalMemory], clock: FrozenClock
) -> None:
    memory = open_memory(settings=Settings(tuning={"recall.pool": 1, "recall.shortlist": 1}))
    far = memory.remember("Pasta is cooked with tomatoes.", source="kitchen").id
    gone = memory.remember("Old pasta.", valid_until=clock() + timedelta(hours=1)).id
    memory.remember("Jazz piano.")
    for number in range(30):
        memory.remember(f"The piano teacher moved house, part {number}.")
    session = memory.sessions.open()
    session.signal("reward", far, 5.0, note="pasta")
    session.signal("reward", gone, 5.0)
    clock.advance(hours=2)
    assert far not in memory.recall("jazz piano", limit=5).ids
    hits = memory.recall("jazz piano", limit=5, session=session)
    joined = next(hit for hit in hits if hit.id == far)
    assert joined.why.keyword_rank is None
    assert gone not in hits.ids
    assert far not in memory.recall("jazz piano", limit=5, session=session, sources={"music"}).ids


def test_signals_of_the_scope_shape_everyones_ranking_by_their_sign(memory: TidalMemory, noted: list[str]) -> None:
    before = scores(memory.recall("jazz"))
    memory.signals.add("like", noted[1])
    memory.signals.add("like", noted[1])
    memory.signals.add("skip", noted[0])
    memory.signals.add("annotate", noted[0])
    after = memory.recall("jazz")
    assert scores(after)[noted[1]] - before[noted[1]] == pytest.approx(0.2 * 2 / 3)
    assert scores(after)[noted[0]] - before[noted[0]] == pytest.approx(-0.2 * 1 / 2)
    assert scores(memory.recall("jazz", session=memory.sessions.open())) == scores(after)
    assert memory.signals.tally().scores["like"] == {noted[1]: 2.0}
    assert memory.signals.tally().counts["like"].minute == 2
    assert scores(memory.scoped("another").recall("jazz")) == {}


def test_a_start_is_durable_and_an_error_inside_closes_a_session(memory: TidalMemory) -> None:
    started = memory.sessions.open(agent="planner")
    [info] = memory.sessions.list()
    assert (info.id, info.agent, info.is_open) == (started.id, "planner", True)
    started.close()
    with pytest.raises(RuntimeError), memory.sessions.open():
        raise RuntimeError
    assert [info.is_open for info in memory.sessions.list()] == [False, False]


def test_annotations_are_matched_with_metadata_values(memory: TidalMemory) -> None:
    tune = memory.remember("Saturday's programme", metadata={"genre": "xylophone", "year": 1987}).id
    other = memory.remember("Sunday's programme", metadata={"xylophone": "none"}).id
    session = memory.sessions.open()
    session.annotate(other, "polka xylophone")
    gains = {hit.id: hit.why.factors.get("session annotation") for hit in memory.recall("programme", session=session)}
    assert gains == {tune: pytest.approx(0.15), other: None}


def test_a_recall_without_a_query_ranks_by_recency_importance_and_signals(
    memory: TidalMemory, clock: FrozenClock
) -> None:
    old = memory.remember("The harbour opens at six.", importance=5).id
    clock.advance(days=7)
    dull, vital = (memory.remember(text, importance=i).id for text, i in (("Tea.", 2), ("The fuel valve sticks.", 9)))
    plain = memory.recall()
    assert plain.ids == memory.recall(profile="hot").ids == (vital, dull, old)
    assert plain[2].why.relevance == pytest.approx(0.5)
    with memory.sessions.open() as session:
        for _ in range(10):
            session.signal("reward", old, 20.0)
            session.signal("reward", dull, 20.0, note="harbour")
        assert memory.recall(session=session, limit=1)[0].id == vital
        boosted = memory.recall(session=session)
        assert boosted[1].why.factors["session reward"] == pytest.approx(0.2, abs=0.002)
        assert {hit.id for hit in boosted if "session annotation" in hit.why.factors} == {old}
    for type_, id_ in (("like", old), ("like", old), ("skip", dull)):
        memory.signals.add(type_, id_)
    assert memory.recall(kinds={"kb"}, limit=2).ids == (vital, old)
    assert memory.recall(until=clock()).ids == (old,)
    assert memory.recall(profile="hot", as_of=clock()).ids == (vital, dull, old)
    for arguments in ({"profile": "tidal"}, {"profile": "hot", "query": "tea"}, {"query": ""}):
        with pytest.raises(InvalidInput):
            memory.recall(**arguments)


def test_a_like_and_a_dislike_cancel_out(memory: TidalMemory, noted: list[str]) -> None:
    memory.signals.add("like", noted[1])
    memory.signals.add("dislike", noted[1])
    hit = next(hit for hit in memory.recall("jazz") if hit.id == noted[1])
    assert "signals" not in hit.why.factors


def test_an_annotation_of_what_was_forgotten_shapes_nothing(open_memory: Callable[..., TidalMemory]) -> None:
    memory, other = open_memory(), open_memory()
    noted, kept = memory.remember("Pasta is cooked with tomatoes.").id, memory.remember("Jazz piano at noon.").id
    before = scores(memory.recall("piano"))[kept]
    session = memory.sessions.open()
    session.annotate(noted, "jazz")
    assert scores(memory.recall("piano", session=session))[kept] == pytest.approx(before + 0.3)
    other.forget(noted)
    assert "session annotation" not in memory.recall("piano", session=session).explain()


def test_a_whisper_feels_the_session_too(memory: TidalMemory, noted: list[str]) -> None:
    session = memory.sessions.open()
    assert memory.whisper("When is jazz piano practice?").ids[0] == noted[0]
    session.signal("reward", noted[0])
    whisper = memory.whisper("When is jazz piano practice?", session=session)
    assert whisper.hits[0].why.factors["session reward"] == pytest.approx(0.1)


@pytest.mark.parametrize("profile", ["balanced", "tidal", "attention"])
def test_every_profile_feels_the_session(memory: TidalMemory, noted: list[str], profile: str) -> None:
    session = memory.sessions.open()
    session.signal("reward", noted[0])
    hit = memory.recall("jazz piano", profile=profile, session=session)[0]
    assert hit.why.factors["session reward"] == pytest.approx(0.1)


def test_types_of_ones_own_have_their_half_life_and_sign(
    open_memory: Callable[..., TidalMemory], clock: FrozenClock
) -> None:
    memory = open_memory(
        settings=Settings(signals={"reward": {}, "annotate": {"sign": 0}, "bury": {"half_life": 1, "sign": -1}})
    )
    entry = memory.remember(TEXTS[0]).id
    memory.signals.add("bury", entry)
    clock.advance(hours=1)
    assert memory.recall("jazz")[0].why.factors["signals"] == pytest.approx(-0.2 * 0.5 / 1.5)
