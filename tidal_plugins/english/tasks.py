"""Find what is to be done, and what says that it is done, in lower-case sentences."""

from __future__ import annotations

from tidal_plugins.english.calendar import ANY_MONTH, WEEKDAY
from tidal_plugins.patterns import lazy_re

OPEN_TASK = lazy_re(
    r"(?:[-*] )?\[ \] (?P<box>.+)"
    r"|(?:.{0,80}?[.:;,] |[-*#/]+ ?)?(?:todo|to-do|to do|action item|action)s?(?: for later)?"
    r"(?: \([^()]*\))?: ?(?P<todo>.+)"
    r"|(?:.{0,80}?[.:;,] )?(?:next steps?|still (?:open|to do|missing)|open (?:issue|task|point|item|action)s?|"
    r"open|to go|on the list|left to do|on your list)(?: is| are)?: ?(?P<left>.+)"
)
INTENTION = lazy_re(
    r"(?:(?:so|and|then|ok|okay|also|but|yes|well|great|perfect|thanks),? )*"
    r"(?:(?:please )?(?:remind me|don't forget|do not forget) to"
    r"|(?:i|we)(?:'ll| will|(?:'m| am|'re| are) going to(?! (?:the|an?|my|our|his|her|their|this|that)\b)"
    r"|'ve (?:still )?got to"
    r"| (?:still |really |also )*(?:need to|have to|must|promised to|plan to|intend to)))"
    r" (?:(?:definitely|also|just|still|really|then|have to|need to|remember to) )*(?P<task>.+)"
)
REMINDER = lazy_re(
    r".*?\b(?:remind (?:me|us)(?: [\w ,]{0,40}?)? (?:to|of|about) (?P<reminded>.+)"
    r"|(?:don't|do not|dont) (?:let me )?forget (?!that\b|it\b|this\b|him\b)(?P<forget>.+)"
    r"|i(?:'ve| have)? promised (?:\w+ )?(?P<promised>.+)"
    r"|(?:i|we) (?:still|also) need (?!to\b)(?P<needed>.+))"
    r"|(?P<due>.+? (?:has|have|needs|need|is|are) to be \w+.*)"
    r"|(?:.*[,;.] ?)?(?P<remaining>[^,;.]*\b(?:\d[\d.,]*|only (?:the|one|two) \w+) (?:to go|left|still missing)\b.*)"
    r"|(?:.*\b)?(?P<owed>\w+ (?:owes?|lent) (?:me|us|him|her|them|you)\b.*)"
    r"|(?P<listed>.+?),? (?:and )?(?:put (?:it|that|this|them) on the list|hold me to it|don'?t let me forget).*"
)
"""Further ways in which a person sets a task: a reminder, a promise, a debt, what is left of a list."""
PROMISE = lazy_re(
    r"(?:i(?:'ll| will) (?:remind (?:you|him|her|them)(?: [^.;]{0,60}?)? (?:to|of|about) (?P<remind>.+)"
    r"|keep (?:it|them|both|that|this|\w+) open: (?P<open>.+)"
    r"|hold you to it: (?P<hold>.+)|bring (?:it|this|that) up (?P<bring>.+))"
    r"|(?P<missing>.+ (?:is|are) still (?:missing|open|not done)\b.*))"
)
"""What an agent keeps for later."""
IDLE_INTENTION = lazy_re(
    r"(?:be|see|think|feel|have|love|like|know|wait|say|admit|miss|try|keep|just|never|always|definitely|look|talk|go|"
    r"come|stay|live|enjoy|use|want|need|get|sleep|rest|relax|hope|believe|agree|not|support|show|reach|focus|stick)\b"
    r"|(?:tell|let) you\b|do (?:it|that|so|my best|our best|more|what)\b|make (?:some|sure|time|it|the most|memories)\b"
    r"|take (?:care|it|a break|your|the bet)\b|give .+ (?:try|shot|go)\b|.*\bhang on"
    r"|find (?:some|joy|a (?:\w+ )?way)\b"
    r"|spread the word|check out|\w+ (?:it|them|these|this|that|everyone)\b"
)
"""Phrases of kindness or habit, and phrases that say «it» without naming a thing."""
_FINISHED = (
    "done", "finished", "completed?", "fixed", "shipped", "resolved", "merged", "deployed", "delivered", "sorted out",
    "taken care of", "all set", r"ready(?! (?:by|for|on|in|at|to)\b)", r"closed(?! (?:in|to)\b)",
    "close (?:it|that|this)", "over with", "handed in", "ordered", "posted", "arrived", "is off", "live since",
)  # fmt: skip
_SETTLED = ("paid", "repaid", "refunded", "settled", "debt[- ]free", "nothing is owed")
_DROPPED = ("no longer needed", "cancel+ed", "scrapped", "dropped", "never mind")
_TICKED = (
    "struck off", "strike (?:it|that|this)", "cross(?:ed)? (?:it |that |this )?off",
    "tick(?:ed)?(?: (?:it|that|both|them|off))?", "no open (?:action|task|item|issue|point)s?",
)  # fmt: skip
TICKED = lazy_re(rf"\b(?:{'|'.join(_TICKED)})\b|\[x\]")
SETTLED = lazy_re(rf"\b(?:{'|'.join(_SETTLED)})\b")
DONE = lazy_re(rf"\b(?:{'|'.join((*_FINISHED, *_SETTLED, *_DROPPED, *_TICKED))})\b|\[x\]")
DONE_AT_ONCE = lazy_re(r"(?:all )?(?:done|finished|completed|all set|sorted|sent|booked|fixed)\b|i(?:'ve| have) ")
DEADLINE = lazy_re(
    rf" (?:(?:by|before|until|this|next|tomorrow|tonight|today|later|soon|first thing|asap|in the|after|when|once)\b"
    rf"|(?:on|at) (?:the )?(?:\d|{WEEKDAY}|{ANY_MONTH}|noon|night|weekends?)).*"
)
"""When a task is due, to the end of the sentence."""
ASSIGNED = lazy_re(
    r"(?:, ?(?:[A-ZÀ-ÖØ-Þ][\w'’-]+(?: [A-ZÀ-ÖØ-Þ][\w'’-]+)?|me|us|no (?:date|deadline|rush)(?: yet)?"
    r"|[Tt][Bb][Dd]|asap))+\W*\Z"
)
"""Whose a task of a list is, and that it has no date, at the end of a sentence as it was written."""
PARTLY = lazy_re(r"\b(?:left|to go|missing|half|part|some|\d[\d.,]* of)\b")
"""Words of a debt that is paid in part."""
UNDENIED = lazy_re(r"\bno longer\b|\bno open\b|\bdon't forget\b|\bdo not forget\b|\bdon't let me forget\b")
"""Words that deny nothing of a task, though one of them denies."""
