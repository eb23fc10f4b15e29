"""Modules: the files that imports mean, by the language's own rules of where to look."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tidal_plugins.actions.paths import normal
from tidal_plugins.graph.code.facts import Thing
from tidal_plugins.graph.code.outline import SCRIPTS, Import
from tidal_plugins.graph.code.project import Project

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
