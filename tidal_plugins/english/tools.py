"""List the verbs of tools and commands, and find what says that one failed."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

CHANGES = (
    "write edit create update delete remove add insert append apply patch replace rename move copy save store set put "
    "post book cancel reserve buy pay refund order send submit reply publish deploy install commit push merge transfer "
    "schedule assign upload modify change register enable disable start stop restart kill mkdir touch rm mv cp chmod"
)
LOOKS = (
    "get read search find list look lookup fetch view open show query select load describe inspect browse check "
    "calculate think ls cat head tail grep rg tree pwd cd goto scroll glob which wc stat"
)
REFUSED = lazy_re(r"\W*(?:error|failed|failure|traceback|fatal|invalid|cannot|unable)\b", re.IGNORECASE)
_FAILED = lazy_re(
    r"^Traceback \(most recent call last\)|^\w*(?:Error|Exception): |\b[1-9]\d* (?:failed|errors?)\b|^FAILED\b"
    r"|\b(?:exit(?:ed)?(?: with)?|return) (?:code|status):? [1-9]|command not found|No such file or directory"
    r"|Permission denied|\bfatal: ",
    re.IGNORECASE | re.MULTILINE,
)
_FAILED_CUES = (
    "traceback", "error", "exception:", "failed", "code", "status", "not found", "no such file", "denied", "fatal: ",
)  # fmt: skip
"""Parts of these in small letters, which are quick to find."""
FAILURE_SPOKEN = lazy_re(r"\b(?<!no )(?<!0 )(?:error|failed)\b", re.IGNORECASE)
NAMED_ERROR = lazy_re(r"\b\w*(?:Error|Exception)\b: ")
ERROR_WORDS = lazy_re(r"error|exception|fail|fatal|denied|not found|no such|invalid|cannot|refused|timed? ?out", re.I)
REFUSAL = lazy_re(
    r"(?:i(?:'?m| am) (?:sorry|unable)|sorry|i apologi[sz]e|as an ai|i (?:can'?t|cannot|can not|won'?t))\b",
    re.IGNORECASE,
)
WORKADAY = lazy_re(
    r"alarm|alert|arguments?|block(s|ed|ing)?|conflict(s|ing)?|crash|critical|cuts?|delay(ed)?|drop|dumps?|errors?"
    r"|exclude[ds]?|exploits?|fail(s|ed|ing|ures?)?|fatal|ignore[ds]?|low(er|est)?|missing|no|problems?"
    r"|reject(s|ed)?|stop(s|ped)?|warn(s|ed|ings?)?"
)
"""Words of VADER's lexicon read as plain: they name things in technical work, and without them it judges no worse.
VADER still takes «no» for a negation of what follows."""


def says_failed(output: str) -> bool:
    """Return whether what a program printed says that it failed: a traceback, a count of errors, an exit code."""
    low = output.lower()
    return any(cue in low for cue in _FAILED_CUES) and _FAILED.search(output) is not None
