"""Co-activation: what an exchange was about comes up together from then on [Capsule]."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime

from tidal_plugins.associations.store import AssociationStore
from tidal_plugins.errors import Corrupt
from tidal_plugins.ingestion.repeats import firsts
from tidal_plugins.ingestion.uses import How, shown_as
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode

logger = logging.getLogger(__name__)

_USED = 2.0
"""Activation of what an answer used beside 1 of all else: where a context is too large, this stays in it."""


def associate(
    writer: Writer,
    scope: Scope,
    before: Episode | None,
    episode: Episode,
    seen: Mapping[str, How | None],
    now: datetime,
) -> None:
    """Link what was shown before an episode and what was said in it, as one context. Call it inside the transaction.

    ``seen`` are the ids of what was shown, with how it was used. Of a turn that goes on, ``before`` is the episode as
    it was stored already: what was linked with it is not linked again.
    """
    web = AssociationStore(writer.storage, writer.settings.associations)
    context = web.activate((id_ for id_, how in seen.items() if how), strength=_USED)
    context = web.activate((id_ for id_, how in seen.items() if not how), context)
    context = web.activate(_said(writer, scope, episode), context)
    counted = {*_said(writer, scope, before), *shown_as(writer, scope, before.surfaced)} if before else ()
    try:
        web.commit_context(scope, context, now, counted=counted)
    except Corrupt as error:  # nothing of the context is written; the exchange can be stored all the same
        logger.error("what came up together in %s is not linked: %s", episode.id, error)


def _said(writer: Writer, scope: Scope, episode: Episode) -> Iterable[str]:
    """The entries of an episode; what repeats another counts as that one."""
    first = firsts(writer, scope, episode.entries)
    return dict.fromkeys(first.get(id_, id_) for id_ in episode.entries)
