"""Regular expressions that are compiled when they are first used, and looks at a text that are quicker than any.

The package has hundreds, whose compiling takes longer than everything else that an import does, and a process uses few.
"""

import re
from typing import Any, cast

from tidal_plugins.cached import cached_property


class _LazyPattern:
    """Compiles itself when it is first asked for a method, and keeps the methods that it was asked for."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._compiled, name)
        setattr(self, name, value)  # found without this method from now on
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        # Without it, whoever copies one asks a pattern that has no text yet, which asks itself without end.
        return _LazyPattern, (self.pattern, self._flags)


def lazy_re(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern as ``re.compile`` does, compiled when it is first used. An error in it shows only then."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


_NO_SPACE = bytes(32 if chr(byte).isspace() and byte < 128 else 120 for byte in range(256))
_DIGITS = b"0123456789"


def may_have_run(text: str, least: int) -> bool:
    """Return whether a text may have so many characters in a row that are no white space. A text without has none."""
    return b"x" * least in text.encode("utf-8", "surrogatepass").translate(_NO_SPACE)


def most_digits(text: str) -> int:
    """Return how many digits a text has at most. One of more than ASCII may have others, at any place."""
    return len(text) - len(text.encode().translate(None, _DIGITS)) if text.isascii() else len(text)
