"""Code in fenced blocks: each block is read as its language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from tidal_plugins.graph.reading import python
from tidal_plugins.graph.reading.languages import SCRIPT, declared
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
    if _LOOKS_PYTHON.search(text) and "```" not in text and python.parsed(text):
        return Block(text, 0, len(text), "python")
    return None


def read(block: Block) -> Found:
    """Yield what a block of code names and says."""
    if block.file:
        yield block.file
    reader = _reader(block)
    if reader:
        yield from reader(block)


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


def _reader(block: Block) -> Callable[[Block], Found] | None:
    language = block.language
    if language in ("python", "py", "python3") or (
        not language and _LOOKS_PYTHON.search(block.text, block.start, block.end)
    ):
        return _python
    if language in _SETTINGS:
        return _settings
    if language in ("json", "jsonc", "json5"):
        return _json
    if language in SCRIPT:
        return _declared
    if language in _SHELL or language in _PLAIN or not language:
        return _plain
    return None


def _python(block: Block) -> Found:
    tree = python.parsed(block.text[block.start : block.end])
    return python.read(tree, block.text, block.start, block.end, block.file) if tree else _declared(block)


def _declared(block: Block) -> Found:
    for start, line in lines(block):
        yield from declared(block.text, start, line, block.language, block.file)


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
