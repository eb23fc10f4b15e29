"""Recall over several hops: what the hits leave open is asked for, and appended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from tests.conftest import OpenMemory
from tests.tables import tables
from tests.tuned import tuned
from tidal_plugins import Coverage, InvalidInput, Note, Settings, TidalMemory
from tidal_plugins.protocols import CoverageAssessor
from tidal_plugins.retrieval.hops import HeuristicAssessor

TABLE = tables("retrieval/whisper.jsonl")

QUESTION = "What does the employer of Ada's sister produce?"
SISTER, EMPLOYER, PRODUCT = "Maria is Ada's sister.", "Maria works for Acme Corp.", "Acme Corp makes quince jam."
OTHERS = [text for (text,) in TABLE["others"]]


class Asking:
    """Asks what it was told to, hop by hop, and remembers what it was shown."""

    def __init__(self, *answers: Any, seconds: float = 0.0) -> None:
        self.answers, self.shown, self.seconds = list(answers), list[list[str]](), seconds

    def assess(self, query: str, texts: Sequence[str]) -> Coverage:
        self.shown.append(list(texts))
        time.sleep(self.seconds)
        answer = self.answers.pop(0) if self.answers else Coverage()
        if isinstance(answer, Exception):
            raise answer
        return answer


def fill(memory: TidalMemory) -> TidalMemory:
    memory.remember([Note(text, kind="conversation") for text in [*OTHERS, SISTER, EMPLOYER, PRODUCT]])
    return memory


def asks(*queries: str) -> Coverage:
    return Coverage(queries=queries)


def test_names_in_the_hits_lead_to_what_the_query_does_not_name(memory: TidalMemory) -> None:
    fill(memory)
    plain, found = memory.recall(QUESTION, limit=1), memory.recall(QUESTION, limit=1, hops=3)
    assert [hit.text for hit in plain] == [SISTER]
    assert found[:1] == plain[:1]
    assert {EMPLOYER, PRODUCT} <= {hit.text for hit in found}
    assert found.hops[0].query == "Maria employer produce"
    assert found.stopped == "hops"


def test_each_hit_says_which_hop_brought_it_by_which_query(memory: TidalMemory) -> None:
    found = fill(memory).recall(QUESTION, limit=1, hops=3)
    assert (found[0].why.hop, found[0].why.asked) == (1, "")
    later = next(hit for hit in found if hit.text == EMPLOYER)
    assert (later.why.hop, later.why.asked) == (2, "Maria employer produce")
    assert "hop 2 («Maria employer produce»): keywords #" in found.explain()
    assert "stopped: hops" in found.explain()
    for number, query, ids in found.hops:
        assert set(ids) >= {hit.id for hit in found if (hit.why.hop, hit.why.asked) == (number, query)}


def test_every_candidate_is_a_hit_or_has_a_stage_and_a_reason(open_memory: OpenMemory) -> None:
    memory = fill(open_memory(settings=Settings(tuning={"hops.appended": 1, "hops.least": 0.0})))
    found = memory.recall(QUESTION, limit=1, hops=3)
    assert len(found) == 2
    dropped = [item.id for item in found.dropped]
    assert len(dropped) == len(set(dropped))
    assert not set(found.ids) & set(dropped)
    brought = {id_ for hop in found.hops for id_ in hop.ids}
    assert brought <= {*found.ids, *dropped}
    assert {*memory.recall(QUESTION, limit=1).ids, *(item.id for item in memory.recall(QUESTION, limit=1).dropped)} <= {
        *found.ids,
        *dropped,
    }


def test_filters_hold_in_every_hop(memory: TidalMemory) -> None:
    fill(memory)
    theirs = memory.scoped("other")
    theirs.remember(Note("Maria works for a secret employer.", kind="conversation"))
    hidden = memory.recall(EMPLOYER, limit=1)[0]
    found = memory.recall(QUESTION, limit=1, hops=3, exclude=[hidden.id], kinds={"conversation"})
    assert hidden.id not in found.ids
    assert not any("secret" in hit.text for hit in found)


def test_a_covered_query_is_asked_once(memory: TidalMemory) -> None:
    found = fill(memory).recall("tulips Ada likes", limit=1, hops=4)
    assert (found.stopped, found.hops, len(found)) == ("covered", (), 1)


def test_it_stops_where_nothing_leads_on_or_nothing_new_comes(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.remember("plain words that name nobody stand here beside other plain words")
    assert memory.recall("plain thoughts", hops=3).stopped == "no new query"
    again = open_memory("again.db", assessor=Asking(asks("words"), asks("never asked")))
    again.remember("plain words")
    found = again.recall("plain", hops=3)
    assert (found.stopped, [hop.query for hop in found.hops]) == ("no new hit", ["words"])
    same = open_memory("same.db", assessor=Asking(asks("  PLAIN ", "")))
    same.remember("plain words")
    assert same.recall("plain", hops=3).stopped == "no new query", "its own query, and nothing, are none"


def test_budgets_in_queries_leads_and_time_are_kept(open_memory: OpenMemory) -> None:
    def ask(name: str, assessor: Asking | None = None, **budget: Any) -> tuple[str, int]:
        memory = fill(open_memory(name, assessor=assessor, settings=tuned(hops={"ms": 3_600_000.0, **budget})))
        found = memory.recall(QUESTION, limit=1, hops=3)
        return found.stopped, len(found.hops)

    both = asks("Maria works", "Bob sister"), asks("Acme Corp", "Painting")
    assert ask("a.db", Asking(*both), queries=1) == ("queries", 1)
    assert ask("b.db", Asking(*both), queries=0) == ("queries", 0)
    assert ask("c.db", Asking(*both)) == ("hops", 2)
    assert ask("d.db", Asking(*both), leads=2) == ("hops", 4)
    assert ask("e.db", Asking(*both), leads=2, queries=3) == ("queries", 3)
    assert ask("f.db", Asking(*both, seconds=0.5), ms=50.0) == ("time", 0)
    assert ask("g.db", ms=0.001) == ("time", 0)


def test_an_assessor_sees_the_newest_finds_first_with_their_speakers(open_memory: OpenMemory) -> None:
    assessor = Asking(asks("Acme Corp"))
    memory = open_memory(assessor=assessor)
    memory.remember([Note(SISTER, kind="conversation", speaker="Ada"), Note(PRODUCT, kind="conversation")])
    memory.recall("Who is a sister?", limit=1, hops=3)
    assert assessor.shown == [[f"Ada: {SISTER}"], [PRODUCT, f"Ada: {SISTER}"]]


@pytest.mark.parametrize(
    "answer",
    [
        RuntimeError("no model"),
        ["a query"],
        Coverage(queries=(3,)),
        Coverage(queries={"a"}),
        Coverage(queries="ab"),
        None,
    ],
)
def test_a_failing_assessor_leaves_what_was_found(
    open_memory: OpenMemory, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    memory = fill(open_memory(assessor=Asking(asks("Maria works"), answer)))
    found = memory.recall(QUESTION, limit=1, hops=3)
    assert found.stopped == "assessor"
    assert EMPLOYER in {hit.text for hit in found}
    assert "assessor failed" in caplog.text


@pytest.mark.parametrize("hops", [0, -1, 11, 2.0, True, "2"])
def test_hops_are_a_small_whole_number(memory: TidalMemory, hops: Any) -> None:
    with pytest.raises(InvalidInput, match="hops must be a whole number from 1 to 10"):
        memory.recall("anything", hops=hops)


# what found texts leave open of a query, and where to go on


PLAYED = "What instrument does Ada's sister play?"
FOUND = ["Maria is Ada's sister.", "Ada went to Prague in May.", "Every instrument needs tuning."]


def assess(query: str, *texts: str) -> Coverage:
    return HeuristicAssessor().assess(query, texts)


def test_a_new_name_is_asked_for_with_the_words_that_its_text_leaves_open() -> None:
    coverage = assess(PLAYED, *FOUND)
    assert coverage.queries[0] == "Maria instrument play"
    assert coverage.uncovered == ("play",)
    assert not coverage.covered


def test_one_text_with_all_words_covers_a_query_in_whatever_form_they_are() -> None:
    assert assess(PLAYED, "hm", "Ada has a sister who played three instruments.").covered
    assert assess("Which cities?", "the city").covered


def test_words_of_several_texts_do_not_cover_it_together() -> None:
    coverage = assess("who owns the boat?", "Lena owns a house", "the boat sank")
    assert not coverage.covered
    assert coverage.uncovered == ("owns", "boat")


def test_identifiers_are_names() -> None:
    queries = assess("Who wrote what caused the outage?", "the outage was caused by retry_budget").queries
    assert queries == ("retry_budget wrote",)


@pytest.mark.parametrize("text", ["In May and on Monday it was Ada's turn.", "Thanks Ada!", "ada", "I am Ada."])
def test_months_days_courtesies_and_known_names_lead_nowhere(text: str) -> None:
    assert not any(word in " ".join(assess(PLAYED, text).queries) for word in ("May", "Monday", "Thanks", "Ada"))


def test_it_is_an_assessor_and_long_texts_take_no_time() -> None:
    assert isinstance(HeuristicAssessor(), CoverageAssessor)
    assert assess(PLAYED, "Ada Bell " * 20_000, "a" * 200_000, "A-" * 100_000) is not None


def test_the_number_of_hops_may_be_set_for_all_recalls(open_memory: OpenMemory) -> None:
    memory = fill(open_memory(settings=Settings(recall={"hops": 3})))
    assert memory.recall(QUESTION, limit=1).stopped == "hops"
    assert memory.recall(QUESTION, limit=1, hops=1).stopped == ""


def test_later_hits_come_after_the_first_and_score_no_higher(memory: TidalMemory) -> None:
    for limit in (1, 3, 5):
        plain = fill(memory).recall(QUESTION, limit=limit)
        found = memory.recall(QUESTION, limit=limit, hops=3)
        assert found.hits[:limit] == plain.hits
        scores = [hit.score for hit in found]
        assert scores == sorted(scores, reverse=True)
        assert len(set(found.ids)) == len(found)
