"""Find what somebody keeps for later, and what says that a plan does not hold, or not yet, in lower-case sentences."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

KEPT_FOR_LATER = lazy_re(
    r"\bi(?:'ll| will)(?: also| then)? (?:remind|ping|nudge|tell|ask|check|bring|come back|get back|hold|follow up|"
    r"let you know|have (?:it|that|the))\b"
)
"""What an agent says that it will do, in a sentence that names a day."""
ITS_OWN = lazy_re(r"\b(?:i|we)\b")
"""Words by which an agent speaks of itself: «Action: create a group chat» is advice, and no promise."""
ON_A_DAY = lazy_re(r"\b(?:remind|ping|nudge|tell|ask)\b(?: \w+){0,2} (?:on|at|in) |\b(?:bring|check|come|get)\b.* on ")
"""An agent's promise for a day, not by a day."""
CONDITIONAL = lazy_re(
    r"\b(?:if|unless|whether|in case|depends|depending|provided|otherwise|or else|wants? (?:me|us) to|"
    r"invited|thinking (?:of|about)|considering|hoping|hope|tempted|supposedly)\b|\bor (?:on )?(?:the \d|\w+day)"
)
"""Words of a plan that is not settled."""
PURPOSE = lazy_re(r"\bso (?:that )?(?:i|we) (?:can|could|may)\b")
"""What something else is for, and no task of its own: «he lent me his van so that I can move»."""
DONE_IN_PART = lazy_re(
    r"\b(?:already|so far|to go|remaining|half of|part of|the rest|the first (?:half|part))\b|\b\d+\b.*\bleft\b"
)
"""Words for what is done of a thing, and what is left."""
CALLED_OFF = lazy_re(
    r"\b(?:cancel+ed|cancel+ing|called off|is off|are off|'s off|off as well|scrapped|dropped|fell through|"
    r"was going to|were going to|was supposed|were supposed|was meant|no good|is gone|out of the question|"
    r"(?:not|isn't|won't)(?: be)? happen(?:ing)?)\b"
)
"""Words by which a plan no longer holds."""
OFF = lazy_re(r"\b(?:cancel+ed|called off|(?:not|isn't|won't)(?: be)? happen(?:ing)?|fell through|scrapped)\b")
"""Words by which what one word of the clause names is off: «dinner is not happening»."""
UNWANTED = lazy_re(
    r"\b(?:never ?mind|(?:don't|do not|stop|no need to|needn't) (?:remind\w*|bring\w* up)|no (?:more )?reminders?|"
    r"(?<!n't )(?<!not )(?<!never )forget about)\b"
)
"""Words by which somebody does not want to hear of a thing."""
SAID_DONE = lazy_re(
    r"\b(?:that|this|it)(?:'s| is| was| has been| got) (?:all |already |now )*"
    r"(?:done|settled|sorted|over|paid|finished)\b"
)
"""What says of a thing in its own sentence that it is done."""
FICTION = lazy_re(
    r"\bin (?:my|our|the|this|that|his|her|their|a) (?:\w+ )?"
    r"(?:novel|story|game|book|film|movie|series|show|play|campaign|scene|chapter|dream)\b"
    r"(?! (?:club|group|store|shop))"
)
"""What is told of people who do not exist."""
SELF_HARM = lazy_re(
    r"\b(?:kill|hurt|harm|cut|hang|shoot|drown|poison)(?:ing)? (?:my|him|her|them)sel(?:f|ves)\b|\bsuicid\w*|"
    r"\b(?:end|take|taking|ending) (?:my|his|her|their) (?:own )?li(?:fe|ves)\b|\bend it all\b|\boverdos\w*|"
    r"\bself[- ](?:harm|injur)\w*|\bwant(?:s|ed)? to die\b",
    re.IGNORECASE,
)
"""What nobody may be reminded of as of an errand. It concerns the people who can help."""
INSTEAD = lazy_re(r"\binstead\b")
"""A word by which something else takes the place of a plan."""
MOVED = lazy_re(r"\b(?:moved|postponed|rescheduled|delayed|brought forward|put off)\b")
"""Words by which one thing that is named gets another day."""
POSTPONED = lazy_re(
    r"\b(?:moved|moves|postponed|put off|pushed|brought forward|rescheduled|delayed|later|earlier|now|instead|changed|"
    r"new date|slipped|shifted)\b"
)
"""Words by which something gets another day."""
NOT_FORGOTTEN = lazy_re(r"\b(?:not|never|\w+n['’]t) (?:to )?(?:forget|miss)\b", re.IGNORECASE)
"""A denial that affirms: «don't forget»."""
CLAUSE_ENDS = lazy_re(r"[,;:.!?–—]\s|\s(?:but|so|because|since|and)\s", re.IGNORECASE)
"""Where a clause of a sentence ends, as far as a denial reaches."""
WORDS = lazy_re(r"[^\W\d_][\w’'-]*[^\W_]|[^\W\d_]")
"""A word of a sentence as it was written."""
NOT_KNOWN = lazy_re(
    r"\b(?:i (?:don't|do not) know\b|i(?:'m| am) not sure|no idea|i(?:'ll| will) (?:find out|look (?:it|that|into)|"
    r"check)|can't (?:say|tell)|couldn't find|could not find|don't have (?:that|any|anything|it)|"
    r"nothing (?:on|about) (?:that|it) in|haven't (?:got|found))\b"
)
"""An agent's words for a question that it cannot answer."""
VAGUE = lazy_re(r"\b(?:it|that one|this one|them|those|these|there)\b|\b(?:do|bring|keep|hold) (?:that|this)\b")
"""Words of a clause that leave open what it is about."""
