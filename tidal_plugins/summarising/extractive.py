"""A summary without a model: the sentences and tool outcomes that say most for their tokens [SIYA §2.2]."""

from __future__ import annotations

from collections.abc import Sequence

from tidal_plugins.actions.table import NO_TOOLS, Tools
from tidal_plugins.model.summary import Source, Statement
from tidal_plugins.protocols import Purpose, TokenCounter
from tidal_plugins.summarising.quotes import labels, latest, quotes, requoted
from tidal_plugins.summarising.selection import WHOLE, Group, Selection
from tidal_plugins.summarising.sizes import ApproximateCounter
from tidal_plugins.summarising.synthesis import sections


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
