"""A summary without a model: the sentences and tool outcomes that say most for their tokens [SIYA §2.2]."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from tidal_plugins.model.summary import Source, Statement
from tidal_plugins.protocols import Purpose, TokenCounter
from tidal_plugins.scoring.priority import STATED, information, rarity, specificity
from tidal_plugins.scoring.text import terms
from tidal_plugins.summarising.quotes import Quote, labels, quotes, requoted, spoken
from tidal_plugins.summarising.sizes import ApproximateCounter
from tidal_plugins.summarising.synthesis import sections

_WHOLE = 1.0  # what was taken of a message once is not halved again
_FADE = 0.9  # of the worth of each further quote of the same source
_REST = 0.5  # of the worth of what a message says beyond what states it
_MAX_PIECE = 400  # characters that are taken of one message at once
_ROUNDS = 3


class ExtractiveSummariser:
    """Quotes what matters, by rules, and cites each source once. Deterministic; it needs no model and no network."""

    def __init__(self, counter: TokenCounter | None = None) -> None:
        self.counter = counter or ApproximateCounter()

    def summarise(
        self, sources: Sequence[Source], *, purpose: Purpose, previous: Sequence[Statement] = (), max_tokens: int
    ) -> list[Statement]:
        """Return statements that together have at most ``max_tokens``, citations included.

        ``previous`` ones come first; they compete with what is new, sentence by sentence.
        """
        new = [(source.id, quotes(source.messages)) for source in sources]
        known = labels([quote.speaker for _, found in new for quote in found], previous)
        groups = [_Group(statement.sources, requoted(statement, known), _WHOLE) for statement in previous]
        for id_, found in new:
            parts = sections(found) if purpose == "synthesis" else [found]
            groups += [_Group((id_,), part) for part in parts]
        return _Selection(groups, self.counter).within(max_tokens)


@dataclass(slots=True)
class _Group:
    """The quotes under one citation, and the places of those that were chosen.

    ``enough`` is the share of a message's words that states it.
    """

    sources: tuple[str, ...]
    quotes: list[Quote]
    enough: float = STATED
    chosen: set[int] = field(default_factory=set)

    def statement(self) -> Statement:
        chosen = [self.quotes[place] for place in sorted(self.chosen)]
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


class _Selection:
    """Chooses greedily: always what adds most information, weighed by its priority, for the tokens it costs."""

    def __init__(self, groups: Sequence[_Group], counter: TokenCounter) -> None:
        self.groups = groups
        self.counter = counter
        self.words = [[frozenset(terms(quote.text)) for quote in group.quotes] for group in groups]
        with_word = Counter(word for group in self.words for word in frozenset[str]().union(*group))
        self.weights = {word: rarity(count, len(groups)) for word, count in with_word.items()}
        self.citations = [counter.count("".join(f" [ep:{id_}]" for id_ in group.sources)) for group in groups]
        self.stated: Counter[str] = Counter()
        self.order: list[_Piece] = []

    def within(self, max_tokens: int) -> list[Statement]:
        waiting = [piece for group in range(len(self.groups)) for piece in self._pieces(group)]
        room = max_tokens
        for _ in range(_ROUNDS):  # what cautious counting left over is spent again
            waiting = self._fill(waiting, room)
            room = max_tokens - self._total()
        while self.order and self._total() > max_tokens:  # a counter may find more in the whole than in its parts
            last = self.order.pop()
            self.groups[last.group].chosen.difference_update(last.places)
        return self._statements()

    def _statements(self) -> list[Statement]:
        return [group.statement() for group in self.groups if group.chosen]

    def _total(self) -> int:
        return sum(self.counter.count(str(statement)) for statement in self._statements())

    def _fill(self, waiting: Sequence[_Piece], room: int) -> list[_Piece]:
        """Choose among the pieces while they fit; return those that did not.

        Worth only falls while others are chosen, so a piece is weighed again when its turn comes; it rises once: when
        the citation that it needs is paid for.
        """
        waiting = [piece for piece in waiting if piece.tokens <= room]
        heap = [(-self._worth(piece), number) for number, piece in enumerate(waiting)]
        heapq.heapify(heap)
        siblings = defaultdict[int, list[int]](list)
        for number, piece in enumerate(waiting):
            siblings[piece.group].append(number)
        open_, left = set(range(len(waiting))), []
        while heap:
            _, number = heapq.heappop(heap)
            piece = waiting[number]
            if number not in open_:
                continue
            if self._cost(piece) > room:
                open_.remove(number)
                left.append(piece)
                continue
            worth = self._worth(piece)
            if heap and worth < -heap[0][0]:
                heapq.heappush(heap, (-worth, number))
                continue
            open_.remove(number)
            room -= self._cost(piece)
            first = not self.groups[piece.group].chosen
            self._choose(piece)
            for other in siblings[piece.group] if first else ():
                if other in open_:
                    heapq.heappush(heap, (-self._worth(waiting[other]), other))
        return left

    def _choose(self, piece: _Piece) -> None:
        self.order.append(piece)
        self.groups[piece.group].chosen.update(piece.places)
        self.stated.update(piece.words)

    def _worth(self, piece: _Piece) -> float:
        told = information(piece.words, self.weights, self.stated)
        return piece.priority * told * _FADE ** len(self.groups[piece.group].chosen) / self._cost(piece)

    def _cost(self, piece: _Piece) -> int:
        return piece.tokens + (0 if self.groups[piece.group].chosen else self.citations[piece.group])

    def _pieces(self, group: int) -> Iterator[_Piece]:
        """Yield a digest of each message, and then its other quotes one by one."""
        found, words = self.groups[group].quotes, self.words[group]
        for _, run in groupby(range(len(found)), key=lambda place: found[place].message):
            places = list(run)
            whole = len(frozenset[str]().union(*(words[place] for place in places)))
            informative = [place for place in places if found[place].informative and words[place]]
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
        words = frozenset[str]().union(*(self.words[group][place] for place in places))
        return _Piece(group, places, words, priority, self.counter.count(f"{text} "))
