"""Both retrievers take ``k`` and ``limit``, and name the argument that does not fit."""

import threading

import pytest

import langchain_tidal
import llama_index_tidal
from tests.frameworks.answers import ANSWERED, LIBRARY, UNANSWERED
from tidal_plugins import InvalidInput, Note, TidalMemory

MANY = [Note(f"Piano piece number {number} is a waltz.", source="pieces.md") for number in range(6)]


def of_langchain(memory, query="piano waltz", **options):
    found = langchain_tidal.TidalRetriever(memory, scores=True, **options).invoke(query)
    return [(one.page_content, one.metadata["relevance_score"]) for one in found]


def of_llama_index(memory, query="piano waltz", **options):
    return [(one.text, one.score) for one in llama_index_tidal.TidalRetriever(memory, **options).retrieve(query)]


async def aof_langchain(memory):
    return [one.page_content for one in await langchain_tidal.TidalRetriever(memory).ainvoke("piano waltz")]


async def aof_llama_index(memory):
    return [one.text for one in await llama_index_tidal.TidalRetriever(memory).aretrieve("piano waltz")]


BOTH = pytest.mark.parametrize(("found", "afound"), [(of_langchain, aof_langchain), (of_llama_index, aof_llama_index)])


@pytest.fixture
def stocked(memory):
    memory.remember(MANY)
    return memory


@BOTH
async def test_they_find_the_best_first_with_scores_that_fall_in_both_styles(stocked, embedder, found, afound):
    hits = found(stocked)
    scores = [score for _, score in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(type(score) is float and 0 <= score <= 1 for score in scores)
    embedder.threads.clear()
    assert await afound(stocked) == [text for text, _ in hits]
    assert embedder.threads
    assert threading.main_thread() not in embedder.threads
    assert len(found(stocked, k=2)) == len(found(stocked, limit=2)) == 2
    with pytest.raises(InvalidInput, match="k= and limit= mean the same"):
        found(stocked, k=2, limit=2)
    empty = stocked.scoped("empty")
    assert found(empty) == []
    stocked.scoped("user", "anna").remember("Anna's piano waltz.")
    assert [text for text, _ in found(stocked, scope=("user", "anna"))] == ["Anna's piano waltz."]
    assert "Anna" not in str(found(stocked))
    with pytest.raises(ValueError, match="scope"):
        found(stocked, scope="anna")
    if found is of_langchain:
        with pytest.raises(InvalidInput):
            found(stocked, " ")
    else:
        assert found(stocked, " ") == await llama_index_tidal.TidalRetriever(stocked).aretrieve(" ") == []


@BOTH
@pytest.mark.slow
def test_half_a_chance_keeps_what_answers_and_cuts_what_does_not(tmp_path, found, afound):
    with TidalMemory(tmp_path / "meaning.db") as memory:
        memory.remember(LIBRARY)

        def kept(query):
            return [text for text, score in found(memory, query) if score >= 0.5]

        assert {query: kept(query) for query in ANSWERED} == {query: [LIBRARY[n]] for query, n in ANSWERED.items()}
        assert [kept(query) for query in UNANSWERED] == [[]] * len(UNANSWERED)


@pytest.mark.parametrize("name", ["k", "limit"])
@pytest.mark.parametrize("value", [0, -1, 1_001])
@BOTH
def test_a_limit_that_does_not_fit_is_refused_by_its_own_name(stocked, found, afound, name, value):
    with pytest.raises(InvalidInput, match=f"^{name} must be a whole number from 1 to 1000"):
        found(stocked, **{name: value})


def test_a_call_may_say_k_or_limit(stocked):
    retriever = langchain_tidal.TidalRetriever(stocked, limit=5)
    assert len(retriever.invoke("piano waltz", k=2)) == len(retriever.invoke("piano waltz", limit=2)) == 2
    with pytest.raises(InvalidInput, match=r"^k must be"):
        retriever.invoke("piano waltz", k=0)


@pytest.mark.parametrize(
    ("name", "value"), [("kinds", {"novel"}), ("entry_tags", "jazz"), ("entry_metadata", 3), ("profile", "loud")]
)
def test_langchains_retriever_names_its_own_filters(stocked, name, value):
    with pytest.raises(InvalidInput, match=f"^{name}"):
        langchain_tidal.TidalRetriever(stocked).invoke("piano waltz", **{name: value})


def test_llama_indexs_retriever_refuses_an_unknown_argument_at_once(stocked):
    with pytest.raises(InvalidInput, match=r"^top_k: no such argument; known are limit, k"):
        llama_index_tidal.TidalRetriever(stocked, top_k=3)
