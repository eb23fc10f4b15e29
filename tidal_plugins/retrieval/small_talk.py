"""Stage ``skip_small_talk``: a turn of greetings, thanks or assent asks for no memory."""

from __future__ import annotations

from tidal_plugins.english.words import PLEASANTRIES
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
    """Return whether a turn has too few words with a content, or is read as thanks and hardly says anything else."""
    content = len(set(query.terms) - PLEASANTRIES) + len(query.names)
    thanks = query.is_social and 2 * content < len(query.terms)
    return content < settings.least_words or (thanks and settings.least_words > 0)
