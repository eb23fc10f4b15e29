"""LangChain adapter. So far: LangChain's messages as turns of a memory, and back."""

from langchain_tidal.messages import to_exchange, turns, with_whisper

__all__ = ["to_exchange", "turns", "with_whisper"]
