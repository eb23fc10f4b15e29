"""Relations of code: what the outline of a file says, with every name resolved to the entity that it stands for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tidal_plugins.actions.paths import normal
from tidal_plugins.cached import cached_property
from tidal_plugins.english.sentences import shortened
from tidal_plugins.graph.code.outline import BY_FILE, SCRIPTS, Call, Import, Outline
from tidal_plugins.graph.code.project import LIKELY, SURE, Fact, Project, Thing, dotted, matches
from tidal_plugins.patterns import lazy_re

_TEST_FILE = lazy_re(
    r"(?:^|/)(?:tests?|specs?|__tests__)/|(?:^|/)test_[^/]*$|_(?:test|spec)\.\w+$|\.(?:test|spec)\.\w+$|Tests?\.\w+$"
)
_TEST_NAME = lazy_re(r"(?:^|\.)(?:test|Test|should|it_)[^.]*$")
_NAMED_TESTS = frozenset([*SCRIPTS, "python", "go", "bash", "c", "cpp"])
"""Languages in which a test is told by its function's name; in the others a test file has tests and little else."""
MAX_PURPOSE = 160
"""Characters of a docstring's first sentence that are kept."""
MIN_WORD = 4
"""Characters of an object's name from which on it may tell a class: ``db`` and ``it`` end many."""
DRIVERS = {
    **dict.fromkeys("psycopg psycopg2 psycopg_pool asyncpg pg8000 pg pgx lib/pq".split(), "PostgreSQL"),
    **dict.fromkeys("sqlite3 aiosqlite better-sqlite3 go-sqlite3 rusqlite".split(), "SQLite"),
    **dict.fromkeys("pymysql MySQLdb mysql mysql2 aiomysql go-sql-driver/mysql".split(), "MySQL"),
    **dict.fromkeys("pymongo motor mongodb mongoose".split(), "MongoDB"),
    **dict.fromkeys("redis ioredis go-redis".split(), "Redis"),
    **dict.fromkeys("elasticsearch @elastic/elasticsearch".split(), "Elasticsearch"),
    **dict.fromkeys("pika amqplib".split(), "RabbitMQ"),
}
"""Packages that exist to reach one service, with its name: code that imports one uses the service."""
_GO_BUILTINS = frozenset(
    "append cap clear close complex copy delete imag len make max min new panic print println real recover string "
    "int int32 int64 uint byte rune float64 float32 bool error any".split()
)


def is_test(path: str) -> bool:
    return _TEST_FILE.search(path) is not None


