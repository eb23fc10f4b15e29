"""Weights: the numbers of a mechanism, in a frozen dataclass at the top of the module that goes by them.

Each has a measurement or a source behind it. Its name is that of its group and its own, ``decay.floor``, by which
``Settings(tuning={"decay.floor": 0.02})`` gives it another value. ``settings[DecayTuning]`` are the weights of a group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from tidal_plugins.errors import InvalidInput
from tidal_plugins.shown import shown


class Weights:
    """Base of a group of weights: ``class DecayTuning(Weights, group="decay")``."""

    group: ClassVar[str]

    def __init_subclass__(cls, *, group: str) -> None:
        cls.group = group


W = TypeVar("W", bound=Weights)


def tunable(default: Any, **bounds: Any) -> Any:
    """Return a field. ``bounds`` are ``ge``, ``gt``, ``le`` and ``lt`` of a number, and ``among`` the texts to choose
    from."""
    return field(default=default, metadata=bounds)


def given(setting: str) -> Any:
    """Return a field whose value is that of a setting, such as ``recall.limit``, which a formula takes with its
    weights."""
    return field(metadata={"setting": setting})


def weights_of(kind: type[Any]) -> dict[str, Field[Any]]:
    """Return the weights of a group by their own names, each with its default and its bounds."""
    return {one.name: one for one in fields(kind) if one.default is not MISSING}


def tuned(kind: type[W], settings: object, tuning: Mapping[str, Any]) -> W:
    """Return a group of weights with the values that ``settings`` gives, and those of ``tuning`` in place of defaults.

    Raises ``InvalidInput`` for a value of another type than the default, and for one out of its bounds.
    """
    values = {name: get(settings) for name, get in _given(kind)}
    for name, value in tuning.items():
        group, _, own = name.partition(".")
        if group == kind.group:
            values[own] = _checked(name, value, weights_of(kind)[own])
    last = _LAST.get(kind)
    if last is None or last[0] != values:
        last = _LAST[kind] = values, kind(**values)
    made: W = last[1]
    return made


_LAST: dict[type[Any], tuple[dict[str, Any], Any]] = {}
"""The values that a group was last made of, and the group: a recall asks for some twenty, and few are ever changed."""

_GIVEN: dict[type[Any], list[tuple[str, attrgetter[Any]]]] = {}


def _given(kind: type[Any]) -> list[tuple[str, attrgetter[Any]]]:
    """Return the fields of a group that settings give, each with a function that reads it."""
    if kind not in _GIVEN:
        named = ((one.name, one.metadata.get("setting")) for one in fields(kind))
        _GIVEN[kind] = [(name, attrgetter(setting)) for name, setting in named if setting]
    return _GIVEN[kind]


def _checked(name: str, value: Any, weight: Field[Any]) -> Any:
    default, bounds = weight.default, weight.metadata
    if isinstance(default, float) and type(value) is int:
        value = float(value)
    if type(value) is not type(default):
        raise InvalidInput(f"tuning {name} must be a {type(default).__name__}, got {shown(value)}")
    if isinstance(value, str) and value not in bounds["among"]:
        raise InvalidInput(f"tuning {name} must be one of {', '.join(bounds['among'])}, got {shown(value)}")
    fits = {"ge": lambda limit: value >= limit, "gt": lambda limit: value > limit,
            "le": lambda limit: value <= limit, "lt": lambda limit: value < limit}  # fmt: skip
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    if not all(fits[bound](limit) for bound, limit in bounds.items() if bound in fits):
        limits = " and ".join(f"{words[bound]} {limit}" for bound, limit in bounds.items())
        raise InvalidInput(f"tuning {name} must be {limits}, got {shown(value)}")
    return value
