"""The bar of automatic recall: what is not near enough stays unsaid.

An explicit search has no bar: who searches wants the best there is. A whisper that nobody asked for must be worth it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidal_plugins.english.small_talk import SMALL_TALK
from tidal_plugins.retrieval.query import Query
from tidal_plugins.retrieval.rank import LIFTS, Context, Ranked
from tidal_plugins.scoring.context import assurance
from tidal_plugins.tuning import RecallTuning, WhisperTuning


def worth_a_word(query: Query, settings: WhisperTuning) -> bool:
    """Whether a turn asks for anything: «thanks, sounds good» reminds of nothing."""
    return len(set(query.terms) - SMALL_TALK) + len(query.names) >= settings.least_words


def over_bar(
    ranked: Sequence[Ranked], sure: float, context: Context, profile: str = "balanced"
) -> tuple[list[Ranked], dict[str, str]]:
    """Split a ranking into what surfaces and the reasons, by id, for which the rest stays unsaid.

    ``sure`` is its :func:`sureness`.

    What answers a question and is not in the memory still has neighbours there, as near as many an answer is: so it is
    not nearness that decides whether anything surfaces, but whether the first stands out.
    """
    bar, least = context.settings.whisper.bar, context.settings.whisper.least(profile)
    if least and sure < least:
        return [], {item.id: f"assurance {sure:.3f} under the bar of {least:.3f}" for item in ranked}
    standing = {item.id: _standing(item, context.settings.recall) for item in ranked}
    low = {id_: near for id_, near in standing.items() if bar and near < bar}
    below = {id_: f"nearness {near:.3f} under the bar of {bar:.3f}" for id_, near in low.items()}
    return [item for item in ranked if item.id not in below], below


def sureness(ranked: Sequence[Ranked], context: Context) -> float:
    """How sure it is that the first of a ranking was meant, in units of cosine.

    Less where the query names people who speak in this scope, and none of them said it.
    """
    settings = context.settings
    if not ranked:
        return 0.0
    said = ranked[0].candidate.sketch.speaker in context.query.names
    words = max(item.keyword_strength for item in ranked[: settings.whisper.max_entries])
    return assurance(
        [_standing(item, settings.recall) for item in ranked],
        [item.candidate.cosine for item in ranked],
        settings.whisper.keywords * words,
        rivals=settings.recall.reach - 1,
        topic=settings.whisper.topic,
    ) - settings.recall.speaker * bool(context.query.names and not said)


def _standing(item: Ranked, settings: RecallTuning) -> float:
    """Nearness with what stands around an entry, in any profile; a mood makes nothing surer."""
    lifts = sum(value for name, value in item.parts.items() if name in LIFTS)
    return item.candidate.cosine + settings.keywords * item.keyword_strength + lifts
