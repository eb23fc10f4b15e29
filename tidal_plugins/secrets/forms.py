"""Secrets that are known by their form alone: keys of services, private keys, card numbers and bank accounts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidal_plugins.patterns import lazy_re, may_have_run
from tidal_plugins.secrets.values import is_random

API_KEY, TOKEN, PASSWORD, PRIVATE_KEY = "API key", "token", "password", "private key"

_PREFIXED = (
    (API_KEY, "AIza", r"[\w-]{35}(?![\w-])"),
    (API_KEY, "AKIA ASIA", r"[A-Z0-9]{16}(?![A-Z0-9])"),
    (API_KEY, "sk_live_ rk_live_ sk_test_ rk_test_", r"[A-Za-z0-9]{16,}+"),
    (API_KEY, "whsec_", r"[A-Za-z0-9+/=]{24,}+"),
    (API_KEY, "SG.", r"[\w-]{16,32}\.[\w-]{32,64}(?![\w-])"),
    (API_KEY, "SK key-", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    (API_KEY, "gsk_", r"[A-Za-z0-9]{40,}+"),
    (API_KEY, "GOCSPX-", r"[\w-]{28}(?![\w-])"),
    (TOKEN, "ya29.", r"[\w-]{20,}+"),
    (TOKEN, "ghp_ gho_ ghs_ ghu_ ghr_", r"[A-Za-z0-9]{36,}+"),
    (TOKEN, "github_pat_", r"\w{22,}+"),
    (TOKEN, "glpat- gldt- glrt- glptt- glsoat- glcbt- glagent-", r"[\w-]{20,}+"),
    (TOKEN, "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", r"[A-Za-z0-9-]{10,}+"),
    (TOKEN, "xapp-", r"[A-Za-z0-9-]{20,}+"),
    (TOKEN, "hooks.slack.com/services/", r"T\w{6,20}/B\w{6,20}/\w{16,40}"),
    (TOKEN, "npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    (TOKEN, "pypi-Ag", r"[\w-]{50,}+"),
    (TOKEN, "hf_", r"[A-Za-z0-9]{30,}+"),
    (TOKEN, "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{64}"),
    (TOKEN, "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32}"),
    (TOKEN, "sq0atp- sq0csp-", r"[\w-]{22,}+"),
    (TOKEN, "eyJ", r"(?<!-eyJ)[\w-]{8,}+\.eyJ[\w-]{8,}+(?:\.[\w-]*+)?"),
    (PRIVATE_KEY, "AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
)
"""Kinds, what keys of a provider begin with, and what follows: as the providers document them, and as
detect-secrets and gitleaks know them."""

_FORMS = tuple(
    (prefix, kind, lazy_re(rf"{re.escape(prefix)}(?<![A-Za-z0-9_]{re.escape(prefix)}){rest}"))
    for kind, prefixes, rest in _PREFIXED
    for prefix in prefixes.split()
)
_SK = lazy_re(r"(?<![\w-])sk-[\w-]{20,}+")
"""The keys of OpenAI, Anthropic and others. A long name may begin so, too."""
_TELEGRAM = lazy_re(r"[0-9]{8,10}:AA[\w-]{33}(?![\w-])")
_URL = lazy_re(r"://[^\s/:@\"'<>]{0,100}:(?P<value>(?![${<*%\[])[^\s/@\"'<>]{2,200})@(?=[\w\[])")
_ACCOUNT_KEY = lazy_re(r"AccountKey=(?P<value>[A-Za-z0-9+/=]{40,88})")
_BEGIN = lazy_re(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_END = lazy_re(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_BODY = lazy_re(r"(?:\\[rn]|[A-Za-z0-9+/=\s])*+")
"""The lines of a key whose end was cut off."""

_PLACEHOLDERS = frozenset("password pass pw pwd secret token user username xxx xxxx".split())


FEW_DIGITS = 12
"""Digits that a card or an account has more than."""

_LONG = 15
"""Characters of the shortest form, which has no space: only private keys and passwords in addresses may be shorter."""


def may_be_key(text: str) -> bool:
    """Return whether a text may have what :func:`keys` yields. Most have nothing like it."""
    return may_have_run(text, _LONG) or "://" in text or "-----BEGIN" in text


def keys(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the offsets and the kind of everything in ``text`` that has the form of a key or a token."""
    if may_have_run(text, _LONG):
        yield from _long(text)
    if "-----BEGIN" in text:
        yield from ((start, end, PRIVATE_KEY) for start, end in _private_keys(text))
    if "://" in text and "@" in text:
        found = (match for match in _URL.finditer(text) if match["value"].casefold() not in _PLACEHOLDERS)
        yield from ((*match.span("value"), PASSWORD) for match in found)


