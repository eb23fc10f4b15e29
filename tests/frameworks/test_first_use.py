"""Opening loads no model and blocks no loop; warming loads them ahead."""

import asyncio
import subprocess
import sys
import threading

import pytest

from tests.frameworks.conftest import CountingEmbedder, open_memory
from tidal_plugins import EmbeddingError, TidalMemory


class Reranker:
    loaded = False

    def load(self):
        self.loaded = True

    def rerank(self, query, texts):
        return [0.5 for _ in texts]


def test_opening_embeds_nothing_and_warming_loads_embedder_and_reranker_or_raises(path, embedder):
    reranker = Reranker()
    with open_memory(path, embedder, reranker=reranker) as memory:
        assert (embedder.calls, reranker.loaded) == ([], False)
        embedder.failures = 1
        with pytest.raises(EmbeddingError):
            memory.warm()
        for turns in range(2):
            memory.warm()
            assert embedder.calls
            assert reranker.loaded
            assert len(memory.episodes.list()) == turns
            memory.record("The kettle is on.", "Good.")


def test_opening_and_warming_keep_off_the_thread_of_a_running_loop(path, monkeypatch):
    opened_on, opens, embedder = [], TidalMemory.__init__, CountingEmbedder()

    def opening(self, *args, **options):
        opened_on.append(threading.current_thread())
        opens(self, *args, **options)

    monkeypatch.setattr(TidalMemory, "__init__", opening)

    async def run():
        async with await TidalMemory.aopen(path, embedder=embedder) as memory:
            assert isinstance(memory, TidalMemory)
            await memory.awarm()

    asyncio.run(run())
    assert embedder.threads
    assert opened_on
    assert threading.main_thread() not in {*embedder.threads, *opened_on}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adapter", "missing", "extra"),
    [
        ("langgraph_tidal", "langchain_core", "langgraph"),
        ("langgraph_tidal", "langgraph", "langgraph"),
        ("langchain_tidal", "langchain", "langchain"),
        ("llama_index_tidal", "llama_index", "llama-index"),
    ],
)
def test_an_adapter_without_its_framework_names_the_extra(adapter, missing, extra):
    program = f"import sys; sys.modules[{missing!r}] = None\nfrom {adapter} import *"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert f"needs {missing}" in ran.stderr
    assert f"pip install 'tidal-plugins[{extra}]'" in ran.stderr
