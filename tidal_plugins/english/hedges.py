"""Find the words that make a sentence less than a plain statement of the present: doubt, hearsay, wishes, plans."""

from __future__ import annotations

import re

DOUBT = re.compile(  # what says, anywhere in a sentence, that it is no plain statement of the present
    r"\b(?:if|unless|whether|when|whenever|suppose|supposing|assum\w+|imagin\w+|pretend\w*|hypothetical\w*|as though|"
    r"wish\w*|hop(?:e|es|ed|ing)|think|thinks|thought|believ\w+|guess\w*|feels? like|seem\w*|wonder\w*|doubt\w*|unsure|"
    r"maybe|perhaps|probably|possibly|presumably|apparently|allegedly|supposedly|reportedly|likely|not sure|not true|"
    r"heard|hear|rumou?rs?|says?|said|claim\w*|told|tells?|according to|asked|asks|used to|was once|formerly|"
    r"previously|at the time|back then|in those days|once upon|until recently|no longer true|for example|e\.g|"
    r"for instance|let's say|in the (?:story|book|film|movie|game|novel|song|dream)|dream(?:t|ed)?|"
    r"joke|joking|kidding)\b",
    re.IGNORECASE,
)
MODAL = re.compile(  # the same, of what comes before the claim has been made
    r"\b(?:would|could|might|(?-i:may)|should|shall|will|must|can|wo|gonna|going to|about to|want\w*|expect\w*|"
    r"plan(?:s|ned|ning)?\s+(?:to|on|for)|how|why|where|who|what)\b|['’](?:ll|d)\b",
    re.IGNORECASE,
)
