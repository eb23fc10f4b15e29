"""Weights and bounds of what is made of many memories: consolidation, compaction, dossiers and capsule."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tidal_plugins.model.capsule import BUDGETS
from tidal_plugins.settings import (
    BriefSettings,
    CapsuleSettings,
    CompactionSettings,
    ConsolidationSettings,
    DossierSettings,
)


class ConsolidationTuning(ConsolidationSettings):
    batch: int = Field(200, gt=0)
    """Tiers, edges or uses that one transaction deals with."""
    turns: int = Field(3, ge=1)
    """Distinct turns that use an entry within ``hours`` before it becomes a fact [Tidal §2.4]."""
    hours: float = Field(24.0, gt=0)
    fact_tokens: int = Field(200, ge=50)
    """Tokens that such a fact may have, about 6 characters each."""
    seed_weight: float = Field(1.5, ge=0)
    """Weight of an association from which it may be a seed: coming up together once gives 1."""
    seed_days: float = Field(30.0, ge=0, le=36_500)
    """Days before the same seed may come again."""
    seed_kept: float = Field(7.0, ge=0, le=36_500)
    """Days for which a capsule shows a seed, and a whisper may."""
    seed_pool: int = Field(500, gt=0)
    """Associations, the strongest ones, among which seeds are looked for."""


class CompactionTuning(CompactionSettings):
    """[SIYA §2]. Shares are of the limit, in tokens and in bytes alike."""

    prepare: float = Field(0.70, gt=0, le=1)
    """Share at which the summary is prepared in the background."""
    hard: float = Field(0.95, gt=0, le=1)
    """Share above which a long ongoing turn folds."""
    work: float = Field(0.12, ge=0, lt=1)
    """Share that the lines about the state of the work may take: they must leave room for the statements."""
    synthesis: float = Field(0.08, gt=0, lt=1)
    """Share that the synthesis of the last completed turn may take, and that a folded part of the ongoing one has."""
    least: float = Field(0.15, gt=0, lt=1)
    """Share that the summary should have: where the target leaves less, a context may be fuller."""
    files: float = Field(0.20, gt=0, lt=1)
    """Share that all restored files may take, or more if the summary leaves some of the target."""
    file: float = Field(0.08, ge=0, lt=1)
    """Share that one restored file may take of that; what is longer is cut at a line."""
    file_window: int = Field(20, ge=0)
    """Last messages before a compaction in which a file that was only read must have been read."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.target < self.compact < self.hard or not self.prepare <= self.compact:
            raise ValueError("compaction needs target < compact < hard, and prepare no larger than compact")
        return self


class DossierTuning(DossierSettings):
    """[Capsule]."""

    refresh_all: float = Field(4.0, ge=0)
    """Hours after which consolidation refreshes a dossier that nobody asked for."""
    sources: int = Field(40, gt=0, le=400)
    """The most salient entries that feed a dossier."""
    half_life: float = Field(30.0, gt=0)
    """Days in which a source loses half of its recency."""
    floor: float = Field(0.2, ge=0, le=1)
    """Recency that the oldest source keeps."""
    base: float = Field(0.3, ge=0, le=1)
    """Share of its salience that a source hardly about the topic keeps."""
    threshold: float = Field(0.35, ge=0)
    """The nearness, cosine and keywords as in a whisper, that a source needs. It is lower than a whisper's threshold: a
    topic is a word or two, which lie further from a sentence about them than a question does."""
    shrunk: float = Field(0.8, ge=0, le=1)
    """Share of the length of the text in place below which a new one counts as shorter."""
    lost: float = Field(0.5, gt=0, le=1)
    """Share of the sources of the text in place that a shorter one may not lose."""


class CapsuleTuning(CapsuleSettings):
    """[Capsule]. Sections in lines, without headings and empty lines."""

    header: int = Field(BUDGETS["header"], ge=2)
    identity: int = Field(BUDGETS["identity"], ge=1)
    loop_protocol: int = Field(BUDGETS["loop_protocol"], ge=1)
    key_contacts: int = Field(BUDGETS["key_contacts"], ge=1)
    tools: int = Field(BUDGETS["tools"], ge=1)
    current_priorities: int = Field(BUDGETS["current_priorities"], ge=1)
    recent_work: int = Field(BUDGETS["recent_work"], ge=1)
    operational_rules: int = Field(BUDGETS["operational_rules"], ge=1)
    pending_tasks: int = Field(BUDGETS["pending_tasks"], ge=1)
    thoughts: int = Field(2, ge=0)
    """Thought seeds behind the priorities, where these leave room."""
    line: int = Field(160, ge=40)
    """Characters of a generated line, without its date and citation."""
    newest: int = Field(500, gt=0)
    """Entries, the newest ones, that the generated sections are made from."""
    days: float = Field(30.0, gt=0)
    """Age in days beyond which nothing is a priority or pending any more."""
    priority: float = Field(7.0, ge=1, le=10)
    """Importance from which an entry may be a priority."""
    work: float = Field(0.45, ge=0, le=1)
    """Worth from which a statement is recent work: in four stories jokes, moods and small events lie below."""
    work_tokens: int = Field(400, ge=0)
    """Tokens that the state of an agent's work may take, at the head of the recent work. They hold the six lines of a
    coding agent after 90 turns, with the names of its nineteen files; of more files some are only counted."""
    suggestions: int = Field(3, ge=0)
    """Suggestions for each section that is empty."""
    versions: int = Field(20, ge=0)
    """Earlier versions that stay readable."""


class BriefTuning(BriefSettings):
    """[Capsule]."""

    days: float = Field(14.0, gt=0)
    """Age in days up to which an entry is recent."""
    recent: int = Field(8, gt=0, le=100)
    """Recent entries beside what the dossier says."""
    associated: int = Field(5, ge=0, le=100)
    """Entries that come up together with them."""
