"""Co-activation: memories that one exchange was about come up together from then on [Capsule]."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from tidal_plugins.associations.store import AssociationStore
from tidal_plugins.errors import Corrupt
from tidal_plugins.ingestion.plan import TurnPlan, Writing
from tidal_plugins.ingestion.repeats import firsts
from tidal_plugins.ingestion.uses import shown_as
from tidal_plugins.ingestion.writer import Writer
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode

logger = logging.getLogger(__name__)

_USED = 2.0
"""Activation of what an answer used beside 1 of all else: where a context is too large, this stays in it."""


def associate(writing: Writing, plan: TurnPlan) -> None:
    """Link the memories that were shown before a turn and the entries of the turn, as one context.

    If a turn continues, links that it has made are not made again.
    """
    writer, scope, now = writing.writer, writing.scope, writing.now
    before, episode, seen = plan.known, plan.episode, plan.shown
    web = AssociationStore(writer.storage, writer.settings.associations)
    context = web.activate((id_ for id_, how in seen.items() if how), strength=_USED)
    context = web.activate((id_ for id_, how in seen.items() if not how), context)
    context = web.activate(_said(writer, scope, episode), context)
    counted = {*_said(writer, scope, before), *shown_as(writer, scope, before.surfaced)} if before else ()
    try:
        web.commit_context(scope, context, now, counted=counted)
    except Corrupt:  # nothing of the context is written; the exchange can be stored all the same
        logger.error("what came up together in %s is not linked: a row is damaged", episode.id)


def _said(writer: Writer, scope: Scope, episode: Episode) -> Iterable[str]:
    """Return the entries of an episode; a repetition counts as the entry that it repeats."""
    first = firsts(writer, scope, episode.entries)
    return dict.fromkeys(first.get(id_, id_) for id_ in episode.entries)
