"""Readers of turns that answer from a script, and statements to answer with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from tidal_plugins import ModelAnswer

Reply = Callable[[str], Any]


def said(subject: str, predicate: str, object: str, quote: str, **more: Any) -> dict[str, Any]:
    """Return a statement as a model gives it."""
    told = {"message": 1, "subject": subject, "predicate": predicate, "object": object, "quote": quote}
    return {"subject_type": "person", "object_type": "place", **told, **more}


def numbered(prompt: str, words: str) -> int:
    """Return the number of the message in a prompt that has these words."""
    messages = re.findall(r'<tidal-episode message="(\d+)"[^>]*>\n(.*?)\n</tidal-episode>', prompt, re.DOTALL)
    return next(int(number) for number, text in messages if words in text)


class Scripted:
    """A model that finds the statements of a script in the prompts whose messages have the quotations.

    ``form`` is how it answers: a ``structure``, or ``lines`` of JSON. ``before`` is called first, and may raise.
    """

    def __init__(
        self,
        *statements: Mapping[str, Any],
        form: str = "structure",
        before: Reply | None = None,
        tokens: int | None = 7,
    ) -> None:
        self.statements: Sequence[Mapping[str, Any]] = statements
        self.form = form
        self.before = before
        self.tokens = tokens
        self.prompts: list[str] = []

    def answer(self, prompt: str, schema: type[BaseModel] | None) -> ModelAnswer:
        if self.form == "lines" and schema is not None:
            raise NotImplementedError
        self.prompts.append(prompt)
        if self.before is not None:
            told = self.before(prompt)
            if told is not None:
                return ModelAnswer(told, self.tokens, self.tokens)
        found = [one for one in self.statements if one["quote"] in prompt.partition("<tidal-episode")[2]]
        found = [{**one, "message": numbered(prompt, one["quote"])} for one in found]
        lines = "\n".join(json.dumps(one) for one in found) or "[]"
        return ModelAnswer({"relations": found} if schema else lines, self.tokens, self.tokens)
