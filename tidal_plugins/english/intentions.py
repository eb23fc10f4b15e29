"""Find what somebody means to do, so that it can be said of them, and what nobody may be reminded of."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

INTENTION = lazy_re(
    r"(?:(?:so|and|then|ok|okay|also|but|yes|well|great|perfect|thanks),? )*"
    r"(?:(?:please )?(?:remind me|don't forget|do not forget) to"
    r"|(?:i|we)(?:(?P<announced>'ll| will"
    r"|(?:'m| am|'re| are) going to(?! (?:the|an?|my|our|his|her|their|this|that)\b))"
    r"|'ve (?:still )?got to"
    r"| (?:still |really |also )*(?:need to|have to|must|promised to|plan to|intend to)))"
    r" (?:(?:definitely|also|just|still|really|then|have to|need to|remember to) )*(?P<task>.+)"
)
"""«I need to call Anna», which is told as «You wanted to call Anna»; ``announced`` in «I'll call Anna»."""
REMIND = lazy_re(r"(?:.*\b)?remind me to (?P<task>.+)")
"""«Remind me to call Anna», told as «You asked me to remind you to call Anna»."""
CALLED_OFF = lazy_re(
    r"\b(?:cancel+ed|cancel+ing|called off|is off|are off|'s off|off as well|scrapped|dropped|fell through|"
    r"was going to|were going to|was supposed|were supposed|was meant|no good|is gone|out of the question|"
    r"(?:not|isn't|won't)(?: be)? happen(?:ing)?)\b"
)
"""Words by which a plan no longer holds."""
FICTION = lazy_re(
    r"\bin (?:my|our|the|this|that|his|her|their|a) (?:\w+ )?"
    r"(?:novel|story|game|book|film|movie|series|show|play|campaign|scene|chapter|dream|example)\b"
    r"(?! (?:club|group|store|shop))"
)
"""What is told of people who do not exist."""
UNWANTED = lazy_re(
    r"\b(?:never ?mind|(?:don't|do not|stop|no need to|needn't) (?:remind\w*|bring\w* up)|no (?:more )?reminders?|"
    r"(?<!n't )(?<!not )(?<!never )forget about)\b"
)
"""Words by which somebody does not want to hear of a thing."""
SELF_HARM = lazy_re(
    r"\b(?:kill|hurt|harm|cut|hang|shoot|drown|poison)(?:ing)? (?:my|him|her|them)sel(?:f|ves)\b|\bsuicid\w*|"
    r"\b(?:end|take|taking|ending) (?:my|his|her|their) (?:own )?li(?:fe|ves)\b|\bend it all\b|\boverdos\w*|"
    r"\bself[- ](?:harm|injur)\w*|\bwant(?:s|ed)? to die\b",
    re.IGNORECASE,
)
"""What nobody may be reminded of as of an errand. It concerns the people who can help."""
