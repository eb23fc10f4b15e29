"""HTML as Markdown: headings, paragraphs, lists, tables and code, without menus and scripts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning
from bs4.element import NavigableString, PageElement, PreformattedString, Tag

from tidal_plugins.apps.cli.reading.text import Part, Unreadable, packed
from tidal_plugins.patterns import lazy_re

LEFT_OUT = ("script", "style", "noscript", "template", "nav", "svg", "iframe", "form", "button", "head")
BLOCKS = frozenset(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer h1 h2 h3 h4 h5 h6 "
    "header hr html li main ol p pre section summary table tbody thead tr ul".split()
)
_SPACE = lazy_re(r"\s+")


def read(path: Path) -> Iterator[Part]:
    """Yield the parts of an HTML file. Raises ``Unreadable`` for one that is none."""
    content = path.read_bytes()
    if b"\0" in content[:1024] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("it holds no text, but binary data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML is read just as well
        soup = BeautifulSoup(content, "lxml")  # it knows which tags end where another begins
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for element in soup(LEFT_OUT):
        element.decompose()
    body = soup.find("main") or soup.find("article") or soup.body or soup
    lines = [line for block in _blocks(body) for line in (*block.split("\n"), "")]
    if title and not any(line.startswith("# ") for line in lines):
        lines = [f"# {title}", "", *lines]
    yield from packed(f"{line}\n" for line in lines)


def _blocks(element: Tag) -> Iterator[str]:
    """Yield the blocks of text in an element, in order: paragraphs, headings, list items, rows, code."""
    inline: list[str] = []
    for child in element.children:
        if isinstance(child, Tag) and (child.name in BLOCKS or child.find(list(BLOCKS)) is not None):
            yield from _flushed(inline)
            yield from _block(child)
        elif isinstance(child, Tag) and child.name == "br":
            yield from _flushed(inline)
        else:
            inline.append(_inline(child))
    yield from _flushed(inline)


def _block(element: Tag) -> Iterator[str]:
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


def _inline(child: PageElement) -> str:
    if isinstance(child, Tag):
        return f"`{child.get_text()}`" if child.name == "code" else "".join(map(_inline, child.children))
    return str(child) if isinstance(child, NavigableString) and not isinstance(child, PreformattedString) else ""


def _said(element: Tag) -> str:
    return _SPACE.sub(" ", "".join(map(_inline, element.children))).strip().removesuffix("¶").rstrip()


def _flushed(inline: list[str]) -> Iterator[str]:
    if text := _SPACE.sub(" ", "".join(inline)).strip():
        yield text
    inline.clear()
