"""Describe what may stand before and after a plain statement."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

ADVERB = (
    r"(?:now|currently|again|still|actually|already|officially|definitely|really|indeed|unfortunately|sadly|just|"
    r"completely|totally|fully|permanently|temporarily|also|finally)"
)
BEFORE = (  # what may stand before the subject; anything else makes it another thing, or another's words
    r"(?:\A|[.;,!()\n–—]|(?<!\w)(?:note|remember|update|correction|reminder|fyi|ps|news|warning|careful|"
    r"attention|heads[- ]up):|"  # any other colon is a title's, or another speaker's
    r"(?<!\w)(?:and|but|so|then|now|however|note|remember|fyi|update|correction|also|today|actually|"
    r"unfortunately|sorry|yes|ok|okay|turns out|note that|remember that|confirmed that|it turns out that|since|"
    r"because)(?!\w))[\s*\-•\"]*+"
)
TRAIL = lazy_re(
    rf"(?:\s+(?:{ADVERB}|today|tonight|anymore|any more|at the moment|right now|for now|as well|too|please|\.+))+$",
    re.IGNORECASE,
)

LEAD = (
    r"(?:\W|\b(?:and|but|so|ok|okay|also|oh|hm+|well|then|now|anyway|btw|first|right|yes|no|please|just|"
    r"or|honestly|actually|really|honest|look|listen|hey|hi|hello|yeah|yep|thanks|alright|next|maybe|instead)\b)*"
)
"""Words that may lead a sentence and say nothing of what kind it is."""
