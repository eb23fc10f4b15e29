from datetime import UTC, datetime, timedelta

import pytest
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from pydantic import ValidationError

from llama_index_tidal import TidalRetriever
from llama_index_tidal.retriever import to_recall
from tidal_plugins import HashingEmbedder, InvalidInput, Note, Peer, TidalMemory

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def library(memory):
    memory.remember(
        [
            Note(
                "The jazz piano stands in the hall.", "kb", source="hall.md", tags=("piano", "hall"), occurred_at=NOON
            ),
            Note(
                "Tune the jazz piano twice a year.", "skill", source="care.md", metadata={"draft": True, "year": 2026}
            ),
            Note("Jazz piano lessons are on Friday.", "fact", thread="monday", speaker="Nora", metadata={"year": 2025}),
        ]
    )
    return memory


def texts(nodes):
    return sorted(node.text.split()[0] for node in nodes)


def where(*filters, condition=FilterCondition.AND):
    return MetadataFilters(filters=list(filters), condition=condition)


def is_(key, value, operator=FilterOperator.EQ):
    return MetadataFilter(key=key, value=value, operator=operator)


# nodes


def test_each_retrieval_gives_fresh_nodes_of_the_same_hash(library):
    retriever = TidalRetriever(library)
    first, second = retriever.retrieve("jazz piano hall"), retriever.retrieve("the hall's piano")
    by_id = {node.node_id: node for node in first}
    assert {node.node_id for node in second} == by_id.keys()
    for node in second:
        assert node is not by_id[node.node_id]
        assert node.node.metadata is not by_id[node.node_id].node.metadata
        assert node.node.hash == by_id[node.node_id].node.hash


def test_a_node_tells_what_is_known_of_it(library):
    (node,) = TidalRetriever(library, kinds={"kb"}).retrieve("jazz piano")
    assert node.metadata == {
        "kind": "kb",
        "citation": f"mem:{node.node_id}",
        "occurred_at": "2026-03-01T12:00:00+00:00",
        "source": "hall.md",
        "tags": ["piano", "hall"],
    }
    assert library.get(node.node_id).text == node.text
    shown = node.get_content(MetadataMode.LLM)
    assert "source: hall.md" in shown
    assert node.node_id not in shown
    assert node.get_content(MetadataMode.EMBED) == node.text


def test_a_peers_node_says_whose_memory_it_is(library, tmp_path):
    with TidalMemory(tmp_path / "me.db", embedder=HashingEmbedder(), peers=[Peer(library, name="the team")]) as memory:
        memory.remember("I play jazz piano myself", metadata={"origin": "a diary"})
        nodes = {node.text.split()[0]: node.node for node in TidalRetriever(memory).retrieve("jazz piano")}
    assert nodes["Tune"].metadata["origin"] == "the team"
    assert "origin: the team" in nodes["Tune"].get_content(MetadataMode.LLM)
    assert "diary" not in nodes["I"].get_content(MetadataMode.LLM)


def test_the_entrys_own_metadata_come_along_but_forge_nothing(memory):
    memory.remember("The tuner is called Ann.", source="real.md", metadata={"source": "forged.md", "page": 3})
    (node,) = TidalRetriever(memory).retrieve("tuner")
    assert node.metadata["source"] == "real.md"
    assert node.metadata["page"] == 3


# in the framework


def test_a_query_engine_answers_from_it(library, says):
    model = says("On Friday.")
    engine = RetrieverQueryEngine.from_args(TidalRetriever(library), llm=model)
    answer = engine.query("When are the jazz piano lessons?")
    assert str(answer) == "On Friday."
    assert "Jazz piano lessons are on Friday." in str(model.shown[0])
    assert len(answer.source_nodes) == 3


@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"])
def test_fusion_finds_each_once_and_changes_nothing_for_the_next(library, says, mode):
    retriever = TidalRetriever(library)
    before = [(node.node_id, node.score) for node in retriever.retrieve("jazz piano")]
    fusion = QueryFusionRetriever(
        [retriever], llm=says("piano hall\njazz piano"), similarity_top_k=5, num_queries=3, mode=mode, use_async=False
    )
    found = fusion.retrieve("jazz piano")
    assert len({node.node_id for node in found}) == len(found) == 3
    assert [(node.node_id, node.score) for node in retriever.retrieve("jazz piano")] == before


