"""Quotes from a turn: its sentences and one line for each tool that ran, each with a priority."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tidal_plugins.actions.calls import NO_TOOLS, Tools
from tidal_plugins.english.sentences import sentences
from tidal_plugins.language.tagger import tag
from tidal_plugins.model.delimiters import uncited
from tidal_plugins.model.dossier import Statement
from tidal_plugins.model.exchange import FORGOTTEN_TEXT, Message
from tidal_plugins.model.sentence import SentenceTags
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.priority import LEAST, MIN_PRIORITY, carried, sentence_priority, tool_priority
from tidal_plugins.scoring.text import terms
from tidal_plugins.summarising.outcomes import PLAN, Check, Kind, Outcome, covers, outcomes
from tidal_plugins.summarising.verdicts import check_key

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


CHATTER, TOLD = 0.6, 0.5
"""Chance of a mere phrase from which on a sentence is chatter, unless a tag that tells something has the other one."""
OTHER_SCRIPT = 0.5
"""Share of the letters of a sentence beyond ``ÿ`` from which on the tagger, which was fitted on Latin letters, silences
nothing."""
RISE, AMONG_PEOPLE = 0.4, 0.2
"""Powers of a sentence's worth in its priority, and the same of people who talk to each other, where nearly all that
they say is their own. With .4 for both a summary of 4,000 tokens held 55.8 % of the evidence of a conversation, with
.2 58.4 %."""
ASKED = 0.4
"""Share of its priority that a question loses."""
LEAST_WORDS, MAX_PHRASE, PHRASE = 3, 60, 0.6
"""Words with a content that a sentence has, and the factor of one that has fewer, in so many characters at most."""
SAME, REPEATED = 0.6, 0.4
"""Share of a sentence's words by which it repeats what the other side said, and what is left of its priority."""


@lru_cache(maxsize=8_192)
def content(text: str) -> frozenset[str]:
    """Return the words of a text with a content: each text is weighed several times."""
    return frozenset(terms(text))


def weights(said: Sequence[str], roles: Sequence[str]) -> list[float]:
    """Return the priorities of sentences: less than :data:`MIN_PRIORITY` for chatter and for what an agent asks.

    The role of people who go by their names is empty.
    """
    read = readings(said, [role or "user" for role in roles])
    return [_weight(*each) for each in zip(said, roles, read, strict=True)]


def readings(said: Sequence[str], roles: Sequence[str]) -> list[SentenceTags]:
    """Return how sentences are read. A context is summarised again and again, so that what was read is kept."""
    keys = list(zip(said, roles, strict=True))
    if len(_READ) > MOST:
        _READ.clear()
    found = {key: read for key in keys if (read := _READ.get(key))}
    if unread := list(dict.fromkeys(key for key in keys if key not in found)):
        found.update(zip(unread, tag(*map(list, zip(*unread, strict=True))), strict=True))
        _READ.update(found)
    return [found[key] for key in keys]


MOST = 8_192
_READ: dict[tuple[str, str], SentenceTags] = {}


def _weight(said: str, role: str, read: SentenceTags) -> float:
    found = sentence_priority(carried(read), least=LEAST, role=role, power=RISE if role else AMONG_PEOPLE)
    if _is_foreign(said):
        return max(MIN_PRIORITY, found)
    tells = max(read.scores[name] for name in ("vital", "identity", "done", "plan", "change", "number"))
    if read.scores["social"] >= CHATTER and tells < TOLD:
        return MIN_PRIORITY * (1 - read.scores["social"])
    if not role:
        return found * (1 - read.scores["social"]) * (1 - ASKED * read.scores["question"])
    asked = found * (1 - ASKED * read.scores["question"])
    if len(said) <= MAX_PHRASE and read.scores["number"] < TOLD and len(content(said)) < LEAST_WORDS:
        asked = max(asked * PHRASE, min(asked, MIN_PRIORITY))
    return asked if role == "assistant" else max(MIN_PRIORITY, asked)


def _is_foreign(said: str) -> bool:
    letters = [character for character in said if character.isalpha()]
    return sum(character > "ÿ" for character in letters) >= OTHER_SCRIPT * max(1, len(letters))


def repeats(words: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether most of the words, and every number among them, stand in another sentence."""
    if not words or len(words & others) < SAME * len(words):
        return False
    return {word for word in words if any(map(str.isdigit, word))} <= others
