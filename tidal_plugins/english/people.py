"""Find what people say of who they are, and who others are."""

from __future__ import annotations

from tidal_plugins.english.calendar import WEEKDAYS
from tidal_plugins.patterns import lazy_re

_NO_NAME = (
    rf"(?!(?:It|He|She|They|This|That|There|We|You|And|But|So|The|Yes|No|I|My|Same|Well|Right|Over|Still|Not|Only|Now|"
    rf"Up|Just|Also|Nothing|Everything|Someone|Nobody|Everyone|Glad|Happy|Good|Great|Nice|What|Who|Mostly|[A-Z]\w+ly|"
    rf"{'|'.join(day.capitalize() for day in WEEKDAYS)})\b)"
)
_NAME = _NO_NAME + r"[A-ZÀ-ÖØ-Þ][\w'’-]++(?: (?:van|de|der|von|den|[A-ZÀ-ÖØ-Þ][\w'’-]++)){0,5}"
"""A name of up to six words. A longer run of capitalised words is a list, and reading it from each word is slow."""
_KIN = (
    r"(?:wife|husband|partner|spouse|fianc[eé]e?|girlfriend|boyfriend|mother|mom|mum|father|dad|sister|brother|son|"
    r"daughter|uncle|aunt|cousin|grand\w+|nephew|niece|boss|manager|colleague|neighbou?r|flatmate|roommate|friend|"
    r"landlord|landlady|doctor|dentist|physio|therapist|lawyer|accountant|assistant|teacher|coach|contact|team lead)"
)
NAMING = lazy_re(r"(?i:\b(?:my name is|i'm called|i am called|call me) )(?=[A-Z])")
"""The words by which people say what they are called: «Call me Ines.» is no request."""
_CLAUSE = r"(?i:(?:\A|[.,;:!?(–—-] ?|\b(?:and|but|so|because|since|as|now|currently) )"
"""The beginning of a clause of its own: not «the street where I live»."""
SELF = lazy_re(
    rf"{NAMING.pattern}"
    rf"|\b(?:I'm|I am|[Ii]t's|[Tt]his is) {_NAME}(?=[.,!]|$| (?:and|from|the|I|here)\b)|(?:\A|[.!?(] ?|"
    rf"\b(?:[Hh]i|[Hh]ello|[Hh]ey),? )\(?{_NAME} here(?=[.,!:;)]|$| (?:from|with|again|and)\b)"
    rf"|{_CLAUSE}i (?:work|live|study|teach|took over|moved (?:to|from|here|in)|start (?:as|at|in|on|my|the|"
    rf"with|next|work)|"
    r"(?:lead|run) (?:the|an?|our|my)(?! (?:\w+ )?(?:risk|race|marathon|k|miles?)\b))\b(?! (?:it|that|this|out|"
    r"up|on)\b))"
    r"|(?i:\bi(?:'m| am) (?:the|from|based|an?) (?!(?:\w+ ){0,3}(?:bit|little|fan|lot|mess|shame|pity)\b)\w+)"
    r"|(?i:\bi (?:signed (?:the|my|a|an) |have a new (?:job|role|position|employer|address|flat|home|name|"
    r"number|boss)))"
)
"""What people say of who they are, in a sentence as it was written."""
_IN_CHARGE = (
    r"(?:owns|leads|builds|manages|handles|maintains|signs off|looks after|does (?:our|my|the)|"
    r"has (?:it|that|the \w+(?: \w+)?) now|has the (?:pager|keys?|lead|contract))"
)
CONTACT = lazy_re(
    rf"(?i:\b(?:my|our|her|his|their) (?:\w+ )?{_KIN}),?(?: (?i:is|is called|called|at \w+(?: is)?),?)? ?"
    r"[A-ZÀ-ÖØ-Þ][\w'’-]+"
    rf"|\b{_NAME} (?:is|was) (?:my|our|the|her|his|their|[A-Z]{{2,4}}\b)"
    rf"|\b{_NAME}(?: in \w+)? {_IN_CHARGE}\b"
    rf"|\b{_NAME}, (?:my|our|the) {_KIN}\b"
    r"|(?<![\w.+-])[\w.+-]++@[\w-]++\.\w|(?<![\w-])(?:\+|00)\d[\d ()-]{7,}\d"
    r"|(?i:\b(?:phone|call|ring|reach|text|mobile|cell|tel|extension)\b[^.\n]{0,40}?\d[\d ()-]{6,}\d)"
)
"""What is said of who somebody is and how to reach them, in a sentence as it was written."""
