"""Secrets that are known by the words around them: «the wifi password is …», the forms of logins, the fields of
configurations and commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tidal_plugins.patterns import lazy_re
from tidal_plugins.secrets.forms import API_KEY, PASSWORD, TOKEN
from tidal_plugins.secrets.values import Link, is_code, is_dense, is_password, is_phrase, is_product_key, is_random

CODE, PHRASE = "code", "phrase"

PLACES = (
    "door|gate|alarm|entry|entrance|access|key(?: ?(?:box|pad|safe))?|lock(?: ?box)?|safe|vault|garage|security|"
    "building|house|front[ -]door|intercom|locker|padlock|unlock|card|phone|sim|verification|recovery|backup|"
    "one[- ]time|2fa|mfa|otp|burglar alarm|screen|parental"
)
_OF_PLACE = rf"(?:for|to|of|on) (?:\w+[ -]){{0,3}}(?:{PLACES})\b"
_ALONE_BEFORE, _ANY_BEFORE, _LETTERLESS = r"(?:^|[^\w.])$", "", r"(?:^|[^a-z])$"
_CUES = tuple(
    (kind, stem, lazy_re(tail), lazy_re(head))
    for kind, stem, tail, head in (
        (PHRASE, "pass", r"pass[ _-]?phrase", _ANY_BEFORE),
        (PHRASE, "phrase", r"phrase\b", r"(?:seed|recovery|backup)[ _-]$"),
        (PHRASE, "words", r"words\b", r"(?:seed|recovery|backup)[ _-]$"),
        (PHRASE, "mnemonic", r"mnemonic(?:[ _-](?:phrase|words|seed))?", _ALONE_BEFORE),
        (PASSWORD, "pass", r"pass(?:word|wd|code)", _ANY_BEFORE),
        (PASSWORD, "pass", r"pass[ _-](?:word|code)", _ALONE_BEFORE),
        (PASSWORD, "pass", r"pass\b", r"\b(?:wi-?fi|db|e?-?mail|gmail|admin|root|server|router|network)[ _-]$"),
        (PASSWORD, "p/w", r"p/w\b", _ALONE_BEFORE),
        (PASSWORD, "pwd", r"pwd", _ANY_BEFORE),
        (PASSWORD, "pw", r"pw\b", _LETTERLESS),
        (PASSWORD, "psk", r"psk\b", _LETTERLESS),
        (PASSWORD, "key", r"key\b", r"\b(?:wi-?fi|network)[ _-]$"),
        (CODE, "pass", r"pass[ _-]?code", _ANY_BEFORE),
        (CODE, "pin", r"pin(?:[ -](?:code|number|no\.?))?\b", _ALONE_BEFORE),
        (CODE, "code", r"code\b", rf"\b(?:{PLACES})(?:'s|’s)? $"),
        (CODE, "code", rf"code {_OF_PLACE}", _ALONE_BEFORE),
        (CODE, "code", r"code to (?:get|open|unlock|enter)\b", _ALONE_BEFORE),
        (CODE, "comb", r"comb(?:ination|o)\b", rf"\b(?:{PLACES})(?:'s|’s)? $"),
        (CODE, "comb", rf"comb(?:ination|o) {_OF_PLACE}", _ALONE_BEFORE),
        (CODE, "cv", r"cv[vc]2?\b", _ALONE_BEFORE),
        (TOKEN, "token", r"token", rf"(?:access|auth|bearer|refresh|session|bot|api)$|{_LETTERLESS}"),
        (TOKEN, "secret", r"secret", _LETTERLESS),
        (
            API_KEY,
            "key",
            r"key",
            r"(?:api|access|secret|auth|encryption|signing|licen[cs]e|product|activation|recovery|service|account|client"
            r"|master|webhook|private)"
            r"[ _-]?$",
        ),
    )
)
"""Words that a secret follows, or stands before: the kind, a part that is quick to find, the word from there on, and
what must stand before it."""
_STEMS = frozenset(stem for _, stem, _, _ in _CUES)
_HEAD = 24
"""Characters before such a part that are read."""

_CUE_END = lazy_re(
    r"(?P<many>s)?(?:[_-]?\d{1,2})?(?![A-Za-z0-9])(?:\*{0,2}\\{0,8}[\"'`*\]](?!s\b)){0,2}(?![_-][A-Za-z])"
)
"""The rest of a cue's word: «passwordless», «tokenizer» and «password_hash» tell of something else. In JSON within JSON
its quotation marks have backslashes."""
_FILLER = lazy_re(
    r"(?: \([^()\n]{1,40}\))?(?:[ \t]{1,8}(?:for|of|to|on|at|in|from|with|there|here|again|just)\b"
    r"(?:[ \t]{1,8}[^\s:=;,.!?|]{1,30}){0,6}?)?"
    r"(?=[ \t]{0,8}(?:[:=|→–—]|->|-[ \t])|[ \t]{1,8}(?:is|are|was|has|will|to|\w{1,20}ed)\b|['’]s\b)"
)
_IS = r"(?:['’]s|[ \t]{1,8}(?:is|are|was|will be|remains|has(?: always)? been))"
_STILL = r"(?:[ \t]{1,8}(?:now|still|currently|again|just|simply|actually|really|literally))*"
_CHANGES = r"(?:changed|set|reset|updated|switched|rotated)"
_IT_IS = r"(?:it|that)(?:['’]s|[ \t]{1,2}(?:is|was))"
_LINKS = (
    (Link.MARK, lazy_re(r"[ \t]{0,8}(?:=>|->|→|:=|=(?!=)|:|\||[–—]|-(?=[ \t]))[ \t*]{0,8}(?:\n[ \t]{0,8}){0,3}")),
    (
        Link.VERB,
        lazy_re(
            rf"(?:{_IS}|[ \t]{{1,8}}(?:got|gets))?(?:[ \t]{{1,8}}(?:been|from now on))*{_STILL}"
            rf"[ \t]{{1,8}}(?:{_CHANGES}[ \t]{{1,8}}to)[ \t]{{0,8}}:?\s{{1,3}}",
            re.IGNORECASE,
        ),
    ),
    (
        Link.VERB,
        lazy_re(
            rf"[ \t]{{1,8}}(?:has|was|got|is)?[ \t]{{0,8}}(?:been[ \t]{{1,8}})?{_CHANGES}[,;:.]?[ \t]{{1,8}}{_IT_IS}"
            rf"{_STILL}[ \t]{{1,8}}",
            re.IGNORECASE,
        ),
    ),
    (Link.VERB, lazy_re(rf"{_IS}{_STILL}[ \t]{{0,8}}:?\s{{1,8}}", re.IGNORECASE)),
    (Link.NEXT, lazy_re(r"[ \t]{1,8}(?:should|would|must|might|could|may) be[ \t]{1,8}", re.IGNORECASE)),
    (Link.NEXT, lazy_re(rf"\?\s{{1,8}}(?:{_IT_IS}{_STILL}[ \t]{{1,8}}|(?=\S{{4,64}}\s*$))", re.IGNORECASE)),
)
_TO = lazy_re(r"[ \t]{1,8}(?:back[ \t]{1,8})?to[ \t]{0,8}:?[ \t]{1,8}", re.IGNORECASE)
_CHANGED = lazy_re(r"\b(?:chang|set|reset|updat|switch|rotat|mak)\w*\b[^.!?\n]{0,30}$", re.IGNORECASE)
_FROM = lazy_re(
    r"(?:[ \t]{1,8}(?:is|was|has been|got))?"
    r"[ \t]{1,8}(?:changed|set|reset|updated|switched|rotated)[ \t]{1,8}from[ \t]{1,8}",
    re.IGNORECASE,
)
_FROM_TO = lazy_re(r"[\"'`”»*]{0,3}[ \t]{1,8}to[ \t]{1,8}", re.IGNORECASE)
_INSTEAD = lazy_re(
    r"[\"'`”»*]{0,3},?[ \t]{1,8}(?:instead of|rather than|and not|not|\(?(?:was|formerly))[ \t]{1,8}", re.IGNORECASE
)
_NOW = lazy_re(
    rf"[\"'`”»*]{{0,3}}[,;.]?[ \t]{{1,8}}(?:but|and)?[ \t]{{0,8}}"
    rf"(?:now[ \t]{{1,8}}{_IT_IS}|{_IT_IS}[ \t]{{1,8}}now)[ \t]{{1,8}}",
    re.IGNORECASE,
)
_NEXT_TO = lazy_re(r"[ \t]{1,8}")

_VALUE = lazy_re(
    r"(?P<open>\*{0,2}\\{0,8}[\"'`“‘«„]|\*\*)(?P<quoted>[^\n\"'`“”‘’«»*]{1,128}?)\\{0,8}[\"'`”’»*“]"
    r"|[(\[{<]?(?P<bare>\S{1,256})"
)
TRAILING = ".,;:?)]}>\"'`*”’»|"
_NEXT_FIELD = lazy_re(r";(?=[A-Za-z][\w .-]{0,40}=|\s*$)")
"""Where the value of a connection string ends: «Password=x;Encrypt=True»."""
_NEXT_NAME = 48
"""Characters after a value in which the name of the next field ends."""
_FENCE = lazy_re(r"```\w{0,16}[ \t]*\n[ \t]*")
"""The first line of a block that holds the value alone."""
_ENDS = lazy_re(rf"[ \t]*(?:[\r\n]|$)|[{re.escape(TRAILING)}]")
"""What follows a value that ends its clause."""
_AS_CUE = lazy_re(
    r"(?:(?P<quote>[\"'`“«])(?P<quoted>[^\n\"'`“”«»]{3,64})[\"'`”»]|(?<!\S)(?P<bare>\S{4,64}))"
    r"[ \t]{1,8}(?:(?:is|as|was)(?:[ \t]{1,8}(?:now|still))?[ \t]{1,8}"
    r"(?:the|my|our|your|his|her|their|a)(?:[ \t]{1,8}[\w'’-]{1,20}){0,3}|as)[ \t]{1,8}$"
)
_BEFORE = 120
"""Characters before a cue in which its secret is looked for: «hunter2 is the wifi password»."""


_TELLING = lazy_re(
    r"pass(?:w|code|phrase|e\b|(?![a-z]))|phrase|words|mnemonic|p/w|pwd|pw|psk|key|token|secret|kennwort|contrase|clave|"
    r"hasł|haslo|senha|parola|wachtwoord|lösenord|пароль|log-?in|logon|logg|sign(?:ed|ing)?-?in|"
    r"\b(?:log|sign|signed|signing)$|\bcred(?:s|entials)|wi-?fi|bearer|basic|curl|mysql|mariadb|7z|redis-cli|zip|"
    r"/user:|openssl",
    re.IGNORECASE,  # as the patterns that follow: it also takes «ſ» for s, and «İ» for i
)
"""What stands in a word of every text with a secret that :func:`told`, :func:`logins` or :func:`fields` yield, but for
codes: they consist of digits or of words for them."""
_OPENING = lazy_re(
    r"\b(?:pin\b|code\b|comb(?:o|ination)|cv[vc]|otp|(?:open|disarm|(?:pad|un)?lock)(?:s|ed|box)?\b|"
    r"(?:enter|type|punch|dial|press|use)$)",
    re.IGNORECASE,
)
"""What stands in a word of every text with a code."""
_DIGITS = lazy_re(r"zero|oh|nought|one|two|three|four|five|six|seven|eight|nine", re.IGNORECASE)
_TELLS, _OPENS_SOMETHING, _COUNTS = 1, 2, 4
_WORD = 40
"""Letters of a word that is longer than any that others say again: such words would fill the memory."""


def may_tell(low: str, numbers: bool) -> bool:
    """Return whether a text of small letters, which may have ``numbers``, may have a secret that is known by the words
    around it. Most have none."""
    kinds = {_known_kind(word) if len(word) <= _WORD else _kind(word) for word in set(low.split())}
    if any(kind & _TELLS for kind in kinds):
        return True
    counts = numbers or any(kind & _COUNTS for kind in kinds)
    return counts and any(kind & _OPENS_SOMETHING for kind in kinds)


def _kind(word: str) -> int:
    """Return what a word may have to do with a secret."""
    found = _TELLS if _TELLING.search(word) else 0
    found |= _OPENS_SOMETHING if _OPENING.search(word) else 0
    return found | (_COUNTS if _DIGITS.search(word) else 0)


_known_kind = lru_cache(maxsize=1 << 14)(_kind)  # texts have mostly the same words


def told(text: str, low: str) -> Iterator[tuple[int, int, str]]:
    """Yield the offsets and the kind of the secrets that follow a cue in ``text``, or stand before it; ``low`` is the
    text in small letters."""
    for kind, start, end in _cues(low):
        found = _after(text, end, kind) or _ahead(text, start, kind)
        former = _former(text, end, found, kind)
        yield from ((*each, PASSWORD if kind == PHRASE else kind) for each in (found, *former) if each)
    if _any(_ELSEWHERE_STEMS, low):
        yield from _elsewhere(text, low)


_ELSEWHERE = lazy_re(
    r"(?P<name>passwor[dt]|kennwort|contrase[ñn]a|clave|mot de passe|has[łl]o|senha|palavra[ -]passe|"
    r"parola d['’]ordine|wachtwoord|lösenord|пароль|\bpin)\b[\"'`*]{0,2}"
    r"(?:[ \t]{1,4}(?:vom|von|für|fürs|beim|im|zum|zur|des|der|del|de|du|da|do|dla|della|di|pour|per|"
    r"para|al|na|van|voor|till|от)\b"
    r"(?:[ \t]{1,4}[^\s:=]{1,30}){1,4}?)?"
    r"(?:[ \t]{0,4}(?P<mark>[:=])[ \t]{0,4}|[ \t]{1,4}"
    r"(?P<verb>ist|lautet|heißt|heisst|es|est|to|brzmi|jest|é|è|is|är|[-–—])"
    r"(?:[ \t]{1,4}(?:jetzt|nun|ahora|maintenant|teraz|agora|ora|adesso|nu))?[ \t]{0,4}:?[ \t]{1,4})"
)
_ELSEWHERE_STEMS = (
    "passwor", "kennwort", "contrase", "clave", "mot de passe", "hasł", "haslo", "senha", "palavra", "parola d",
    "wachtwoord", "lösenord", "пароль", "pin ",
)  # fmt: skip
"""Names of passwords in other languages, with the words that join a value to them."""


def _elsewhere(text: str, low: str) -> Iterator[tuple[int, int, str]]:
    """Yield the passwords that are named in German, Spanish, French, Polish, Portuguese, Italian, Dutch, Swedish or
    Russian. After a verb one needs digits or marks: «Das Passwort ist falsch» tells a state."""
    for match in _ELSEWHERE.finditer(low):
        polish, key, pin = match["name"].startswith("has"), match["name"] == "clave", match["name"] == "pin"
        if (match["verb"] == "to" and not polish) or (match["mark"] and (pin or key)):
            continue
        link = Link.MARK if match["mark"] else Link.NEXT
        kind = CODE if pin else PASSWORD
        if found := _valued(text, match.end(), kind, link):
            yield *found, kind


def lowered(text: str) -> str:
    """Return ``text`` in small letters, each at its place: «İ» has two of them, and stays."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def _cues(low: str) -> Iterator[tuple[str, int, int]]:
    """Yield the kind, the beginning and the end of the cues in a text of small letters."""
    there = [stem for stem in _STEMS if stem in low]
    for kind, stem, tail, head in _CUES if there else ():
        if stem not in there:
            continue
        at = low.find(stem)
        while at >= 0:
            word = tail.match(low, at)
            if word and head.search(low[max(0, at - _HEAD) : at]):
                yield kind, at, word.end()
            at = low.find(stem, at + len(stem))


