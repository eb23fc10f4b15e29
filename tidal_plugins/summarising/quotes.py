"""Quotes from a turn: its sentences and one line for each tool that ran, each with a priority."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tidal_plugins.english.importance import BASE, importance
from tidal_plugins.english.sentences import sentences
from tidal_plugins.english.small_talk import INTERJECTION
from tidal_plugins.model.episode import FORGOTTEN_TEXT
from tidal_plugins.model.exchange import Message, ToolCall, answers
from tidal_plugins.model.fence import uncited
from tidal_plugins.model.summary import Statement
from tidal_plugins.scoring.priority import MIN_PRIORITY, sentence_priority, tool_priority
from tidal_plugins.summarising.outcomes import Kind, outcome, outcome_kind, subject

USER, AGENT = "User", "Agent"
"""Names of speakers without a name; the agent is named only after somebody else."""

_MAX_SENTENCE = 280  # characters; what is longer is a log or a list, and is cut at a word
_MAX_LABEL = 40
_UNENDED = frozenset(")]}\"'`…")
_HEAD, _TAIL = 24_000, 8_000  # characters of a message that are read


@dataclass(frozen=True, slots=True)
class Quote:
    """A piece of a turn that says something by itself, on one line, without text that resembles a citation.

    ``speaker`` stands before it; a tool's line has none. ``priority`` is 1 for a plain sentence. ``tool`` is the tool
    that ran; a second try has the same ``subject``.
    """

    text: str
    priority: float
    kind: Kind = "said"
    speaker: str = ""
    role: str = ""
    messages: tuple[str, ...] = ()
    tool: str = ""
    subject: str = ""

    @property
    def message(self) -> tuple[object, ...]:
        """Return a key that is the same for all quotes of one message."""
        return self.messages, self.kind, self.speaker

    @property
    def informative(self) -> bool:
        """Return whether the quote is more than chatter, which is never shown, however much space there is."""
        return self.kind != "said" or self.priority >= MIN_PRIORITY


def quotes(messages: Sequence[Message]) -> list[Quote]:
    """Return the pieces of a turn that can be quoted, in order, without repetitions."""
    found: list[Quote] = []
    for message, results in zip(messages, answers(messages), strict=True):
        if message.role in ("user", "assistant"):
            found += _said(message)
        found += [_ran(call, message, result) for call, result in zip(message.tool_calls, results, strict=True)]
    return list({(quote.text, quote.speaker): quote for quote in found}.values())


def spoken(found: Sequence[Quote]) -> str:
    """Return quotes as one text, in order, with the name of the speaker at each change."""
    parts: list[str] = []
    speaker = AGENT
    for quote in found:
        if parts and (parts[-1][-1].isalnum() or parts[-1][-1] in _UNENDED):
            parts[-1] += ";"
        named = quote.speaker and quote.speaker != speaker
        parts.append(f"{quote.speaker}: {quote.text}" if named else quote.text)
        speaker = quote.speaker or speaker
    return " ".join(parts)


def requoted(statement: Statement, known: frozenset[str]) -> list[Quote]:
    """Return an earlier statement sentence by sentence, so that it can be weighed again together with new sentences.

    ``known`` are the names that may stand before a sentence: see :func:`labels`. If a statement is split into several
    quotes, these no longer name its messages.
    """
    text = folded(statement.text)
    found, speaker = [], ""
    for start, end in sentences(text):
        label, _, said = text[start:end].partition(": ")
        if said and label in known:
            speaker = label
        else:
            said = text[start:end]
        found.append(Quote(said, sentence_priority(importance(said), base=BASE), "said", speaker))
    return [replace(found[0], messages=statement.messages)] if len(found) == 1 else found


def labels(speakers: Iterable[str], previous: Iterable[Statement]) -> frozenset[str]:
    """Return the names of speakers: those of now, and the names that earlier statements begin with."""
    openings = (statement.text.partition(": ") for statement in previous)
    earlier = (label for label, colon, _ in openings if colon and len(label) <= _MAX_LABEL and label.count(" ") < 3)
    return frozenset([USER, AGENT, *filter(None, speakers), *earlier])


def folded(text: str) -> str:
    """Return the text on one line, without control and invisible characters and without look-alikes of a citation."""
    visible = text if text.isprintable() else "".join(map(_visible, text))
    return uncited(" ".join(visible.split()))


def cut(text: str, max_chars: int) -> str:
    """Return the text, or its beginning up to a word, with an ellipsis."""
    if len(text) <= max_chars:
        return text
    end = text.rfind(" ", max_chars // 2, max_chars)
    return text[: end if end > 0 else max_chars - 1].rstrip(" ,;:") + "…"


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return "" if unicodedata.category(character) in ("Cf", "Cs") else " "


def _said(message: Message) -> Iterator[Quote]:
    if message.text == FORGOTTEN_TEXT:
        return
    text = _read(message.text)
    label = folded(message.speaker or "")[:_MAX_LABEL] or (USER if message.role == "user" else AGENT)
    ids = (message.id,) if message.id else ()
    for start, end in sentences(text):
        said = _trimmed(folded(text[start:end]))
        if said:
            role = None if message.speaker else message.role
            priority = sentence_priority(importance(said), base=BASE, role=role)
            yield Quote(cut(said, _MAX_SENTENCE), priority, "said", label, message.role, ids)


def _read(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def _ran(call: ToolCall, message: Message, answer: Message | None) -> Quote:
    kind = outcome_kind(call, answer)
    ids = tuple(id_ for id_ in (message.id, answer.id if answer else None) if id_)
    return Quote(
        folded(outcome(call, answer, kind)), tool_priority(kind), kind, "", "tool", ids, call.name, subject(call)
    )


_MARKS = re.compile(r"(?:[-*+•>|#]+\s+)+")


def _trimmed(sentence: str) -> str:
    """Return the text without list marks and interjections at its beginning."""
    marks = _MARKS.match(sentence)
    sentence = sentence[marks.end() if marks else 0 :].replace("**", "")
    filler = INTERJECTION.match(sentence)
    rest = sentence[filler.end() :] if filler else ""
    return rest[:1].upper() + rest[1:] if rest.count(" ") > 1 else sentence
