"""Files and folders into memory: each document by its source, with a digest, so that ingesting goes on and renews."""

from __future__ import annotations

import codecs
import logging
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tidal_plugins.apps.cli.command import Account
from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    from bs4.element import Tag

    from tidal_plugins import Note, TidalMemory


PASSED_OVER = frozenset("node_modules __pycache__ venv site-packages dist build target".split())
"""Folders that are passed over, besides those whose names begin with a dot: what tools put there."""

SKILL = "SKILL.md"
"""The file by which a folder is a skill."""

Bar = Callable[..., None]

TEXT = frozenset(".md .markdown .mdx .rst .txt .text .org .adoc .log".split())
HTML = frozenset(".html .htm .xhtml".split())
PDF = frozenset([".pdf"])

VERSION = "1"
"""Part of every digest: a change of how files are read makes them be read again."""

MAX_CHARS = 20_000
"""Characters of one part: some ten pages. A document that is shorter is one part, and a change of one section in a
longer one leaves the other parts as they are. The library cuts parts into passages itself."""

_HEADING = lazy_re(r"#{1,6} |={3,}\s*$|-{3,}\s*$")


LOOK = 1 << 16
"""Bytes of a file's beginning by which its encoding is told."""

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

LEFT_OUT = ("script", "style", "noscript", "template", "nav", "svg", "iframe", "form", "button", "head")
BLOCKS = frozenset(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer h1 h2 h3 h4 h5 h6 "
    "header hr html li main ol p pre section summary table tbody thead tr ul".split()
)
_SPACE = lazy_re(r"\s+")
_HYPHEN = lazy_re(r"(?<=[a-z])-\n(?=[a-z])")
_FIELD = lazy_re(r"^(name|title):\s*[\"']?(.*?)[\"']?\s*$", re.M)


class Unreadable(Exception):
    """A file cannot be read, and why."""


class Part(NamedTuple):
    """A piece of a document, with its page if the document has pages."""

    text: str
    page: int | None = None


Reader = Callable[[Path], Iterator[Part]]


