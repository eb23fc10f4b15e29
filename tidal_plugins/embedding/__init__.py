"""Embedders: objects that turn texts into vectors."""

from tidal_plugins.embedding.hashing import HashingEmbedder
from tidal_plugins.embedding.onnx import OnnxEmbedder
from tidal_plugins.embedding.sentence_transformer import SentenceTransformerEmbedder

__all__ = ["HashingEmbedder", "OnnxEmbedder", "SentenceTransformerEmbedder"]