@dataclass
class CodeRelations:
    """The relations that the outline of one file states. ``names`` are the entities of what it defines."""

    path: str
    outline: Outline
    names: dict[str, str]
    project: Project

    def facts(self) -> Iterator[Fact]:
        """Yield the relations, definitions first, in no other order."""
        self._load()
        yield from self._definitions()
        yield from self._imports()
        for base in self.outline.bases:
            thing = self._class(base.base)
            if base.name in self.names and thing and thing.name != self.names[base.name]:
                yield Fact(self._own(base.name), "extends", thing, base.line)
        for call in self.outline.calls:
            yield from self._call(call)

    def _definitions(self) -> Iterator[Fact]:
        for module in self.project.wanted.intersection(dotted(self.path)):  # imported before this file was seen
            yield Fact(self._file, "contains", Thing(module, "module"), -1)
        for each in self.outline.definitions.values():
            if each.name not in self.names:
                continue
            if each.doc:
                purpose = Thing(f"“{shortened(each.doc, MAX_PURPOSE)}”", "purpose")
                yield Fact(self._own(each.name), "has_purpose", purpose, each.line)
            owner = each.owner or each.name.rpartition(".")[0]
            if owner in self.names and owner in self.outline.definitions:
                yield Fact(self._own(owner), "contains", self._own(each.name), each.line)
            else:
                yield Fact(self._own(each.name), "defined_in", self._file, each.line)

    def _imports(self) -> Iterator[Fact]:
        for each in self.outline.imports:
            target = self._modules.module(each)
            if target != self._file:
                yield Fact(self._file, "imports", target, each.line)
                service = DRIVERS.get(each.module) or DRIVERS.get(each.module.split(".")[0])
                if service and target.type == "module":
                    yield Fact(self._file, "uses", Thing(service, "tool"), each.line)
                if target.type == "module" and self._modules.internal(each):
                    self.project.want(each.module)

    def _call(self, call: Call) -> Iterator[Fact]:
        subject = self._own(call.caller) if call.caller in self.names else self._file
        thing, confidence = self._called(call), SURE
        if thing is None and call.of:
            thing, confidence = self._likely(call.of, call.name), LIKELY
        if thing is None or thing == subject:
            return
        table = self.outline.language == "sql"
        predicate = "depends_on" if table else "tests" if self._tests(call, thing) else "calls"
        if subject.type == "file" and predicate == "calls":
            return  # what runs when a file is loaded
        yield Fact(subject, predicate, thing, call.line, confidence)

    def _likely(self, of: str, name: str) -> Thing | None:
        """Return a method of the only class that the file defines or imports whose name ends like that of an object."""
        word = of.rpartition(".")[2].replace("_", "").lower()
        classes: dict[str, Import | None] = {
            each.name: None for each in self.outline.definitions.values() if each.kind == "class"
        }
        classes |= {original: one for one, original in self._local.values() if original and original[:1].isupper()}
        found = [each for each in classes if each.lower().endswith(word)] if len(word) >= MIN_WORD else []
        if len(found) != 1:
            return None
        member, one = f"{found[0]}.{name}", classes[found[0]]
        if one is None:
            return self._own(member) if member in self.names else None
        return self._owned(member, one)

    def _tests(self, call: Call, thing: Thing) -> bool:
        if not is_test(self.path) or thing.name in self.names.values():
            return False
        named = call.caller is None or _TEST_NAME.search(call.caller) is not None
        return named or self.outline.language not in _NAMED_TESTS

    # names

    @cached_property
    def _modules(self) -> Modules:
        return Modules(self.path, self.outline.language, self.project)

    @cached_property
    def _file(self) -> Thing:
        return Thing(self.path, "file")

    @cached_property
    def _local(self) -> dict[str, tuple[Import, str | None]]:
        """Return the names that imports bring, with the import and the name there."""
        return {local: (one, name) for one in self.outline.imports for local, name in one.names.items()}

    def _own(self, name: str) -> Thing:
        defined = self.outline.definitions.get(name)  # not if only a part of the file is known
        return Thing(self.names[name], defined.kind if defined else _kind(name))

    def _load(self) -> None:
        """Read at once who defines the names that may be asked for."""
        names = {original for _, original in self._local.values() if original}
        names |= {base.base for base in self.outline.bases}
        for call in self.outline.calls:
            of = self._local[call.of][1] if call.of in self._local else call.of
            names |= {call.name, *([of, f"{of}.{call.name}"] if of else [])}
        self.project.held(names)
        self.project.load(path for one in self.outline.imports for path in self._modules.candidates(one))

    def _called(self, call: Call) -> Thing | None:
        if call.of is None:
            return self._named(call.name)
        own = f"{call.of}.{call.name}"
        if own in self.names:
            return self._own(own)
        if call.of in self.names:
            mine = [base.base for base in self.outline.bases if base.name == call.of]
            return next(
                (self._own(f"{base}.{call.name}") for base in mine if f"{base}.{call.name}" in self.names), None
            )
        if call.of in self._local:
            return self._imported_member(*self._local[call.of], call.name)
        if call.of.startswith("this."):
            return None
        last = call.of.rpartition(".")[2]
        module = not last[:1].isupper() and self.outline.language not in BY_FILE
        return self._owned(f"{last}.{call.name}") or (
            self._owned(call.name, Import(call.of, call.line, {})) if module else None
        )

    def _imported_member(self, one: Import, original: str | None, name: str) -> Thing | None:
        if original is None:
            return self._owned(name, one) or (self._imported(name, one) if self._modules.internal(one) else None)
        inner = one._replace(module=f"{one.module}{'' if one.module.endswith('.') else '.'}{original}")
        found = self._owned(f"{original}.{name}", one) or self._owned(name, inner)
        if found:
            return found
        constant = original.isupper() or not original[:1].isupper()
        known = self._owned(original, one) or (self._modules.internal(one) and not constant)
        return self._imported(f"{original}.{name}", one) if known else None

    def _named(self, name: str) -> Thing | None:
        if name in self.names:
            return self._own(name)
        if name in self._local:
            one, original = self._local[name]
            if not self._modules.internal(one):
                return None
            given = original or name
            return self._owned(given, one) or self._imported(given, one)
        if self.outline.language in BY_FILE:
            return None
        found = self._owned(name)
        if found is None and self.outline.language == "go" and name not in _GO_BUILTINS and name.isidentifier():
            return Thing(name, _kind(name))
        if found is None and self.outline.language == "sql":
            return Thing(name, "table") if name.replace(".", "").replace("_", "").isalnum() else None
        return found

    def _class(self, name: str) -> Thing | None:
        """Return a class that is extended. One of another project counts too: its name says what the class is."""
        if name in self.names:
            return self._own(name)
        if name in self._local:
            one, original = self._local[name]
            given = original or name
            return self._owned(given, one) or self._imported(given, one, "class")
        return self._owned(name) or (Thing(name, "class") if name[:1].isupper() else None)

    def _imported(self, name: str, one: Import, kind: str = "") -> Thing | None:
        """Return what an import brings from a file that was not seen yet."""
        seen = self._modules.module(one).name
        entity = self.project.imported(name, seen if self.project.file(seen) else self._modules.named(one))
        return Thing(entity, kind or _kind(name)) if entity else None

    def _owned(self, name: str, one: Import | None = None) -> Thing | None:
        """Return what a file defines under a name: one of an imported module, or in the same folder, or the only."""
        held = self.project.owners(name)
        if one is None:
            here = PurePosixPath(self.path).parent
            chosen = [path for path in held if PurePosixPath(path).parent == here] or [*held]
        else:
            chosen = [path for path in self._modules.candidates(one) if path in held][:1]
            module = self._modules.named(one)
            chosen = chosen or [path for path in held if matches(path, module, self.path)]
            seen = self._modules.module(one).name if held and not chosen else ""
            chosen = chosen or [path for path in held if self.project.passes_on(seen, path)]
            if not chosen and len(held) == 1 and "." in name and self._modules.internal(one):
                chosen = [*held]
        return Thing(held[chosen[0]], _kind(name)) if len(chosen) == 1 else None


