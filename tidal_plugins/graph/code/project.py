"""Project: what is known of the code of a scope: its root, its files with their content, and who defines a name.

It is kept as documents, so that an edit next week is understood. A document names the episodes that it rests on, and
goes when one of them is forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from tidal_plugins.actions.files import Content
from tidal_plugins.actions.paths import absolute, relative
from tidal_plugins.graph.code.outline import BY_FILE, language_of
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Storage

SURE = 0.95
"""Confidence of what a syntax tree says: as that of code in a text."""
LIKELY = 0.7
"""Confidence that an object is of the only class around whose name ends like its own: ``store`` of ``OrderStore``."""


class Thing(NamedTuple):
    """An entity by its name and its type."""

    name: str
    type: str


class Fact(NamedTuple):
    """A relation that a line of a file states, counted from 0."""

    subject: Thing
    predicate: str
    object: Thing
    line: int
    confidence: float = SURE

    @property
    def key(self) -> FactKey:
        return (*self.subject, self.predicate, *self.object)


def fact_of(key: FactKey) -> Fact:
    """Return a relation as it was kept, without its line."""
    return Fact(Thing(*key[:2]), key[2], Thing(*key[3:]), -1)


MAX_KEPT = 200_000
"""Characters of a file's content that are kept: as many as are parsed."""

FactKey = tuple[str, str, str, str, str]
"""A relation as it is kept: subject and its type, predicate, object and its type."""


@dataclass(slots=True)
class CodeFile:
    """A file as the episodes so far know it. ``at`` is the time of the last of them, in microseconds."""

    path: str
    at: int = 0
    confirmed: int = 0
    facts: list[FactKey] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    episodes: list[str] = field(default_factory=list)
    lines: dict[int, str] = field(default_factory=dict)
    total: int | None = None
    ends: bool | None = None
    runs: list[FactKey] = field(default_factory=list)
    """What the last run of the tests in it said."""

    @property
    def content(self) -> Content:
        return Content(dict(self.lines), self.total, self.ends)

    def keep(self, content: Content | None) -> None:
        """Keep a content, or none if it is too long."""
        small = content is not None and sum(map(len, content.lines.values())) <= MAX_KEPT
        self.lines, self.total, self.ends = {}, None, None
        if content is not None and small:
            self.lines, self.total, self.ends = dict(content.lines), content.total, content.ends

    def value(self) -> dict[str, Any]:
        value = asdict(self)
        numbers = sorted(self.lines)
        return {
            **value,
            "facts": [list(fact) for fact in self.facts],
            "runs": [list(fact) for fact in self.runs],
            "numbers": [[run[0], len(run)] for run in Content(self.lines).runs()],
            "lines": [self.lines[number] for number in numbers],
        }

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> CodeFile:
        given = dict(value)
        numbers = [number for start, count in given.pop("numbers") for number in range(start, start + count)]
        given["lines"] = dict(zip(numbers, given["lines"], strict=True))
        given["facts"] = [tuple(fact) for fact in given["facts"]]
        given["runs"] = [tuple(fact) for fact in given["runs"]]
        return cls(**given)


FILES, NAMES, PROJECT = "code-files", "code-names", "code-project"
"""Collections: files by path, the files that define a name by name, and one document about all."""

MAX_PATH = 300
"""Characters of a path, or of a name. What has a longer one is not followed."""
MAX_EPISODES = 1_000
"""Episodes that a file's document names. A file that more have touched begins anew with the next reading."""
MAX_PACKAGES = 2_000
"""Names of folders that are kept, to tell modules of the project from others."""

MAX_HELD = 100
"""Modules and files that may have one name. The rest of those that are imported are not told apart."""

_IMPORTED = "?"
"""Begins the key of a module that was imported before its file was seen, among the files that define a name."""
_SYSTEM = ("/usr/", "/lib/", "/nix/", "/System/")
"""Where no project has its root."""


