"""Stage ``prefer_lasting``: a turn that asks may need what a person said for good, in whatever words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidal_plugins.language.importance import VITAL
from tidal_plugins.retrieval.candidates import Candidates
from tidal_plugins.retrieval.state import State
from tidal_plugins.retrieval.traits import traits_of
from tidal_plugins.storage.columns.filters import among

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LASTING = "lasting"
"""Name of the factor of a score."""


def prefer_lasting(state: State) -> None:
    """Raise the scores of what a person said for good, such as an allergy or a rule, if the turn asks, and sort again.

    Only an explicit recall does so: with it a whisper shows rules to two of 18 turns of the development stories that
    call for none. Used by the profile ``balanced`` alone.
    """
    import numpy as np

    factor = state.settings.recall.lasting
    if factor == 1 or state.query.only_tells or state.request.profile != "balanced":
        return
    lasting = is_lasting(state.ranked, VITAL)
    if lasting.any():
        state.ranked = state.ranked.weighed(LASTING, np.where(lasting, factor, np.nan)).by_score()


def is_lasting(found: Candidates, least: float) -> NDArray[np.bool_]:
    """Return which entries are what a person said for good, with an importance of at least ``least``.

    What is shouted is not: whoever shouts wants to be heard everywhere. Health never counts as shouted.
    """
    import numpy as np

    arrays = found.columns.arrays
    user = arrays.names.known(["user"])
    lasting = among(arrays.role[found.rows], user) & (arrays.importance[found.rows] >= least)
    some = np.flatnonzero(lasting)
    if len(some):
        lasting[some] = ~traits_of(found.columns).shouted(found.columns, found.rows[some])
    return np.asarray(lasting)
