"""Whether a word that stands where a secret is expected is one: a password, a code, a phrase, or something random."""

from __future__ import annotations

import math
import re
from collections import Counter
from enum import Enum

from tidal_plugins.english.words import STOP_WORDS
from tidal_plugins.patterns import lazy_re

LEAST_CHARS = 8
"""Characters of a part below which nothing can be said of it."""
LEAST_BITS = 2.7
"""Bits a character of Shannon's entropy: eight characters of which hardly one comes twice."""
LEAST_SWITCHES = 3
"""Changes between capitals, small letters and digits within a part. «release2024» has one, «9f2LmUvQe81» eight."""

LEAST_DENSE = 20
"""Characters of a text that is told by its marks."""

LONG_CHARS, LONG_SWITCHES = 32, 10
"""The same for a long text whose separators are part of it, as in base 64."""

_PART = lazy_re(r"[A-Za-z0-9]+")
_CLASSES = lazy_re(r"[a-z]+|[A-Z]+|[0-9]+")


def is_random(text: str) -> bool:
    """Return whether a part of ``text``, between its separators, is drawn at random: letters and digits in turns."""
    parts = _PART.findall(text)
    return any(_drawn(part) for part in parts if len(part) >= LEAST_CHARS) or _is_base64("".join(parts))


def is_dense(text: str) -> bool:
    """Return whether a long text has letters, digits and many marks, as the keys that frameworks make."""
    marks = set(re.findall(r"[!@#$%^&*]", text))
    return (
        len(text) >= LEAST_DENSE and " " not in text and len(marks) >= LEAST_SWITCHES and bool(re.search(r"\d", text))
    )


