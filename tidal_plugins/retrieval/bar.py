"""The bar of automatic recall: what is not near enough stays unsaid.

An explicit search has no bar: who searches wants the best there is. A whisper that nobody asked for must be worth it.
"""

from __future__ import annotations

from tidal_plugins.retrieval.query import Query
from tidal_plugins.retrieval.rank import Ranked
from tidal_plugins.settings import WhisperSettings

COURTESY = frozenset(
    "afternoon agreed amazing appreciate appreciated awesome bye cheers continue cool evening exactly excellent fine "
    "glad going good goodbye got great haha hello help helped helpful hey hi hmm hope idea interesting kidding later "
    "lol look looks lot lovely luck makes moment morning much nice night no ok okay perfect please pleasure point "
    "problem ready right see sense sorry sound sounds sure talk tell thank thanks thx true understood welcome well "
    "wonderful wow yeah yep yes".split()
)
"""Words of greetings, thanks and assent: alone they ask for no memory."""


def worth_a_word(query: Query, settings: WhisperSettings) -> bool:
    """Whether a turn asks for anything: «thanks, sounds good» reminds of nothing."""
    return len(set(query.terms) - COURTESY) + len(query.names) >= settings.least_words


def below_bar(item: Ranked, settings: WhisperSettings) -> str | None:
    """Return the reason for which a candidate stays unsaid, or ``None`` where it surfaces.

    Its nearness is its cosine, helped by how much of the query's rare words it has.
    """
    nearness = item.candidate.cosine + settings.keywords * item.keyword_strength
    return None if nearness >= settings.bar else f"nearness {nearness:.2f} under the bar of {settings.bar:.2f}"
