"""Quotes from a turn: its sentences and one line for each tool that ran, each with a priority."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tidal_plugins.actions.table import NO_TOOLS, Tools
from tidal_plugins.english.sentences import sentences
from tidal_plugins.model.episode import FORGOTTEN_TEXT
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.fence import uncited
from tidal_plugins.model.summary import Statement
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.priority import MIN_PRIORITY, tool_priority
from tidal_plugins.summarising.calls import Kind
from tidal_plugins.summarising.outcomes import PLAN, Check, Outcome, covers, outcomes
from tidal_plugins.summarising.verdicts import check_key
from tidal_plugins.summarising.weights import REPEATED, content, repeats, weights

USER, AGENT = "User", "Agent"
"""Names of speakers without a name; the agent is named only after somebody else."""

_MAX_SENTENCE = 280  # characters; what is longer is a log or a list, and is cut at a word
_MAX_LABEL = 40
_UNENDED = frozenset(")]}\"'`%€$")
_HEAD, _TAIL = 24_000, 8_000  # characters of a message that are read


@dataclass(frozen=True, slots=True)
class Quote:
    """A piece of a turn that says something by itself, on one line, without text that resembles a citation.

    ``speaker`` stands before it; a tool's line has none. ``priority`` is 1 for a plain sentence. ``tools`` are those
    that ran; a second try has the same ``subject``, and a ``check`` is replaced by what it finds later.
    """

    text: str
    priority: float
    kind: Kind = "said"
    speaker: str = ""
    role: str = ""
    messages: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    subject: str = ""
    check: Check | None = None

    @property
    def message(self) -> tuple[object, ...]:
        """Return a key that is the same for all quotes of one message."""
        return self.messages, self.kind, self.speaker

    @property
    def named(self) -> bool:
        """Return whether somebody said it who has a name: one of several people, rather than the user or the agent."""
        return self.speaker not in (USER, AGENT, "")

    @property
    def bare(self) -> str:
        """Return the text without its end mark, and without what a check found at first."""
        return self.text.partition(" (first: ")[0].rstrip(".;")

    @property
    def informative(self) -> bool:
        """Return whether the quote is more than chatter, which is never shown, however much space there is."""
        return self.kind != "said" or self.priority >= MIN_PRIORITY


def quotes(messages: Sequence[Message], tools: Tools = NO_TOOLS) -> list[Quote]:
    """Return the pieces of a turn that can be quoted, in order, without repetitions."""
    found: list[Quote] = []
    ran = outcomes(messages, tools)
    for at, message in enumerate(messages):
        if message.role in ("user", "assistant"):
            found += _said(message)
        found += map(_quoted, ran.get(at, ()))
    found = _weighed(found)
    return latest(_unrepeated({(quote.text, quote.speaker): quote for quote in found}.values()))


def latest(found: Sequence[Quote]) -> list[Quote]:
    """Return quotes without the checks that a later one replaces."""
    checks = [(place, quote.check) for place, quote in enumerate(found) if quote.check]
    gone = {
        place
        for number, (place, check) in enumerate(checks)
        if any(covers(later, check) for _, later in checks[number + 1 :])
    }
    return [quote for place, quote in enumerate(found) if place not in gone]


def spoken(found: Sequence[Quote]) -> str:
    """Return quotes as one text, in order, with the name of the speaker at each change."""
    parts: list[str] = []
    speaker = AGENT
    for quote in found:
        if parts and (parts[-1][-1].isalnum() or parts[-1][-1] in _UNENDED):
            parts[-1] += "."  # where it is split again
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
    found, speaker, role = list[Quote](), "", "assistant"
    for start, end in _marked_whole(text, sentences(text)):
        label, _, said = text[start:end].partition(": ")
        if said and label in known:
            speaker, role = label, {USER: "user", AGENT: "assistant"}.get(label, "")
        else:
            said = text[start:end]
        found.append(_retold(said) or Quote(said, MIN_PRIORITY, "said", speaker, role))
    found = _unrepeated(_weighed(found))
    return [replace(found[0], messages=statement.messages)] if len(found) == 1 else found


def _marked_whole(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences, joined where a mark of code would be open between them: «`ruff format . && …`»."""
    begin: int | None = None
    for start, end in spans:
        begin = start if begin is None else begin
        if text.count("`", begin, end) % 2 == 0:
            yield begin, end
            begin = None
    if begin is not None:
        yield begin, spans[-1][1]


