"""Turn what people say of themselves into what one says to them: «pay my friend back» → «pay your friend back»."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

_OTHERS = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "i'm": "you're", "i've": "you've",
    "i'll": "you'll", "i'd": "you'd",
}  # fmt: skip
_BY_ONESELF = lazy_re(r"\bI (am|was)\b")
_OWN = lazy_re(r"\b(?:I['’](?:m|ve|ll|d)|I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b(?!['’])")
_UNCLEAR = lazy_re(r"\b(?:we|us|our|ours|ourselves|you|your|yours|yourself)\b|[\"“”«»]|['’]re\b", re.IGNORECASE)
"""Words that would mean somebody else when another one says them."""


def to_second_person(clause: str) -> str | None:
    """Return a clause about the person who said it as another one says it to them, or ``None`` if that is unclear."""
    if _UNCLEAR.search(clause):
        return None
    told = _BY_ONESELF.sub(lambda match: f"you {'are' if match[1] == 'am' else 'were'}", clause)
    return _OWN.sub(_other, told)


def _other(match: re.Match[str]) -> str:
    return _OTHERS[match[0].lower().replace("’", "'")]
