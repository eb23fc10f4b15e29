"""Find card numbers and IBANs by their form and their check digits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidal_plugins.patterns import lazy_re

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
