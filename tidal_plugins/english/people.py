"""Find what people say of themselves and of others: who they are, what must be known of them for good."""

from __future__ import annotations

import re

from tidal_plugins.english.calendar import WEEKDAYS

_NO_NAME = (
    rf"(?!(?:It|He|She|They|This|That|There|We|You|And|But|So|The|Yes|No|I|My|"
    rf"{'|'.join(day.capitalize() for day in WEEKDAYS)})\b)"
)
_NAME = _NO_NAME + r"[A-ZÀ-ÖØ-Þ][\w'’-]+(?: (?:van|de|der|von|den|[A-ZÀ-ÖØ-Þ][\w'’-]+))*"
_KIN = (
    r"(?:wife|husband|partner|spouse|fianc[eé]e?|girlfriend|boyfriend|mother|mom|mum|father|dad|sister|brother|son|"
    r"daughter|uncle|aunt|cousin|grand\w+|nephew|niece|boss|manager|colleague|neighbou?r|flatmate|roommate|friend|"
    r"landlord|landlady|doctor|dentist|physio|therapist|lawyer|accountant|assistant|teacher|coach|contact|team lead)"
)
SELF = re.compile(
    rf"(?i:\b(?:my name is|i'm called|i am called|call me) )(?=[A-Z])"
    rf"|\b(?:I'm|I am|[Ii]t's|[Tt]his is) {_NAME}(?=[.,!]|$| (?:and|from|the|I|here)\b)|\b{_NAME} here\b"
    r"|(?i:\bi (?:work|live|study|teach|start|took over|moved|lead|run)\b(?! (?:it|that|this|out|up|on)\b))"
    r"|(?i:\bi(?:'m| am) (?:the|from|based|an?) (?!bit|little|fan|lot|mess)\w+)|(?i:\bi (?:signed|have a new) )"
)
"""What people say of who they are, in a sentence as it was written."""
LASTING = re.compile(
    r"\b(?:allerg\w+|intoleran\w+|epipen|anaphyla\w+|emergency room|diabet\w+|asthma\w*|coeliac|celiac|penicillin|"
    r"pacemaker|stent|pregnan\w+|vegan|vegetarian|kosher|halal|medicines?|medication|tablets?|prescri\w+|insulin|"
    r"\d+ ?(?:mg|mcg|micrograms?|milligrams?)|don't get on)\b",
    re.IGNORECASE,
)
"""What must be at hand whenever somebody is cared for: allergies, medicines, conditions, diets."""
CONTACT = re.compile(
    rf"(?i:\b(?:my|our|her|his|their) (?:\w+ )?{_KIN}),?(?: (?i:is|is called|called|at \w+(?: "
    rf"is)?),?)? ?[A-ZÀ-ÖØ-Þ][\w'’-]+"
    rf"|\b{_NAME} (?:is|was) (?:my|our|the|her|his|their|[A-Z]{{2,4}}\b)"
    rf"|\b{_NAME}(?: in \w+)? (?:owns|leads|builds|manages|handles|maintains|signs off|looks after|does (?:our|my|the)|"
    rf"has (?:it|that) now|has the)\b"
    rf"|\b{_NAME}, (?:my|our|the) {_KIN}\b|[\w.+-]+@[\w-]+\.\w|\+?\d[\d ()-]{{7,}}\d"
)
"""What is said of who somebody is, in a sentence as it was written."""
RULES = re.compile(
    r"\b(?:from now on|(?:house |new |standing )?rules?\b(?! of)|is banned|are banned|forbidden|not allowed|"
    r"never (?!been|had|said|told|thought|asks?|knew|mind|have|did|was|again)\w+|always (?!liked|"
    r"wanted|been|has|have|had)\w+|"
    r"(?<!i )(?<!we )must (?:not |be |never |always )?\w+|at most|make sure (?:to|that)|please stick|"
    r"a habit|everywhere please|"
    r"(?:use|uses) [\w-]+,? (?:not|instead of|never) |no \w+ anywhere|don't ever|do not ever|only "
    r"(?:for|with|if|when|on))\b"
    r"|\b(?:can|could|would|will) you (?:please )?(?:be|keep|stop|always|answer|write|reply|"
    r"speak)\b.*\b(?:your|answers?|"
    r"summar\w+|repl\w+|messages|shorter|brief\w*|concise|formal\w*|emojis?)\b|\bnot \w+\. (?:and "
    r")?never\b|, not \w+[.]?$",
    re.IGNORECASE,
)
"""What people lay down for good."""
