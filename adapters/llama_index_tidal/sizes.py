"""Sizes of LlamaIndex's messages: their text in tokens, images and files by their bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import IOBase
from typing import Any

from llama_index.core.base.llms.types import ChatMessage

from llama_index_tidal.messages import to_shown
from tidal_plugins.model.compaction import Size
from tidal_plugins.protocols import TokenCounter
from tidal_plugins.summarising.sizes import measure, serialized

Tokenizer = Callable[[str], Sequence[Any]]

CARRIED = {"image": ("image", 128), "audio": ("audio", 512), "video": ("video", 512), "document": ("data", 32)}
"""The field of a block's content, and the bytes of base64 that make a token: only providers see pixels and pages."""

IMAGE_TOKENS = 1_600
"""Larger images are scaled down before they are looked at."""

BASE64 = 4 / 3
BLOCK_BYTES = 64
"""Bytes of JSON around the content of a block."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A LlamaIndex ``tokenizer_fn`` as a counter."""

    tokenizer: Tokenizer

    def count(self, text: str) -> int:
        return len(self.tokenizer(text))


def size_of(message: ChatMessage, counter: TokenCounter) -> Size:
    """Return the size of a message with its tool calls, images and files."""
    return sum((_carried(block, counter) for block in message.blocks), measure(to_shown(message), counter))


def _carried(block: Any, counter: TokenCounter) -> Size:
    """Return the size that a block adds to the text and the calls of its message."""
    if block.block_type in CARRIED:
        return _media(block)
    if block.block_type == "thinking":  # providers want it back, with its signature
        text, rest = block.content or "", serialized(block.additional_information)
        return Size(block.num_tokens or counter.count(text), serialized(text) + rest)
    if block.block_type == "citable":
        return sum((_nested(part, counter) for part in block.content), Size())
    return _nested(block.cited_content, counter) if block.block_type == "citation" else Size()


def _nested(block: Any, counter: TokenCounter) -> Size:
    if block.block_type == "text":
        return Size(counter.count(block.text), serialized(block.text))
    return _carried(block, counter)


def _media(block: Any) -> Size:
    field, bytes_per_token = CARRIED[block.block_type]
    sent = _bytes(getattr(block, field), block)
    if sent is None:  # an address, which the provider follows
        return Size(IMAGE_TOKENS, BLOCK_BYTES + len(str(block.url or "")))
    tokens = -(-sent // bytes_per_token)
    return Size(min(tokens, IMAGE_TOKENS) if field == "image" else tokens, BLOCK_BYTES + sent)


def _bytes(content: bytes | IOBase | None, block: Any) -> int | None:
    """Return the bytes of a block's content as base64; ``None`` if only its address is sent."""
    if isinstance(content, bytes):  # blocks encode it when they are made
        return len(content)
    if isinstance(content, IOBase):
        place = content.tell()
        length = content.seek(0, 2)
        content.seek(place)
        return int(length * BASE64)
    if block.path:
        return _file(block.path)
    return len(str(block.url)) if str(block.url or "").startswith("data:") else None


def _file(path: Any) -> int:
    from pathlib import Path

    try:
        return int(Path(path).stat().st_size * BASE64)
    except OSError:  # gone meanwhile: whoever sends it will say so
        return 0
