"""Find secrets in a text: passwords that are told, keys and tokens, private keys, card numbers, IBANs.

Keys have the forms that their providers give them; passwords and tokens of no form are known by the words around them
and, for tokens, by their entropy; numbers by their check digits. Every pattern reads a text once, whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from unicodedata import category

from tidal_plugins.patterns import lazy_re, most_digits
from tidal_plugins.secrets.forms import FEW_DIGITS, cards, ibans, keys, may_be_key
from tidal_plugins.secrets.told import alone, fields, logins, lowered, may_tell, name_in, told

CARD, IBAN = "card number", "IBAN"

_HIDDEN = frozenset(("Cc", "Cf", "Co", "Cs"))
"""Categories of characters that nobody sees."""


LONG, REMEMBERED = 2_000, 2_048
"""Characters of a text from which on it is not remembered what secrets it has, and the texts that are: a recall shows
mostly what one before it did."""

TAG_DIGITS = 8
"""Hexadecimal digits of the tag that tells a replaced secret from others: two of one store have the same tag in one of
4 billion pairs."""
_TAGGED = lazy_re(rf"\[([A-Za-z][A-Za-z -]{{0,30}}) ·[0-9a-f]{{{TAG_DIGITS}}}\]")


class Secret(NamedTuple):
    """A secret in a text: where it begins and ends, and its kind: ``password``, ``code``, ``API key``, ``token``,
    ``private key``, ``card number`` or ``IBAN``."""

    start: int
    end: int
    kind: str


def secrets(text: str) -> list[Secret]:
    """Return the secrets of a text, in order, with those that were replaced when it was stored. They do not overlap.

    Characters that nobody sees, such as soft hyphens and marks of direction, hide none.
    """
    return list(_remembered(text) if len(text) <= LONG else _read(text))


def _read(text: str) -> tuple[Secret, ...]:
    if text.isprintable() or "".join(text.split()).isprintable():
        return _apart(_found(text))
    places = [place for place, char in enumerate(text) if char.isspace() or category(char) not in _HIDDEN]
    seen = "".join(text[place] for place in places)
    return tuple(Secret(places[start], places[end - 1] + 1, kind) for start, end, kind in _apart(_found(seen)))


_remembered = lru_cache(maxsize=REMEMBERED)(_read)


def tagged(kind: str, tag: str) -> str:
    """Return the words that are stored in place of a secret."""
    return f"[{kind} ·{tag}]"


def tags_in(text: str) -> Iterator[re.Match[str]]:
    """Yield the places of secrets that were replaced when a text was stored."""
    return _TAGGED.finditer(text)


def filled(text: str) -> str:
    """Return a text in which what stands in place of secrets gives none away: «password» is a cue within it, too."""
    return _TAGGED.sub(lambda match: f"[{'x' * (len(match[0]) - 2)}]", text)


def is_tagged(text: str) -> bool:
    """Return whether a text stands in place of a secret that was replaced."""
    return _TAGGED.fullmatch(text) is not None


def untagged(text: str) -> str:
    """Return a text with ``[password]`` in place of ``[password ·5f0c2b9e]``: a tag says nothing to a reader."""
    return _TAGGED.sub(r"[\1]", text) if "·" in text else text


def masked(text: str) -> str:
    """Return a text with ``[password]``, ``[card number]`` … in place of its secrets; without any it stays as it is."""
    return mask(text, secrets(text))


def masked_value(value: Any, name: str = "") -> Any:
    """Return a JSON value with its texts masked. A text is read with the name that it has in an object, such as
    ``password``."""
    if isinstance(value, str):
        cue = f"{name}: " if name else ""
        return mask(cue + value, secrets(cue + value), len(cue))
    if isinstance(value, Mapping):
        return {key: masked_value(item, name_in(value, str(key))) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked_value(item, name) for item in value]
    return value


def has_secret(value: Any, name: str = "") -> bool:
    """Return whether :func:`masked_value` would change a JSON value."""
    if isinstance(value, str):
        cue = f"{name}: " if name else ""
        return any(secret.end > len(cue) for secret in secrets(cue + value))
    if isinstance(value, Mapping):
        return any(has_secret(item, name_in(value, str(key))) for key, item in value.items())
    return isinstance(value, list | tuple) and any(has_secret(item, name) for item in value)


def blanked(text: str) -> str:
    """Return a text with spaces in place of its secrets, so that everything else stands where it stood."""
    parts, last = [], 0
    for start, end, _ in secrets(text):
        parts += [text[last:start], " " * (end - start)]
        last = end
    return "".join([*parts, text[last:]])


def mask(text: str, found: Iterable[Secret], start: int = 0, end: int | None = None) -> str:
    """Return ``text[start:end]`` with the kinds of the secrets that were found in ``text`` in their place."""
    parts, end = [], len(text) if end is None else end
    for secret in found:
        if secret.start < end and secret.end > start:
            parts += [text[start : max(start, secret.start)], f"[{secret.kind}]"]
            start = min(end, secret.end)
    return "".join([*parts, text[start:end]])


def _found(text: str) -> list[Secret]:
    if len(text) < 4:
        return []
    found = list[Secret]()
    if "·" in text:
        found += (Secret(*match.span(), match[1]) for match in tags_in(text))
        text = filled(text)
    low, numbers = lowered(text), most_digits(text)
    if may_be_key(text):
        found += (Secret(*each) for each in keys(text))
    if len(text) > LONG or may_tell(low, numbers > 0):
        for read in (told, logins, fields):
            found += (Secret(*each) for each in read(text, low))
    if numbers:
        found += (Secret(*each) for each in alone(text))
    if numbers > FEW_DIGITS:
        found += (Secret(*each, CARD) for each in cards(text))
    if numbers and len(text) > FEW_DIGITS:
        found += (Secret(*each, IBAN) for each in ibans(text))
    return found


def _apart(found: list[Secret]) -> tuple[Secret, ...]:
    """Return secrets in order, those that overlap as one, of the kind of the first and longest."""
    apart = list[Secret]()
    for secret in sorted(found, key=lambda each: (each.start, -each.end)):
        if apart and secret.start < apart[-1].end:
            apart[-1] = apart[-1]._replace(end=max(apart[-1].end, secret.end))
        else:
            apart.append(secret)
    return tuple(apart)
