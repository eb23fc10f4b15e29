"""Opening loads no model and blocks no loop; warming loads them ahead."""

import asyncio
import threading

import pytest

from tests.frameworks.conftest import CountingEmbedder, open_memory
from tidal_plugins import EmbeddingError, TidalMemory


class ThreadedEmbedder(CountingEmbedder):
    """Keeps the threads that it worked on."""

    def __init__(self):
        super().__init__()
        self.threads = set()

    def embed(self, texts):
        self.threads.add(threading.current_thread())
        return super().embed(texts)


def test_opening_embeds_nothing_and_warming_does(path):
    embedder = CountingEmbedder()
    with open_memory(path, embedder) as memory:
        assert embedder.calls == []
        memory.warm()
        assert embedder.calls
        assert memory.episodes.list() == []
        memory.record("The kettle is on.", "Good.")
        memory.warm()
        assert len(memory.episodes.list()) == 1


@pytest.mark.slow
def test_warming_loads_the_default_model(tmp_path):
    with TidalMemory(tmp_path / "agent.db") as memory:
        memory.warm()
        assert memory._services.writer.embedder.embedder._model is not None


def test_opening_and_warming_keep_off_the_thread_of_a_running_loop(path, monkeypatch):
    opened_on, opens = [], TidalMemory.__init__

    def opening(self, *args, **options):
        opened_on.append(threading.current_thread())
        opens(self, *args, **options)

    monkeypatch.setattr(TidalMemory, "__init__", opening)

    async def run():
        embedder = ThreadedEmbedder()
        async with await TidalMemory.aopen(path, embedder=embedder) as memory:
            assert isinstance(memory, TidalMemory)
            await memory.awarm()
        return embedder.threads

    threads = asyncio.run(run())
    assert threads
    assert threading.main_thread() not in {*threads, *opened_on}
    assert opened_on


def test_warming_with_an_embedder_that_fails_raises(path):
    embedder = CountingEmbedder()
    embedder.failures = 1
    with open_memory(path, embedder) as memory, pytest.raises(EmbeddingError):
        memory.warm()


def test_warming_loads_the_reranker(path):
    class Reranker:
        loaded = False

        def load(self):
            self.loaded = True

        def rerank(self, query, texts):
            return [0.5 for _ in texts]

    reranker = Reranker()
    with open_memory(path, reranker=reranker) as memory:
        memory.warm()
    assert reranker.loaded
