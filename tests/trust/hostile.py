"""Values that no caller should give, and the calls that give one of them to each parameter of each public method."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tidal_plugins import Claim, Entry, Exchange, Message, Policy, TidalError, TidalMemory, ToolCall
from tidal_plugins.model.graph import SinkBatch, SinkIds
from tidal_plugins.testing import NOON

MOST = 1_000
"""Characters that the message of an error may have."""


class Raising:
    """An object whose every word about itself raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no name")

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = object.__hash__


class Endless:
    """An object that would describe itself in a gigabyte."""

    def __repr__(self) -> str:
        raise AssertionError("a gigabyte was asked for")

    __str__ = __repr__


class Nothing:
    """A sink that keeps nothing."""

    name, with_texts = "nothing", True

    def apply(self, batch: SinkBatch) -> None: ...

    def held(self, graph: str) -> SinkIds:
        return SinkIds()


def nested(levels: int, kind: type) -> Any:
    """Return a list or mapping of so many levels."""
    value: Any = kind()
    for _ in range(levels):
        value = [value] if kind is list else {"a": value}
    return value


VALUES: Mapping[str, Any] = {
    "None": None,
    "number": 7,
    "huge number": 10**5000,
    "nan": float("nan"),
    "empty": "",
    "long text": "x" * 100_000,
    "surrogate": "a\ud800b",
    "nul": "a\0b",
    "bytes": b"\xff" * 100_000,
    "nested list": nested(5_000, list),
    "nested mapping": nested(5_000, dict),
    "array": np.array([1.0, 2.0]),
    "texts in an array": np.array(["a", "b"]),
    "list of arrays": [np.array([1.0, 2.0])],
    "raising": Raising(),
    "endless": Endless(),
    "raising in a list": [Raising()],
    "raising as a key": {Raising(): Endless()},
    "naive time": datetime(2026, 1, 1),
    "first year": datetime.min.replace(tzinfo=UTC),
    "class": Policy,
    "empty list": [],
    "empty mapping": {},
    "number in words": "2",
    "far too long": 1e308,
    "infinite": float("inf"),
    "message with a number of calls": [Message("user", "a", tool_calls=5)],  # type: ignore[arg-type]
    "message with odd calls": [Message("user", "a", tool_calls=[5, "x"])],  # type: ignore[list-item]
    "message of an array": [Message("user", np.array([1.0, 2.0]))],  # type: ignore[arg-type]
    "turn of a number": [Exchange(5)],  # type: ignore[arg-type]
    "turn of nothing": [Exchange(())],
    "turn of numbers": [Exchange([5])],  # type: ignore[list-item]
    "call with an array": [ToolCall("search", np.array([1.0, 2.0]))],  # type: ignore[arg-type]
    "call without a name": [ToolCall(5)],  # type: ignore[arg-type]
    "nul in a list": ["a\0b"],
}
"""Values by name. They serve many calls, none of which changes them."""


NAMES = """a=Ann absorb=Ann absorbed=Ann action=remember b=Bergen
citation=ep:none earlier=none entity=Ann entry_id=none holder=none
id=none keep=Ann key=harvest later=none merge=none message=none name=planner object=Bergen
path=no/such/folder/copy.db predicate=lives_in relation=none run=none source=orchard.graphml
subject=Ann topic=pears type=like value=September zone=Europe/Berlin"""
PEARS = [Exchange((Message("user", "The pears are ripe."),), id="pears")]
GOOD: Mapping[str, Any] = {
    **dict(pair.split("=") for pair in NAMES.split()),
    "capsule": "# Identity\n",
    "claim": Claim("harvest", "September", "The harvest is in September."),
    "entry": Entry("none", "conversation", "The harvest is in September.", ("default",), NOON, NOON),
    "exchanges": PEARS,
    "follows": {},
    "history": PEARS,
    "ids": ["none"],
    "interval": timedelta(hours=1),
    "note": "sweet pears",
    "parts": [],
    "policy": Policy(),
    "query": "ripe pears",
    "reader": None,
    "relations": [],
    "sink": Nothing(),
    "text": "The pears are ripe in the orchard.",
    "time": NOON,
    "turn": "Are the pears ripe?",
    "user": "The plums are ripe.",
}
"""A value for each parameter that has no default."""


class Call(NamedTuple):
    """One call: ``use`` makes it, ``name`` says which door, parameter and value it is about."""

    name: str
    use: Callable[[], object]


