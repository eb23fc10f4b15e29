"""List the words by which a person asks somebody for something without a question mark."""

from __future__ import annotations

import re

_FILLERS = (
    "and so then now ok okay well also but oh hey hi hello yes yeah yep no please thanks right alright great good "
    "perfect just next first maybe instead"
).split()
_VERBS = (
    "add adjust analyse analyze answer apply arrange ask book brainstorm break bring build calculate call cancel "
    "change check choose clean compare continue convert correct create define delete describe design develop "
    "double draft email estimate expand explain extract figure fill find finish fix focus generate get give go "
    "guide help highlight improve include keep let lets list look make move name note open order organise "
    "organize outline pick plan prepare proceed provide pull put read recommend redo refine remind remove rename "
    "repeat replace rephrase research resume revise rewrite roll run save schedule search send set share shorten "
    "show simplify skip sort start stop strike suggest summarise summarize swap take tell test tick translate try "
    "turn update use verify walk write"
).split()
_ASKING = "what when where who whose whom which why how".split()
_AUXILIARIES = "is are do does did can could would will should may shall was were has have".split()

REQUEST = re.compile(
    rf"\A(?:(?:{'|'.join(_FILLERS)})[,.! ]+)*+(?:(?:{'|'.join(_VERBS)}|don't|do not|{'|'.join(_ASKING)})\b"
    rf"|(?:{'|'.join(_AUXILIARIES)}) (?:i|you|we|it|he|she|they|there|the|my|our|that|this|anyone|anybody|somebody)\b)"
    r"|\b(?:(?:can|could|would|will) you|please|(?:remind|tell|give|show|help) me|let me know|let['’]?s)\b"
    r"|\bi(?:['’]d| would| want| need)\b|\b(?:can['’]?t|cannot|hoping|wish|wondering|struggling)\b",
    re.IGNORECASE,
)
"""A sentence that begins like a question or an order, or has words of a request, a wish or a want of help."""
