"""Find what is quoted: speech, code and blocks. A reader of statements leaves it out."""

from __future__ import annotations

import re

SPEECH = re.compile(r"“[^”]*”|«[^»]*»|„[^“]*“|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
QUOTED = re.compile(rf"{SPEECH.pattern}|`[^`\n]*`")
FENCED = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|^[ \t]*>[^\n]*$")