def _after(text: str, end: int, kind: str) -> tuple[int, int] | None:
    """Return the offsets of the value that follows a cue."""
    rest = _CUE_END.match(text, end)
    if rest is None:
        return None
    filler = _FILLER.match(text, rest.end())
    position = filler.end() if filler else rest.end()
    for link, pattern in _LINKS:
        if (joined := pattern.match(text, position)) and not (rest["many"] and link is Link.NEXT):
            return _valued(text, joined.end(), kind, link)
    if (joined := _TO.match(text, position)) and _CHANGED.search(text[max(0, end - 60) : end]):
        return _valued(text, joined.end(), kind, Link.VERB)
    joined = None if rest["many"] else _NEXT_TO.match(text, rest.end())
    return _valued(text, joined.end(), kind, Link.NEXT) if joined else None


def _former(text: str, end: int, found: tuple[int, int] | None, kind: str) -> Iterator[tuple[int, int] | None]:
    """Yield the offsets of the values beside one that was found, or before it: «is now X instead of Y», «was Y but now
    it's X», «changed from Y to X»."""
    if found:
        if joined := _INSTEAD.match(text, found[1]) or _NOW.match(text, found[1]):
            yield _valued(text, joined.end(), kind, Link.VERB)
    elif (joined := _FROM.match(text, end)) and (old := _valued(text, joined.end(), kind, Link.VERB)):
        yield old
        if joined := _FROM_TO.match(text, old[1]):
            yield _valued(text, joined.end(), kind, Link.VERB)


