"""Find the words that ask for what was before."""

from __future__ import annotations

import re

FORMER = re.compile(
    r"\b(?:before (?:that|this|it|the|we|i|then)|used to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|initial(?:ly)?|"
    r"at first|earlier|back then|the old|my old|our old|once was|had been|no longer|"
    r"until then)\b|\bbefore\s*[?.!]*\s*$|\bin the beginning\b",
    re.IGNORECASE,
)
"""Questions about a value that is no longer the newest: «where did I live before?», «what was the old time?»."""
