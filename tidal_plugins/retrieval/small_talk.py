"""Stage ``skip_small_talk``: a turn of greetings, thanks or assent asks for no memory."""

from __future__ import annotations

from tidal_plugins.english.small_talk import SMALL_TALK
from tidal_plugins.model.recall import Recall
from tidal_plugins.retrieval.state import State
from tidal_plugins.retrieval.understand import Query
from tidal_plugins.tuning import WhisperTuning


def skip_small_talk(state: State) -> None:
    """End the whisper with nothing when the turn is small talk."""
    if is_small_talk(state.query, state.settings.whisper):
        request = state.request
        state.recall = Recall(request.text, state.query.terms, (), (), state.affect, request.profile, request.now)
        state.done = True


def is_small_talk(query: Query, settings: WhisperTuning) -> bool:
    """Return whether a turn has too few words with a content: «thanks, sounds good»."""
    return len(set(query.terms) - SMALL_TALK) + len(query.names) < settings.least_words
