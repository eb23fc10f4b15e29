"""Find secrets in configurations and commands: a field named «pass», a name and its value apart, an element of XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tidal_plugins.english.key_forms import PASSWORD
from tidal_plugins.english.passwords import TRAILING
from tidal_plugins.english.secret_values import Link, is_password
from tidal_plugins.patterns import lazy_re

_MARK = r"\\{0,8}[\"']?"
"""A quotation mark or none; within JSON within JSON it has backslashes."""
_NAME = r"(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key)"
_PASS = lazy_re(
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
    r"\b(?:sshpass[ \t]{1,4}-p[ \t]{0,4}|(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]{0,80}?[ \t]-p)"
    r"[\"']?(?P<value>[^\s\"'$]{3,64})"
)


def fields(text: str, low: str) -> Iterator[tuple[int, int, str]]:
    """Yield the offsets and the kind of the secrets in fields; ``low`` is the text in small letters."""
    if "pass" in low:
        yield from _passwords(_PASS, text, Link.NEXT)
    if "cred" in low or "log" in low:
        yield from _passwords(_PAIRED, text, Link.NEXT)
    if "value" in low:
        yield from _passwords(_APART, text, Link.MARK)
    if "</" in text:
        yield from _passwords(_ELEMENT, text, Link.MARK)
    if "sshpass" in low or "mysql" in low or "mariadb" in low:
        yield from ((*match.span("value"), PASSWORD) for match in _SHELL.finditer(text))


def name_in(value: Mapping[str, Any], key: str) -> str:
    """Return the name that an item of a JSON object has: its key, or for ``value`` the name that stands beside it."""
    beside = value.get("name", value.get("key")) if key.casefold() == "value" else None
    return beside if isinstance(beside, str) else key


def _passwords(form: re.Pattern[str], text: str, link: Link) -> Iterator[tuple[int, int, str]]:
    for match in form.finditer(text):
        value = match["value"].rstrip(TRAILING)
        if is_password(value, link, quoted=link is Link.MARK):
            yield match.start("value"), match.start("value") + len(value), PASSWORD
