"""What a caller asks of recall and whisper, checked and turned into requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from tidal_plugins.affect.state import AffectLoop
from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.filter import Filter
from tidal_plugins.model.recall import Recall, Whisper
from tidal_plugins.protocols import CoverageAssessor
from tidal_plugins.retrieval.federation import Federation
from tidal_plugins.retrieval.multihop import over_hops
from tidal_plugins.retrieval.query import MAX_CHARS
from tidal_plugins.retrieval.request import (
    Request,
    active,
    checked_hops,
    checked_limit,
    checked_profile,
    checked_window,
)
from tidal_plugins.retrieval.whisper import compose
from tidal_plugins.tuning import Tuning
from tidal_plugins.validation import clean

FACT = "fact"


def ask_recall(
    federation: Federation,
    loop: AffectLoop,
    assessor: CoverageAssessor | None,
    settings: Tuning,
    scope: Scope,
    query: str,
    now: datetime,
    *,
    limit: int | None,
    window: int,
    hops: int | None,
    associative: bool,
    as_of: datetime | None,
    session: int | None,
    affect: Affect | None,
    profile: str | None,
    filter: Mapping[str, Any],
) -> Recall:
    """Return what a query brings up. Raises ``InvalidInput``."""
    now = now if as_of is None else aware(as_of, "as_of")
    mood = loop.current(scope, now) if as_of is None else Affect()
    kinds = filter.get("kinds")
    where = active(now, **filter, as_of=as_of and now, graph=kinds is not None and FACT in kinds)
    request = Request(
        scope,
        _query(query, settings),
        where,
        now,
        checked_limit(settings.recall.limit if limit is None else limit),
        affect=mood if affect is None else _felt(affect),
        profile=checked_profile(settings.recall.profile if profile is None else profile),
        associative=associative,
        session=session,
        window=checked_window(window),
    )
    hops = checked_hops(settings.hops.hops if hops is None else hops)
    further = replace(request, limit=request.limit + settings.hops.read, associative=False)

    def ask(text: str) -> Recall:
        return federation.recall(replace(further, text=_query(text, settings)))

    return over_hops(federation.recall(request), ask, assessor, settings.hops, hops)


def ask_whisper(
    federation: Federation,
    loop: AffectLoop,
    settings: Tuning,
    scope: Scope,
    turn: str,
    now: datetime,
    *,
    exclude: Collection[str],
    session: int | None,
    affect: Affect | None,
) -> Whisper:
    """Return what surfaces before a model call. Raises ``InvalidInput``."""
    if isinstance(turn, str) and not turn.strip():
        return Whisper("")
    turn = clean(turn.strip()[:MAX_CHARS] if isinstance(turn, str) else turn, max_chars=MAX_CHARS, name="a turn")
    request = Request(
        scope,
        turn,
        active(now, exclude=exclude),
        now,
        settings.whisper.max_entries,
        affect=loop.current(scope, now) if affect is None else _felt(affect),
        profile=settings.recall.profile,
        unasked=True,
        session=session,
        felt=partial(loop.felt, scope, turn, now) if affect is None else None,
    )
    return compose(federation.recall(request), now, settings.whisper)


def checked_filter(given: Mapping[str, Any], function: str) -> Mapping[str, Any]:
    """Return a filter whose fields all exist, or raise ``TypeError`` as Python does for an unknown argument."""
    for name in given:
        if name not in Filter.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    return given


def _query(text: str, settings: Tuning) -> str:
    return clean(text, max_chars=settings.ingestion.max_chars, name="a query")


def _felt(affect: Affect) -> Affect:
    if not isinstance(affect, Affect):
        raise InvalidInput(f"affect must be an Affect(valence, arousal), got {affect!r}")
    return affect
