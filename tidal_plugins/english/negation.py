"""Find the words that deny."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

_NOT = "not|never|cannot"

NEGATED = lazy_re(rf"\b(?:{_NOT}|no longer|hardly|no|\w+n't)\b")
"""The words by which two lower-case sentences differ when one denies the other."""
DENIAL = lazy_re(rf"(?:\b(?:{_NOT}|no|nothing|unlike)\b|n['’]t\b)[^.,;:!?\n]*+", re.IGNORECASE)
"""A denial, to the end of its clause."""
