"""Extractors for tests: one reads one kind of sentence, the others behave badly."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence

from tidal_plugins import Assertion, Extraction, Mention

_SAID = re.compile(r"(\w+) depends on (\w+)")


def module(name: str, start: int) -> Mention:
    return Mention(name, "module", "technical", start, start + len(name))


def depends(one: Mention, other: Mention, start: int, end: int, confidence: float = 0.9) -> Extraction:
    return Extraction((one, other), (Assertion(one, "depends_on", other, start, end, confidence),))


def read(text: str) -> Extraction:
    """Read every «billing depends on storage» that a text says."""
    found = [
        depends(module(match[1], match.start(1)), module(match[2], match.start(2)), match.start(), match.end())
        for match in _SAID.finditer(text)
    ]
    return Extraction(
        tuple(mention for one in found for mention in one.mentions),
        tuple(said for one in found for said in one.assertions),
    )


class Reader:
    """Keeps the texts that it reads. ``before`` is called first, and may raise."""

    def __init__(self, before: Callable[[Sequence[str]], object] | None = None) -> None:
        self.texts: list[str] = []
        self.before = before

    def extract_graph(self, texts: Sequence[str]) -> list[Extraction]:
        if self.before:
            self.before(texts)
        self.texts += texts
        return [read(text) for text in texts]


class Answers:
    """Gives the same answer to whatever it is asked."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def extract_graph(self, texts: Sequence[str]) -> object:
        return self.answer


class Hangs(Reader):
    """Waits with its answer until ``go`` is set."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked = threading.Event()
        super().__init__(self.wait)

    def wait(self, texts: Sequence[str]) -> None:
        self.asked.set()
        self.go.wait()
