"""TidalRetriever: recalled memories as nodes, by LlamaIndex's metadata filters."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from llama_index_tidal.place import Scope, note_found
from tidal_plugins import Hit, InvalidInput, Policy, Recall, TidalMemory
from tidal_plugins.model.entry import Filter
from tidal_plugins.model.recall import OWN
from tidal_plugins.retrieval.understand import limit_of
from tidal_plugins.shown import shown
from tidal_plugins.turns import Place, entry_metadata, in_scope, searching, session_config
from tidal_plugins.validation import check_flag

LIMIT = 5
"""Nodes that are returned by default."""

OPTIONS = ("window", "hops", "associative", "as_of", "affect", "profile", "secrets")
"""Arguments of ``TidalMemory.recall`` besides its filters."""

TOLD = ("kind", "source", "speaker", "role", "occurred_at")
"""Metadata that a language model is shown with a node; the rest is for the program."""


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


class TidalRetriever(BaseRetriever):
    """Recalls up to ``limit`` memories for a query (or ``k``, which is the same; default: 5), best first.

    A node has the entry's id, the passage that matched best and the same keys of metadata each time. A short text is
    one passage; ``memory.get(node.node_id).text`` returns the whole text. The score of a node is the confidence of its
    hit, the chance that it helps, in [0, 1]; the order is that of recall, which knows more. Turns that only ask, thank
    or acknowledge, such as «Noted.» and earlier questions, are left out, and others take their places;
    ``everything=True`` returns them, too. ``filters`` are LlamaIndex's (see
    :func:`llama_index_tidal.retriever.to_recall`). ``recall`` are filters of ``TidalMemory.recall`` itself, such as
    ``kinds=``, ``since=`` or ``metadata={"draft": True}`` (a ``MetadataFilter`` refuses a bool). ``scope`` defaults to
    that of the memory. With a ``policy``, an ``agent`` and the ``thread`` of a chat, recall uses the signals of the
    chat's session, as in ``TidalChatMemory``.
    """

    def __init__(
        self,
        memory: TidalMemory,
        limit: int | None = None,
        *,
        k: int | None = None,
        filters: MetadataFilters | None = None,
        scope: Scope | None = None,
        everything: bool = False,
        policy: Policy | str | None = None,
        agent: str | None = None,
        thread: str | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **recall: Any,
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._place = Place(in_scope(memory, scope), thread)
        self._limit = limit_of(k, limit) or LIMIT
        self._options = _joined(to_recall(filters), recall) | {"everything": check_flag(everything, "everything")}
        self._config = session_config(self._place.memory, policy, agent, check_name=True)
        if (policy is None) != (thread is None):
            raise InvalidInput("policy= and thread= go together: the session of a chat, under a policy")

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if not query_bundle.query_str.strip():
            return []
        return self._noted(query_bundle.query_str, self._found(query_bundle.query_str))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if not query_bundle.query_str.strip():
            return []
        found = await asyncio.to_thread(self._found, query_bundle.query_str)
        return self._noted(query_bundle.query_str, found)

    def _noted(self, query: str, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        note_found(self._place.memory, query, tuple(node.node_id for node in nodes))
        return nodes

    def _found(self, query: str) -> list[NodeWithScore]:
        options = self._options
        if self._config:
            options = {**options, "session": self._config.session(self._place)}
        return _nodes(searching.recall(self._place.memory, query, limit=self._limit, **options))


def _joined(filters: Mapping[str, Any], recall: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(recall.keys() - {*Filter.__annotations__, *OPTIONS}):
        known = ", ".join([*Filter.__annotations__, *OPTIONS])
        raise InvalidInput(f"{', '.join(unknown)}: no such argument; known are limit, k, filters, {known}")
    if twice := sorted(filters.keys() & recall.keys()):
        raise InvalidInput(f"filters= and {', '.join(twice)}= filter by the same; give one of them")
    return {**filters, **recall}


def _nodes(recall: Recall) -> list[NodeWithScore]:
    return [NodeWithScore(node=_node(hit), score=hit.confidence) for hit in recall]


def _node(hit: Hit) -> TextNode:
    metadata, told = entry_metadata(hit.entry), set(TOLD)
    if hit.origin != OWN:  # a peer's memory is somebody else's
        metadata["origin"] = hit.origin
        told.add("origin")
    hidden = [key for key in metadata if key not in told]
    return TextNode(
        id_=hit.id,
        text=hit.passage,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=list(metadata),
    )


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