class Project:
    """The code of a scope as it is stored, with the changes of one episode on top. ``store`` writes these."""

    def __init__(self, storage: Storage, scope: Scope, foreign: Collection[str] = ()) -> None:
        """Read what is known. Files in ``foreign`` folders are none of the project."""
        self.foreign = frozenset(foreign)
        self._storage = storage
        self._scope = scope
        self._stored: dict[tuple[str, str], Any] = {}
        self._files: dict[str, CodeFile | None] = {}
        self._names: dict[str, dict[str, str]] = {}
        self._all: list[str] | None = None
        about = self._read(PROJECT, [PROJECT]).get(PROJECT) or {}
        self.root: str | None = about.get("root")
        self.packages: set[str] = set(about.get("packages", ()))
        self.followed: dict[str, int] = dict(about.get("followed", {}))
        """How many calls of the last episodes were followed: an episode that grows is read again."""
        self.wanted: set[str] = set(about.get("wanted", ()))
        """Modules that were imported before their files were seen."""
        self.failing: list[str] = list(about.get("failing", ()))
        """The files whose tests failed in their last run."""

    # files

    def file(self, path: str) -> CodeFile | None:
        """Return a file by its path, or ``None`` for one that is not known."""
        self.load([path])
        return self._files.get(path)

    def load(self, paths: Iterable[str]) -> None:
        """Read files by their paths at once."""
        missing = [path for path in dict.fromkeys(paths) if path not in self._files and 0 < len(path) <= MAX_PATH]
        found = self._read(FILES, missing)
        self._files |= {path: CodeFile.of(found[path]) if found.get(path) else None for path in missing}

    def below(self, folder: str) -> list[str]:
        """Return the paths of the files that are known below a folder."""
        if self._all is None:
            self._all = [document.key for document in self._storage.documents(self._scope, FILES) if document.value]
        self.load(path for path in self._all if path.startswith(f"{folder}/"))
        return [path for path, file in self._files.items() if file and path.startswith(f"{folder}/")]

    def put(self, file: CodeFile) -> None:
        self._files[file.path] = file

    def note_folders(self, paths: Iterable[str]) -> None:
        """Take the folders of files of code, and the names of those in no folder, for packages of the project."""
        for path in paths:
            parts = PurePosixPath(path).parts
            if len(self.packages) < MAX_PACKAGES and language_of(path) and self.foreign.isdisjoint(parts):
                self.packages |= {*parts[:-1], *([PurePosixPath(path).stem] if len(parts) == 1 else [])} - {"/"}

    def want(self, module: str) -> None:
        """Note a module that is imported and whose file was not seen yet."""
        if len(self.wanted) < MAX_PACKAGES:
            self.wanted.add(module)

    def put_run(self, file: CodeFile, *, failing: bool) -> None:
        self._files[file.path] = file
        self.failing = [path for path in self.failing if path != file.path] + ([file.path] if failing else [])

    def new(self) -> list[str]:
        """Return the paths of the files that are not stored yet."""
        return [path for path, file in self._files.items() if file and not self._stored.get((FILES, path))]

    def remove(self, path: str) -> None:
        """Remove a file, and its claims on names."""
        file = self.file(path)
        if file is not None:
            self.release(path, file.names)
            self._files[path] = None
            self.failing = [each for each in self.failing if each != path]

    # paths

    def place(self, path: str) -> str:
        """Return the path under which a file is known: below the root where that is known.

        An absolute path that ends with the path of a known file, folder included, tells the root.
        """
        if not absolute(path):
            return path
        below = relative(path, self.root)
        if below is not None or self.root is not None or path.startswith(_SYSTEM):
            return below or path
        parts = PurePosixPath(path).parts
        tails = ["/".join(parts[start:]) for start in range(1, len(parts) - 1)]
        self.load([*tails, path])
        found = next((tail for tail in tails if self._files.get(tail)), None)
        if found is None or self._files.get(path):
            return path
        self.root = path[: -len(found) - 1]
        return found

    # names

    def owners(self, name: str) -> dict[str, str]:
        """Return the files that define a name, each with the name of its entity."""
        return {path: entity for path, entity in self.held([name]).get(name, {}).items() if path[0] != _IMPORTED}

    def held(self, names: Collection[str]) -> Mapping[str, dict[str, str]]:
        """Return who has names: files, and modules that were imported before their files were seen."""
        missing = [name for name in dict.fromkeys(names) if name not in self._names and 0 < len(name) <= MAX_PATH]
        found = self._read(NAMES, missing)
        self._names |= {name: dict(found.get(name) or {}) for name in missing}
        return self._names

    def claim(self, path: str, names: Collection[str]) -> dict[str, str]:
        """Return the entities of the names that a file defines: the name itself, unless another file has it."""
        owners = self.held(names)
        claimed = {}
        for name in names:
            if name not in owners:
                continue
            held = owners[name]
            mine = [
                key
                for key in held
                if key[0] == _IMPORTED
                and (key[1:] == path or matches(path, key[1:], path) or self.passes_on(key[1:], path))
            ]
            entities = [held.pop(key) for key in mine]
            entities += [name if name not in held.values() else f"{path}::{name}"]
            held.setdefault(path, entities[0])
            claimed[name] = held[path]
        return claimed

    def passes_on(self, path: str, other: str) -> bool:
        """Return whether a file imports another one, so that what that defines may be imported from it as well."""
        file = self.file(path)
        imports = [key for key in file.facts if key[2] == "imports"] if file else []
        return any(key[3] == other or (key[4] == "module" and matches(other, key[3], path)) for key in imports)

    def imported(self, name: str, module: str) -> str | None:
        """Return the entity of a name that a module defines whose file was not seen yet.

        It is the name itself unless another module has it. The file has it from the time when it is seen.
        """
        held = self.held([name]).get(name)
        if held is None or len(module) > MAX_PATH:
            return None
        key = _IMPORTED + module
        if key not in held and len(held) < MAX_HELD:
            held[key] = name if name not in held.values() else f"{module}::{name}"
        return held.get(key)

    def release(self, path: str, names: Iterable[str]) -> None:
        """Give up the names that a file no longer defines."""
        for name, held in self.held(list(names)).items():
            if name in names:
                held.pop(path, None)

    # storing

    def forget_hints(self, names: Iterable[str]) -> None:
        """Forget what no file tells that is known still: folders of listings, and modules that were imported.

        All files must have been loaded.
        """
        files = {path: file for path, file in self._files.items() if file}
        self.packages.clear()
        self.note_folders(files)
        self.wanted &= {key[3] for file in files.values() for key in file.facts}
        self.root = self.root if files else None
        for held in self.held(list(names)).values():
            for key in [key for key in held if key[0] == _IMPORTED]:
                del held[key]

    def store(self, storage: Storage) -> bool:
        """Write the changes, and return whether nobody else has changed the same documents meanwhile.

        Call it inside the transaction that writes the relations.
        """
        changes = self._changes()
        by_collection = {of: [key for each, key in changes if each == of] for of, _ in changes}
        for collection, keys in by_collection.items():
            now = {document.key: document.value for document in storage.documents(self._scope, collection, keys)}
            if any(now.get(key) != self._stored.get((collection, key)) for key in keys):
                return False
        for collection, keys in by_collection.items():
            written = {key: changes[collection, key] for key in keys if changes[collection, key]}
            if written:
                storage.write_documents(self._scope, collection, written)
            storage.erase_documents(self._scope, collection, set(keys) - written.keys())
        return True

    def _changes(self) -> dict[tuple[str, str], Any]:
        wanted: dict[tuple[str, str], Any] = {}
        wanted |= {(FILES, path): file.value() if file else None for path, file in self._files.items()}
        wanted |= {(NAMES, name): held or None for name, held in self._names.items()}
        last = dict(list(self.followed.items())[-MAX_EPISODES:])
        about = {"root": self.root, "packages": sorted(self.packages), "followed": last, "failing": self.failing}
        about |= {"wanted": sorted(self.wanted)}
        wanted[PROJECT, PROJECT] = about if any(about.values()) else None
        return {key: value for key, value in wanted.items() if value != self._stored.get(key)}

    def _read(self, collection: str, keys: Collection[str]) -> dict[str, Any]:
        if not keys:
            return {}
        found = {document.key: document.value for document in self._storage.documents(self._scope, collection, keys)}
        for key in keys:
            self._stored[collection, key] = found.get(key)
        return {key: dict(value) for key, value in found.items() if value}