def labels(speakers: Iterable[str], previous: Iterable[Statement]) -> frozenset[str]:
    """Return the names of speakers: those of now, and the names that earlier statements begin with."""
    openings = (statement.text.partition(": ") for statement in previous)
    earlier = (label for label, colon, _ in openings if colon and len(label) <= _MAX_LABEL and label.count(" ") < 3)
    return frozenset([USER, AGENT, *filter(None, speakers), *earlier])


def folded(text: str) -> str:
    """Return the text on one line, without control and invisible characters and without look-alikes of a citation."""
    line = " ".join(text.split())
    return uncited(line if line.isprintable() else " ".join("".join(map(_visible, line)).split()))


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
        said = folded(_trimmed(folded(text[start:end])))
        if said:
            yield Quote(cut(said, _MAX_SENTENCE), MIN_PRIORITY, "said", label, message.role, ids)


def _weighed(found: Sequence[Quote]) -> list[Quote]:
    """Return quotes with the priorities of what was said; a sentence of nobody's is taken for told before."""
    said = [quote for quote in found if quote.kind == "said"]
    read = iter(weights([quote.text for quote in said], ["" if quote.named else quote.role for quote in said]))
    return [
        replace(quote, priority=next(read) if quote.speaker else max(MIN_PRIORITY, next(read)))
        if quote.kind == "said"
        else quote
        for quote in found
    ]


def _read(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def _quoted(ran: Outcome) -> Quote:
    priority = tool_priority(ran.kind, check=ran.check is not None)
    return Quote(folded(ran.text), priority, ran.kind, "", "tool", ran.messages, ran.tools, ran.subject, ran.check)


_TOOL_LINE = lazy_re(
    r"(?P<changed>Edited|Wrote|Deleted|Moved) `|(?P<looked>Read) `|(?P<plan>Plan)[,:] "
    r"|`(?P<command>[^`]+)`(?P<failed> failed)?: "
)


def _retold(said: str) -> Quote | None:
    """Return a tool's line of an earlier statement as the quote that it was, or ``None`` for a sentence."""
    line = _TOOL_LINE.match(said)
    if line is None:
        return None
    kind: Kind = "changed" if line["changed"] else "looked" if line["looked"] else "failed" if line["failed"] else "ran"
    check = PLAN if line["plan"] else check_key(line["command"]) if line["command"] else None
    text = said.removesuffix(".")
    return Quote(
        text, tool_priority(kind, check=check is not None), kind, "", "tool", (), ("earlier",), text[:40], check
    )


def _unrepeated(found: Iterable[Quote]) -> list[Quote]:
    """Return the quotes of a turn, those less worth that say what the other side says as well or better."""
    quotes_ = list(found)
    unnamed = [place for place, quote in enumerate(quotes_) if not quote.named]
    words = {place: content(quotes_[place].text) for place in unnamed}
    sides = {role: [place for place in unnamed if quotes_[place].role == role] for role in ("user", "assistant")}
    for mine, theirs in (("assistant", "user"), ("user", "assistant")):
        holding = defaultdict[str, list[int]](list)
        for other in sides[theirs]:
            for word in words[other]:
                holding[word].append(other)
        for place in sides[mine]:
            worth = quotes_[place].priority
            near = {other for word in words[place] for other in holding.get(word, ())}
            better = (other for other in near if quotes_[other].priority >= max(worth, MIN_PRIORITY))
            if any(repeats(words[place], words[other]) for other in better):
                quotes_[place] = replace(quotes_[place], priority=worth * REPEATED)
    return quotes_


_MARKS = lazy_re(r"(?:[-*+•>|#]+\s+)+")
_FILLER = lazy_re(
    r"(?:oh|wow|whoa|yeah|well|so|hey|hi|hello|haha|hmm|ok|okay|anyway|actually|thanks)(?: [A-Z]\w+)?"
    r"(?:, |! |\.\.\. |- )",
    re.IGNORECASE,
)
"""Interjections in front of a sentence."""


def _trimmed(sentence: str) -> str:
    """Return the text without list marks and interjections at its beginning."""
    marks = _MARKS.match(sentence)
    sentence = sentence[marks.end() if marks else 0 :].replace("**", "")
    filler = _FILLER.match(sentence)
    rest = sentence[filler.end() :] if filler else ""
    return rest[:1].upper() + rest[1:] if rest.count(" ") > 1 else sentence
