"""Code in fenced blocks: each block is read as its language, code by the outline that its grammar gives."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from tidal_plugins.cached import cached_property
from tidal_plugins.graph.code.outline import Call, Definition, Import, Outline, language_named, outline
from tidal_plugins.graph.reading.mentions import EXTENSIONS, installed, mention, named
from tidal_plugins.model.graph import Assertion, Mention
from tidal_plugins.patterns import lazy_re

SURE = 0.95
"""Confidence of what code says."""
PINNED = 0.85
"""Confidence of a version or a value that stands beside its name, such as ``requests==2.31.0``."""
MAX_LINE = 500
"""Characters of a line that is read. Longer lines are data."""
MAX_VALUE = 200
"""Characters of a setting's value."""
MAX_SPAN = 300
"""Characters of code that are evidence for one statement."""
MAX_MARK = 12
"""Characters before an error in which ``throw new`` stands."""
REACH = 1_000
"""Characters behind the beginning of a statement in which a name of it is looked for."""

_FENCE = lazy_re(r"(?ms)^[ \t]*(?P<mark>```|~~~)`*(?P<info>[^\n`]*)\n(?P<body>.*?)(?:^[ \t]*(?P=mark)`*|\Z)")
_TITLE = lazy_re(rf"[\w./@-]*[\w@-]\.{EXTENSIONS}(?![\w.])")
_HEADING = lazy_re(rf"\s*(?:#|//|--|/\*)\s*(?:file:\s*)?(?P<path>[\w./@-]*[\w@-]\.{EXTENSIONS})\s*(?:\*/)?\s*$")
_LEAD = lazy_re(rf"(?P<path>[\w./@-]*[\w@-]\.{EXTENSIONS})`?\**:?\**\s*\n?\Z")
_LEAD_LENGTH = 200
_LOOKS_PYTHON = lazy_re(r"(?m)^(?:async def |def |class |import \w|from [\w.]+ import )")
_TRACE = lazy_re(r'^\s*File "(?P<path>[^"\n]{1,300})", line \d+(?:, in (?P<function>[^\s<>]+))?')
_RAISED = lazy_re(r"^(?P<error>[A-Za-z_][\w.]*)(?:: (?P<message>.+))?$")
_PAIR = lazy_re(r"""\s*+(?:-\s+|export\s+)?["']?(?P<key>[A-Za-z_][\w.-]*)["']?\s*(?P<mark>[:=])\s*(?P<value>\S.*)$""")
_JSON_PAIR = lazy_re(
    r'"(?P<key>[\w.-]{1,80})"\s*:\s*(?:"(?P<text>[^"\\\n]{1,200})"|(?P<value>-?\d[\d.eE+-]*|true|false))'
)
_SETTINGS = {
    **dict.fromkeys("yaml yml".split(), ":"),
    **dict.fromkeys("toml ini env dotenv properties conf cfg".split(), "="),
}
_CONSTANT = lazy_re(r"(?m)^(?P<name>[A-Z][A-Z0-9_]+)\s*(?::[^=\n]{1,80})?=(?!=)")
_ENVIRONMENT = lazy_re(
    r"(?:\benviron(?:\.get)?[\[(]['\"]|getenv\(['\"]|process\.env\.|env::var\(\"|Getenv\(\"|ENV\[['\"])(?P<name>[A-Z][A-Z0-9_]+)"
)
_RAISING = lazy_re(r"\b(?:raise|throw|throw new)\s+\Z")
_BUILTINS = frozenset(dir(builtins))
_SHELL = frozenset("sh bash shell zsh console terminal powershell".split())
_PLAIN = frozenset("text txt log output requirements plaintext".split())

Found = Iterator[Assertion | Mention]


@dataclass(frozen=True, slots=True)
class Block:
    """Code in ``text[start:end]``, and the name of its file if the text gives it."""

    text: str
    start: int
    end: int
    language: str
    file: Mention | None = None


def blocks(text: str) -> Iterator[tuple[re.Match[str], Block]]:
    """Yield the fenced blocks of a text with their positions."""
    for fence in _FENCE.finditer(text):
        info = fence["info"][:_LEAD_LENGTH].strip().strip("{}").lstrip(".")
        language = re.split(r"[\s:,{]", info, maxsplit=1)[0].lower()
        yield fence, Block(text, *fence.span("body"), language, _file(text, fence))


def whole(text: str) -> Block | None:
    """Return the whole text as one block if it is Python."""
    found = outline(text, "python") if _LOOKS_PYTHON.search(text) and "```" not in text else None
    return Block(text, 0, len(text), "python") if found and not found.damaged else None