def _kind(name: str) -> str:
    last = name.rpartition(".")[2]
    return "class" if "." not in name and last[:1].isupper() and not last.isupper() else "function"


_ENDINGS = {
    **dict.fromkeys(SCRIPTS, (".ts", ".tsx", ".js", ".jsx", ".mjs", "/index.ts", "/index.tsx", "/index.js")),
    "python": (".py", "/__init__.py", ".pyi"),
    "ruby": (".rb",),
    "rust": (".rs", "/mod.rs"),
}


@dataclass(frozen=True, slots=True)
class Modules:
    """Finds the modules that the file at ``path`` imports."""

    path: str
    language: str
    project: Project
    _found: dict[tuple[str, bool], list[str]] = field(default_factory=dict)

    def module(self, one: Import) -> Thing:
        """Return the file that an import means if it is known, or else the module by its name."""
        found = [path for path in self.candidates(one) if self.project.file(path)]
        if found:
            return Thing(found[0], "file")
        if one.near and (beside := next(iter(self.candidates(one)), None)):
            return Thing(beside, "file")
        return Thing(one.module, "module")

    def named(self, one: Import) -> str:
        """Return the module by the names of its folders from the root, as far as they are known."""
        beside = self.candidates(one) if one.near else []
        return beside[0].removesuffix(PurePosixPath(beside[0]).suffix) if beside else one.module

    def candidates(self, one: Import) -> list[str]:
        """Return the paths that an import may mean, likeliest first."""
        key = one.module, one.near
        if key not in self._found:
            self._found[key] = self._candidates(one)
        return self._found[key]

    def _candidates(self, one: Import) -> list[str]:
        endings = _ENDINGS.get(self.language, ("",))
        folder = PurePosixPath(self.path).parent
        if self.language == "python" and one.near:
            dots = len(one.module) - len(one.module.lstrip("."))
            rest = one.module.lstrip(".").replace(".", "/")
            base = "/".join([*folder.parts[: len(folder.parts) - dots + 1], *([rest] if rest else [])])
        elif one.near and self.language != "rust":
            base = normal(f"{folder}/{one.module}")
        elif self.language == "python":
            module = one.module.replace(".", "/")
            top = module.partition("/")[0]
            roots = [str(parent) for parent in folder.parents if str(parent) != "."]
            heads = dict.fromkeys(["", "src", "lib", *roots, str(folder), *self._roots(top)])
            return [normal(f"{head}/{module}{end}") if head else f"{module}{end}" for head in heads for end in endings]
        else:
            return []
        if not base or PurePosixPath(base).suffix in {*endings, ".vue", ".json", ".css", ".svelte"}:
            return [base] if base else []
        return [f"{base}{end}" for end in endings]

    def _roots(self, top: str) -> list[str]:
        """Return the folders in this file's path that hold a package of this name."""
        parts = PurePosixPath(self.path).parts
        return ["/".join(parts[:place]) for place, part in enumerate(parts) if part == top and place]

    def internal(self, one: Import) -> bool:
        """Return whether a module is likely one of the project."""
        parts = [part for part in one.module.replace("::", "/").replace("\\", "/").replace(".", "/").split("/") if part]
        if one.near or not parts:
            return True
        if self.language == "python":
            return parts[0] not in sys.stdlib_module_names and parts[0] in self.project.packages
        if self.language in SCRIPTS:
            return one.module.startswith(("@/", "~/", "src/"))
        return parts[-1] in self.project.packages or (len(parts) > 1 and parts[-2] in self.project.packages)
