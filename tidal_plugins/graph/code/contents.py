"""Contents: the relations that the content of a file states, as far as it is known. Secrets are not read or kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidal_plugins.actions.files.content import Content
from tidal_plugins.english.secrets import secrets
from tidal_plugins.graph.code.code_file import CodeFile
from tidal_plugins.graph.code.facts import Fact
from tidal_plugins.graph.code.manifests import is_manifest, manifest_facts
from tidal_plugins.graph.code.outline import Outline, language_of, outline
from tidal_plugins.graph.code.project import Project
from tidal_plugins.graph.code.relations import CodeRelations

MAX_PARSED = 5_000_000
"""Characters of code that are parsed for one episode, which takes some ten seconds."""


@dataclass(slots=True)
class ContentReader:
    """Reads contents of the files of a project. ``parsed`` counts their characters; the last one may be ``damaged``."""

    project: Project
    parsed: int = 0
    damaged: bool = False

    def facts(self, path: str, content: Content, file: CodeFile, *, claim: bool = False) -> list[Fact]:
        """Return the relations of a content. With ``claim`` the file has the names that it defines from now on."""
        text = _text(without_secrets(content))
        self.parsed += len(text)
        if not content.lines or self.parsed > MAX_PARSED:
            return []
        if is_manifest(path):
            return list(manifest_facts(path, text)) if content.complete else []
        language = language_of(path)
        found = outline(text, language) if language else None
        if found is None:
            return []
        self.damaged = found.damaged
        if not content.complete:
            _only_certain(found, text)
        if claim:
            if content.complete:
                self.project.release(path, file.names.keys() - found.definitions.keys())
                file.names = {}
            file.names |= self.project.claim(path, found.definitions.keys())
        facts = CodeRelations(path, found, file.names, self.project).facts()
        return list({fact.key: fact for fact in reversed(list(facts))}.values())[::-1]


def fragment(text: str) -> Content:
    """Return the text of an edit as a content of which not all is known."""
    content = Content.of(text) if text else Content()
    content.total = None
    return content


def without_secrets(content: Content) -> Content:
    """Return a content with spaces in place of its secrets; its lines stay where they are."""
    text = _text(content)
    found = list(secrets(text))
    if not found:
        return content
    for start, end, _ in found:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    lines = text.split("\n")
    return Content({number: lines[number - 1] for number in content.lines}, content.total, content.ends)


def _text(content: Content) -> str:
    """Return the known lines at their places, with empty ones between them."""
    return "\n".join(content.lines.get(number, "") for number in range(1, max(content.lines, default=0) + 1))


def _only_certain(found: Outline, text: str) -> None:
    """Leave out the definitions of a part of a file that stand in something that is not shown: those further in."""
    lines = text.split("\n")
    inner = {
        name
        for name, each in found.definitions.items()
        if each.owner not in found.definitions and lines[each.line][:1].isspace() and "." not in name
    }
    for name in inner:
        del found.definitions[name]