def bits(text: str) -> float:
    """Return Shannon's entropy of the characters of ``text``, in bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _drawn(part: str) -> bool:
    runs = _CLASSES.findall(part)
    mixed = any(run.isdigit() for run in runs) and any(run.isalpha() for run in runs)
    return mixed and len(runs) > LEAST_SWITCHES and bits(part) >= LEAST_BITS


def _is_base64(joined: str) -> bool:
    return len(joined) >= LONG_CHARS and _drawn(joined) and len(_CLASSES.findall(joined)) > LONG_SWITCHES


class Link(Enum):
    """How a value is joined to its cue: by a mark («password: x»), a verb («the password is x») or not at all."""

    MARK, VERB, NEXT = range(3)


_PLACEHOLDER = lazy_re(
    r"[*•.#_~xX-]+|[<\[{%$(].*|.*\$\{.*|%\w|your[\w-]*|example\w*|redacted|hidden|masked|"
    r"(?:user|my|the|new|old|db|self|confirm|current|raw|plain|hashed)?[._-]?"
    r"(?:pass(?:word|wd|code|phrase)?|pwd|pw|secret|token|key|pin)s?\d?|(?:os|env)\.\S*|"
    r"self\.\S*|request\.\S*|settings\.\S*|process\.\S*",
    re.IGNORECASE,
)
_OTHER = lazy_re(
    r"\w+://.*|[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}|[~.]{0,2}/[\w./-]*|\w+\(.*|.*\w\(.*\)?|\w+(?:\.[A-Za-z_]\w*)+|"
    r"\d{1,3}(?:[-–:/.,+]\d*)*[a-z%]{0,6}|\d+(?:st|nd|rd|th|s)|\d{1,2}:\d\d.*|\d{4}-\d\d-\d\d.*|.*[=<>;{}].*[=<>;{}].*",
    re.IGNORECASE,
)
"""Addresses, paths, calls, dotted names, numbers with units, times."""
_TECHNICAL = lazy_re(
    r"(?:sha|md|bcrypt|scrypt|argon|oauth|base|utf|aes|rsa|hmac|pbkdf|https?|tls|ipv|log4j|i18n|k8s)-?\d+\w*|[xlpues]\d{1,4}"
    r"|[12]fa|\d?password|v?\d+(?:\.\d+)+\w*|\d+[a-z]{1,6}|windows\d*|python\d[\d.]*",
    re.IGNORECASE,
)
_STATES = STOP_WORDS | frozenset(
    (
        "wrong right correct incorrect bad good fine okay same different unique weak strong short long safe secure "
        "secret private public simple complex easy hard blank empty missing null none unknown known here there below "
        "above attached enough sensitive valid invalid true false str string int bool bytes text varchar char any "
        "object required optional mandatory default later soon today tomorrow yesterday wifi email username user "
        "account reset change login manager policy protected field form page prompt security access admin important "
        "confidential fresh ready done gone case-sensitive gibberish crap terrible awful fun cute funny please thanks "
        "ok yes no hello obvious something anything nothing everything written still your sure like what same-as type "
        "name label help enter forgot forgotten number letters characters random lost let "
    ).split()
)
_STATE_ENDINGS = (
    "ed",
    "ing",
    "ly",
    "ble",
    "ful",
    "less",
    "ous",
    "ive",
    "ent",
    "ant",
    "ary",
    "ory",
    "ity",
    "ion",
    "n't",
)
_PLAIN = lazy_re(r"[A-Za-z][a-z]{3,}")
_CAMEL = lazy_re(r"[a-z]+[A-Z][A-Za-z]*")
_WORDS = lazy_re(r"[a-z]{1,20}(?:[ -][a-z]{1,20}){3,23}(?=\s*(?:[.,;\n)\"'`*]|$))")

_SEED = lazy_re(r"[a-z]{3,8}(?: [a-z]{3,8}){11,23}\b")
_SEED_LENGTHS = (12, 15, 18, 21, 24)
"""Words that the seed phrase of a wallet may have; each has three to eight letters [BIP-39]."""

_DIGIT = r"(?:(?:double|triple) )?(?:zero|oh|nought|one|two|three|four|five|six|seven|eight|nine)"
_SPELLED = lazy_re(rf"{_DIGIT}(?:(?:, ?|[ -]){_DIGIT}){{3,11}}\b", re.IGNORECASE)
_PRODUCT = lazy_re(r"(?=[A-Z-]*\d)(?=[\d-]*[A-Z])[A-Z\d]{4,6}(?:-[A-Z\d]{4,6}){2,}")

_CODE = lazy_re(r"[#*]?(?:[A-Z]-?)?\d(?:[ -]?\d){2,9}[A-Z]?[#*]?(?![\w.,]*[\w]|[-/:]\d| ?(?:%|€|\$|mm|cm|km|am|pm)\b)")


def is_password(value: str, link: Link, *, quoted: bool = False, ends: bool = False) -> bool:
    """Return whether a value after a cue is a password.

    ``quoted`` values and those after a mark may be any word but those that tell a state or a type. After a verb a plain
    word must also end its clause (``ends``): «the password is swordfish.», «is wrong.» A value right behind the cue
    needs letters and digits, or marks.
    """
    if len(value) < 4 or _PLACEHOLDER.fullmatch(value) or (" " in value and not quoted):
        return False
    if value.isdigit():
        return len(value) <= 12 and link is not Link.NEXT
    if _OTHER.fullmatch(value) and not (quoted and link is not Link.NEXT and re.search(r"\d", value)):
        return False
    if _is_mixed(value):
        return link is not Link.NEXT or not _TECHNICAL.fullmatch(value)
    if link is Link.NEXT or not (ends or quoted):
        return False
    if " " in value:
        return not STOP_WORDS.intersection(value.casefold().split())
    if link is Link.VERB and _CAMEL.fullmatch(value):
        return True
    if not _PLAIN.fullmatch(value):
        return False
    word = value.casefold()
    return word not in _STATES and not word.endswith(_STATE_ENDINGS)


def is_code(text: str, start: int, link: Link) -> int | None:
    """Return where a PIN or the code of a lock that begins at ``start`` ends, or ``None`` if there is none."""
    match = _CODE.match(text, start) or _SPELLED.match(text, start)
    if match is None or (link is Link.NEXT and len(match[0]) < 4):
        return None
    return match.end()


def is_product_key(value: str) -> bool:
    """Return whether a value is a key as programs are sold with: groups of capitals and digits, joined by hyphens."""
    return _PRODUCT.fullmatch(value) is not None


def is_phrase(text: str, start: int) -> int | None:
    """Return where a phrase of four plain words or more ends that begins at ``start``, or ``None``."""
    if seed := _SEED.match(text, start):
        said = seed[0].split()
        if len(said) in _SEED_LENGTHS or STOP_WORDS.isdisjoint(said[: _SEED_LENGTHS[0]]):  # a note may follow
            length = max(length for length in _SEED_LENGTHS if length <= len(said))
            return start + len(" ".join(said[:length]))
    match = _WORDS.match(text, start)
    words = re.split("[ -]", match[0]) if match else ["a"]
    return match.end() if match and not STOP_WORDS.intersection(words) else None


def _is_mixed(value: str) -> bool:
    """Return whether a value has letters and digits, capitals within, or marks that words do not have."""
    letters = any(c.isalpha() for c in value)
    if letters and any(c.isdigit() for c in value):
        return True
    if letters and re.search(r"[!@#$%^&*?+~]", value[:-1]):
        return True
    return bool(re.fullmatch(r"(?:[A-Z][a-z]{2,}){2,}", value))
