"""List the words of subjects and roles that tell something of people and things, or nothing."""

from __future__ import annotations

import re

from tidal_plugins.english.calendar import WEEKDAYS
from tidal_plugins.english.stop_words import STOP_WORDS
from tidal_plugins.patterns import lazy_re

NOBODY = STOP_WORDS.union(WEEKDAYS) | frozenset(
    "everyone everybody nobody someone somebody anyone anybody people mom mum dad mother father grandma grandpa god "
    "life time everything nothing something which".split()
)
NOTHING = STOP_WORDS | frozenset(
    "problem thing issue point idea question answer reason result goal plan trick fact truth rest first last next "
    "way latter former case difference outcome story hope day time moment people man woman world book film movie novel "
    "game".split()
)
OPINION = lazy_re(
    r"\b(?:great|good|better|fantastic|excellent|perfect|wonderful|amazing|awesome|terrible|horrible|bad|weird|strange|nice|"
    r"lovely|beautiful|true|real|total|complete|notoriously|very|really|valuable|essential|important|popular|ideal|"
    r"powerful|useful|helpful|fun|idea|fit|place|choice|masterpiece|guy|hero|AI|mess|joke|disaster|shame|pity|pain|"
    r"nightmare|dream|testament|reminder|manifestation|must)\b",
    re.IGNORECASE,
)
COURTEOUS_DUTY = lazy_re(
    r"(?:be|feel|know|love|hate|think|mean|try|check|ask|go|get|agree|apologi[sz]e|thank|remind|see|visit|read|watch|look|"
    r"remember|tell|warn|add|note|stress|insist)\b",
    re.IGNORECASE,
)
ROLE = lazy_re(  # what people are, and things are not
    r"\b(?:engineer|designer|developer|programmer|manager|teacher|doctor|nurse|lawyer|dancer|singer|writer|painter|artist|"
    r"musician|pianist|cellist|scientist|researcher|student|professor|consultant|accountant|architect|analyst|chef|cook|"
    r"baker|farmer|gardener|carpenter|plumber|electrician|driver|pilot|judge|journalist|editor|photographer|dentist|vet|"
    r"clerk|coach|intern|freelancer|founder|director|maintainer|administrator|admin|colleague|neighbou?r|translator)$",
    re.IGNORECASE,
)
