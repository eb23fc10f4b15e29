"""Find what is decided: a choice, a rule, an end, said outright."""

from __future__ import annotations

import re

DECIDED = re.compile(
    r"\b(?:decid(?:e|ed|es)|decision|agreed|accept(?:ed)?|approved|rejected|granted|settled on|opted|chose|chosen|"
    r"(?:stay|staying|stick|sticking|go|going|went) with|signed|signed off|made up (?:my|our|his|her|their) minds?|"
    r"(?:switch|switched|switching|mov(?:e|ed|ing)|migrat(?:e|ed|ing)) (?:over )?(?:off|away from|to|from)|"
    r"\A\W*(?:\w+ ){0,2}it is\Z|from now on|new rule|(?:i'm|we're|is|are|am) not (?!sure)\w+ing|no longer|instead "
    r"of|postponed|banned|"
    r"becomes?|replac(?:es|ed)|we (?:switch|stay|keep|drop|wait|postpone))\b"
)
"""Words of a decision in a lower-case sentence."""
