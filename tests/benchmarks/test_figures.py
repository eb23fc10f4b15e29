"""What the benchmarks count, worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks import affect, compaction, story_checks
from benchmarks.compaction_arms import Opener
from benchmarks.compaction_cases import Asked as AskedOfCase
from benchmarks.compaction_cases import Case, Fact, Shown
from benchmarks.scale_model import Assumptions, measured, plan
from benchmarks.story_checks import File
from benchmarks.tables import METRICS, ndcg, ranks_of, recall, reciprocal_rank, scores
from tests.benchmarks.data import written
from tidal_plugins import Affect, ContextOverflow, Message
from tidal_plugins.affect.embedding import LABELS
from tidal_plugins.model.graph import Relation
from tidal_plugins.scoring.text import terms

# recall


def test_metrics_of_a_ranking() -> None:
    assert ranks_of(["1", "10", "11", "x"], [str(number) for number in range(1, 13)]) == [1, 10, None, None]
    assert [recall([1, 4, 9, None], k) for k in (1, 3, 5, 10)] == [0.25, 0.25, 0.5, 0.75]
    assert (reciprocal_rank([None, 4, 2]), reciprocal_rank([None])) == (0.5, 0)
    assert ndcg([1, 2]) == pytest.approx(1)
    assert ndcg([3, None]) == pytest.approx((1 / 2) / (1 + 1 / math.log2(3)))
    ideal = sum(1 / math.log2(place + 1) for place in range(1, 11))
    assert ndcg([2, *[None] * 23]) == pytest.approx(1 / math.log2(3) / ideal)  # of 24, ten could stand in the first ten
    found = dict(zip(METRICS, scores([2, None]), strict=True))
    assert [found[name] for name in ("recall@1", "hit@1", "recall@3", "hit@3", "mrr@10")] == [0, 0, 0.5, 1, 0.5]


# compaction


def fact(text: str, *, verbatim: bool = True) -> Fact:
    return Fact("evidence", text if verbatim else "", frozenset(terms(text)))


LONG = " ".join(f"word{n}" for n in range(200)) + "."


@pytest.mark.parametrize(
    ("shown", "asked", "share"),
    [
        ("- Nora planted quince trees [ep:1a]", "Nora planted eleven quince trees behind chapel", 4 / 7),
        ("Nora planted [ep:1a] eleven quince\ntrees", "Nora planted eleven quince trees", 2 / 5),
        ("[ep:quince] [mem:planted]", "planted quince", 0),
        (f"Well. {LONG} And so on.", LONG, 1),
        ("quince " + " ".join(f"word{n}" for n in range(100)) + " trees", "quince trees", 0.5),
    ],
    ids=["most of its words", "different statements", "ids alone", "word for word", "in pieces"],
)
def test_a_context_keeps_what_its_statements_say(shown: str, asked: str, share: float) -> None:
    assert Shown([Message("assistant", shown)]).states(fact(asked)) == pytest.approx(share)


def test_a_context_over_the_limit_and_an_error_keep_nothing() -> None:
    def refuses(new: Any) -> Any:
        raise ContextOverflow("it does not fit")

    case = Case("one", (Message("user", "quince trees " * 400),), (fact("quince trees"),), (AskedOfCase("all", (0,)),))
    for arm in (list, refuses):
        made = compaction._filled(Opener(lambda own, trigger, arm=arm: arm), case.messages, 100, steps=1)  # type: ignore[misc]
        result = compaction._measured(case, made, 100, made, 0, [[]])
        assert (result.fits, result.rows["kept"]) == (False, [[0.0, 0.0]])
    made = compaction._filled(Opener(lambda own, trigger: lambda new: []), [Message("user", "hello")], 100, steps=1)
    assert (made.tokens, made.context) == (0, [])


# affect, presence


def test_polarity_leaves_out_comments_of_no_sign_or_two_and_labels_are_scored_at_one_cut() -> None:
    labels = [{"joy"}, {"anger", "fear"}, {"joy", "anger"}, {"surprise"}, {"neutral"}, {"love", "curiosity"}]
    found = affect.polarity(affect.Comments([""] * 6, labels), [*[Affect(0.1)] * 5, Affect()])
    assert found["comments"] == 3
    assert found["polarity"] == pytest.approx(100 / 3), "a valence of 0 is wrong"
    sure = {**dict.fromkeys(LABELS, 0.0), "joy": 1.0}
    found = affect.named(affect.Comments(["", ""], [{"joy"}, {"anger"}]), [sure, sure])
    assert found["likeliest label"] == 50.0
    assert found["labels F1"] == pytest.approx(100 * (2 / 3) / len(LABELS))


# stories

NOW = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def relation(predicate: str = "works_at", *, until: datetime | None = None, negated: bool = False) -> Relation:
    return Relation("r", "a", predicate, "b", 0.9, NOW - 9 * DAY, until, NOW - 9 * DAY, None, (), (), negated)


TWO = {"shows": [["11 April", "April 11"], ["van", "lorry"]]}
ORDER = {"order": [["new"], ["old"]]}


@pytest.mark.parametrize(
    ("text", "fields", "faults"),
    [
        ("The Bees\n  are on the ROOF.", {"shows": [["bees are on the roof"]]}, []),
        ("The bees ARE\tgone.", {"hides": ["are gone"]}, ["must not show «are gone»"]),
        ("On April 11 with a van", TWO, []),
        ("On 11 April", TWO, ["shows none of «van» | «lorry»"]),
        ("new, was old", ORDER, []),
        ("new", ORDER, []),
        ("old", {**ORDER, "shows": [["new"]]}, ["shows none of «new»"]),
    ],
)
def test_a_text_is_judged_by_what_it_shows_hides_and_puts_first(text: str, fields: Any, faults: list[str]) -> None:
    assert story_checks.text_faults(text, fields) == faults


def test_moods_silence_and_conflicts_are_judged() -> None:
    for text in ("old, now new", "old", ""):
        assert story_checks.text_faults(text, ORDER)
    assert (story_checks.silent_faults(" \n"), story_checks.silent_faults("so")) == ([], ["is not silent"])
    for valence, expected, passes in (
        (-0.3, ["below", -0.2], True),
        (-0.1, ["below", -0.2], False),
        (0.3, ["above", 0.2], True),
        (0.0, ["between", -0.1, 0.1], True),
        (0.2, ["between", -0.1, 0.1], False),
    ):
        assert (story_checks.mood_faults(valence, expected) == []) is passes
    fields = {"key": "Berth", "value": "17", "turn_said": "We are on 9 now.", "expect": True}
    assert story_checks.conflict_faults(["berth"], fields) == []
    assert story_checks.conflict_faults([], fields) == ["no conflict is open: «We are on 9 now.» against Berth = 17"]
    assert story_checks.conflict_faults([], {**fields, "expect": False}) == []
    assert story_checks.conflict_faults(["berth"], {**fields, "expect": False})


def test_a_relation_holds_under_any_of_its_predicates_or_is_known_as_ended() -> None:
    holds, ended = ({"predicate": ["works for", "works at"], "holds": each} for each in (True, False))
    over, denied = relation(until=NOW - DAY), relation(negated=True)
    for relations, fields, faults in (
        ([relation()], holds, []),
        ([relation(until=NOW + DAY)], holds, []),
        ([over], holds, ["is known as ended"]),
        ([relation("likes"), denied], holds, ["is not known"]),
        ([over], ended, []),
        ([], ended, ["is not known as ended"]),
        ([relation()], ended, ["is known as holding"]),
    ):
        assert story_checks.relation_faults(relations, fields, NOW) == faults
    assert story_checks.no_relation_faults([denied]) == []
    assert story_checks.no_relation_faults([relation("owns")]) == ["they are joined by owns"]


def test_a_file_is_given_back_as_it_is_now_or_marked() -> None:
    fields = {"restored": [{"path": "a.py", "contains": ["x = 2"], "lacks": ["x = 1"]}], "not_restored": ["b.py"]}
    stale, disk = {"stale": ["a.py"]}, {"a.py": "x = 2\ny = 3\n"}
    wrong = ["b.py was given back", "a.py lacks «x = 2»", "a.py must not hold «x = 1»"]
    for files, given, faults in (
        ([File("a.py", "x = 2")], fields, []),
        ([File("a.py", "x = 1"), File("b.py", "")], fields, wrong),
        ([], fields, ["a.py was not given back"]),
        ([File("a.py", "     1\tx = 2\n     2\ty = 3")], stale, []),
        ([File("a.py", "x = 1\n(this may be out of date)")], stale, []),
        ([], stale, ["a.py was not given back"]),
    ):
        assert story_checks.file_faults(files, given, disk) == faults
    assert story_checks.file_faults([File("a.py", "x = 1")], stale, disk)


# the model of nodes

EVEN = Assumptions(
    bytes_per_entry=10_000, recall_core_ms=40, record_core_ms=20, server_share=0.5, writes_per_recall=0.5, active=0.1,
    cores=10, memory_gb=100, disk_tb=2, load=0.5, replicas=1, skew=1,
)  # fmt: skip


def test_each_resource_asks_for_nodes(tmp_path: Path) -> None:
    found = plan(1e9, 1_000, EVEN)
    assert found.disk_tb == pytest.approx(10)
    assert found.by_disk == 10, "10 TB, 1 TB on a node"
    assert found.by_memory == 20, "1,000 GB that are in use, 50 GB in a node"
    assert found.by_writes == 1, "500 records of 10 ms are 5 cores, and a node has 5 to use"
    assert found.by_reads == 3, "20 cores that two nodes share, and the 5 of records in each"
    assert found.application_cores == 50, "20 for recalls and 5 for records, half of them to be busy"
    assert (found.nodes, found.bound_by) == (20, "memory")
    assert plan(1e9, 1_000, replace(EVEN, skew=2)).nodes == 40
    one, three = (plan(1e6, 100_000, replace(EVEN, replicas=number)) for number in (1, 3))
    assert (one.by_reads, three.by_reads) == (300, 200), "replicas serve recalls"
    assert three.by_writes == one.by_writes, "and no records"
    busy = {"record": {"p50_ms": 25.0, "p95_ms": 30.0}}
    rows = [
        {"bytes_per_entry": size, "recalls_per_second": speed, "calls": busy} for size, speed in ((1, 1), (9_000, 50))
    ]
    path = written(tmp_path / "scale.json", {"cores": 2, "processes": 8, "rows": rows})
    assert measured(path) == {"bytes_per_entry": 9_000, "recall_core_ms": 40.0, "record_core_ms": 25.0}, "the largest"
