"""Packages that an install command names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidal_plugins.graph.reading.vocabulary import mention
from tidal_plugins.model.graph import Mention
from tidal_plugins.patterns import lazy_re

_COMMAND = lazy_re(
    r"\b(?:pip3?|uv(?: pip)?|npm|pnpm|yarn|poetry|cargo|gem|conda|bun)\s(?:install|add|i)(?=\s)(?P<rest>[^\n|;&`]*)"
)
_NAME = lazy_re(r"(?P<name>@?[A-Za-z][\w./-]*)(?:\[[\w,-]*\])?(?:(?:==|@)[\^~]?(?P<version>\d[\w.+-]*)|[><~!]=.*)?")
_TAKES_VALUE = frozenset("-r -c -i -f -t -e -p --requirement --constraint --index-url --group --features".split())


def installed(text: str, start: int, end: int) -> Iterator[Mention]:
    """Yield the packages that the commands in ``text[start:end]`` install, each followed by its version, if pinned."""
    for command in _COMMAND.finditer(text, start, end):
        skipped = False
        for word in re.finditer(r"[^\s'\"]+", command["rest"]):
            name = _NAME.fullmatch(word[0])
            if name and not skipped and not word[0].endswith((".txt", "/")):
                offset = command.start("rest") + word.start()
                yield mention(text, "package", offset + name.start("name"), offset + name.end("name"))
                if name["version"]:
                    yield mention(text, "version", offset + name.start("version"), offset + name.end("version"))
            skipped = word[0] in _TAKES_VALUE