def calls(
    owner: object,
    name: str,
    *,
    extra: Mapping[str, Mapping[str, Any]] | None = None,
    leave: frozenset[str],
    good: Mapping[str, Any] | None = None,
) -> Iterator[Call]:
    """Yield each call of each public method of ``owner`` that this project wrote, with one hostile value in it.

    ``extra`` has the fields that a method takes beside its own parameters; ``leave`` are methods to pass over,
    and ``good`` are values that fit this memory: with the id of an episode a check behind its look-up is reached, too.
    """
    for method, function in methods(owner):
        if method in leave:
            continue
        for parameter, give in parameters(function, (extra or {}).get(method, {}), {**GOOD, **(good or {})}):
            for what, value in VALUES.items():
                yield Call(f"{name}.{method}({parameter}={what})", lambda give=give, value=value: give(value))


def methods(owner: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public blocking methods of an object. Their async twins are generated and pass everything on."""
    kind = type(owner)
    for method in dir(kind):
        function = inspect.getattr_static(kind, method)
        ours = inspect.isfunction(function) and function.__module__.split(".")[0].endswith(("_plugins", "_tidal"))
        special = method in ("__getitem__", "__setitem__", "__delitem__", "__contains__")
        twin = method.startswith("a") and hasattr(kind, method[1:])
        if ours and (special or not method.startswith("_")) and not twin:
            yield method, getattr(owner, method)


def parameters(
    function: Callable[..., Any], extra: Mapping[str, Any], fitting: Mapping[str, Any] = GOOD
) -> Iterator[tuple[str, Callable[[Any], object]]]:
    """Yield each parameter with a function that calls ``function`` with a value for it, and good ones for others."""
    known = inspect.signature(function).parameters.values()
    needed = [one for one in known if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    named = [one for one in known if one.default is one.empty and one.kind is one.KEYWORD_ONLY]
    needed += named
    good = {one.name: fitting[one.name] for one in needed}
    for one in known:
        if one.kind is one.VAR_POSITIONAL:
            yield one.name, lambda value: function(value)
        elif one.kind is one.VAR_KEYWORD:
            for name in extra:
                yield name, lambda value, name=name: function(**{**good, name: value})
        else:
            yield one.name, lambda value, one=one: function(**{**good, one.name: value})


def fault(call: Call) -> str:
    """Make a call, and return what is wrong with its end, or an empty text.

    A call may accept a value. Otherwise it raises an error of the library's own that is short.
    """
    try:
        call.use()
    except TidalError as error:
        length = len(str(error))
        return f"{call.name}: {length:,} characters: {str(error)[:80]}" if length > MOST else ""
    except BaseException as error:
        return f"{call.name}: {type(error).__name__}: {_said(error)}"
    return ""


def _said(error: BaseException) -> str:
    try:
        return str(error)[:120]
    except BaseException:
        return "…"


def groups(memory: TidalMemory) -> dict[str, object]:
    """Return the objects whose methods users call, by name."""
    names = [name for name, value in inspect.getmembers(type(memory)) if isinstance(value, property)]
    found = {name: getattr(memory, name) for name in names}
    ours = {name: one for name, one in found.items() if type(one).__module__.startswith("tidal_plugins")}
    ours = {name: one for name, one in ours.items() if name not in ("opened", "settings", "delimiters")}
    return {"memory": memory, **ours, "policies": memory.sessions.policies}


def makers(package: Any, good: Mapping[str, Any], *, leave: frozenset[str]) -> Iterator[Call]:
    """Yield each call of each public class and function of a package, with one hostile value in it.

    ``good`` has a value for each parameter that has no default, where ``None`` does not do. Errors, protocols, async
    twins and what ``leave`` names are passed over.
    """
    for name in package.__all__:
        made = getattr(package, name)
        error = inspect.isclass(made) and issubclass(made, BaseException)
        passed = error or inspect.iscoroutinefunction(made)
        if name not in leave and callable(made) and not passed and not getattr(made, "_is_protocol", False):
            known = inspect.signature(made).parameters.values()
            needed = [p for p in known if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
            given = {p.name: good.get(p.name) for p in needed}
            for one in known:
                for what, value in VALUES.items() if one.kind is not one.VAR_KEYWORD else ():
                    arguments = (value,) if one.kind is one.VAR_POSITIONAL else ()
                    named = given if arguments else {**given, one.name: value}
                    use = partial(_made, made, arguments, named)
                    yield Call(f"{package.__name__}.{name}({one.name}={what})", use)


def _made(make: Callable[..., object], arguments: tuple[object, ...], named: Mapping[str, object]) -> None:
    """Make an object, and let go of what it holds open."""
    made = make(*arguments, **named)
    if isinstance(made, TidalMemory):
        made.close()
