"""A server over a memory whose embedder cannot be loaded: ``lazy_process.py FILE``."""

import sys

from tidal_plugins import EmbeddingError, OnnxEmbedder, TidalMemory
from tidal_plugins.apps.mcp import serve


class Unloadable(OnnxEmbedder):
    """Fails when it is first used, as one does whose weights are gone."""

    def embed(self, texts):
        raise EmbeddingError("no weights in /srv/secret/weights")


with TidalMemory(sys.argv[1], scope=("user", "42"), embedder=Unloadable(), read_only=True) as memory:
    serve(memory)
