"""Find what is quoted: speech, code and blocks. A reader of statements leaves it out."""

from __future__ import annotations

from tidal_plugins.patterns import lazy_re

SPEECH = lazy_re(r"“[^”]*”|«[^»]*»|„[^“]*“|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
QUOTED = lazy_re(rf"{SPEECH.pattern}|`[^`\n]*`")
FENCED = lazy_re(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|^[ \t]*>[^\n]*$")