def read(block: Block) -> Found:
    """Yield what a block of code names and says."""
    if block.file:
        yield block.file
    language = block.language
    if not language and _LOOKS_PYTHON.search(block.text, block.start, block.end):
        language = "python"
    if language in _SETTINGS:
        yield from _settings(block)
    elif language in ("json", "jsonc", "json5"):
        yield from _json(block)
    elif not language or language in _SHELL | _PLAIN:
        yield from _plain(block)
    elif grammar := language_named(language):
        found = outline(block.text[block.start : block.end], grammar)
        yield from _Outlined(block, found).said() if found else _plain(block)


def traceback(block: Block) -> Found:
    """Yield the frames of a Python traceback and the error that the last of them raised."""
    last, inside = None, False
    for start, line in lines(block):
        frame = _TRACE.match(line)
        if frame:
            inside = True
            path = mention(block.text, "file", start + frame.start("path"), start + frame.end("path"))
            yield path
            last = None
            if frame["function"]:
                last = mention(block.text, "function", start + frame.start("function"), start + frame.end("function"))
                yield Assertion(last, "defined_in", path, path.start, last.end, SURE)
        elif inside and line and not line[0].isspace():
            inside = False
            yield from _raised(block.text, start, line, last)


def pinned(text: str, names: list[Mention]) -> Iterator[Assertion]:
    """Yield the versions and values that stand beside their names."""
    for one, two in pairwise(names):
        between = text[one.end : two.start]
        if two.type == "version" and one.type == "package" and between.rstrip("^~") in ("==", "@"):
            yield Assertion(one, "has_version", two, one.start, two.end, PINNED)
        elif two.type == "value" and between == "=":
            yield Assertion(one, "configured_as", two, one.start, two.end, PINNED)


def lines(block: Block) -> Iterator[tuple[int, str]]:
    """Yield the lines of a block that are short enough to read, each with its start."""
    start = block.start
    for line in block.text[block.start : block.end].split("\n"):
        if len(line) <= MAX_LINE:
            yield start, line.rstrip("\r")
        start += len(line) + 1


@dataclass
class _Outlined:
    """The outline of a block. A name stands in the line that the outline gives, or soon after."""

    block: Block
    found: Outline

    def said(self) -> Found:
        """Yield what the block imports, defines, extends and calls, and the variables that it names."""
        text, block = self.block.text, self.block
        for each in self.found.imports:
            yield from self._import(each)
        for one in self.found.definitions.values():
            yield from self._defined(one)
        for base in self.found.bases:
            other = self._at("class", base.base, base.line) if base.base not in _BUILTINS else None
            if other and base.name in self.names:
                yield _stated(self.names[base.name], "extends", other)
        for call in self.found.calls:
            yield from self._called(call)
        for pattern in (_CONSTANT, _ENVIRONMENT):
            for match in pattern.finditer(text, block.start, block.end):
                yield mention(text, "variable", *match.span("name"))

    @cached_property
    def starts(self) -> list[int]:
        lines = self.block.text[self.block.start : self.block.end].split("\n")
        return [*accumulate((len(line) + 1 for line in lines), initial=self.block.start)]

    @cached_property
    def names(self) -> dict[str, Mention]:
        """Return where the names of definitions stand."""
        found = self.found.definitions.values()
        places = {one.name: self._at(one.kind, one.name.rpartition(".")[2], one.line) for one in found}
        return {name: place for name, place in places.items() if place}

    @cached_property
    def imported(self) -> frozenset[str]:
        return frozenset(name for one in self.found.imports for name in one.names)

    def _import(self, one: Import) -> Found:
        module = self._at("module", one.module, one.line, before="['\"]") or self._at("module", one.module, one.line)
        if module:
            yield module
        if module and self.block.file:
            yield Assertion(self.block.file, "imports", module, module.start, module.end, SURE)
        for name in filter(None, one.names.values()):
            type = "variable" if name.isupper() else "class" if name[0].isupper() else "symbol"
            yield from filter(None, [self._at(type, name, one.line, beside=module)])

    def _defined(self, one: Definition) -> Found:
        name = self.names.get(one.name)
        if name is None or name.name == "constructor" or (name.name.startswith("__") and name.name.endswith("__")):
            return  # every class has one
        yield name
        if one.owner in self.names:
            yield _stated(self.names[one.owner], "contains", name)
        elif self.block.file:
            yield Assertion(name, "defined_in", self.block.file, name.start, name.end, SURE)

    def _called(self, call: Call) -> Found:
        """Yield a call of what the block defines or imports; of Python also one of a name that it leaves open."""
        caller = self.names.get(call.caller or "")
        name, defined, known = call.name, self.found.definitions, False
        if call.of is None:
            known = name in defined or name in self.imported
        elif call.of in self.imported:
            name, known = f"{call.of}.{name}", True
        else:
            known = f"{call.of}.{name}" in defined
        is_open = call.of is None and self.found.language == "python"
        other = self._at("function", name, call.line) if caller and (known or is_open) else None
        if caller is None or other is None or other.start == caller.start or (call.of is None and name == call.caller):
            return
        verb, type = "calls", "class" if name[0].isupper() else "function"
        if self.found.language == "sql":
            verb, type = "depends_on", "table"
        elif _RAISING.search(self.block.text, max(self.block.start, other.start - MAX_MARK), other.start):
            verb, type = "raises", "error"
        elif not known and name in _BUILTINS:
            return
        yield _stated(caller, verb, replace(other, type=type))

    def _at(self, type: str, name: str, line: int, before: str = "", beside: Mention | None = None) -> Mention | None:
        """Return a name, behind one of the signs ``before``, and not that of the module that stands ``beside`` it."""
        start = self.starts[line]
        behind = f"(?<={before})" if before else ""
        whole = re.compile(rf"{behind}(?<!\w){re.escape(name)}(?!\w)")
        for match in whole.finditer(self.block.text, start, min(self.block.end, start + REACH)):
            if beside is None or not beside.start <= match.start() < beside.end:
                return mention(self.block.text, type, *match.span())
        return None


