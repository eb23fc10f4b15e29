"""A history as turns: what is completed, what came last, and what still goes on [SIYA §2.2]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.exchange import Exchange, Message


@dataclass(frozen=True, slots=True)
class Turn:
    """The messages from one by the user to the next; ``start`` is the position of the first in the history.

    ``key`` is the key under which the turn is recorded. If neither the turn nor a message has an id, the key is made of
    the text of the first message, and ``named`` is false. ``mark`` is the same for the same messages, even if there are
    other system messages among them, such as a prompt that is made anew for each call.
    """

    key: str
    start: int
    messages: tuple[Message, ...]
    mark: str
    named: bool
    said: tuple[Message, ...]
    """The messages that belong into an episode: a system prompt does not."""
    said_at: tuple[int, ...]
    """The positions of :attr:`said`."""

    @property
    def positions(self) -> range:
        return range(self.start, self.start + len(self.messages))

    def positions_of(self, role: str) -> list[int]:
        return [self.start + n for n, message in enumerate(self.messages) if message.role == role]


@dataclass(frozen=True, slots=True)
class History:
    """A history as turns. ``head`` are the positions of the system messages before the first turn."""

    messages: tuple[Message, ...]
    head: range
    turns: tuple[Turn, ...]

    ongoing: Turn | None
    """The last turn, while it waits for its answer: it ends with a question, a call of tools or a result."""

    @property
    def completed(self) -> tuple[Turn, ...]:
        return self.turns[:-1] if self.ongoing else self.turns


def history(given: Sequence[Message] | Sequence[Exchange]) -> History:
    """Split a history into turns.

    Messages are split where a user speaks after somebody else; exchanges stay as they are. Messages of an assistant
    before the first question are a turn too. Raises ``InvalidInput`` for a mixture.
    """
    items = list(given) if isinstance(given, Sequence) else [given]
    if all(isinstance(item, Exchange) for item in items):
        spans = [(item.key, list(item.messages)) for item in items if isinstance(item, Exchange)]
    elif all(isinstance(item, Message) for item in items):
        spans = [(_key(span), span) for span in _spans(item for item in items if isinstance(item, Message))]
    else:
        raise InvalidInput("a history is a list of Messages, or of Exchanges with one turn each")
    messages = tuple(message for _, span in spans for message in span)
    if spans and all(message.role == "system" for message in spans[0][1]):
        head, spans = range(len(spans[0][1])), spans[1:]
    else:
        head = range(0)
    turns = tuple(_turns(spans, len(head)))
    last = turns[-1].said[-1] if turns else None
    finished = last is None or (last.role == "assistant" and not last.tool_calls)
    return History(messages, head, turns, None if finished else turns[-1])


def marked(messages: Iterable[Message]) -> str:
    """Return a hash of all that messages say, without their times. It tells messages apart."""
    told = ((m.role, m.text, m.id, m.speaker, m.tool_calls, m.tool_call_id, m.error) for m in messages)
    return blake2b("\0".join(map(repr, told)).encode(errors="surrogatepass"), digest_size=12).hexdigest()


def _spans(messages: Iterable[Message]) -> list[list[Message]]:
    spans: list[list[Message]] = [[]]
    previous = "system"  # the last role that took part in the conversation
    for message in messages:
        begins = message.role == "user" and previous != "user"
        if begins or (len(spans) == 1 and previous == "system" and message.role != "system"):
            spans.append([])
        spans[-1].append(message)
        previous = message.role if message.role != "system" else previous
    return spans if spans[0] else spans[1:]


def _turns(spans: Iterable[tuple[str | None, list[Message]]], start: int) -> Iterable[Turn]:
    seen: Counter[str] = Counter()
    for key, span in spans:
        messages = tuple(span)
        said_at = tuple(at for at, message in enumerate(messages, start) if message.role != "system")
        said = tuple(messages[at - start] for at in said_at)
        if not said:
            raise InvalidInput("only the first exchange of a history may consist of system messages")
        opening = marked([replace(said[0], id=None)])
        name = key or f"{opening}-{seen[opening]}"
        if seen[name]:  # a turn under an id that another one has
            name = f"{name}#{opening}-{seen[name]}"
        seen.update((opening, name))
        yield Turn(name, start, messages, marked(said), key is not None, said, said_at)
        start += len(messages)


def _key(span: Sequence[Message]) -> str | None:
    return next((message.id for message in span if message.id and message.role != "system"), None)
