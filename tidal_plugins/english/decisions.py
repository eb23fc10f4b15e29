"""Find what is decided: a choice, a rule, an end, said outright."""

from __future__ import annotations

import re

_CHOSEN = (
    r"decid(?:e|ed|es)|decision|agreed|accept(?:ed)?|approved|rejected|granted|settled on|opted|chose|chosen|"
    r"signed|signed off|made up (?:my|our|his|her|their) minds?|\A\W*(?:\w+ ){0,2}it is\Z"
)
_KEPT = r"(?:stay|staying|stick|sticking|go|going|went) with|we (?:switch|stay|keep|drop|wait|postpone)"
_CHANGED = (
    r"(?:switch|switched|switching|mov(?:e|ed|ing)|migrat(?:e|ed|ing)) (?:over )?(?:off|away from|to|from)|"
    r"instead of|becomes?|replac(?:es|ed)"
)
_RULED = r"from now on|new rule|banned"
_ENDED = r"(?:i'm|we're|is|are|am) not (?!sure)\w+ing|no longer|postponed"
DECIDED = re.compile(rf"\b(?:{_CHOSEN}|{_KEPT}|{_CHANGED}|{_RULED}|{_ENDED})\b")
"""Words of a decision in a lower-case sentence."""
