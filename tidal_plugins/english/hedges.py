"""What makes a sentence no plain statement of the present: questions aside, doubt, hearsay, wishes, quotations, code.

Shared by whatever reads statements by rules: precision before recall.
"""

from __future__ import annotations

import re

ADVERB = (
    r"(?:now|currently|again|still|actually|already|officially|definitely|really|indeed|unfortunately|sadly|just|"
    r"completely|totally|fully|permanently|temporarily|also|finally)"
)
BEFORE = (  # what may stand before the subject; anything else makes it another thing, or another's words
    r"(?:\A|[.;,!()\n–—]|(?<!\w)(?:note|remember|update|correction|reminder|fyi|ps|news|warning|careful|"
    r"attention|heads[- ]up):|"  # any other colon is a title's, or another speaker's
    r"(?<!\w)(?:and|but|so|then|now|however|note|remember|fyi|update|correction|also|today|actually|"
    r"unfortunately|sorry|yes|ok|okay|turns out|note that|remember that|confirmed that|it turns out that|since|"
    r"because)(?!\w))[\s*\-•\"]*+"
)
TRAIL = re.compile(
    rf"(?:\s+(?:{ADVERB}|today|tonight|anymore|any more|at the moment|right now|for now|as well|too|please|\.+))+$",
    re.IGNORECASE,
)
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
SPEECH = re.compile(r"“[^”]*”|«[^»]*»|„[^“]*“|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
QUOTED = re.compile(rf"{SPEECH.pattern}|`[^`\n]*`")
FENCED = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|^[ \t]*>[^\n]*$")
