"""Manifests: the packages that a project declares to depend on, with their versions."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from xml.etree import ElementTree as Xml

from tidal_plugins.graph.code.project import Fact, Thing
from tidal_plugins.patterns import lazy_re

MAX_MANIFEST = 50_000
"""Characters of a manifest that are read. The slowest text found, a table of TOML in 25,000 others, took 0.7 s."""

_PYTHON = lazy_re(r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?P<version>(?:[=<>!~]=?=?\s*[^;#\s,]+\s*,?\s*)*)")
_GO = lazy_re(r"(?m)^[ \t]*(?:require\s+)?(?P<name>[\w.-]+\.[\w.-]+/\S+)\s+(?P<version>v\d\S*)")
_GEM = lazy_re(r"(?m)^[ \t]*gem\s+[\"'](?P<name>[^\"'\n]+)[\"'](?:\s*,\s*[\"'](?P<version>[^\"'\n]+)[\"'])?")


class Declared(NamedTuple):
    """A package and the version that is asked for; empty for any."""

    name: str
    version: str = ""


Manifest = tuple[str, list[Declared]]
"""The name of the project, empty if it has none, and what it depends on."""


def is_manifest(path: str) -> bool:
    return _reader(path) is not None


def manifest_facts(path: str, text: str) -> Iterator[Fact]:
    """Yield what a manifest declares; nothing for one that is damaged."""
    reader = _reader(path)
    if reader is None or len(text) > MAX_MANIFEST:
        return
    try:
        name, declared = reader(text)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return
    project = Thing(name, "package") if name else Thing(path, "file")
    lines = text.split("\n")
    if name:
        yield Fact(project, "defined_in", Thing(path, "file"), _line(lines, name))
    for each in declared:
        if not each.name or each.name == name:
            continue
        line = _line(lines, each.name.rpartition(":")[2])
        package = Thing(each.name, "package")
        yield Fact(project, "depends_on", package, line)
        if each.version and len(each.version) < 80:
            yield Fact(package, "has_version", Thing(each.version, "version"), line)


def _reader(path: str) -> Callable[[str], Manifest] | None:
    name = PurePosixPath(path).name
    if name.endswith(".csproj"):
        return _csproj
    if re.fullmatch(r"requirements[\w.-]*\.(?:txt|in)", name):
        return _requirements
    return _READERS.get(name)


def _line(lines: list[str], name: str) -> int:
    return next((number for number, line in enumerate(lines) if name in line), -1)


def _pyproject(text: str) -> Manifest:
    given = tomllib.loads(text)
    project, poetry = given.get("project", {}), given.get("tool", {}).get("poetry", {})
    listed = [*project.get("dependencies", ())]
    for group in (*project.get("optional-dependencies", {}).values(), *given.get("dependency-groups", {}).values()):
        listed += [one for one in group if isinstance(one, str)]
    tables = [
        poetry.get("dependencies", {}),
        *(each.get("dependencies", {}) for each in poetry.get("group", {}).values()),
    ]
    found = [*_python(listed), *(one for table in tables for one in _table(table) if one.name != "python")]
    return str(project.get("name") or poetry.get("name") or ""), list(dict.fromkeys(found))


def _requirements(text: str) -> Manifest:
    lines = [line.split("#")[0].strip() for line in text.split("\n")]
    return "", list(
        _python(line for line in lines if line and not line.startswith(("-", "http:", "https:", "git+", ".")))
    )


def _python(listed: Iterable[str]) -> Iterator[Declared]:
    for one in listed:
        found = _PYTHON.match(one)
        if found:
            version = found["version"].strip(" ,")
            yield Declared(found["name"], version.removeprefix("==") if version.count("=") == 2 else version)


def _table(table: Mapping[str, Any]) -> Iterator[Declared]:
    for name, value in table.items():
        version = value.get("version", "") if isinstance(value, dict) else value
        yield Declared(name, version if isinstance(version, str) and version != "*" else "")


def _package_json(text: str) -> Manifest:
    given = json.loads(text)
    kinds = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
    return str(given.get("name") or ""), [one for kind in kinds for one in _table(given.get(kind) or {})]


def _composer(text: str) -> Manifest:
    given = json.loads(text)
    found = [one for kind in ("require", "require-dev") for one in _table(given.get(kind) or {})]
    return str(given.get("name") or ""), [one for one in found if "/" in one.name]


def _cargo(text: str) -> Manifest:
    given = tomllib.loads(text)
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    tables = [*(given.get(kind, {}) for kind in kinds), given.get("workspace", {}).get("dependencies", {})]
    return str(given.get("package", {}).get("name") or ""), [one for table in tables for one in _table(table)]


def _go_mod(text: str) -> Manifest:
    module = re.search(r"(?m)^module\s+(\S+)", text)
    return module[1] if module else "", [Declared(one["name"], one["version"]) for one in _GO.finditer(text)]


def _gemfile(text: str) -> Manifest:
    return "", [Declared(one["name"], one["version"] or "") for one in _GEM.finditer(text)]


def _pom(text: str) -> Manifest:
    project = _xml(text)
    found = [
        Declared(":".join(filter(None, (_child(one, "groupId"), _child(one, "artifactId")))), _child(one, "version"))
        for one in project.findall(".//{*}dependency")
    ]
    return _child(project, "artifactId"), found


def _csproj(text: str) -> Manifest:
    packages = _xml(text).findall(".//{*}PackageReference")
    return "", [Declared(one.get("Include", ""), one.get("Version", "") or _child(one, "Version")) for one in packages]


def _xml(text: str) -> Xml.Element:
    if "<!DOCTYPE" in text:
        raise ValueError("document types are not read")  # they may include files, and swell without end
    try:
        return Xml.fromstring(text)
    except Xml.ParseError as error:
        raise ValueError(str(error)) from error


def _child(element: Xml.Element, name: str) -> str:
    return (element.findtext(f"{{*}}{name}") or "").strip()


_READERS: Mapping[str, Callable[[str], Manifest]] = {
    "pyproject.toml": _pyproject,
    "package.json": _package_json,
    "composer.json": _composer,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
    "Gemfile": _gemfile,
    "pom.xml": _pom,
}