def _valued(text: str, position: int, kind: str, link: Link) -> tuple[int, int] | None:
    """Return the offsets of the value at a position, if it is one that the cue may have."""
    if kind == PHRASE and link is not Link.NEXT and (end := is_phrase(text, position)):
        return position, end
    fenced = _FENCE.match(text, position)
    match = _VALUE.match(text, fenced.end() if fenced else position)
    if kind == PHRASE and link is not Link.NEXT and match and match["quoted"] and match["quoted"].count(" ") >= 2:
        return match.span("quoted")
    if match is None:
        return None
    quoted = match["quoted"] is not None
    start, value = match.start("quoted" if quoted else "bare"), match["quoted"] or match["bare"]
    if not quoted and (field := _NEXT_FIELD.search(text, start, start + len(value) + _NEXT_NAME)):
        value = value[: max(0, field.start() - start)]
    value = value if quoted else value.rstrip(TRAILING)
    if kind == CODE:
        end = is_code(text, start, link)
        return (start, end) if end else None
    if kind in (TOKEN, API_KEY):
        fits = (is_random(value) and " " not in value) or is_product_key(value) or is_dense(value)
    else:
        ends = _ENDS.match(text, start + len(value)) is not None
        fits = is_password(value, link, quoted=quoted or fenced is not None, ends=ends)
    return (start, start + len(value)) if fits else None


