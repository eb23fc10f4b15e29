from datetime import UTC, datetime

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig, RunnableLambda

from langchain_tidal import TidalRetriever
from tests.frameworks.conftest import by_config, thread
from tidal_plugins import InvalidInput, Note

JANUARY, MAY = datetime(2026, 1, 10, tzinfo=UTC), datetime(2026, 5, 10, tzinfo=UTC)
QUERY = "Which jazz piano piece should I practise?"


def texts(documents):
    return [document.page_content for document in documents]


@pytest.fixture
def stocked(memory):
    memory.record(user="I practise jazz piano every evening.", agent="Noted.", thread="monday", occurred_at=JANUARY)
    memory.remember(
        [
            Note("Practise jazz piano scales slowly.", kind="skill", source="scales.md", tags=("music",)),
            Note("A jazz piano has 88 keys.", source="piano.md", occurred_at=MAY, metadata={"page": 3}),
            Note("The ferry to the island leaves at noon.", source="ferry.md"),
        ]
    )
    return memory


@pytest.fixture
def retriever(stocked):
    return TidalRetriever(stocked)


async def test_scores_take_the_arguments_of_a_call(retriever):
    found = retriever.search_with_scores(QUERY, k=1, kinds={"skill"})
    assert [document.metadata["source"] for document, _ in found] == ["scales.md"]
    assert await retriever.asearch_with_scores(QUERY, k=1, kinds={"skill"}) == found
    with pytest.raises(InvalidInput, match="colour"):
        retriever.search_with_scores(QUERY, colour="red")


def test_a_document_says_what_it_is_and_why_it_came_up(retriever, stocked):
    (found,) = TidalRetriever(stocked, scores=True).invoke(QUERY, kinds={"conversation"}, k=1)
    entry = stocked.get(found.id)
    assert found.page_content == entry.text
    assert (
        found.metadata.items()
        >= {
            "kind": "conversation",
            "citation": entry.citation,
            "thread": "monday",
            "role": "user",
            "episode": entry.episode,
            "occurred_at": "2026-01-10T00:00:00+00:00",
        }.items()
    )
    assert "meaning" in found.metadata["why"]
    assert 0 <= found.metadata["relevance_score"] <= 1
    assert found.metadata.keys().isdisjoint({"source", "speaker"})


def test_the_metadata_of_an_entry_is_that_of_its_document_but_stands_in_for_nothing_else(memory):
    memory.remember("A jazz piano has 88 keys.", metadata={"relevance_score": 99, "kind": "fact", "page": 3})
    (found,) = TidalRetriever(memory, scores=True).invoke(QUERY)
    assert found.metadata["relevance_score"] <= 1
    assert (found.metadata["kind"], found.metadata["page"]) == ("kb", 3)


def test_of_a_long_entry_the_best_passage_is_shown_and_its_id_leads_to_the_whole(memory):
    weather = "The weather report mentions rain, wind and fog along the northern coast. " * 30
    text = f"{weather}\n\n# Tuning\n\nThe jazz piano is tuned every autumn by Mr Quill.\n\n{weather}"
    memory.remember(text, source="log.md")
    (found,) = TidalRetriever(memory).invoke("Who tunes the jazz piano in autumn?")
    assert "Mr Quill" in found.page_content
    assert len(found.page_content) < len(text) / 2
    assert memory.get(found.id).text == text


@pytest.mark.parametrize(
    ("filters", "start"),
    [
        ({"kinds": {"skill"}}, "Practise"),
        ({"kinds": ["conversation"], "threads": ["monday"], "k": 1}, "I practise"),
        ({"sources": {"ferry.md"}}, "The ferry"),
        ({"entry_tags": ["music"]}, "Practise"),
        ({"entry_metadata": {"page": 3}}, "A jazz"),
        ({"since": MAY, "sources": ["piano.md", "nowhere.md"]}, "A jazz"),
        ({"until": MAY, "k": 1}, "I practise"),
    ],
)
def test_filters_may_be_fields_or_given_with_a_call(stocked, filters, start):
    for found in (TidalRetriever(stocked, **filters).invoke(QUERY), TidalRetriever(stocked).invoke(QUERY, **filters)):
        assert [text[: len(start)] for text in texts(found)] == [start]


