"""Find what is said to an agent: who it is, what it does when, and what rules hold."""

from __future__ import annotations

import re

IDENTITY = re.compile(
    r"\byour (?:name|role|job|voice|tone|task) (?:is|should be)\b|\byou are (?:called|an? (?:\w+ ){0,3}"
    r"(?:assistant|agent|bot|engineer|analyst|tutor|coach))\b|\bcall yourself\b",
    re.IGNORECASE,
)
ROUTINE = re.compile(
    r"\bevery (?:\d+ )?(?:minutes?|hours?|morning|day|evening|night|week|loop|cycle|thread|hour)\b"
    r"|\b(?:at the (?:start|end) of|before|after) (?:each|every) (?:loop|cycle|thread|run|day|turn)\b"
    r"|\bfirst thing\b",
    re.IGNORECASE,
)
_ORDERED = (
    r"from now on|(?:house |new |standing )?rules?\b(?! of)|(?:is|are) banned|forbidden|not allowed|"
    r"make sure (?:to|that)|please stick|a habit|everywhere please|don't ever|do not ever|at most|no \w+ anywhere|"
    r"only (?:for|with|if|when|on)|uses? [\w-]+,? (?:not|instead of|never) "
)
_ALWAYS = (
    r"(?<!i )(?<!we )must (?:not |be |never |always )?\w+|always (?!liked|wanted|been|has|have|had)\w+|"
    r"never (?!been|had|said|told|thought|asks?|knew|mind|have|did|was|again)\w+"
)
_MANNER = r"your|answers?|summar\w+|repl\w+|messages|shorter|brief\w*|concise|formal\w*|emojis?"
STANDING_RULE = re.compile(
    rf"\b(?:{_ORDERED}|{_ALWAYS})\b"
    r"|\b(?:can|could|would|will) you (?:please )?(?:be|keep|stop|always|answer|write|reply|speak)\b"
    rf".*\b(?:{_MANNER})\b"
    r"|\bnot \w+\. (?:and )?never\b|, not \w+[.]?$",
    re.IGNORECASE,
)
"""What people lay down for good, in the words of rules and of wishes about the manner of answers."""
OWN_PLANS = re.compile(r"\bi(?:'ll|'ve|'m| will| have| am)?\b")
"""Statements of people about themselves, which are no rules for an agent."""
