"""Grammars: the tree-sitter parser of a file, by its name. They are an extra, ``tidal-plugins[code]``."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

MAX_CODE = 200_000
"""Characters of code that are parsed. The slowest text found, unclosed templates of C++, took 2.7 s."""
MAX_MEAN_LINE = 300
"""Characters of a line on average above which code is taken for minified. Sources of these languages have 20 to 60."""

_GRAMMARS = {
    "python": ("tree_sitter_python", "language", "py pyi pyw"),
    "javascript": ("tree_sitter_javascript", "language", "js jsx mjs cjs"),
    "typescript": ("tree_sitter_typescript", "language_typescript", "ts mts cts"),
    "tsx": ("tree_sitter_typescript", "language_tsx", "tsx"),
    "go": ("tree_sitter_go", "language", "go"),
    "rust": ("tree_sitter_rust", "language", "rs"),
    "java": ("tree_sitter_java", "language", "java"),
    "c": ("tree_sitter_c", "language", "c"),
    "cpp": ("tree_sitter_cpp", "language", "h cc cpp cxx hpp hh hxx"),
    "c_sharp": ("tree_sitter_c_sharp", "language", "cs"),
    "ruby": ("tree_sitter_ruby", "language", "rb rake"),
    "php": ("tree_sitter_php", "language_php", "php"),
    "sql": ("tree_sitter_sql", "language", "sql"),
    "bash": ("tree_sitter_bash", "language", "sh bash"),
}
_BY_EXTENSION = {f".{extension}": name for name, (_, _, many) in _GRAMMARS.items() for extension in many.split()}


def language_of(path: str) -> str | None:
    """Return the language of a file by the end of its name, or ``None`` for what is no code."""
    return _BY_EXTENSION.get(PurePosixPath(path).suffix.lower())


def is_installed(language: str) -> bool:
    """Return whether the grammar of a language is there."""
    return _parser(language) is not None


def parse(text: str, language: str) -> Tree | None:
    """Return the syntax tree of code, with gaps where it is damaged.

    Returns ``None`` for code that is too long or minified, and where the language's grammar is not installed.
    """
    if len(text) > MAX_CODE or len(text) > MAX_MEAN_LINE * (text.count("\n") + 2):
        return None
    parser = _parser(language)
    return parser.parse(text.encode(errors="replace")) if parser else None


@cache
def _parser(language: str) -> Parser | None:
    package, function, _ = _GRAMMARS[language]
    try:
        from tree_sitter import Language, Parser

        return Parser(Language(getattr(importlib.import_module(package), function)()))
    except ImportError:
        return None
