"""Find what is decided: a choice, a rule, an end, said outright."""

from __future__ import annotations

from tidal_plugins.patterns import lazy_re

_CHOSEN = (
    r"decid(?:e|ed|es)|(?:the|my|our|his|her|their|final|a) decision|agreed(?!,)|"
    r"(?<!feel )(?<!felt )(?<!feeling )(?<!totally )(?<!be )accept(?:ed)?(?! (?:me|us|you|myself|yourself|who)\b)|"
    r"approved|rejected|granted|settled on|opted|(?<!you )chose|chosen|signed (?:the|an?|our|my|off|with|for|both|all)|"
    r"(?:contract|lease|deal|agreement|offer|paper|papers)(?: (?:is|are|was|were|has been|have been|got))? signed|"
    r"made up (?:my|our|his|her|their) minds?|\A\W*(?:\w+ ){0,2}it is\Z"
)
_KEPT = r"(?:stay|staying|stick|sticking|go|going|went) with|we (?:switch|stay|keep|drop|wait|postpone)"
_CHANGED = (
    r"(?<!considering )(?<!about )(?<!consider )"
    r"(?:switch|switched|switching|mov(?:e|ed|ing)|migrat(?:e|ed|ing)) (?:over )?(?:off|away from|to|from)|"
    r"instead of|becomes?|replac(?:es|ed)"
)
_RULED = r"from now on|new rule|banned"
_ENDED = r"(?:i'm|we're|is|are|am) not (?!sure)\w+ing|no longer|postponed"
DECIDED = lazy_re(rf"\b(?:{_CHOSEN}|{_KEPT}|{_CHANGED}|{_RULED}|{_ENDED})\b")
"""Words of a decision in a lower-case sentence."""
