"""What the graph tells on a question: which relations, in which order, in which words."""

from datetime import UTC, datetime, timedelta

import pytest

from tidal_plugins import HashingEmbedder, Settings, TidalMemory
from tidal_plugins.graph.render import MAX_LINE_CHARS, evidence_of, quoted, related, tell
from tidal_plugins.testing import FrozenClock

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def clock():
    return FrozenClock(MONDAY)


@pytest.fixture
def memory(tmp_path, clock):
    settings = Settings(graph={"background": False})
    with TidalMemory(tmp_path / "m.db", embedder=HashingEmbedder(), settings=settings, clock=clock) as memory:
        yield memory


@pytest.fixture
def frames(memory):
    return memory.frames


@pytest.fixture
def learn(memory):
    def learn(*texts):
        for text in texts:
            memory.record(agent=text)
        assert memory.graph.index_pending().failed == 0
        return memory.graph

    return learn


def said(told):
    return [each.sentence for each in told]


def test_what_answers_the_question_in_more_of_its_words_comes_first(learn):
    graph = learn("`load_rates` is defined in `rates.py`.", "`quote_fare` calls `load_rates`.")
    assert said(related(graph, "Where is load_rates defined?"))[0] == "load_rates is defined in rates.py"
    assert said(related(graph, "What calls load_rates?"))[0] == "quote_fare calls load_rates"


def test_scores_lie_between_nothing_and_one_and_fall_with_distance(learn):
    graph = learn("`a_one` calls `b_two`.", "`b_two` calls `c_three`.")
    near, far = related(graph, "a_one", depth=2)
    assert 1 >= near.score > far.score > 0
    assert (near.distance, far.distance) == (1, 2)


def test_what_is_denied_is_told_as_denied(learn):
    graph = learn("`parse_fare` is no longer defined in `old.py`.")
    assert said(related(graph, "parse_fare")) == ["parse_fare is not defined in old.py"]


def test_history_has_one_line_for_each_time_that_something_was_true(learn, memory, clock, frames):
    learn("The deployment is blocked.")
    clock.advance(days=1)
    graph = learn("The deployment is running.")
    first, second = tell(graph, frames, "deployment", "history").splitlines()[2:-1]
    assert "2026-03-02 09:00 to 2026-03-03 09:00: deployment is blocked" in first
    assert "2026-03-03 09:00 to now: deployment is running" in second
    (then,) = tell(graph, frames, "deployment", "history", at=MONDAY + timedelta(hours=1)).splitlines()[2:-1]
    assert "2026-03-02 09:00 to now: deployment is blocked" in then


def test_lines_are_bounded_in_length_and_number(learn, frames):
    texts = [f"`step_{number}` calls `{'very_' * 30}long_name`." for number in range(30)]
    lines = tell(learn(*texts), frames, f"{'very_' * 30}long_name", limit=100).splitlines()[2:-1]
    assert len(lines) == 20
    assert max(map(len, lines)) < MAX_LINE_CHARS + 40


def test_nothing_known_is_nothing_told(learn, frames):
    graph = learn("Good morning.")
    for aspect in ("relations", "dependents", "history"):
        assert tell(graph, frames, "the Heron", aspect) == ""


def test_what_came_from_another_graph_names_it_and_quotes_nothing(learn, memory, frames):
    text = learn("`quote_fare` calls `load_rates`.").export("json-ld")
    other = memory.scoped("other")
    other.graph.load(text, "json-ld", source="fares.jsonld")
    (told,) = related(other.graph, "load_rates")
    assert [quoted(each) for each in other.graph.evidence(told.relation)] == ["from fares.jsonld"]
    (line,) = tell(other.graph, frames, "load_rates").splitlines()[2:-1]
    assert line.startswith("- quote_fare calls load_rates (")
    assert line.endswith(") from fares.jsonld")


def test_the_evidence_of_what_recall_finds_is_empty_once_it_is_forgotten(learn, memory):
    learn("`quote_fare` calls `load_rates`.")
    entries = [hit.entry for hit in memory.recall("load_rates", kinds={"fact"})]
    assert len(entries) == 3
    assert all(evidence_of(memory.graph, entry) for entry in entries)
    memory.forget(memory.episodes.list()[0].id)
    assert [evidence_of(memory.graph, entry) for entry in entries] == [[], [], []]
