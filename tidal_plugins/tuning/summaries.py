"""Weights and bounds of what is made of many memories: consolidation, compaction, dossiers and capsule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.capsule import BUDGETS, MAX_LINES
from tidal_plugins.settings import FileAction, FileTool
from tidal_plugins.tuning.weight import weight


@dataclass(frozen=True, kw_only=True)
class ConsolidationTuning:
    """Maintenance runs."""

    seeds: int = weight(3, ge=0, le=100)
    """Thought seeds that a run names."""
    runs: int = weight(30, gt=0)
    """The last runs that can be undone."""
    batch: int = weight(200, gt=0)
    """Tiers, edges or uses that one transaction deals with."""
    turns: int = weight(3, ge=1)
    """Distinct turns that use an entry within ``hours`` before it becomes a fact [Tidal §2.4]."""
    hours: float = weight(24.0, gt=0)
    fact_tokens: int = weight(200, ge=50)
    """Tokens that such a fact may have, about 6 characters each."""
    seed_weight: float = weight(1.5, ge=0)
    """Weight of an association from which it may be a seed: coming up together once gives 1."""
    seed_days: float = weight(30.0, ge=0, le=36_500)
    """Days before the same seed may come again."""
    seed_kept: float = weight(7.0, ge=0, le=36_500)
    """Days for which a capsule shows a seed, and a whisper may."""
    seed_pool: int = weight(500, gt=0)
    """Associations, the strongest ones, among which seeds are looked for."""


@dataclass(frozen=True, kw_only=True)
class CompactionTuning:
    """[SIYA §2]. Shares are of the limit, in tokens and in bytes alike."""

    # given by Settings
    max_tokens: int
    max_bytes: int
    compact: float
    max_files: int
    file_tools: Mapping[str, FileAction | FileTool]

    target: float = weight(0.60, gt=0, le=1)
    """Share that a rebuilt context should not exceed without its files."""
    system_paths: tuple[str, ...] = (
        ".git", ".hg", ".svn", ".idea", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".venv", "__pycache__",
        "dist-packages", "node_modules", "site-packages", "venv",
    )  # fmt: skip
    """Folders whose files are never restored."""

    prepare: float = weight(0.70, gt=0, le=1)
    """Share at which the summary is prepared in the background."""
    hard: float = weight(0.95, gt=0, le=1)
    """Share above which a long ongoing turn folds."""
    work: float = weight(0.12, ge=0, lt=1)
    """Share that the lines about the state of the work may take: they must leave room for the statements."""
    synthesis: float = weight(0.08, gt=0, lt=1)
    """Share that the synthesis of the last completed turn may take, and that a folded part of the ongoing one has."""
    least: float = weight(0.15, gt=0, lt=1)
    """Share that the summary should have: where the target leaves less, a context may be fuller."""
    files: float = weight(0.20, gt=0, lt=1)
    """Share that all restored files may take, or more if the summary leaves some of the target."""
    file: float = weight(0.08, ge=0, lt=1)
    """Share that one restored file may take of that; what is longer is cut at a line."""
    file_window: int = weight(20, ge=0)
    """Last messages before a compaction in which a file that was only read must have been read."""

    def __post_init__(self) -> None:
        if not self.target < self.compact < self.hard or not self.prepare <= self.compact:
            raise InvalidInput("compaction needs target < compact < hard, and prepare no larger than compact")


@dataclass(frozen=True, kw_only=True)
class DossierTuning:
    """[Capsule]."""

    refresh: float = weight(2.0, ge=0)
    """Hours after which a dossier is due again."""
    max_tokens: int = weight(600, gt=0)
    """Tokens of a dossier's text, citations included."""
    versions: int = weight(20, ge=0)
    """Earlier versions that stay readable."""

    refresh_all: float = weight(4.0, ge=0)
    """Hours after which consolidation refreshes a dossier that nobody asked for."""
    sources: int = weight(40, gt=0, le=400)
    """The most salient entries that feed a dossier."""
    half_life: float = weight(30.0, gt=0)
    """Days in which a source loses half of its recency."""
    floor: float = weight(0.2, ge=0, le=1)
    """Recency that the oldest source keeps."""
    base: float = weight(0.3, ge=0, le=1)
    """Share of its salience that a source hardly about the topic keeps."""
    threshold: float = weight(0.35, ge=0)
    """The nearness, cosine and keywords as in a whisper, that a source needs. It is lower than a whisper's threshold: a
    topic is a word or two, which lie further from a sentence about them than a question does."""
    shrunk: float = weight(0.8, ge=0, le=1)
    """Share of the length of the text in place below which a new one counts as shorter."""
    lost: float = weight(0.5, gt=0, le=1)
    """Share of the sources of the text in place that a shorter one may not lose."""


@dataclass(frozen=True, kw_only=True)
class CapsuleTuning:
    """[Capsule]. Sections in lines, without headings and empty lines."""

    max_lines: int = weight(MAX_LINES, ge=100)
    """Lines of the whole capsule."""

    header: int = weight(BUDGETS["header"], ge=2)
    identity: int = weight(BUDGETS["identity"], ge=1)
    loop_protocol: int = weight(BUDGETS["loop_protocol"], ge=1)
    key_contacts: int = weight(BUDGETS["key_contacts"], ge=1)
    tools: int = weight(BUDGETS["tools"], ge=1)
    current_priorities: int = weight(BUDGETS["current_priorities"], ge=1)
    recent_work: int = weight(BUDGETS["recent_work"], ge=1)
    operational_rules: int = weight(BUDGETS["operational_rules"], ge=1)
    pending_tasks: int = weight(BUDGETS["pending_tasks"], ge=1)
    thoughts: int = weight(2, ge=0)
    """Thought seeds behind the priorities, where these leave room."""
    line: int = weight(160, ge=40)
    """Characters of a generated line, without its date and citation."""
    newest: int = weight(500, gt=0)
    """Entries, the newest ones, that the generated sections are made from."""
    days: float = weight(30.0, gt=0)
    """Age in days beyond which nothing is a priority or pending any more."""
    priority: float = weight(7.0, ge=1, le=10)
    """Importance from which an entry may be a priority."""
    work: float = weight(0.45, ge=0, le=1)
    """Worth from which a statement is recent work: in four stories jokes, moods and small events lie below."""
    work_tokens: int = weight(400, ge=0)
    """Tokens that the state of an agent's work may take, at the head of the recent work. They hold the six lines of a
    coding agent after 90 turns, with the names of its nineteen files; of more files some are only counted."""
    suggestions: int = weight(3, ge=0)
    """Suggestions for each section that is empty."""
    versions: int = weight(20, ge=0)
    """Earlier versions that stay readable."""


@dataclass(frozen=True, kw_only=True)
class BriefTuning:
    """[Capsule]."""

    max_chars: int = weight(2_000, ge=200)
    """Characters of a brief."""

    days: float = weight(14.0, gt=0)
    """Age in days up to which an entry is recent."""
    recent: int = weight(8, gt=0, le=100)
    """Recent entries beside what the dossier says."""
    associated: int = weight(5, ge=0, le=100)
    """Entries that come up together with them."""