def _stated(subject: Mention, predicate: str, object_: Mention) -> Assertion:
    """Return what code says, with all from one name to the other as evidence, or the latter alone if that is long."""
    start = subject.start if 0 <= object_.end - subject.start <= MAX_SPAN else object_.start
    return Assertion(subject, predicate, object_, start, object_.end, SURE)


def _plain(block: Block) -> Found:
    found = [*named(block.text, block.start, block.end), *installed(block.text, block.start, block.end)]
    found = sorted({item.start: item for item in found}.values(), key=lambda item: item.start)
    yield from found
    yield from pinned(block.text, found)
    yield from traceback(block)


def _settings(block: Block) -> Found:
    for start, line in lines(block):
        pair = _PAIR.match(line)
        if not pair or pair["mark"] != _SETTINGS[block.language] or line.lstrip().startswith("#"):
            continue
        value = re.sub(r"\s+#.*$", "", pair["value"]).rstrip()
        offset = start + pair.start("value")
        if value[:1] in "\"'" and len(value) > 1 and value.endswith(value[0]):
            value, offset = value[1:-1], offset + 1
        if value and value[0] not in "[{|>&*!" and len(value) <= MAX_VALUE:
            yield _set(block.text, start + pair.start("key"), start + pair.end("key"), offset, offset + len(value))


def _json(block: Block) -> Found:
    pairs = [(start, pair) for start, line in lines(block) for pair in _JSON_PAIR.finditer(line)]
    if len({pair["key"] for _, pair in pairs}) < len(pairs):
        return  # a key that comes twice is that of records, which configure nothing
    for start, pair in pairs:
        key, value = pair.span("key"), pair.span("text" if pair["text"] else "value")
        yield _set(block.text, start + key[0], start + key[1], start + value[0], start + value[1])


def _set(text: str, start: int, end: int, value_start: int, value_end: int) -> Assertion:
    key = mention(text, "variable" if text[start:end].isupper() else "config", start, end)
    value = mention(text, "value", value_start, value_end)
    return Assertion(key, "configured_as", value, start, value_end, SURE)


def _raised(text: str, start: int, line: str, function: Mention | None) -> Found:
    raised = _RAISED.match(line)
    if not raised:
        return
    error = mention(text, "error", start, start + raised.end("error"))
    yield error
    if raised["message"]:
        yield mention(text, "message", start + raised.start("message"), start + raised.end("message"))
    if function:
        yield Assertion(function, "raises", error, function.start, error.end, SURE)


def _file(text: str, fence: re.Match[str]) -> Mention | None:
    """Return the file name of a block: from its info string, its first line, or the end of the line before it."""
    title = _TITLE.search(fence["info"][:_LEAD_LENGTH])
    if title:
        start = fence.start("info")
        return mention(text, "file", start + title.start(), start + title.end())
    first = text[fence.start("body") : fence.end("body")].split("\n", 1)[0]
    heading = _HEADING.match(first) if len(first) <= MAX_LINE else None
    if heading:
        start = fence.start("body")
        return mention(text, "file", start + heading.start("path"), start + heading.end("path"))
    before = max(0, fence.start() - _LEAD_LENGTH)
    lead = _LEAD.search(text[before : fence.start()])
    return mention(text, "file", before + lead.start("path"), before + lead.end("path")) if lead else None
