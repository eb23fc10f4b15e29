"""The public names with their signatures, as they were released: a change of them is seen in a change of the list.

``python -m tests.test_frozen_api`` writes the list anew. What users see of it belongs into the changelog.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

LIST = Path(__file__).parent / "files" / "api.txt"
PAGES = sorted((Path(__file__).parents[1] / "docs" / "reference").glob("*.md"))
PACKAGES = ("tidal_plugins", "langchain_tidal", "langgraph_tidal", "llama_index_tidal")
ENGINES = ".storage.sqlite."
"""Their methods are those of the contract, which says what they do."""


def api() -> Iterator[tuple[str, object]]:
    """Yield each line of the list, with what it is about."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for said in sorted({*(f"{package}.{name}" for name in module.__all__), *documented(package)}):
            value = pkgutil.resolve_name(said)
            if inspect.isclass(value):
                yield f"class {said}({', '.join(base.__name__ for base in value.__bases__)})", value
                yield from members(said, value)
            elif callable(value):
                yield f"{said}{signature(value)}", value
            else:
                yield f"{said}: {type(value).__name__}", value


def documented(package: str) -> list[str]:
    """Return the names of a package that the reference shows beyond those that it exports, but for weights, which may
    change, and for what belongs to an application."""
    shown = re.findall(rf"^::: ({package}\.\S+)$", "\n".join(page.read_text("utf-8") for page in PAGES), re.MULTILINE)
    frozen = [name for name in shown if not name.endswith("Tuning") and ".apps." not in name]
    return [name for name in frozen if not inspect.ismodule(pkgutil.resolve_name(name))]


def members(said: str, owner: type) -> Iterator[tuple[str, object]]:
    """Yield the public members of a class that this project wrote, inherited ones included."""
    own = [base for base in owner.__mro__ if base.__module__.split(".")[0] in PACKAGES]
    if issubclass(owner, BaseModel):
        for base in reversed(own):
            for name, annotation in vars(base).get("__annotations__", {}).items():
                if name in owner.model_fields:
                    yield f"    {said}.{name}: {annotation}", None
    found = {name: value for base in reversed(own) for name, value in vars(base).items()}
    for name, value in sorted(found.items()):
        if name == "__init__" and value is not object.__init__ and not issubclass(owner, BaseModel):
            yield f"    {said}{signature(value)}", None
        if name.startswith(("_", "test_")):
            continue
        bare = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if isinstance(bare, property):
            yield f"    {said}.{name} -> {bare.fget.__annotations__.get('return')}", bare
        elif inspect.isfunction(bare):  # the one method of a protocol is what its class says
            protocol = getattr(owner, "_is_protocol", False)
            yield f"    {said}.{name}{signature(bare)}", None if protocol else bare


def signature(function: Any) -> str:
    """Return a signature, without the addresses of defaults."""
    said = inspect.signature(function)
    bare = [
        each
        if each.default is each.empty or isinstance(each.default, str | int | float | tuple | None)
        else each.replace(default=...)
        for each in said.parameters.values()
    ]
    return str(said.replace(parameters=bare))


@pytest.mark.slow
def test_the_public_names_are_those_of_the_list() -> None:
    was, now = LIST.read_text("utf-8").splitlines(), [line for line, _ in api()]
    assert [f"+ {line}" for line in now if line not in was] + [f"- {line}" for line in was if line not in now] == [], (
        "the public interface has changed: python -m tests.test_frozen_api writes the list anew; the changelog tells it"
    )


@pytest.mark.slow
def test_each_public_name_says_what_it_is_and_takes_and_returns() -> None:
    silent = [line for line, value in api() if callable(value) and not inspect.getdoc(value) and ENGINES not in line]
    assert silent == []
    functions = [(line, value) for line, value in api() if inspect.isfunction(value)]
    bare = []
    for line, value in functions:
        said = inspect.signature(value)
        taken = [each for each in said.parameters.values() if each.name not in ("self", "cls")]
        if said.return_annotation is said.empty or any(each.annotation is each.empty for each in taken):
            bare.append(line)
    assert bare == []


if __name__ == "__main__":
    LIST.write_text("".join(f"{line}\n" for line, _ in api()), "utf-8")
