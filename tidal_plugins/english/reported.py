"""Turn what people say of themselves into what one says to them, or of them: «my friend» is «your friend»."""

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


_THEIRS = {
    "my": "their", "our": "their", "mine": "theirs", "ours": "theirs", "me": "them", "us": "them", "i": "they",
    "we": "they", "myself": "themselves", "ourselves": "themselves", "i've": "they've", "we've": "they've",
    "i'm": "they're", "we're": "they're", "i'd": "they'd", "we'd": "they'd", "i'll": "they'll", "we'll": "they'll",
}  # fmt: skip
_OF_SELVES = lazy_re(
    r"(?<![\w'’./-])(?:my|our|mine|ours|me|us|myself|ourselves|(?:i|we)['’](?:ve|m|re|d|ll)|we|i)(?![\w'’/-]|\.\w)",
    re.IGNORECASE,
)


def to_third_person(phrase: str) -> str:
    """Return a phrase about those who said it as one says it of them: «sharing my skills» → «sharing their skills»."""
    return _OF_SELVES.sub(lambda match: _THEIRS[match[0].lower().replace("’", "'")], phrase)
