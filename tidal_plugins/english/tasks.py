"""Find what is to be done, and what says that it is done, in lower-case sentences."""

from __future__ import annotations

import re

OPEN_TASK = re.compile(
    r"(?:[-*] )?\[ \] (?P<box>.+)"
    r"|(?:[-*#/]+ ?)?(?:todo|to-do|to do|action item)s?(?: \([^()]*\))?: ?(?P<todo>.+)"
    r"|(?:next steps?|still (?:open|to do|missing)|open (?:issue|task|point)s?): ?(?P<left>.+)"
)
INTENTION = re.compile(
    r"(?:(?:so|and|then|ok|okay|also|but|yes|well|great|perfect|thanks),? )*"
    r"(?:(?:please )?(?:remind me|don't forget|do not forget) to"
    r"|(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to|'ve (?:still )?got to"
    r"| (?:still |really |also )*(?:need to|have to|must|promised to|plan to|intend to)))"
    r" (?:(?:definitely|also|just|still|really|then|have to|need to|remember to) )*(?P<task>.+)"
)
IDLE_INTENTION = re.compile(
    r"(?:be|see|think|feel|have|love|like|know|wait|say|admit|miss|try|keep|just|never|always|definitely|look|talk|go|"
    r"come|stay|live|enjoy|use|want|need|get|sleep|rest|relax|hope|believe|agree|not|support|show|reach|focus|stick)\b"
    r"|(?:tell|let) you\b|do (?:it|that|so|my best|our best|more|what)\b|make (?:some|sure|time|it|the most|memories)\b"
    r"|take (?:care|it|a break|your|the bet)\b|give .+ (?:try|shot|go)\b|find (?:some|joy|a (?:\w+ )?way)\b"
    r"|spread the word|check out|\w+ (?:it|them|these|this|that|everyone)\b"
)
"""Phrases of kindness or habit, and phrases that say «it» without naming a thing."""
DONE = re.compile(
    r"\b(?:done|finished|completed?|fixed|shipped|resolved|merged|deployed|delivered|sorted out|taken care of|"
    r"no longer needed|cancel+ed|scrapped|dropped|never mind|all set|ready|closed|over with)\b|\[x\]"
)
DONE_AT_ONCE = re.compile(r"(?:all )?(?:done|finished|completed|all set|sorted|sent|booked|fixed)\b|i(?:'ve| have) ")
DEADLINE = re.compile(
    r" (?:by|before|on|at|until|this|next|tomorrow|tonight|today|later|soon|first thing|asap|in the|after|when|once)"
    r"\b.*"
)
