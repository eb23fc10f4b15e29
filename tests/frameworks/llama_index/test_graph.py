"""What the graph knows, in LlamaIndex: a retriever, a property graph store, a model that reads."""

from datetime import UTC, datetime, timedelta

import pytest
from llama_index.core import MockEmbedding, PropertyGraphIndex
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.indices.property_graph import LLMSynonymRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeRelationship
from llama_index.core.vector_stores.types import VectorStoreQuery

from llama_index_tidal import TidalGraphRetriever, TidalPropertyGraphStore
from tidal_plugins import HashingEmbedder, InvalidInput, TidalMemory
from tidal_plugins.testing import FrozenClock

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
CALLS = "`create_invoice` calls `calculate_tax_liability`."
QUOTE = "create_invoice` calls `calculate_tax_liability"


@pytest.fixture
def clock():
    return FrozenClock(MONDAY)


@pytest.fixture
def shop(path, clock):
    """A memory that has read four turns on Monday and one on Thursday."""
    with TidalMemory(path, embedder=HashingEmbedder(), clock=clock) as memory:
        memory.record("Where is it?", "`calculate_tax_liability` is defined in `billing/tax.py`.", thread="monday")
        memory.record("Who calls it?", CALLS, thread="monday")
        memory.record("And who calls that?", "`checkout` calls `create_invoice`.", thread="monday")
        memory.record("How is it?", "The deployment is blocked.", thread="monday")
        memory.graph.index_pending()
        clock.advance(days=3)
        memory.record("And now?", "The deployment is running.", thread="thursday")
        memory.graph.index_pending()
        yield memory


def texts(nodes):
    return [node.text for node in nodes]


# the retriever


def test_relations_around_what_a_query_names_come_with_the_words_that_say_so(shop):
    nodes = TidalGraphRetriever(shop).retrieve("What calls calculate_tax_liability?")
    best = nodes[0].node
    episode = shop.episodes.list(thread="monday")[1]
    assert best.text == "create_invoice calls calculate_tax_liability"
    assert best.metadata["evidence"] == [f"[{episode.citation}] «{QUOTE}»"]
    assert best.metadata["episodes"] == [episode.id]
    assert best.metadata["predicate"] == "calls"
    assert best.relationships[NodeRelationship.SOURCE].node_id == episode.id
    assert shop.graph.relation(best.node_id).subject == shop.graph.entity("create_invoice").id
    assert nodes[0].score >= nodes[-1].score > 0
    told = best.get_content(MetadataMode.LLM)
    assert QUOTE in told
    assert "confidence" not in told


def test_depth_reaches_further_and_nearer_ones_come_first(shop):
    near = texts(TidalGraphRetriever(shop).retrieve("calculate_tax_liability"))
    far = texts(TidalGraphRetriever(shop, depth=2).retrieve("calculate_tax_liability"))
    assert "checkout calls create_invoice" not in near
    assert far[-1] == "checkout calls create_invoice"
    assert set(near) < set(far)


def test_limit_predicate_and_times_are_kept_to(shop):
    assert len(TidalGraphRetriever(shop, 1).retrieve("calculate_tax_liability")) == 1
    (node,) = TidalGraphRetriever(shop, predicate="defined_in").retrieve("calculate_tax_liability")
    assert node.metadata["predicate"] == "defined_in"
    tuesday = MONDAY + timedelta(days=1)
    (then,) = TidalGraphRetriever(shop, valid_at=tuesday, believed_at=tuesday).retrieve("the deployment?")
    (now,) = TidalGraphRetriever(shop).retrieve("the deployment?")
    assert "blocked" in then.text
    assert "running" in now.text


def test_nothing_is_found_for_nothing_and_in_another_scope(shop):
    for query in ("", "  ", "the Heron"):
        assert TidalGraphRetriever(shop).retrieve(query) == []
    assert TidalGraphRetriever(shop, scope=("user", "anna")).retrieve("create_invoice") == []
    with pytest.raises(InvalidInput):
        TidalGraphRetriever(shop, scope="anna")


async def test_a_query_engine_answers_from_it_sync_and_async(shop):
    engine = RetrieverQueryEngine.from_args(TidalGraphRetriever(shop), llm=MockLLM())
    for answer in (
        engine.query("What calls calculate_tax_liability?"),
        await engine.aquery("Who calls create_invoice?"),
    ):
        assert "calls" in str(answer)
        assert answer.source_nodes


# the property graph store


