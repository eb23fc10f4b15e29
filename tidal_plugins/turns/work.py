"""The state of the work in one thread, in words, for a model that has lost the beginning of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidal_plugins.actions.calls import NO_TOOLS
from tidal_plugins.dossiers.work import lines_of
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.fence import Frames
from tidal_plugins.summarising.sources import source_of
from tidal_plugins.summarising.work import Work
from tidal_plugins.tuning import CapsuleTuning


def work_lines(episodes: Sequence[Episode], frames: Frames, beside: Iterable[str] = ()) -> list[str]:
    """Return where the work stands after the turns of one thread, the oldest first: lines with their citations.

    Without tools that changed or checked something, only rules and decisions are told. Those that stand in the lines
    ``beside`` these are left out. The lines have no angle brackets and no line breaks.
    """
    work = Work().after([source_of(episode, frames) for episode in episodes], NO_TOOLS)
    told = work if work.tools else replace(work, goal=None)
    return [f"- {line}" for line in lines_of(told, CapsuleTuning(), beside)]
