"""Find rules that somebody gives to an agent, and decisions."""

from __future__ import annotations

from tidal_plugins.patterns import lazy_re

OWN_PLANS = lazy_re(r"\bi(?:'ll|'ve|'m| will| have| am)?\b")
"""Statements of people about themselves, which are no rules for an agent."""
RULE = lazy_re(
    r"\bfrom now on\b|\b(?:standing |house |new )?rule:|\b(?:standing|house|new) rule\b"
    r"|(?:^|[,;:] |\b(?:and|but|so|please|you|to) )(?:always|never|don't ever|do not ever) \w+|, (?:always|never)\W*$"
    r"|^(?:please )?(?:do not|don't) \w+|\b(?:must|may|should)(?: not| never| always| only) \w"
    r"|\bmust be (?:at|in|on|no|under|over|within|the|an?|sent|done|signed|kept|paid|\w+ed)\b"
    r"|\b(?:make sure (?:to|that)|forbidden|not allowed|no more than|no less than|at most|at least|only ever"
    r"|keep it (?:under|below|within|short))\b"
)
"""Rules that somebody gives to an agent, in lower-case sentences: sterner than :data:`STANDING_RULE`."""
DECISION = lazy_re(
    r"\b(?:we|i)(?:'ve| have|'ll| will|'re| are|'d)? (?:now |all |both |just |finally )*(?:decided?|agreed|settled on"
    r"|chose|opted|going with|go with|went with|stay with|staying with|stick with|sticking with|stick to|drop|dropped"
    r"|postponed?|mov(?:e|ed|ing) (?:off|over|from|away)|switch(?:ed|ing)? (?:to|from|over)|won't|do(?:n't| not) use)\b"
    r"|\b(?:the|my|our|final) decision\b|\bit(?:'s| is) decided\b|\blet's (?:go|stay|stick) with\b|\binstead of\b"
)
"""Statements of what was decided, in lower-case sentences."""
