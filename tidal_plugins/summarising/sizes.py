"""Sizes of contexts: tokens as the model counts them, or nearly so, and bytes as they are sent."""

from __future__ import annotations

import json
import math
from typing import Any

from tidal_plugins.model.compaction import Size
from tidal_plugins.model.exchange import Message
from tidal_plugins.patterns import lazy_re
from tidal_plugins.protocols import TokenCounter

CHARS_PER_TOKEN = 4.0
DENSE_BYTES_PER_TOKEN = 2.0
"""Bytes of a token in texts that are no prose: base64, hashes, minified code."""

MESSAGE_TOKENS = 4
"""Tokens that a provider adds to each message for its role and frame."""

DENSE_CHARS = 120
"""Characters without a space from which a run is no prose."""

_UNSPACED = lazy_re(rf"[!-~]{{{DENSE_CHARS},}}")


class ApproximateCounter:
    """Four characters of ASCII prose a token; two bytes a token of other scripts, and of long runs without a space."""

    def count(self, text: str) -> int:
        dense = sum(map(len, _UNSPACED.findall(text))) if len(text) >= DENSE_CHARS else 0
        plain = len(text) if text.isascii() else sum(map(str.isascii, text))
        foreign = 0 if text.isascii() else len(text.encode(errors="surrogatepass")) - plain
        return math.ceil((plain - dense) / CHARS_PER_TOKEN + (dense + foreign) / DENSE_BYTES_PER_TOKEN)


def measure(message: Message, counter: TokenCounter) -> Size:
    """Return the size of a message of text and tool calls."""
    calls = [{"name": call.name, "arguments": dict(call.arguments), "id": call.id} for call in message.tool_calls]
    called = _json(calls) if calls else ""
    sent = {
        "role": message.role,
        "content": message.text,
        "name": message.speaker,
        "tool_calls": calls,
        "tool_call_id": message.tool_call_id,
    }
    tokens = MESSAGE_TOKENS + counter.count(message.text) + (counter.count(called) if called else 0)
    return Size(tokens, serialized(sent))


def serialized(value: Any) -> int:
    """Return the bytes of a value as JSON in UTF-8."""
    return len(_json(value).encode(errors="surrogatepass"))


_json = json.JSONEncoder(ensure_ascii=False, default=str).encode
