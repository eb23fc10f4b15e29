"""LlamaIndex's metadata filters as recall's own, which apply inside both search channels."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from tidal_plugins import InvalidInput
from tidal_plugins.shown import shown

NAMED = {
    "kind": "kinds",
    "thread": "threads",
    "speaker": "speakers",
    "source": "sources",
    "tag": "tags",
    "tags": "tags",
}
"""The filters of recall by their keys in a node's metadata. Any other key is one of the entry's own metadata."""

OCCURRED = "occurred_at"
SHOWN_ONLY = ("citation", "role")
"""The keys of a node's metadata that recall has no filter for."""

_ONE_OF = (FilterOperator.EQ, FilterOperator.IN)
_TAG_OF = (*_ONE_OF, FilterOperator.ANY, FilterOperator.CONTAINS)


def to_recall(filters: MetadataFilters | None) -> dict[str, Any]:
    """Return the keywords of ``TidalMemory.recall`` that mean the same as ``filters``.

    ``==`` and ``in`` on kind, thread, speaker and source; on tags also ``any`` and ``contains``; ``>=`` and ``<`` on
    occurred_at (ISO 8601); ``==`` on the entry's own metadata. All of them must hold; ``or`` may join only values of
    one key. Raises ``InvalidInput`` for everything else: no filter is ever dropped.
    """
    if filters is not None and not isinstance(filters, MetadataFilters):
        raise InvalidInput(f"filters is a MetadataFilters or None, got {shown(filters)}")
    found: dict[str, Any] = {}
    for filter_ in _flat(filters) if filters else ():
        for name, value in _translated(filter_).items():
            found[name] = _both(name, found[name], value) if name in found else value
    return found


def _flat(filters: MetadataFilters) -> list[MetadataFilter]:
    """Return the filters that must all hold."""
    several = len(filters.filters) > 1
    if filters.condition == FilterCondition.NOT:
        raise _refused("the condition «not»")
    if filters.condition == FilterCondition.OR and several:
        return [_one_of(filters.filters)]
    return [part for each in filters.filters for part in (_flat(each) if isinstance(each, MetadataFilters) else [each])]


def _one_of(filters: Sequence[MetadataFilter | MetadataFilters]) -> MetadataFilter:
    """Join values of one key that stand under «or» to one filter."""
    plain = [each for each in filters if isinstance(each, MetadataFilter) and each.operator in _ONE_OF]
    keys = {each.key for each in plain}
    if len(plain) < len(filters) or len(keys) > 1 or not keys <= set(NAMED):
        raise _refused("«or» between different keys")
    values: list[Any] = [value for each in plain for value in _listed(each.value)]
    return MetadataFilter.model_construct(key=keys.pop(), value=values, operator=FilterOperator.IN)


def _translated(filter_: MetadataFilter) -> dict[str, Any]:
    key, operator, value = filter_.key, filter_.operator, filter_.value
    if key == OCCURRED:
        return _time(operator, value)
    if key in NAMED:
        if operator not in (_TAG_OF if NAMED[key] == "tags" else _ONE_OF):
            raise _refused(f"«{operator.value}» on {key}")
        return {NAMED[key]: _strings(key, value)}
    if key in SHOWN_ONLY:
        raise _refused(key)
    if operator == FilterOperator.IN and isinstance(value, list) and len(value) == 1:
        operator, value = FilterOperator.EQ, value[0]
    if operator != FilterOperator.EQ or isinstance(value, list):
        raise _refused(f"«{operator.value}» with {shown(value)} on the metadata {shown(key)}")
    return {"metadata": {key: value}}


def _time(operator: FilterOperator, value: object) -> dict[str, Any]:
    bound = {FilterOperator.GTE: "since", FilterOperator.LT: "until"}.get(operator)
    if bound is None:
        raise _refused(f"«{operator.value}» on {OCCURRED} (>= and < can be)")
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInput(
            f"{OCCURRED} is compared with a time such as 2026-03-01T12:00:00Z, got {shown(value)}"
        ) from error
    return {bound: time if time.tzinfo else time.replace(tzinfo=UTC)}


def _strings(key: str, value: object) -> set[str]:
    values = _listed(value)
    if not all(isinstance(each, str) for each in values):
        raise InvalidInput(f"{key} is compared with strings, got {shown(value)}")
    return set(values)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _both(name: str, one: Any, other: Any) -> Any:
    """Return the filter that two filters on the same key leave."""
    if name == "tags":
        raise _refused("two filters on tags (recall looks for any of its tags)")
    if name == "metadata":
        if any(one[key] != other[key] for key in one.keys() & other.keys()):
            raise InvalidInput(f"the filters ask for different values of the same metadata: {one} and {other}")
        return one | other
    if name in ("since", "until"):
        return max(one, other) if name == "since" else min(one, other)
    return one & other


def _refused(what: str) -> InvalidInput:
    return InvalidInput(f"recall cannot filter by {what}; leave it out, or filter the nodes with a postprocessor")
