"""List the words by which a turn goes on with something that was begun earlier."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

CONTINUING = lazy_re(
    r"\b(?:we|we['’](?:ve|re|d|ll)|us|our|let['’]?s|again|back|next|continue|resume|ready|still)\b", re.IGNORECASE
)
"""Words for what both sides share («we decided»), for coming back to it, and for its next step."""