def _ahead(text: str, start: int, kind: str) -> tuple[int, int] | None:
    """Return the offsets of the value before a cue."""
    begin = max(0, start - _BEFORE)
    match = _AS_CUE.search(text[begin:start])
    if match is None or kind == PHRASE:
        return None
    value = match["quoted"] or match["bare"]
    name = "quoted" if match["quoted"] else "bare"
    span = begin + match.start(name), begin + match.end(name)
    if kind == CODE:
        return span if is_code(text, span[0], Link.VERB) == span[1] else None
    fits = is_random(value) if kind in (TOKEN, API_KEY) else is_password(value, Link.NEXT, quoted=bool(match["quoted"]))
    return span if fits else None


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


def alone(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield a password that is all of a text. It has digits."""
    if len(text) <= _LONGEST_ALONE and (match := _ALONE.fullmatch(text)):
        yield *match.span("value"), PASSWORD


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


_MARK = r"\\{0,8}[\"']?"
"""A quotation mark or none; within JSON within JSON it has backslashes."""
_NAME = r"(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key)"
_PASS_FIELD = lazy_re(
    rf"(?:^|[\n,;/|{{(])[ \t]{{0,8}}{_MARK}pass{_MARK}[ \t]{{0,4}}[:=][ \t]{{0,4}}{_MARK}"
    r"(?P<value>[^\s|\"'`\\]{4,64})",
    re.IGNORECASE,
)
_PAIRED = lazy_re(
    r"\b(?:cred(?:ential)?s|log[ -]?in)[ \t:=]{1,4}[\"'`]?[\w.@+-]{1,64}:(?P<value>(?!//)[^\s|\"'`]{4,64})",
    re.IGNORECASE,
)
_APART = lazy_re(
    rf"\b(?:name|key){_MARK}\s{{0,4}}[:=]\s{{0,4}}{_MARK}[\w.-]{{0,60}}{_NAME}{_MARK}\s{{0,4}},?\s{{0,40}}"
    rf"{_MARK}value{_MARK}\s{{0,4}}[:=]\s{{0,4}}{_MARK}(?P<value>[^\s\"',}}\\]{{4,256}})",
    re.IGNORECASE,
)
_ELEMENT = lazy_re(
    rf"<(?:[\w:.-]{{0,40}}[_.:-])?{_NAME}(?:\s[^<>]{{0,80}})?>\s{{0,8}}(?P<value>[^<>\s]{{4,256}})\s{{0,8}}</",
    re.IGNORECASE,
)
_SHELL = lazy_re(
    r"\b(?:sshpass[ \t]{1,4}-p[ \t]{0,4}"
    r"|(?:mysql|mysqldump|mysqladmin|mariadb|7z[ar]?)\b[^\n|;&]{0,80}?[ \t]-p"
    r"|(?:docker|podman|nerdctl|buildah|skopeo|oras|crane|helm|az|oc|argocd|cf|harbor)[ \t]"
    r"(?:[^\n|;&]{0,40}[ \t])?login[ \t](?:[^\n|;&]{0,120}?[ \t])?(?:-p|--password)[ \t=]{1,4}"
    r"|(?:redis-cli|valkey-cli)[ \t](?:[^\n|;&]{0,80}?[ \t])?(?:-a|--pass)[ \t=]{1,4}"
    r"|htpasswd[ \t]{1,4}-\w*b\w*[ \t]{1,4}\S{1,80}[ \t]{1,4}\S{1,64}[ \t]{1,4}"
    r"|(?:un)?zip[ \t](?:[^\n|;&]{0,80}?[ \t])?-P[ \t]{0,4}"
    r"|net[ \t]use[ \t][^\n|;&]{0,120}?/user:\S{1,64}[ \t]{1,4}"
    r"|openssl[ \t][^\n|;&]{0,80}?[ \t]-(?:k|passin pass:|passout pass:|pass pass:)[ \t]{0,4})"
    r"[\"']?(?P<value>(?![-<*])[^\s\"'$]{3,64})"
)
"""Commands that get a password as an argument."""
_SHELL_STEMS = (
    "sshpass", "mysql", "mariadb", "7z", "login", "redis-cli", "valkey-cli", "htpasswd", "zip", "net use", "openssl",
)  # fmt: skip


def fields(text: str, low: str) -> Iterator[tuple[int, int, str]]:
    """Yield the offsets and the kind of the secrets in fields; ``low`` is the text in small letters."""
    if "pass" in low:
        yield from _fields(_PASS_FIELD, text, Link.NEXT)
    if "cred" in low or "log" in low:
        yield from _fields(_PAIRED, text, Link.NEXT)
    if "value" in low:
        yield from _fields(_APART, text, Link.MARK)
    if "</" in text:
        yield from _fields(_ELEMENT, text, Link.MARK)
    if _any(_SHELL_STEMS, low):
        yield from ((*match.span("value"), PASSWORD) for match in _SHELL.finditer(text))


def name_in(value: Mapping[str, Any], key: str) -> str:
    """Return the name that an item of a JSON object has: its key, or for ``value`` the name that stands beside it."""
    beside = value.get("name", value.get("key")) if key.casefold() == "value" else None
    return beside if isinstance(beside, str) else key


def _fields(form: re.Pattern[str], text: str, link: Link) -> Iterator[tuple[int, int, str]]:
    for match in form.finditer(text):
        value = match["value"].rstrip(TRAILING)
        if is_password(value, link, quoted=link is Link.MARK):
            yield match.start("value"), match.start("value") + len(value), PASSWORD
