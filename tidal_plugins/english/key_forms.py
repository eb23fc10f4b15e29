"""Find keys and tokens that have a form of their own: those of providers, private keys, and passwords in addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidal_plugins.english.randomness import is_random
from tidal_plugins.patterns import lazy_re

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


_LONG = 15
"""Characters of the shortest form, which has no space: only private keys and passwords in addresses may be shorter."""


def keys(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the offsets and the kind of everything in ``text`` that has the form of a key or a token."""
    if max(map(len, text.split()), default=0) >= _LONG:
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