# filters


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (where(), ["Jazz", "The", "Tune"]),
        (where(is_("kind", "kb")), ["The"]),
        (where(is_("kind", ["kb", "skill"], FilterOperator.IN)), ["The", "Tune"]),
        (where(is_("thread", "monday")), ["Jazz"]),
        (where(is_("speaker", "Nora")), ["Jazz"]),
        (where(is_("source", ["hall.md", "care.md"], FilterOperator.IN)), ["The", "Tune"]),
        (where(is_("tags", "hall")), ["The"]),
        (where(is_("tags", ["hall", "none"], FilterOperator.ANY)), ["The"]),
        (where(is_("tags", "hall", FilterOperator.CONTAINS)), ["The"]),
        (where(is_("year", 2026)), ["Tune"]),
        (where(is_("year", [2025], FilterOperator.IN)), ["Jazz"]),
        (where(is_("year", 1999)), []),
        (where(is_("kind", "kb"), is_("source", "hall.md")), ["The"]),
        (where(is_("kind", "kb"), is_("kind", "skill")), []),
        (where(is_("kind", ["kb", "skill"], FilterOperator.IN), is_("kind", "skill")), ["Tune"]),
        (where(is_("kind", "kb"), is_("kind", ["fact"], FilterOperator.IN), condition="or"), ["Jazz", "The"]),
        (where(is_("kind", "kb"), condition="or"), ["The"]),
        (where(where(is_("kind", "kb")), where(is_("source", "hall.md"))), ["The"]),
        (where(is_("occurred_at", "2026-03-01T13:00:00Z", FilterOperator.LT), is_("kind", "kb")), ["The"]),
        (where(is_("occurred_at", "2026-03-01T13:00:00", FilterOperator.GTE), is_("kind", "kb")), []),
        (where(is_("kind", [], FilterOperator.IN)), []),
    ],
)
def test_filters_mean_what_they_say(library, filters, found):
    assert texts(TidalRetriever(library, filters=filters).retrieve("jazz piano")) == found


@pytest.mark.parametrize(
    "filters",
    [
        where(is_("kind", "kb"), condition="not"),
        where(is_("kind", "kb"), is_("source", "x"), condition="or"),
        where(is_("year", 2025), is_("year", 2026), condition="or"),
        where(where(is_("kind", "kb")), is_("kind", "fact"), condition="or"),
        where(is_("kind", "kb", FilterOperator.NE)),
        where(is_("kind", ["kb"], FilterOperator.NIN)),
        where(is_("kind", 3)),
        where(is_("source", None)),
        where(is_("source", "x", FilterOperator.TEXT_MATCH)),
        where(is_("tags", ["a", "b"], FilterOperator.ALL)),
        where(is_("tags", "a"), is_("tags", "b")),
        where(is_("year", 2025, FilterOperator.GT)),
        where(is_("year", [2025, 2026], FilterOperator.IN)),
        where(is_("year", 2025), is_("year", 2026)),
        where(is_("draft", None, FilterOperator.IS_EMPTY)),
        where(is_("occurred_at", "2026-03-01")),
        where(is_("occurred_at", "yesterday", FilterOperator.GTE)),
        where(is_("role", "user")),
        where(is_("citation", "mem:x")),
    ],
)
def test_what_recall_cannot_filter_by_is_refused_at_once(library, filters):
    with pytest.raises(InvalidInput):
        TidalRetriever(library, filters=filters)


def test_a_bool_that_a_metadata_filter_refuses_is_filtered_by_recall_itself(library):
    with pytest.raises(ValidationError):
        is_("draft", True)
    assert texts(TidalRetriever(library, metadata={"draft": True}).retrieve("jazz piano")) == ["Tune"]


def test_filters_of_both_kinds_hold_together_but_not_on_the_same(library):
    filters = where(is_("kind", "kb"))
    assert texts(TidalRetriever(library, filters=filters, sources={"hall.md"}).retrieve("jazz piano")) == ["The"]
    with pytest.raises(InvalidInput, match="kinds"):
        TidalRetriever(library, filters=filters, kinds={"fact"})


def test_the_narrower_of_two_times_counts():
    bounds = [is_("occurred_at", (NOON + timedelta(days=day)).isoformat(), FilterOperator.GTE) for day in (0, 2, 1)]
    assert to_recall(where(*bounds)) == {"since": NOON + timedelta(days=2)}
