"""Retrievers return what says something, and searches say how sure they are, told of every door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import langchain_tidal
import llama_index_tidal
from tests.frameworks.test_tools import Chain, Index
from tidal_plugins import TidalMemory
from tidal_plugins.turns.answers import MEMORY_SEARCH

TURNS = [
    ("My sister Odile lives in Lisbon.", "Noted."),
    ("I'm allergic to walnuts.", "Noted."),
    ("Where does my sister live?", "Got it."),
    ("My favourite song is Hallelujah by Jeff Buckley.", "Okay, got it."),
    ("Thanks a lot!", "You're welcome!"),
    ("I practise jazz piano every evening.", "I see."),
    ("What am I allergic to?", "Understood."),
    ("We sang Bella Ciao at the wedding. Which song should we sing next?", "Great!"),
]
TELLING = {TURNS[at][0] for at in (0, 1, 3, 5, 7)}


def of_langchain(memory: TidalMemory, query: str, **options: Any) -> list[str]:
    return [each.page_content for each in langchain_tidal.TidalRetriever(memory, k=3).invoke(query, **options)]


def of_llama_index(memory: TidalMemory, query: str, **options: Any) -> list[str]:
    found = llama_index_tidal.TidalRetriever(memory, k=3, **options).retrieve(query)
    return [each.text for each in found]


def served(memory: TidalMemory, query: str) -> str:
    return MEMORY_SEARCH.run(memory, {"query": query, "limit": 3}).told(memory.delimiters)


def chained(memory: TidalMemory, query: str) -> str:
    return Chain(memory).ask("search_memory", query=query, limit=3)


def indexed(memory: TidalMemory, query: str) -> str:
    return Index(memory).ask("search_memory", query=query, limit=3)


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with TidalMemory(tmp_path_factory.mktemp("chat") / "chat.db") as memory:  # by meaning: the embedder that ships
        for user, agent in TURNS:
            memory.record(user, agent)
        memory.remember("Noted?", kind="kb")  # a document is what somebody wanted to keep
        yield memory


@pytest.mark.parametrize("found", [of_langchain, of_llama_index])
def test_a_retriever_is_not_filled_with_turns_that_tell_nothing(chat: TidalMemory, found: Any) -> None:
    texts = found(chat, "Where does my sister live?")
    assert texts[0] == TURNS[0][0]
    assert len(texts) == 3
    for asked in ("Where does my sister live?", "What am I allergic to?", "Thanks! Which song?", "Noted."):
        assert set(found(chat, asked)) <= {*TELLING, "Noted?"}
    assert "Where does my sister live?" in found(chat, "Where does my sister live?", everything=True)
    assert "Noted." in found(chat, "Noted.", everything=True)
    assert "Noted?" in found(chat, "Noted?")


def test_a_call_may_ask_a_retriever_for_everything_and_nothing_else(chat: TidalMemory) -> None:
    everything = langchain_tidal.TidalRetriever(chat, everything=True)
    assert "Noted." in [each.page_content for each in everything.invoke("Noted.")]
    assert "Noted." not in [each.page_content for each in everything.invoke("Noted.", everything=False)]
    for made in (langchain_tidal.TidalRetriever(chat).invoke, llama_index_tidal.TidalRetriever):
        with pytest.raises(ValueError, match="everything"):
            made(*([chat] if made is llama_index_tidal.TidalRetriever else ["song"]), everything="yes")


@pytest.mark.parametrize("asked", [served, chained, indexed])
def test_a_search_says_how_sure_it_is_of_each_line_and_when_nothing_is_close(chat: TidalMemory, asked: Any) -> None:
    told = asked(chat, "Where does my sister live?").splitlines()
    assert told[0] == "<tidal-memory>"
    first = next(line for line in told if line.startswith("- "))
    sentence, _, sure = first.removesuffix(")").rpartition(" (confidence ")
    assert sentence.endswith("My sister Odile lives in Lisbon.")
    assert float(sure) >= 0.1
    for strange in ("quantum chromodynamics of kangaroos", "How do I renew a Peruvian fishing licence?"):
        far = asked(chat, strange)
        assert far.startswith("Nothing close is in memory (confidence 0.")
        assert all("(confidence 0.0" in line for line in far.splitlines() if line.startswith("- "))


def test_the_same_question_asked_before_is_nothing_close(tmp_path: Path) -> None:
    with TidalMemory(tmp_path / "asked.db") as memory:
        memory.record("What is the gate code of the allotment?", "I don't know.")
        memory.record("We ate plums in the garden.", "Noted.")
        assert "Nothing close" in chained(memory, "What is the gate code of the allotment?")
        assert MEMORY_SEARCH.run(memory, {"query": "What is the gate code of the allotment?"}).close is False
        everything = {"query": "What is the gate code of the allotment?", "everything": True}
        assert MEMORY_SEARCH.run(memory, everything).results[0].summary == everything["query"]
