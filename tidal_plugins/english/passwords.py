"""Find passwords, PINs and tokens that somebody tells: a cue such as «the wifi password», and the value beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidal_plugins.english.key_forms import API_KEY, PASSWORD, TOKEN
from tidal_plugins.english.randomness import is_random
from tidal_plugins.english.secret_values import Link, is_code, is_password, is_phrase, is_product_key
from tidal_plugins.patterns import lazy_re

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
    r"(?=[ \t]{0,8}(?:[:=|→–—]|->|-[ \t])|[ \t]{1,8}(?:is|was|has|will|to|\w{1,20}ed)\b|['’]s\b)"
)
_IS = r"(?:['’]s|[ \t]{1,8}(?:is|was|will be|remains|has(?: always)? been))"
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


def told(text: str, low: str) -> Iterator[tuple[int, int, str]]:
    """Yield the offsets and the kind of the secrets that follow a cue in ``text``, or stand before it; ``low`` is the
    text in small letters."""
    for kind, start, end in _cues(low):
        found = _after(text, end, kind) or _ahead(text, start, kind)
        former = _former(text, end, found, kind)
        yield from ((*each, PASSWORD if kind == PHRASE else kind) for each in (found, *former) if each)


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
    value = value if quoted else value.rstrip(TRAILING)
    if kind == CODE:
        end = is_code(text, start, link)
        return (start, end) if end else None
    if kind in (TOKEN, API_KEY):
        fits = (is_random(value) and " " not in value) or is_product_key(value)
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
