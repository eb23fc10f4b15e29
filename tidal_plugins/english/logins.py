"""Find secrets in the forms of logins: user and password, a password on a line of its own, a code that opens a door."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tidal_plugins.english.key_forms import PASSWORD, TOKEN
from tidal_plugins.english.passwords import CODE, PLACES, TRAILING
from tidal_plugins.english.randomness import is_random
from tidal_plugins.english.secret_values import Link, is_code, is_password
from tidal_plugins.patterns import lazy_re

_LOGIN = lazy_re(
    r"\b(?:log(?:ged|ging)?[ -]?in|sign(?:ed|ing)?[ -]?in|logon|login|cred(?:entials|s)|wi-?fi)\b[^\n|/]{0,60}?"
    r"(?<=[\s:\"'`])[^\s|/]{2,64}[ \t]{1,8}(?:[/|]|and)[ \t]{1,8}[\"'`]?(?P<value>[^\s|\"'`]{4,64})",
    re.IGNORECASE,
)
_PASS = lazy_re(
    r"\b(?:user(?:name)?|log[ -]?in|account|admin|root|cred(?:ential)?s|wi-?fi|ssid)\b[^\n]{0,60}?\bpass"
    r"[ \t]{0,4}[:= \t][ \t]{0,4}[\"'`]?(?P<value>[^\s|\"'`]{4,64})",
    re.IGNORECASE,
)
_BELOW = lazy_re(
    r"^[ \t*#>-]{0,8}(?:[\w-]{1,20}[ \t]){0,2}(?P<cue>password|passcode|pin(?: code)?)[ \t*]{0,8}\n[ \t>-]{0,8}"
    r"(?P<value>[^\s|]{4,64})[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_OPENS = lazy_re(
    rf"\b(?:{PLACES})\b[^.\n]{{0,30}}?\b(?:open(?:s|ed)?|unlock(?:s|ed)?|disarm(?:s|ed)?)\b[^.\n]{{0,12}}?\b(?:with|by)"
    r"[ \t]{1,4}(?P<value>\S{4,24})",
    re.IGNORECASE,
)
_ENTER = lazy_re(
    r"\b(?:enter|type|punch|key|dial|press|use)(?:[ \t]in)?[ \t]{1,4}(?P<value>\S{4,24})[ \t]{1,4}"
    rf"(?:(?:at|on|into)|to (?:open|unlock|disarm|get in(?:to)?|enter))[ \t]{{1,4}}"
    rf"(?:the|my|our)[ \t](?:\w+[ -]){{0,2}}(?:{PLACES})\b",
    re.IGNORECASE,
)
_OPENER = lazy_re(
    r"(?P<value>[\d#*-]{4,12})[ \t]{1,4}(?:opens|unlocks|disarms)[ \t](?:the|my|our)[ \t](?:\w+[ -]){0,2}"
    rf"(?:{PLACES})\b",
    re.IGNORECASE,
)
_BOX = lazy_re(
    r"\b(?:key[ -]?(?:safe|box|pad)|lock[ -]?box|padlock)\b[ \t]{0,4}"
    r"(?:has(?:[ \t]the)?[ \t]code|with(?:[ \t]the)?[ \t]code|is|takes|[:,=])?[ \t]{1,4}(?P<value>\S{4,24})",
    re.IGNORECASE,
)
_FOR = lazy_re(
    r"\b(?:code|comb(?:ination|o))(?:['’]s|[ \t]is|:)[ \t]{1,4}(?P<value>\S{4,24})[ \t]{1,4}"
    rf"(?:for|to|of|on|at)[ \t]{{1,4}}(?:the|my|our)[ \t](?:\w+[ -]){{0,2}}(?:{PLACES})\b",
    re.IGNORECASE,
)
_SHORT = lazy_re(
    r"\b(?:(?:cv[vc]2?|card (?:security|verification) code)\b(?:[ \t]is|['’]s)?[ \t:]{1,4}(?P<card>\d{3,4})"
    r"|(?:otp|one[- ]time (?:pass)?code|2fa code)\b(?:[ \t]is|['’]s)?[ \t:]{1,4}(?P<once>\d{4,8}))\b",
    re.IGNORECASE,
)
_BEARER = lazy_re(r"\b(?:Bearer|Basic|Token)[ \t]{1,8}(?P<value>[A-Za-z0-9._~+/-]{16,}+=*+)")
_USER = lazy_re(r"(?:^|\s)(?:-u|--user)[ =][\"']?[\w.@+-]{1,64}:(?P<value>[^\s\"'$:]{3,64})")
_ALONE = lazy_re(r"\s*(?P<value>(?=\S*[a-z])(?=\S*[A-Z])(?=\S*\d)(?=\S*[!@#$%^&?~])[\w!@#$%^&*?+~-]{8,64})\s*")
"""A message that is a password and nothing else: it went into the wrong window."""
_LONGEST_ALONE = 80

_OPENS_STEMS = ("open", "unlock", "disarm")
_ENTER_STEMS = ("enter", "type", "punch", "key", "dial", "press", "use")
_LOGIN_STEMS = ("log", "sign", "cred", "wifi", "wi-fi")
_LOGIN_CUES = (
    "log in", "log-in", "login", "logon", "logged", "logging", "sign in", "sign-in", "signin", "signed in",
    "signed-in", "signedin", "signing in", "signing-in", "signingin", "cred", "wifi", "wi-fi",
)  # fmt: skip
_PASS_CUE = lazy_re(r"pass[ \t]{0,4}[:= \t]")
_BELOW_CUE = lazy_re(r"(?:password|passcode|pin(?: code)?)[ \t*]{0,8}\n")
_OPENS_CUE = lazy_re(r"(?:open|unlock|disarm)(?:s|ed)?\b[^.\n]{0,12}?\b(?:with|by)[ \t]")
_ENTER_CUE = lazy_re(
    r"(?:enter|type|punch|key|dial|press|use)(?:[ \t]in)?[ \t]{1,4}\S{4,24}[ \t]{1,4}"
    r"(?:at|on|into|to (?:open|unlock|disarm|get in|enter))"
)
_BOX_CUES = ("key safe", "key-safe", "keysafe", "key box", "key-box", "keybox", "key pad", "key-pad", "keypad", "lock")
_FOR_CUE = lazy_re(r"(?:code|comb(?:ination|o))(?:['’]s|[ \t]is|:)[ \t]")
_SHORT_CUES = ("cvv", "cvc", "card security", "card verification", "otp", "one time", "one-time", "2fa")
"""Parts of the forms, in small letters, that are quick to find."""


def logins(text: str, low: str) -> Iterator[tuple[int, int, str]]:
    """Yield the offsets and the kind of the secrets in ``text`` whose form is a login's; ``low`` is it in small
    letters."""
    if _any(_LOGIN_STEMS, low) and _any(_LOGIN_CUES, low):
        yield from _passwords(_LOGIN, text)
    if "pass" in low and _PASS_CUE.search(low):
        yield from _passwords(_PASS, text)
    if "\n" in low and _BELOW_CUE.search(low):
        yield from _below(text)
    if _any(_OPENS_STEMS, low) and _OPENS_CUE.search(low):
        yield from _codes(_OPENS, text)
    if _any(_ENTER_STEMS, low) and _ENTER_CUE.search(low):
        yield from _codes(_ENTER, text)
    if _any(_SHORT_CUES, low):
        yield from ((*match.span(match.lastgroup or 0), CODE) for match in _SHORT.finditer(text))
    if "opens" in low or "unlocks" in low or "disarms" in low:
        yield from _codes(_OPENER, text)
    if _any(_BOX_CUES, low):
        yield from _codes(_BOX, text)
    if ("code" in low or "comb" in low) and _FOR_CUE.search(low):
        yield from _codes(_FOR, text)
    if "earer" in text or "Basic" in text or "Token" in text:
        yield from ((*match.span("value"), TOKEN) for match in _BEARER.finditer(text) if is_random(match["value"]))
    if "curl" in low:
        yield from ((*match.span("value"), PASSWORD) for match in _USER.finditer(text))
    if len(text) <= _LONGEST_ALONE and (alone := _ALONE.fullmatch(text)):
        yield *alone.span("value"), PASSWORD


def _any(parts: Sequence[str], low: str) -> bool:
    """Return whether a text has one of some parts. It runs for every text, and ``any`` takes twice as long."""
    for part in parts:  # noqa: SIM110
        if part in low:
            return True
    return False


def _passwords(form: re.Pattern[str], text: str) -> Iterator[tuple[int, int, str]]:
    for match in form.finditer(text):
        value = match["value"].rstrip(TRAILING)
        if is_password(value, Link.NEXT):
            yield match.start("value"), match.start("value") + len(value), PASSWORD


def _codes(form: re.Pattern[str], text: str) -> Iterator[tuple[int, int, str]]:
    for match in form.finditer(text):
        if end := is_code(text, match.start("value"), Link.NEXT):
            yield match.start("value"), end, CODE


def _below(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield passwords and PINs that stand alone on the line below their name."""
    for match in _BELOW.finditer(text):
        start, end = match.span("value")
        if match["cue"].casefold() == "password":
            if is_password(match["value"], Link.NEXT):
                yield start, end, PASSWORD
        elif is_code(text, start, Link.NEXT) == end:
            yield start, end, CODE
