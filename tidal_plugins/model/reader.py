"""Reading by a model: what it answers, and what reading has cost and brought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The answer of a model to one prompt.

    Attributes:
        content: the text that it wrote, or the arguments of a structure.
        tokens_in: tokens of the prompt as the provider counted them; ``None`` if it did not say.
        tokens_out: tokens of the answer, the same.
    """

    content: str | Mapping[str, Any]
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True)
class ReaderUsage:
    """The work and the cost of the model that reads the turns of one scope, since the store was made.

    Attributes:
        waiting: turns that wait to be read by it.
        turns: turns that it has read.
        calls: calls of the model, those that failed included.
        tokens_in: tokens of the prompts.
        tokens_out: tokens of the answers. Where a provider does not count, a token is four characters.
        kept: relations that became evidence in the graph.
        facts: values that became facts, confirm them, or contradict what was set, which opens a conflict.
        summaries: summaries that became those of their episodes.
        refused: relations and facts without a verbatim quotation, or of things that the episode does not name,
            sentences of summaries with names, numbers or dates that it does not have, and what is none of these.
        passed: what is asked, wished, imagined, rumoured or joked, and facts of the past, which are not kept.
        failures: calls that failed or whose answer could not be read.
        calls_today: calls since midnight for all scopes of the store, which the budget counts.
        tokens_today: tokens since midnight, the same.
    """

    waiting: int = 0
    turns: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    kept: int = 0
    facts: int = 0
    summaries: int = 0
    refused: int = 0
    passed: int = 0
    failures: int = 0
    calls_today: int = 0
    tokens_today: int = 0
