"""List the words of talk that says nothing: greetings, thanks, assent, fillers."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

PLEASANTRIES = frozenset(
    "yes yeah yep nope ok okay sure thanks thank great good nice cool fine right well please sorry welcome hello "
    "hi hey bye wow haha".split()
)
"""Words of greetings, thanks and assent."""

SMALL_TALK = PLEASANTRIES | frozenset(
    "afternoon agreed amazing appreciate appreciated awesome cheers continue evening exactly excellent glad going "
    "goodbye got help helped helpful hmm hope idea interesting kidding later lol look looks lot lovely luck makes "
    "moment morning much night no perfect pleasure point problem ready see sense sound sounds talk tell thx true "
    "understood wonderful".split()
)
"""The same, with the words that go with them: a turn of nothing else asks for no memory."""

_ASSENT = frozenset(
    "k no perfect alright got it you so much very lol hmm done will do makes sense indeed exactly true go ahead "
    "that's that is i see agreed continue next again works for me there sounds".split()
)
ACKNOWLEDGING = rf"(?:{'|'.join(sorted(PLEASANTRIES | _ASSENT, key=lambda word: (-len(word), word)))})"
"""The words that a mere acknowledgement is made of, the longer ones first."""

INTERJECTION = lazy_re(
    r"(?:oh|ooh|wow|whoa|yeah|yup|well|so|hey|hi|hello|haha|hah|lol|aw+|ah|hmm|ok|okay|btw|by the way|anyway|actually|"
    r"honestly|thanks|thank you|you know)(?: so much| a lot| [A-Z]\w+)?(?:, (?:[A-Z]\w+[,!] )?|! |\.\.\. |- )",
    re.IGNORECASE,
)
"""Interjections and fillers in front of a sentence."""