@pytest.fixture
def store(shop):
    return TidalPropertyGraphStore(shop)


def test_an_entity_is_a_node_under_its_name_and_an_episode_a_chunk(shop, store):
    episode = shop.episodes.list(thread="monday")[1]
    entity, chunk = store.get(ids=["create_invoice", episode.id, "nobody"])
    assert isinstance(entity, EntityNode)
    assert entity.name == "create_invoice"
    assert entity.properties["entity_id"] == shop.graph.entity("create_invoice").id
    assert store.get(ids=[entity.properties["entity_id"]]) == [entity]
    assert isinstance(chunk, ChunkNode)
    assert CALLS in chunk.text
    assert {node.name for node in store.get()} == {each.name for each in shop.graph.entities()}
    assert store.get(ids=[]) == []
    assert {node.name for node in store.get(properties={"category": "technical"})} > {"create_invoice", "checkout"}


def test_triplets_are_filtered_by_name_predicate_and_properties(store):
    def said(**filters):
        return {(a.id, edge.id, b.id) for a, edge, b in store.get_triplets(**filters)}

    calls = ("create_invoice", "calls", "calculate_tax_liability")
    defined = ("calculate_tax_liability", "defined_in", "billing/tax.py")
    assert said() == set()
    assert said(entity_names=["calculate_tax_liability"]) == {calls, defined}
    assert said(ids=["calculate_tax_liability"], relation_names=["defined_in"]) == {defined}
    assert said(relation_names=["defined_in"]) == {defined}
    assert said(entity_names=["checkout"], ids=["create_invoice"]) == set()
    assert said(properties={"predicate": "defined_in"}) == {defined}
    assert said(entity_names=["nobody"]) == set()


def test_a_map_of_relations_goes_as_deep_as_it_is_asked_to(store):
    (node,) = store.get(ids=["calculate_tax_liability"])
    assert len(store.get_rel_map([node], depth=1)) == 2
    assert len(store.get_rel_map([node], depth=2)) == 3
    assert len(store.get_rel_map([node], depth=2, limit=1)) == 1
    assert [edge.id for _, edge, _ in store.get_rel_map([node], depth=1, ignore_rels=["calls"])] == ["defined_in"]
    assert store.get_rel_map([]) == []
    assert store.get_rel_map([EntityNode(name="nobody")]) == []


def test_llama_index_s_own_retriever_reads_it_with_the_turn_that_says_so(store):
    retriever = LLMSynonymRetriever(store, llm=MockLLM(), output_parsing_fn=lambda _: ["checkout"], path_depth=1)
    index = PropertyGraphIndex.from_existing(
        store, llm=MockLLM(), embed_model=MockEmbedding(embed_dim=3), embed_kg_nodes=False
    )
    (node,) = index.as_retriever(sub_retrievers=[retriever], use_async=False).retrieve("Who checks out?")
    assert "checkout -> calls -> create_invoice" in node.text
    assert "`checkout` calls `create_invoice`." in node.text
    assert "And who calls that?" in node.text


def test_its_schema_names_types_and_predicates(store):
    schema = store.get_schema()
    assert {"calls", "defined_in", "has_status"} <= set(schema["relations"])
    assert "file" in schema["entities"]
    assert "calls" in store.get_schema_str()


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.upsert_nodes([EntityNode(name="x")]),
        lambda store: store.upsert_relations([Relation(label="calls", source_id="x", target_id="y")]),
        lambda store: store.delete(entity_names=["checkout"]),
    ],
)
def test_it_is_not_written_to_and_says_what_to_do_instead(store, write):
    before = len(store.get())
    with pytest.raises(InvalidInput, match=r"memory\."):
        write(store)
    assert len(store.get()) == before


def test_queries_that_it_cannot_answer_are_refused_as_llama_index_s_own_stores_do(store):
    with pytest.raises(NotImplementedError, match="cypher"):
        store.structured_query("MATCH (n) RETURN n")
    with pytest.raises(NotImplementedError, match="TidalGraphRetriever"):
        store.vector_query(VectorStoreQuery(query_embedding=[1.0]))
    assert not store.supports_structured_queries
    assert not store.supports_vector_queries


def test_the_store_keeps_to_its_scope(shop):
    store = TidalPropertyGraphStore(shop, scope=("user", "anna"))
    episode = shop.episodes.list()[0]
    assert store.get() == store.get(ids=["create_invoice", episode.id]) == []
    assert store.get_triplets(entity_names=["create_invoice"]) == []


# a model that reads
