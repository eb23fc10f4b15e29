"""Find what is imagined, and what is only rumoured: «if I were rich, I would …», «she said that one might …»."""

from __future__ import annotations

import re

from tidal_plugins.english.clauses import LEAD
from tidal_plugins.patterns import lazy_re

_WERE = r"(?:were|was|had|could|knew|won|lived|owned|ever)"
_WOULD = r"(?:\b(?:would|could|might)|'d)"
_IF = r"(?<!asked )(?<!ask )(?<!me )(?<!know )(?<!wonder )(?<!wondered )(?<!see )(?<!sure )(?<!check )\bif"
_SCENE = lazy_re(
    rf"\A{LEAD}(?:imagine(?:,|:| (?:that|if|you|we|i|an?|the|this|having|being|my|our|she|he|they|all|what|how)\b)"
    r"|suppos(?:e|ing) (?:that|you|we|i|an?|the|my|our|she|he|they|it)\b|what if\b|hypothetically\b"
    r"|let's (?:say|pretend|imagine|suppose)\b|pretend (?:that|you|we|i)\b|if only\b"
    r"|in (?:a|an) (?:perfect|ideal|other|another) world\b)"
)
"""The beginning of a scene that is imagined: of a lower-case sentence, and the sentences after it belong to it."""
JOKE = lazy_re(r"\b(?:joke|jokes|joking|kidding|jk|just teasing|haha+|lol)\b", re.IGNORECASE)
"""Words that take back what stands beside them."""
_UNREAL = lazy_re(
    rf"{_IF} (?:[\w']+ ){{1,3}}?{_WERE}\b.*{_WOULD}\b|{_WOULD}\b.*{_IF} (?:[\w']+ ){{1,3}}?{_WERE}\b"
    r"|\bi wish (?:i|we|you|he|she|it|they|there|my|the)\b"
)
"""What would be if something were."""
_BACK = lazy_re(rf"\A{LEAD}(?:anyway|back to|in reality|in fact|actually|seriously|for real|meanwhile|today|real)\b")
"""The beginning of what is real again."""
_RUMOUR = lazy_re(
    r"\b(?:says?|said|told (?:me|us)|thinks?|reckons?|heard|read|claims?|suggested|rumou?rs?)\b"
    r"(?: that)?(?: [\w']+){0,4}? (?:might|could|may|perhaps|maybe)\b"
)


def opens_scene(plain: str) -> bool:
    """Return whether a lower-case sentence asks to imagine something, with the sentences that follow."""
    return _SCENE.match(plain) is not None


def leaves_scene(plain: str) -> bool:
    """Return whether a lower-case sentence comes back to what is real."""
    return _BACK.match(plain) is not None


def is_imagined(plain: str) -> bool:
    """Return whether a lower-case sentence tells what would be if something were."""
    return _UNREAL.search(plain) is not None


def is_rumoured(plain: str) -> bool:
    """Return whether a lower-case sentence tells what somebody holds for possible."""
    return _RUMOUR.search(plain) is not None