def forget_code(storage: Storage, scope: Scope, episodes: Collection[str]) -> None:
    """Remove what rests on episodes that are forgotten. Call it inside their transaction."""
    if not episodes:
        return
    project = Project(storage, scope)
    for document in storage.documents(scope, FILES):
        if not document.value or not set(episodes).isdisjoint(document.value["episodes"]):
            project.remove(document.key)
        else:
            project.load([document.key])
    project.forget_hints(document.key for document in storage.documents(scope, NAMES))
    project.followed = {id_: count for id_, count in project.followed.items() if id_ not in episodes}
    project.store(storage)


def dotted(path: str) -> Iterator[str]:
    """Yield the names by which code of Python may import a file."""
    file = PurePosixPath(path)
    if file.suffix == ".py":
        parts = [*file.parent.parts, *([] if file.stem == "__init__" else [file.stem])]
        yield from (".".join(parts[start:]) for start in range(len(parts)))


def matches(path: str, module: str, importer: str) -> bool:
    """Return whether a file may be a module, or one of its parts, by the ends of their paths."""
    parts = [part for part in module.replace("::", "/").replace("\\", "/").replace(".", "/").split("/") if part]
    while parts and parts[0] in ("crate", "self", "super", "@", "~"):
        parts = parts[1:]
    file = PurePosixPath(path)
    places = [[*file.parent.parts, file.stem], [*file.parent.parts]]
    if not parts:
        return file.parent == PurePosixPath(importer).parent
    exact = any(place[-len(parts) :] == parts for place in places)
    if exact or len(parts) == 1 or language_of(path) in BY_FILE:
        return exact
    return any(place[-len(parts) + 1 :] == parts[:-1] for place in places)  # the last part is a class in the file
