"""Both retrievers take ``k`` and ``limit``, and name the argument that does not fit."""

import pytest

import langchain_tidal
import llama_index_tidal
from tidal_plugins import InvalidInput, Note


@pytest.fixture
def stocked(memory):
    memory.remember([Note(f"Piano piece number {number} is a waltz.", source="pieces.md") for number in range(6)])
    return memory


def langchain(memory, **options):
    return langchain_tidal.TidalRetriever(memory, **options).invoke("piano waltz")


def llama_index(memory, **options):
    return llama_index_tidal.TidalRetriever(memory, **options).retrieve("piano waltz")


@pytest.fixture(params=[langchain, llama_index])
def found(request, stocked):
    return lambda **options: request.param(stocked, **options)


def test_k_and_limit_are_the_same(found):
    assert len(found(k=2)) == len(found(limit=2)) == 2


@pytest.mark.parametrize("name", ["k", "limit"])
@pytest.mark.parametrize("value", [0, -1, 1_001])
def test_a_limit_that_does_not_fit_is_refused_by_its_own_name(found, name, value):
    with pytest.raises(InvalidInput, match=f"^{name} must be a whole number from 1 to 1000"):
        found(**{name: value})


def test_both_limits_are_one_too_many(found):
    with pytest.raises(InvalidInput, match="k= and limit= mean the same"):
        found(k=2, limit=2)


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


def test_many_texts_are_remembered_at_once(memory):
    waltz, march = memory.remember(["A waltz has three beats.", "A march has two beats."], kind="kb", source="metre.md")
    assert (waltz.text, march.text) == ("A waltz has three beats.", "A march has two beats.")
    assert {waltz.source, march.source} == {"metre.md"}
    mixed = memory.remember([Note("A reel has four beats."), "A jig has six beats."])
    assert [entry.text for entry in mixed] == ["A reel has four beats.", "A jig has six beats."]
    with pytest.raises(InvalidInput, match="source belong"):
        memory.remember([Note("A polka has two beats.")], source="metre.md")
