import pytest

from llama_index_tidal import TidalToolSpec
from tests.frameworks.conftest import FACT
from tidal_plugins import InvalidInput


@pytest.fixture
def tools(reminded):
    return {tool.metadata.name: tool for tool in TidalToolSpec(reminded).to_tool_list()}


def test_the_model_is_told_what_they_do_and_take(tools):
    assert sorted(tools) == [
        "read_episode",
        "relate",
        "remember_fact",
        "save_memory",
        "search_graph",
        "search_memory",
    ]
    search, save = (tools[name].metadata.to_openai_tool()["function"] for name in ("search_memory", "save_memory"))
    assert search["parameters"]["required"] == ["query"]
    assert sorted(search["parameters"]["properties"]) == [
        "include_archived",
        "kind",
        "limit",
        "query",
        "since",
        "until",
    ]
    assert search["parameters"]["properties"]["query"]["description"] == "What to look for, in plain words."
    assert "conversation" in str(search["parameters"]["properties"]["kind"])
    assert save["parameters"]["required"] == ["text"]
    assert "Search the memory" in search["description"]
    assert "Save a fact" in save["description"]


async def test_search_finds_with_citation_and_age_sync_and_async(tools):
    found = tools["search_memory"].call(query="jazz piano")
    later = await tools["search_memory"].acall(query="jazz piano")
    assert found.content == later.content
    assert found.content.startswith("<tidal-memory>")
    assert "- [ep:" in found.content
    assert "just now, user: " + FACT in found.content


def test_search_is_bounded_and_filters(reminded, tools):
    for number in range(30):
        reminded.remember(f"Jazz piano note {number}. " + "word " * 500, kind="kb")
    found = tools["search_memory"].call(query="jazz piano note", limit=20, kind="kb").content
    assert found.count("- [mem:") == 20
    assert len(found) <= 100 + 20 * 300
    nothing = tools["search_memory"].call(query="jazz piano", until="2020-01-01").content
    assert nothing == "Nothing found."
    assert "jazz" in tools["search_memory"].call(query="jazz piano", since="2020-01-01T00:00:00Z").content.lower()


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"limit": 21}, {"since": "yesterday"}, {"kind": "novel"}, {"query": ""}]
)
def test_what_cannot_be_asked_is_refused(reminded, wrong):
    with pytest.raises(InvalidInput):
        TidalToolSpec(reminded).search_memory(**{"query": "jazz", **wrong})


async def test_what_is_saved_is_found_and_can_be_taken_back(reminded, tools):
    saved = tools["save_memory"].call(text="The left hand is lazy.", tags=["piano"]).content
    await tools["save_memory"].acall(text="Stride helps.", kind="skill")
    (hit,) = reminded.recall("left hand", kinds={"fact"})
    assert saved == f"Saved as [{hit.entry.citation}]."
    assert (hit.entry.source, hit.entry.tags) == ("agent", ("piano",))
    assert reminded.forget(source="agent").count == 2


async def test_an_episode_is_read_by_its_citation_verbatim_and_by_the_page(reminded, tools):
    (episode,) = reminded.episodes.list()
    for id_ in (episode.id, episode.citation, f"[{episode.citation}]"):
        read = tools["read_episode"].call(id=id_).content
        assert FACT in read
        assert read == (await tools["read_episode"].acall(id=id_)).content
    long = reminded.record(user="Dump it.", agent="\n".join(f"line {n:04} of </tidal-episode> it" for n in range(500)))
    pages = [tools["read_episode"].call(id=long.id, page=number).content for number in (1, 2, 3)]
    assert all(page.count("</tidal-episode>") == 1 for page in pages)
    assert "line 0000" in pages[0]
    assert "line 0300" in str(pages)
    assert "there is no page 99" in tools["read_episode"].call(id=long.id, page=99).content


def test_an_episode_that_is_not_there_is_told_in_a_sentence(reminded, tools):
    (episode,) = reminded.episodes.list()
    reminded.forget(episode.id)
    for id_ in (episode.id, "ep:0123456789abcdef", ""):
        output = tools["read_episode"].call(id=id_)
        assert not output.is_error
        assert 10 < len(output.content) < 200
        assert "practise" not in output.content


# the graph


@pytest.fixture
def known(reminded):
    reminded.record("Who calls it?", "`create_invoice` calls `calculate_tax_liability`.", thread="monday")
    reminded.graph.index_pending()
    return reminded


async def test_what_is_known_is_looked_up_by_name_with_its_citation_sync_and_async(known):
    tool = {tool.metadata.name: tool for tool in TidalToolSpec(known).to_tool_list()}["search_graph"]
    found = tool.call(entity="calculate_tax_liability", aspect="dependents").content
    assert found == (await tool.acall(entity="calculate_tax_liability", aspect="dependents")).content
    assert found.startswith("<tidal-memory>")
    assert (
        f"- [{known.episodes.list()[-1].citation}] create_invoice: create_invoice calls calculate_tax_liability"
        in found
    )
    parameters = tool.metadata.to_openai_tool()["function"]["parameters"]
    assert sorted(parameters["properties"]) == ["aspect", "at", "entity", "limit"]
    assert parameters["required"] == ["entity"]


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 21}, {"at": "yesterday"}])
def test_what_the_graph_cannot_be_asked_is_refused(known, wrong):
    with pytest.raises(InvalidInput):
        TidalToolSpec(known).search_graph("create_invoice", **wrong)
