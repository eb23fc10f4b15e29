"""Declarations and imports in languages other than Python, read from the form of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidal_plugins.graph.reading.mentions import mention
from tidal_plugins.model.graph import Assertion, Mention
from tidal_plugins.patterns import lazy_re

SURE = 0.9
"""Confidence of a declaration that is read from the form of its line."""

_JS = frozenset("js jsx ts tsx javascript typescript mjs cjs vue svelte".split())
SCRIPT = _JS | frozenset(
    "python py go golang rust rs java kotlin kt c cpp c++ cs csharp ruby rb php swift scala dart".split()
)
"""Languages whose declarations are read."""

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|abstract|final|sealed|async|pub(?:\(\w+\))?|"
    r"declare|open|data|override|unsafe|partial)\s+){0,4}"
)
_IMPORT = lazy_re(
    r"\s*+(?:import\s+(?:[^'\"\n]{0,200}?\sfrom\s+)?['\"](?P<js>[^'\"\n]+)['\"]"
    r"|(?:use|using|import)\s+(?:static\s+)?(?P<path>[A-Za-z_]\w*(?:(?:::|\.|\\)\w+)+)\s*[;{]?"
    r"|#include\s+[<\"](?P<c>[^>\"\n]+)[>\"])"
)
_REQUIRE = lazy_re(r"\brequire\(['\"](?P<js>[^'\"\n]+)['\"]\)")
_FUNCTION = lazy_re(
    rf"\s*+{_MODIFIERS}(?:function\*?|func|fn|fun|def)\s+(?:\([^()\n]{{0,100}}\)\s*)?(?P<name>[^\W\d]\w*)\s*[(<\[]"
)
_ARROW = lazy_re(
    r"\s*+(?:export\s+)?(?:const|let|var)\s+(?P<name>[^\W\d]\w*)\s*(?::[^=\n]{0,100})?=\s*(?:async\s*)?"
    r"(?:\([^()\n]{0,200}\)|[^\W\d]\w*)\s*(?::[^=\n]{0,80})?=>"
)
_CLASS = lazy_re(
    rf"\s*+{_MODIFIERS}(?:class|interface|struct|trait|enum|type|protocol|record)\s+(?P<name>[A-Z]\w*)"
    r"(?:<[^<>\n]{0,80}>)?(?:\s+(?:extends)\s+(?P<base>[A-Z]\w*))?(?=\s*(?:[\s{(:=<;]|$))"
)
_ENVIRONMENT = lazy_re(r"(?:process\.env\.|env::var\(\"|getenv\(\"|Getenv\(\"|ENV\[['\"])(?P<name>[A-Z][A-Z0-9_]+)")


def declared(text: str, start: int, line: str, language: str, file: Mention | None) -> Iterator[Assertion | Mention]:
    """Yield what a line that begins at ``start`` declares or imports."""
    if line.lstrip().startswith(("//", "*", "/*", "# ")):
        return
    for match in filter(None, (_IMPORT.match(line), _REQUIRE.search(line) if language in _JS else None)):
        group = next(name for name, said in match.groupdict().items() if said)
        yield from _placed(
            mention(text, "module", start + match.start(group), start + match.end(group)), "imports", file
        )
    for type, pattern in (("function", _FUNCTION), ("function", _ARROW), ("class", _CLASS)):
        found = pattern.match(line)
        if found:
            name = mention(text, type, start + found.start("name"), start + found.end("name"))
            yield from _placed(name, "defined_in", file)
            yield from _based(text, start, name, found)
    for variable in _ENVIRONMENT.finditer(line):
        yield mention(text, "variable", start + variable.start("name"), start + variable.end("name"))


def _placed(name: Mention, predicate: str, file: Mention | None) -> Iterator[Assertion | Mention]:
    yield name
    if file and predicate == "imports":
        yield Assertion(file, predicate, name, name.start, name.end, SURE)
    elif file:
        yield Assertion(name, predicate, file, name.start, name.end, SURE)


def _based(text: str, start: int, name: Mention, found: re.Match[str]) -> Iterator[Assertion]:
    if found.groupdict().get("base"):
        base = mention(text, "class", start + found.start("base"), start + found.end("base"))
        yield Assertion(name, "extends", base, name.start, base.end, SURE)
