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
