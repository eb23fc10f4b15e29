"""A summary without a model: the sentences and tool outcomes that say most for their tokens [SIYA §2.2]."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tidal_plugins.actions.calls import NO_TOOLS, Tools
from tidal_plugins.model.dossier import Source, Statement
from tidal_plugins.protocols import Purpose, TokenCounter
from tidal_plugins.scoring.priority import STATED, information, rarity, restated, specificity
from tidal_plugins.summarising.quotes import Quote, content, labels, latest, quotes, requoted, spoken
from tidal_plugins.summarising.sizes import ApproximateCounter


class ExtractiveSummariser:
    """Quotes what matters, by rules, and cites each source once. Deterministic; it needs no model and no network.

    ``tools`` says what tools do that the table of :mod:`tidal_plugins.actions` does not know.
    """

    def __init__(self, counter: TokenCounter | None = None, tools: Tools = NO_TOOLS) -> None:
        self.counter = counter or ApproximateCounter()
        self.tools = tools
        self._last: tuple[Sequence[Source], Sequence[Statement], Purpose, Extracts] | None = None

    def summarise(
        self, sources: Sequence[Source], *, purpose: Purpose, previous: Sequence[Statement] = (), max_tokens: int
    ) -> list[Statement]:
        """Return statements that together have at most ``max_tokens``, citations included.

        ``previous`` ones come first; they compete with what is new, sentence by sentence.
        """
        return self.extracts(sources, previous, purpose=purpose).within(max_tokens)

    def extracts(
        self, sources: Sequence[Source], previous: Sequence[Statement] = (), *, purpose: Purpose = "summary"
    ) -> Extracts:
        """Return what can be quoted. The same sources and statements as the last time are not read again."""
        last = self._last
        if last is None or last[0] is not sources or last[1] is not previous or last[2] != purpose:
            last = self._last = (
                sources,
                previous,
                purpose,
                Extracts(sources, previous, self.counter, purpose=purpose, tools=self.tools),
            )
        return last[3]


class Extracts:
    """All that can be quoted of sources, and of statements on earlier ones, to choose from for one size or several."""

    def __init__(
        self,
        sources: Sequence[Source],
        previous: Sequence[Statement],
        counter: TokenCounter,
        *,
        purpose: Purpose = "summary",
        tools: Tools = NO_TOOLS,
    ) -> None:
        self.counter = counter
        new = [(source.id, quotes(source.messages, tools)) for source in sources]
        known = labels([quote.speaker for _, found in new for quote in found], previous)
        groups = [Group(statement.sources, requoted(statement, known), WHOLE) for statement in previous]
        for id_, found in new:
            parts = sections(found) if purpose == "synthesis" else [found]
            groups += [Group((id_,), part) for part in parts]
        kept = {id(quote) for quote in latest([quote for group in groups for quote in group.quotes])}
        for group in groups:
            group.quotes = [quote for quote in group.quotes if id(quote) in kept]
        self._groups = [group for group in groups if group.quotes]
        self._selection: Selection | None = None

    def within(self, max_tokens: int, told: str = "") -> list[Statement]:
        """Return what matters most, in at most ``max_tokens``, without what the text ``told`` says already."""
        if self._selection is None or self._selection.max_tokens < max_tokens:
            self._selection = Selection(self._groups, self.counter, max_tokens)
        return self._selection.within(max_tokens, told)


WHOLE = 1.0  # what was taken of a message once is not halved again
_FADE = 0.9  # of the worth of each further quote of the same source
_REST = 0.5  # of the worth of what a message says beyond what states it
_CONTRAST = 2.0  # power of the priority of what a user, an agent or a tool says, rather than people by their names
_AGAIN = 14
"""How much oftener a word counts as stated where the same source states it: with 6, 28.4 % of the evidence of
conversations was kept over eight compactions to 2,000 tokens, with 14 28.8 %."""
_MAX_PIECE = 400  # characters that are taken of one message at once
_ROUNDS = 3


@dataclass(slots=True)
class Group:
    """The quotes under one citation, and the places of those that were chosen.

    ``enough`` is the share of a message's words that states it.
    """

    sources: tuple[str, ...]
    quotes: list[Quote]
    enough: float = STATED

    def statement(self, places: Collection[int]) -> Statement:
        chosen = [self.quotes[place] for place in sorted(places)]
        ids = dict.fromkeys(id_ for quote in chosen for id_ in quote.messages)
        return Statement(spoken(chosen), self.sources, tuple(ids))


@dataclass(frozen=True, slots=True)
class _Piece:
    """Quotes of one message that go in together or not at all."""

    group: int
    places: tuple[int, ...]
    words: frozenset[str]
    priority: float
    tokens: int


class Selection:
    """Orders pieces greedily: next comes always what adds most information, weighed by its priority, for its tokens.

    ``order`` ends where ``max_tokens`` are used up.
    """

    def __init__(self, groups: Sequence[Group], counter: TokenCounter, max_tokens: int) -> None:
        self.groups = groups
        self.counter = counter
        self.max_tokens = max_tokens
        self.words = [[content(quote.text) for quote in group.quotes] for group in groups]
        with_word = Counter(word for group in self.words for word in frozenset[str]().union(*group))
        self.weights = {word: rarity(count, len(groups)) for word, count in with_word.items()}
        self.citations = [counter.count("".join(f" [ep:{id_}]" for id_ in group.sources)) for group in groups]
        self.stated: Counter[str] = Counter()
        self.left = dict(self.weights)
        self.left_again = {word: restated(weight, _AGAIN) for word, weight in self.weights.items()}
        self.said: list[frozenset[str]] = [frozenset() for _ in groups]
        self.unpaid = list(self.citations)
        self.quoted = [0] * len(groups)
        self.faded = [1.0] * len(groups)
        self.order: list[_Piece] = []
        self._told: dict[tuple[int, frozenset[int]], tuple[Statement, int]] = {}
        waiting = [piece for group in range(len(groups)) for piece in self._pieces(group)]
        room = max_tokens
        for _ in range(_ROUNDS):  # what cautious counting left over is spent again
            waiting = self._fill(waiting, room)
            room = max_tokens - self._total(self.order)

    def within(self, max_tokens: int, told: str = "") -> list[Statement]:
        """Return statements of the first pieces that fit, and of later ones that fill what is left."""
        waiting = [piece for piece in self.order if not told or not self._says(told, piece)]
        chosen: list[_Piece] = []
        room = max_tokens
        for _ in range(_ROUNDS):
            left, begun = [], {piece.group for piece in chosen}
            for piece in waiting:
                cost = piece.tokens + (0 if piece.group in begun else self.citations[piece.group])
                if cost <= room:
                    room -= cost
                    chosen.append(piece)
                    begun.add(piece.group)
                else:
                    left.append(piece)
            waiting, room = left, max_tokens - self._total(chosen)
        while chosen and self._total(chosen) > max_tokens:  # a counter may find more in the whole than in its parts
            chosen.pop()
        return [statement for statement, _ in self._statements(chosen)]

    def _says(self, told: str, piece: _Piece) -> bool:
        return all(self.groups[piece.group].quotes[place].bare in told for place in piece.places)

    def _statements(self, chosen: Sequence[_Piece]) -> list[tuple[Statement, int]]:
        """Return the statements of pieces with their tokens. Each is written once, however often it is weighed."""
        places = defaultdict[int, set[int]](set)
        for piece in chosen:
            places[piece.group].update(piece.places)
        found = []
        for group in sorted(places):
            key = group, frozenset(places[group])
            if key not in self._told:
                statement = self.groups[group].statement(key[1])
                self._told[key] = statement, self.counter.count(str(statement))
            found.append(self._told[key])
        return found

    def _total(self, chosen: Sequence[_Piece]) -> int:
        return sum(tokens for _, tokens in self._statements(chosen))

    def _fill(self, waiting: Sequence[_Piece], room: int) -> list[_Piece]:
        """Choose among the pieces while they fit; return those that did not.

        Worth only falls while others are chosen, so a piece is weighed again when its turn comes; it rises once: when
        the citation that it needs is paid for.
        """
        waiting, left = self._affordable(waiting, room)
        heap = [(-self._worth(piece), number) for number, piece in enumerate(waiting)]
        heapq.heapify(heap)
        siblings = defaultdict[int, list[int]](list)
        for number, piece in enumerate(waiting):
            siblings[piece.group].append(number)
        open_ = [True] * len(waiting)
        while heap:
            number = heap[0][1]
            piece = waiting[number]
            if not open_[number]:
                heapq.heappop(heap)
                continue
            if self._cost(piece) > room:
                open_[number] = False
                left.append(piece)
                continue
            worth = self._worth(piece)
            if len(heap) > 1 and worth < -min(heap[1:3])[0]:  # another one may be worth more now
                heapq.heapreplace(heap, (-worth, number))
                continue
            heapq.heappop(heap)
            open_[number] = False
            room -= self._cost(piece)
            first = not self.quoted[piece.group]
            self._choose(piece)
            for other in siblings[piece.group] if first else ():
                if open_[other]:
                    heapq.heappush(heap, (-self._worth(waiting[other]), other))
        return left

    def _affordable(self, waiting: Sequence[_Piece], room: int) -> tuple[list[_Piece], list[_Piece]]:
        """Return the pieces that may be chosen now, and those of sources for whose citation there is no room yet.

        Pieces that are too large by themselves are left out.
        """
        least = [math.inf] * len(self.groups)
        for piece in waiting:
            least[piece.group] = min(least[piece.group], self._cost(piece))
        small = [piece for piece in waiting if piece.tokens <= room]
        now = [piece for piece in small if least[piece.group] <= room]
        return now, [piece for piece in small if least[piece.group] > room]

    def _choose(self, piece: _Piece) -> None:
        self.order.append(piece)
        self.unpaid[piece.group] = 0
        self.quoted[piece.group] += len(piece.places)
        self.faded[piece.group] = _FADE ** self.quoted[piece.group]
        self.stated.update(piece.words)
        for word in piece.words:
            self.left[word] = restated(self.weights[word], self.stated[word])
            self.left_again[word] = restated(self.weights[word], self.stated[word] + _AGAIN)
        self.said[piece.group] |= piece.words

    def _worth(self, piece: _Piece) -> float:
        again, left = self.said[piece.group], self.left
        if again.isdisjoint(piece.words):
            told = information(map(left.__getitem__, piece.words))
        else:
            told = information([self.left_again[word] if word in again else left[word] for word in piece.words])
        return piece.priority * told * self.faded[piece.group] / (piece.tokens + self.unpaid[piece.group])

    def _cost(self, piece: _Piece) -> int:
        return piece.tokens + self.unpaid[piece.group]

    def _pieces(self, group: int) -> Iterator[_Piece]:
        """Yield a digest of each message between people, and then its other quotes one by one."""
        found, words = self.groups[group].quotes, self.words[group]
        for _, run in groupby(range(len(found)), key=lambda place: found[place].message):
            places = list(run)
            whole = len(frozenset[str]().union(*(words[place] for place in places)))
            informative = [place for place in places if found[place].informative and words[place]]
            if not found[places[0]].named:  # what somebody told an agent counts sentence by sentence
                yield from (self._piece(group, (place,)) for place in informative)
                continue
            first = self._digest(group, informative, self.groups[group].enough * whole)
            if first:
                yield self._piece(group, first)
            yield from (self._piece(group, (place,), _REST) for place in informative if place not in first)

    def _digest(self, group: int, places: Sequence[int], enough: float) -> tuple[int, ...]:
        """Return the places of few quotes of one message, which together have enough of its words."""
        words, found = self.words[group], self.groups[group].quotes
        said: frozenset[str] = frozenset()
        rest, taken, length = list(places), [], 0
        while rest and len(said) < enough and length < _MAX_PIECE:
            best = max(rest, key=lambda place: self._density(words[place] - said, found[place].text))
            rest.remove(best)
            taken.append(best)
            said |= words[best]
            length += len(found[best].text)
        return tuple(sorted(taken))

    def _density(self, words: frozenset[str], text: str) -> float:
        return math.fsum(self.weights[word] for word in words) / len(text)

    def _piece(self, group: int, places: tuple[int, ...], factor: float = 1.0) -> _Piece:
        found = [self.groups[group].quotes[place] for place in places]
        text = spoken(found)
        priority = factor * max(quote.priority for quote in found) * specificity(text)
        if not found[0].named:
            priority **= _CONTRAST
        words = frozenset[str]().union(*(self.words[group][place] for place in places))
        return _Piece(group, places, words, priority, self.counter.count(f"{text} "))


_OUTCOME, _RESOLVED = 2.0, 0.5  # factors of priority


def sections(found: Sequence[Quote]) -> list[list[Quote]]:
    """Return the quotes of one turn, regrouped: its outcome, reasons, changes, failures and findings.

    The user's words are left out, because the question stands beside the synthesis verbatim. An error that the same
    tool overcame later says so, and matters less.
    """
    said = [quote for quote in found if quote.role == "assistant"]
    final = said[-1].messages if said and found[-1] is said[-1] else None
    parts = {
        "Outcome": [_weighed(quote, _OUTCOME) for quote in said if quote.messages == final],
        "Why": [quote for quote in said if quote.messages != final],
        "Done": [quote for quote in found if quote.kind == "changed"],
        "Failed": list(_failures(found)),
        "Found": [quote for quote in found if quote.kind in ("ran", "looked")],
        "Tools": list(_counts(found)),
    }
    return [[replace(quote, speaker=name) for quote in part] for name, part in parts.items() if part]


def _weighed(quote: Quote, factor: float) -> Quote:
    return replace(quote, priority=quote.priority * factor)


def _failures(found: Sequence[Quote]) -> Iterator[Quote]:
    for place, quote in enumerate(found):
        if quote.kind == "failed":
            later = any(other.subject == quote.subject and other.kind != "failed" for other in found[place + 1 :])
            yield replace(_weighed(quote, _RESOLVED), text=f"{quote.text} (it worked later)") if later else quote


def _counts(found: Sequence[Quote]) -> Iterator[Quote]:
    times = Counter(tool for quote in found for tool in quote.tools)
    if sum(times.values()) > 1:
        text = ", ".join(f"{tool} ×{count}" if count > 1 else tool for tool, count in times.most_common(12))
        yield Quote(text, _OUTCOME, kind="ran", role="tool")
