"""Find what people say of who they are, and who others are."""

from __future__ import annotations

import re

from tidal_plugins.english.calendar import WEEKDAYS

_NO_NAME = (
    rf"(?!(?:It|He|She|They|This|That|There|We|You|And|But|So|The|Yes|No|I|My|"
    rf"{'|'.join(day.capitalize() for day in WEEKDAYS)})\b)"
)
_NAME = _NO_NAME + r"[A-ZÀ-ÖØ-Þ][\w'’-]++(?: (?:van|de|der|von|den|[A-ZÀ-ÖØ-Þ][\w'’-]++)){0,5}"
"""A name of up to six words. A longer run of capitalised words is a list, and reading it from each word is slow."""
_KIN = (
    r"(?:wife|husband|partner|spouse|fianc[eé]e?|girlfriend|boyfriend|mother|mom|mum|father|dad|sister|brother|son|"
    r"daughter|uncle|aunt|cousin|grand\w+|nephew|niece|boss|manager|colleague|neighbou?r|flatmate|roommate|friend|"
    r"landlord|landlady|doctor|dentist|physio|therapist|lawyer|accountant|assistant|teacher|coach|contact|team lead)"
)
NAMING = re.compile(r"(?i:\b(?:my name is|i'm called|i am called|call me) )(?=[A-Z])")
"""The words by which people say what they are called: «Call me Ines.» is no request."""
SELF = re.compile(
    rf"{NAMING.pattern}"
    rf"|\b(?:I'm|I am|[Ii]t's|[Tt]his is) {_NAME}(?=[.,!]|$| (?:and|from|the|I|here)\b)|\b{_NAME} here\b"
    r"|(?i:\bi (?:work|live|study|teach|start|took over|moved|lead|run)\b(?! (?:it|that|this|out|up|on)\b))"
    r"|(?i:\bi(?:'m| am) (?:the|from|based|an?) (?!bit|little|fan|lot|mess)\w+)|(?i:\bi (?:signed|have a new) )"
)
"""What people say of who they are, in a sentence as it was written."""
_IN_CHARGE = (
    r"(?:owns|leads|builds|manages|handles|maintains|signs off|looks after|does (?:our|my|the)|"
    r"has (?:it|that) now|has the)"
)
CONTACT = re.compile(
    rf"(?i:\b(?:my|our|her|his|their) (?:\w+ )?{_KIN}),?(?: (?i:is|is called|called|at \w+(?: is)?),?)? ?"
    r"[A-ZÀ-ÖØ-Þ][\w'’-]+"
    rf"|\b{_NAME} (?:is|was) (?:my|our|the|her|his|their|[A-Z]{{2,4}}\b)"
    rf"|\b{_NAME}(?: in \w+)? {_IN_CHARGE}\b"
    rf"|\b{_NAME}, (?:my|our|the) {_KIN}\b"
    r"|(?<![\w.+-])[\w.+-]++@[\w-]++\.\w|\+?\d[\d ()-]{7,}\d"
)
"""What is said of who somebody is and how to reach them, in a sentence as it was written."""
