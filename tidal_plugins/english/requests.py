"""Find sentences that ask somebody to do something: the infinitives of work, and the words of courtesy."""

from __future__ import annotations

import re

from tidal_plugins.english.clauses import LEAD
from tidal_plugins.english.questions import ASKING, AUXILIARIES, SOMEBODY
from tidal_plugins.patterns import lazy_re

_ORDERS = (
    "act add adjust analyse analyze answer apply arrange ask attach book build bump calculate call cancel change check "
    "choose close commit compare continue convert copy correct create cross define delete deploy describe disable do "
    "draft drop edit enable estimate explain export extract find fix format generate get give guide highlight "
    "identify implement import improve include install introduce keep lift list look make mark merge move name open "
    "order organise organize outline page paraphrase pass pick plan port post prepare print push put raise re-send "
    "read rebuild recreate redo refine remind remove rename repeat rephrase replace research resend restart resume "
    "revert review revise rewrite roll run save schedule search send set ship shorten show simplify skip sort start "
    "stop strike suggest summarise summarize swap switch take tell test tick translate try turn undo update upgrade "
    "use verify wait watch write"
).split()
_AMBIGUOUS = (
    "brainstorm break bring clean design develop don't double email expand figure fill finish focus go help let lets "
    "note output proceed provide pull recommend share walk"
).split()
"""Words that begin an order as often as a statement, a heading or advice: «note for Anna: …», «double charge»."""

REQUEST = lazy_re(
    rf"\A{LEAD}(?:(?:{'|'.join((*_ORDERS, *_AMBIGUOUS, *ASKING))}|do not)\b|(?:{'|'.join(AUXILIARIES)}) {SOMEBODY}\b)"
    r"|\b(?:(?:can|could|would|will) you|please|(?:remind|tell|give|show|help) me|let me know|let['’]?s)\b"
    r"|\bi(?:['’]d| would| want| need)\b|\b(?:can['’]?t|cannot|hoping|wish|wondering|struggling)\b"
    r"|\b(?:(?:don|doesn|didn)['’]?t (?:remember|recall|know)|not sure|no idea|any idea|looking for|wants? to know)\b"
    rf"|\b(?:ask(?:s|ed|ing)?|wonders?|forgot|forgotten|forget|remember|recall) (?:[\w'’]+ ){{0,3}}"
    rf"(?:{'|'.join(ASKING)}|if|whether)\b",
    re.IGNORECASE,
)
"""A sentence that begins like a question or an order, or has words of a request, a wish, a want of help, or of what
somebody has forgotten or asks."""
RULE = lazy_re(
    r"\b(?:always|never|must|mustn't|from now on|rule|rules|banned|forbidden|not allowed|no longer|at most|only ever|"
    r"instead of|rather than|please stick|whenever|every time|nobody|no one|no \w+ (?:before|after|on|without)\b)\b"
    r"|, not\b|\bnot \w+[.!]?\Z",
    re.IGNORECASE,
)
"""What makes an order one that holds for good, or a decision: it is a statement then."""
_ORDER = lazy_re(rf"{LEAD}(?:{'|'.join(_ORDERS)}|have)\b(?!-|\s+(?:is|are|was|were|has|ran|will)\b)", re.IGNORECASE)
"""The beginnings of orders: the infinitive of a verb of work. «Have a nice day» is a wish, and no REQUEST."""
_POLITE = lazy_re(
    rf"{LEAD}(?:please\b|(?:can|could|would|will)\s+(?:you|we)\b|(?:let\s+me\s+know|"
    r"tell\s+(?:me|him|her|them|us|mum|dad)|(?:show|give|help|hold)\s+me|remind\s+\w+|forget\s+(?:that|it|this)|"
    r"have\s+a\s+look|look\s+(?:it|this|that)\s+up|do\s+(?:it|that|so|both)|go\s+(?:ahead|on)|hang\s+on|make\s+sense|"
    r"let'?s\s+(?:dive|see|look|talk|jump|continue|keep\s+going|get\s+(?:started|going|moving|this|back)|"
    r"move\s+(?:on|from\s+(?:this|that|these|those))|do\s+(?:it|this|that)))\b)"
    r"|.*\bplease\W*\Z|[^,]*,\s*(?:just\s+|then\s+)?(?:show|give|tell|send)\s+me\b",
    re.IGNORECASE | re.DOTALL,
)
"""Requests in the words of courtesy, and those that name nothing."""


def requests(sentence: str) -> bool:
    """Return whether a sentence only asks somebody to do something now. A rule and a decision state something."""
    plain = sentence.replace("’", "'").strip()
    if RULE.search(plain):
        return False
    return _POLITE.match(plain) is not None or _ORDER.match(plain) is not None