def test_a_filter_given_with_a_call_takes_the_place_of_the_field(stocked):
    retriever = TidalRetriever(stocked, kinds={"skill"})
    assert {document.metadata["kind"] for document in retriever.invoke(QUERY, kinds=None)} >= {"skill", "kb"}


UNKNOWN = [
    {"kind": "skill"},
    {"top_k": 3},
    {"filter": {"page": 3}},
    {"search_kwargs": {"k": 3}},
    {"search_type": "similarity"},
]


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_an_unknown_filter_is_refused_and_not_passed_over(stocked, unknown):
    with pytest.raises(InvalidInput, match=rf"TidalRetriever: {next(iter(unknown))}: .* known are .*entry_tags"):
        TidalRetriever(stocked, **unknown)
    with pytest.raises(InvalidInput, match="entry_tags"):
        TidalRetriever(stocked).invoke(QUERY, **unknown)


def test_a_value_that_does_not_fit_is_named_without_pydantic_s_own_words(stocked):
    with pytest.raises(InvalidInput, match=r"search_kwargs: .*beside the memory: k=3"):
        TidalRetriever(stocked, search_kwargs={"k": 3})
    for wrong in ({"k": "three"}, {"kinds": 3}, {"since": "spring"}, {"scores": "perhaps"}):
        with pytest.raises(InvalidInput, match=f"TidalRetriever: {next(iter(wrong))}") as refused:
            TidalRetriever(stocked, **wrong)
        assert "pydantic" not in str(refused.value)


# runs


class Runs(BaseCallbackHandler):
    def __init__(self):
        self.seen = []

    def on_retriever_start(self, serialized, query, *, tags=None, metadata=None, name=None, **kwargs):
        self.seen.append((name, query, tags, metadata))

    def on_retriever_end(self, documents, **kwargs):
        self.seen.append(len(documents))

    def on_retriever_error(self, error, **kwargs):
        self.seen.append(type(error))


def test_a_call_is_a_retriever_run_with_its_own_tags_and_metadata(stocked):
    runs = Runs()
    retriever = TidalRetriever(stocked, k=2, tags=["mine"], metadata={"team": "blue"})
    retriever.invoke(QUERY, {"callbacks": [runs], "tags": ["run"]})
    (name, query, tags, metadata), found = runs.seen
    assert (name, query, found) == ("TidalRetriever", QUERY, 2)
    assert set(tags) == {"mine", "run"}
    assert metadata.items() >= {"team": "blue", "ls_retriever_name": "tidal"}.items()


# scope


async def test_the_memory_the_call_or_the_run_gives_the_scope_and_none_is_refused(memory):
    for name in ("anna", "ben"):
        memory.scoped("user", name).remember(f"The jazz piano of {name} is black.")
    assert TidalRetriever(memory).invoke(QUERY) == []
    ben = ["The jazz piano of ben is black."]
    assert texts(TidalRetriever(memory.scoped("user", "ben")).invoke(QUERY)) == ben
    assert texts(TidalRetriever(memory, scope=("user", "ben")).invoke(QUERY)) == ben
    retriever = TidalRetriever(memory, scope=by_config)
    assert texts(retriever.invoke(QUERY, thread("t", user_id="ben"))) == ben
    assert texts(await retriever.ainvoke(QUERY, thread("t", user_id="ben"))) == ben
    assert texts(retriever.invoke(QUERY, thread("t", user_id="anna"), scope=("user", "ben"))) == ben
    for scope in (None, (), "anna", ["user", "anna"], ("user", None)):
        with pytest.raises(InvalidInput):
            TidalRetriever(memory, scope=lambda *_, scope=scope: scope).invoke(QUERY)


def test_a_retriever_called_inside_a_node_without_config_knows_its_run(memory):
    memory.scoped("user", "ben").remember("The jazz piano of ben is black.")

    def node(question, config: RunnableConfig):
        return texts(TidalRetriever(memory, scope=by_config).invoke(question))

    assert RunnableLambda(node).invoke(QUERY, thread("t", user_id="ben")) == ["The jazz piano of ben is black."]