def _long(text: str) -> Iterator[tuple[int, int, str]]:
    for prefix, kind, form in _FORMS:
        if prefix in text:
            yield from ((*match.span(), kind) for match in form.finditer(text))
    if ":AA" in text:
        yield from ((*match.span(), TOKEN) for match in _TELEGRAM.finditer(text))
    if "sk-" in text:
        yield from ((*match.span(), API_KEY) for match in _SK.finditer(text) if is_random(match[0]))
    if "AccountKey=" in text:
        yield from ((*match.span("value"), API_KEY) for match in _ACCOUNT_KEY.finditer(text))


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield private keys from their first mark to their last, or as far as a key reaches whose last one is missing."""
    position, end = 0, _END.search(text)
    while begin := _BEGIN.search(text, position):
        if end and end.start() < begin.end():
            end = _END.search(text, begin.end())
        if end and not _BEGIN.search(text, begin.end(), end.start()):
            position = end.end()
        else:
            body = _BODY.match(text, begin.end())
            position = begin.end() + (len(body[0].rstrip()) if body else 0)
        yield begin.start(), position


_CARD = lazy_re(r"[2-6](?<![\w.,+-].)(?<!\d[ ].)(?:[ -]?\d){12,18}(?![ -]?\d|\w|[.,]\d)")
_GROUPS = lazy_re(r"\d+|\d{4}([ -])\d{4}(?:\1\d{4}){1,2}(?:\1\d{1,4})?|\d{4}([ -])\d{6}\2\d{4,5}")
_ISSUED = lazy_re(
    r"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|3(?:0[0-5]|[68]\d)\d{11}"  # Diners Club
    r"|(?:6011|65\d\d|64[4-9]\d)\d{12,15}"  # Discover
    r"|35(?:2[89]|[3-8]\d)\d{12,15}"  # JCB
    r"|62\d{14,17}"  # UnionPay
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{9,15}"  # Maestro
)

_IBAN = lazy_re(r"[0-9]{2}(?<=[A-Za-z]{2}..)(?<![A-Za-z0-9].{4})(?:[ -]?[A-Za-z0-9]){11,30}")
"""What may follow the two letters of a country. A search for digits is the faster one: most texts are letters."""
_LENGTHS = {
    country: int(length)
    for length, countries in (
        item.split(":")
        for item in (
            "15:NO 16:BE 18:DK,FI,FO,GL,NL,SD,FK 19:MK,SI 20:AT,BA,EE,KZ,LT,LU,XK,MN 21:CH,HR,LI,LV "
            "22:BG,BH,CR,DE,GB,GE,IE,ME,RS,VA 23:AE,GI,IL,IQ,OM,SO,TL 24:AD,CZ,ES,MD,PK,RO,SA,SE,SK,TN,VG "
            "25:LY,PT,ST 26:IS,TR 27:BI,DJ,FR,GR,IT,MC,MR,SM 28:AL,AZ,BY,CY,DO,GT,HN,HU,LB,NI,PL,SV "
            "29:BR,EG,PS,QA,UA 30:JO,KW,MU,YE 31:MT,SC 32:LC 33:RU"
        ).split()
    )
    for country in countries.split(",")
}
"""Characters of an IBAN by its country, as in the registry of SWIFT."""


def cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of numbers that a card may have: those of an issuer, in its groups, with Luhn's digit."""
    for match in _CARD.finditer(text):
        digits = re.sub("[ -]", "", match[0])
        if _GROUPS.fullmatch(match[0]) and _ISSUED.fullmatch(digits) and len(set(digits)) > 1 and _luhn(digits):
            yield match.span()


def ibans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of IBANs: as long as their country has them, in groups of four or none, with a remainder of 1
    modulo 97."""
    position = 0
    while match := _IBAN.search(text, position):
        start = match.start() - 2
        end = _iban_end(text, start, match.end())
        if end:
            yield start, end
        position = end or match.start() + 2


def _iban_end(text: str, start: int, most: int) -> int | None:
    """Return where an IBAN that begins at ``start`` ends, or ``None`` if there is none."""
    length = _LENGTHS.get(text[start : start + 2].upper(), 0)
    read, end = "", start
    while end < most and len(read) < length:
        if text[end].isalnum():
            read += text[end].upper()
        elif len(read) % 4:
            return None
        end += 1
    whole = len(read) == length > 0 and not text[end : end + 1].isalnum()
    return end if whole and int("".join(str(int(c, 36)) for c in read[4:] + read[:4])) % 97 == 1 else None


def _luhn(digits: str) -> bool:
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0