@dataclass
class Summary(Account):
    """The account of an ingestion: counts of files, and each that was skipped, with the reason."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    parts: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    gone: list[str] = field(default_factory=list)


def ingest_all(
    memory: TidalMemory, paths: Sequence[Path], bar: Bar, *, kind: str | None = None, prune: bool = False
) -> Summary:
    """Remember documents, and return an account. Those that are unchanged since the last time are passed over."""
    from tidal_plugins import TidalError

    summary = Summary()
    files = list(dict.fromkeys(found for path in paths for found in _documents(path, summary)))
    sizes = {file: _size(file) for file in files}
    total, done = sum(sizes.values()), 0
    for file in files:
        bar(done, total, file.name)
        source = source_of(file, memory)
        try:
            _ingest_file(memory, file, source, kind, summary)
        except (Unreadable, TidalError) as error:
            summary.skipped.append((source, str(error)))
        except OSError as error:
            summary.skipped.append((source, error.strerror or str(error)))
        done += sizes[file]
    _prune(memory, paths, {source_of(file, memory) for file in files}, summary, prune)
    bar(total, total, "removing what was replaced")
    summary.removed = memory.documents.sweep()
    return summary


def source_of(file: Path, memory: TidalMemory) -> str:
    """Return the source of a file: its path from the folder of the memory if it lies there, else the whole path."""
    path, home = file.resolve(), Path(memory.path).parent.resolve()
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else path.as_posix()


def _ingest_file(memory: TidalMemory, file: Path, source: str, kind: str | None, summary: Summary) -> None:
    kind = kind or ("skill" if file.name == SKILL else "kb")
    known, digest = memory.documents.get(source), _digest(file, kind)
    if known is not None and known.digest == digest:
        summary.unchanged += 1
        return
    made = memory.documents.put(source, _notes(file, kind), digest=digest)
    if not made.parts:
        summary.skipped.append((source, "it is empty, or all of it was forgotten on request"))
        return
    summary.parts += len(made.parts)
    if known is None or known.digest is None:
        summary.new += 1
    else:
        summary.changed += 1


def _notes(file: Path, kind: str) -> Iterator[Note]:
    """Yield the parts of a file as notes."""
    from tidal_plugins import Note

    read = reader_of(file)
    assert read is not None  # it is among the documents
    for number, part in enumerate(read(file), 1):
        metadata = {"part": number} if part.page is None else {"part": number, "page": part.page}
        front = _FIELD.search(part.text[:1000]) if number == 1 and part.text.startswith("---") else None
        tags = (front[2],) if front and front[2] and kind == "skill" else None
        yield Note(part.text, kind=kind, metadata=metadata, tags=tags)


def _documents(path: Path, summary: Summary) -> Iterator[Path]:
    """Yield the documents at a path, in order, and count the files that are none."""
    if not path.is_dir():
        if not path.exists():
            summary.skipped.append((str(path), "there is no such file"))
        elif not path.is_file():
            summary.skipped.append((str(path), "it is no file, and reading it might never end"))
        elif reader_of(path) is None:
            summary.skipped.append((str(path), "no reader takes files of this kind"))
        else:
            yield path
        return
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in PASSED_OVER)
        for name in sorted(names):
            file = Path(folder, name)
            if name.startswith(".") or not file.is_file():
                continue
            if reader_of(file):
                yield file
            else:
                summary.passed_over[file.suffix.lower() or name] += 1


def _prune(memory: TidalMemory, paths: Sequence[Path], there: set[str], summary: Summary, prune: bool) -> None:
    """Find the documents below the folders whose files are gone, and let them go if that is asked for."""
    folders = [source_of(path, memory) for path in paths if path.is_dir()]
    for document in memory.documents.list():
        below = any(folder == "." or document.source.startswith(f"{folder}/") for folder in folders)
        if document.parts and below and document.source not in there:
            summary.gone.append(document.source)
            if prune:
                memory.documents.put(document.source, ())


def _digest(file: Path, kind: str) -> str:
    state = blake2b(f"{VERSION} {kind} ".encode(), digest_size=16)
    with file.open("rb") as opened:
        while block := opened.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def reader_of(path: Path) -> Reader | None:
    """Return the reader for a file by its suffix, or ``None`` for a file that is no document."""
    suffix = path.suffix.lower()
    if suffix in TEXT:
        return read_text
    return read_html if suffix in HTML else read_pdf if suffix in PDF else None


def packed(lines: Iterable[str], most: int = MAX_CHARS) -> Iterator[Part]:
    """Yield the parts of a document whose lines are given, each of at most ``most`` characters.

    A part ends before a heading if it is at least half full, else after an empty line, else anywhere.
    """
    held: list[str] = []
    size = 0
    for line in (piece for given in lines for piece in _short(given, most)):
        heading = size > most // 2 and bool(_HEADING.match(line))
        if held and (heading or size + len(line) > most):
            kept = len(held) if heading else _pause(held)
            yield from _part(held[:kept])
            held = held[kept:]
            size = sum(map(len, held))
        held.append(line)
        size += len(line)
    yield from _part(held)


def _part(lines: list[str]) -> Iterator[Part]:
    if text := "".join(lines).strip():
        yield Part(text)


def _pause(lines: list[str]) -> int:
    """Return after how many lines there is an empty one, in the last half of them; all, if there is none."""
    half = len(lines) // 2
    return next((place for place in range(len(lines), half, -1) if not lines[place - 1].strip()), len(lines))


def _short(line: str, most: int) -> Iterator[str]:
    """Yield a line in pieces that fit into a part with others."""
    step = max(1, most // 2)
    yield from (line[start : start + step] for start in range(0, len(line), step))


def read_text(path: Path) -> Iterator[Part]:
    """Yield the parts of a text file. Raises ``Unreadable`` for one that holds no text."""
    with path.open(encoding=encoding(path), errors="replace") as file:
        yield from packed(iter(lambda: file.readline(MAX_CHARS), ""))


def encoding(path: Path) -> str:
    """Return the encoding of a text file: that of its mark, else UTF-8, else Windows-1252."""
    with path.open("rb") as file:
        head = file.read(LOOK)
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    if b"\0" in head:
        raise Unreadable("it holds no text, but binary data")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # a character may be cut off at the end
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def read_html(path: Path) -> Iterator[Part]:
    """Yield the parts of an HTML file. Raises ``Unreadable`` for one that is none."""
    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning
    from bs4.element import PreformattedString

    content = path.read_bytes()
    if b"\0" in content[:1024] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("it holds no text, but binary data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML is read just as well
        soup = BeautifulSoup(content, "lxml")  # it knows which tags end where another begins
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for element in soup(LEFT_OUT):
        element.decompose()
    for comment in soup(string=lambda text: isinstance(text, PreformattedString)):
        comment.extract()
    body = soup.find("main") or soup.find("article") or soup.body or soup
    lines = [line for block in _blocks(body) for line in (*block.split("\n"), "")]
    if title and not any(line.startswith("# ") for line in lines):
        lines = [f"# {title}", "", *lines]
    yield from packed(f"{line}\n" for line in lines)


def _blocks(element: Tag) -> Iterator[str]:
    """Yield the blocks of text in an element, in order: paragraphs, headings, list items, rows, code."""
    inline: list[str] = []
    children: Iterable[Any] = element.children
    for child in children:
        block = child.name in BLOCKS or (child.name and child.find(list(BLOCKS)) is not None)
        if block or child.name == "br":
            yield from _text_of(inline)
            yield from _block_lines(child) if block else ()
        else:
            inline.append(_inline(child))
    yield from _text_of(inline)


def _block_lines(element: Tag) -> Iterator[str]:
    name = element.name
    if name == "pre":
        yield f"```\n{element.get_text().strip(chr(10))}\n```"
    elif name == "tr":
        cells = [_said(cell) for cell in element.find_all(["td", "th"])]
        yield f"| {' | '.join(cells)} |"
    elif name == "li":
        first, *rest = [*_blocks(element)] or [""]
        yield "\n".join([f"- {first}", *(f"  {line}" for block in rest for line in block.split("\n"))])
    elif re.fullmatch(r"h[1-6]", name):
        if heading := _said(element):
            yield f"{'#' * int(name[1])} {heading}"
    elif name == "dd":
        yield from (f": {block}" for block in _blocks(element))
    elif name in ("ul", "ol", "table", "tbody", "thead"):
        if together := "\n".join(_blocks(element)):
            yield together
    else:
        yield from _blocks(element)


def _inline(child: Any) -> str:
    if child.name is None:  # a text
        return str(child)
    return f"`{child.get_text()}`" if child.name == "code" else "".join(map(_inline, child.children))


def _said(element: Tag) -> str:
    return _SPACE.sub(" ", "".join(map(_inline, element.children))).strip().removesuffix("¶").rstrip()


def _text_of(inline: list[str]) -> Iterator[str]:
    if text := _SPACE.sub(" ", "".join(inline)).strip():
        yield text
    inline.clear()


def read_pdf(path: Path) -> Iterator[Part]:
    """Yield the pages of a PDF that have text. Raises ``Unreadable`` for one without, or with a password."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every oddity of a file
    try:
        reader = PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it needs a password")
        found = False
        for number, page in enumerate(reader.pages, 1):
            for part in packed((_HYPHEN.sub("", page.extract_text()) + "\n").splitlines(keepends=True)):
                found = True
                yield Part(part.text, number)
    except (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise Unreadable(f"it is no PDF that can be read: {error}") from error
    if not found:
        raise Unreadable("its pages are images without text")
