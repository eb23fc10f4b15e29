"""Weights and bounds of the write path: ingestion, use, facts, graph, supersession and affect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tidal_plugins.tuning.weight import weight


@dataclass(frozen=True, kw_only=True)
class IngestionTuning:
    """Recording and remembering."""

    # given by Settings
    max_chars: int
    secrets: Literal["mask", "keep", "refuse"]

    max_metadata_bytes: int = weight(64 * 1024, gt=0)
    """Bytes that metadata may have as JSON."""
    max_value_bytes: int = weight(64 * 1024 * 1024, gt=0)
    """Bytes that the value of an item of a long-term store may have as JSON."""
    indexed_chars: int = weight(8_000, gt=0)
    """Characters of such an item that a search reads, the first ones that are no binary data: some 1,400 words. To
    embed as many takes 0.2 s of one core, and all of a file of 280 kB took 8 s."""
    whole_words: int = weight(180, ge=20)
    """Words up to which a text is one passage: about what the embedder reads (MiniLM: 256 word pieces)."""
    passage_words: int = weight(120, ge=20)
    """Words of a passage of a longer text."""
    summary_chars: int = weight(320, ge=40)
    """Characters of an episode's summary."""
    batch: int = weight(64, gt=0)
    """Notes or turns that a bulk write embeds and commits together."""
    batch_chars: int = weight(20_000, gt=0)
    """Characters after which a batch is closed sooner, so that long documents show progress too."""


@dataclass(frozen=True, kw_only=True)
class DecayTuning:
    """[Tidal §2.4]; times in hours."""

    warm: float = weight(72.0, gt=0)
    """For a warm entry."""
    accessed: float = weight(168.0, gt=0)
    """For an entry that was used since it was stored."""
    emotional: float = weight(240.0, gt=0)
    """For an entry that was stored in a stirred mood."""
    cold: float = weight(720.0, gt=0)
    """For a cold entry, until it is archived."""
    important: float = weight(8.0, ge=1)
    """Importance from which an entry does not fade. The estimate gives it to allergies, medicines, keys, standing
    rules, promises and what is to be remembered: 5 of 2,342 users' turns to real assistants, 13 of 218 in stories of
    daily life and work, none of 2,960 turns of small talk. Above 10 everything fades."""

    floor: float = weight(0.01, gt=0, lt=1)
    """Weight below which an entry graduates to the next colder tier."""


@dataclass(frozen=True, kw_only=True)
class UseTuning:
    """Strengthening [Tidal §2.4]; the amounts are ours."""

    used: float = weight(1.0, ge=0)
    """Added to the weight of what an answer used, or what was said again word for word."""
    surfaced: float = weight(0.5, ge=0)
    """Added to the weight of what was shown and not used."""
    beside: float = weight(0.25, ge=0)
    """Added to the weight of what was said in the same turn as what was shown, and was not shown itself: half of that
    again. Without it what is on by default cost 0.6 points of recall@5 on the development conversations, with it 0.2,
    since the half of an exchange that nobody asks for was archived from beside the other."""
    cap: float = weight(10.0, gt=0)
    """Weight that nothing exceeds."""
    echo_words: int = weight(2, gt=0)
    """Words of a memory that an answer repeats, beyond the question's, from which on it used the memory."""
    echo_share: float = weight(0.4, gt=0, le=1)
    """Share of the new words of the memory or of the answer, whichever has fewer, that these must be: on development
    conversations it finds 41 % of the turns that an answer rests on, and 1.4 % of others that match the question."""


@dataclass(frozen=True, kw_only=True)
class GateTuning:
    """[Anamnesis G6]."""

    # given by Settings
    enabled: bool

    threshold: float = weight(0.35, ge=0)
    """Salience from which an entry is kept for good."""
    days: float = weight(14.0, gt=0, le=36_500)
    """Days after which other entries leave active queries, unless they are used."""

    by_importance: float = weight(0.5, ge=0)
    by_intensity: float = weight(0.2, ge=0)
    by_surprise: float = weight(0.3, ge=0)
    important: float = weight(8.0, ge=0)
    """Importance that is kept for good however little salient."""


@dataclass(frozen=True, kw_only=True)
class FactTuning:
    """[Capsule]."""

    max_bytes: int = weight(16 * 1024, gt=0)
    """Bytes that a fact's value may have as JSON."""

    importance: float = weight(7.0, ge=1, le=10)
    """Importance of the entry by which recall finds a fact."""


@dataclass(frozen=True, kw_only=True)
class GraphTuning:
    """[SIYA §3.3]."""

    # given by Settings
    enabled: bool
    background: bool
    language_model: str | None

    half_life: float = weight(180.0, gt=0)
    """Days in which the confidence of a relation falls by half if nothing confirms it."""
    relation_threshold: float = weight(0.45, gt=0, le=1)
    """Chance from which on a relation of talk is kept. Lower ones keep more: at 0.1 eight times as many, most of which
    are wrong."""

    floor: float = weight(0.3, ge=0, le=1)
    """Confidence below which it does not fade."""
    similarity: float = weight(0.92, gt=0, le=1)
    """Likeness of two names from which on merging their entities is proposed."""
    functional: tuple[str, ...] = (
        "is",
        "has_status",
        "lives_in",
        "works_at",
        "has_version",
        "located_in",
        "prefers_over",
        "age_is",
        "appointment",
        "deadline",
    )
    """Predicates that give a subject one object at a time: a new one closes the one before. Of ``is`` only what
    excludes each other does, as «up» and «down»; a name may be ``defined_in`` two files, and be called from many."""
    max_mentions: int = weight(500, gt=0)
    """Mentions that are kept of one message."""
    max_assertions: int = weight(500, gt=0)
    """Assertions that are kept of one message."""
    slice: int = weight(50, gt=0)
    """Entities and assertions of an episode that are written at a time: nobody else can write for some 50 ms then; a
    long episode with thousands of them takes seconds in all."""
    max_name: int = weight(200, gt=0)
    """Characters of an entity's name."""
    cited: int = weight(5, gt=0)
    """Episodes that an entity or a relation names when many are listed; one that is asked for names all."""
    each: int = weight(50, gt=0)
    """Relations, the surest ones, that a walk follows from an entity."""
    compared: int = weight(2_000, gt=0)
    """Entities, the last seen ones, among which names that may be one are looked for."""
    retry: float = weight(60.0, gt=0)
    """Seconds before an episode that could not be read is read again; they double each time."""
    retry_cap: float = weight(86_400.0, gt=0)
    """The longest such wait in seconds."""
    attempts: int = weight(8, gt=0)
    """Times that an episode is read in vain before it waits until somebody asks for it."""
    orphaned: float = weight(120.0, ge=0)
    """Seconds after which an episode that another process has recorded and not read is taken over from it."""
    claim: float = weight(120.0, gt=0)
    """Seconds, beside those that a model may take, for which a process holds the episodes that it reads. When it was
    killed, others on other machines read them after that."""
    quiet: float = weight(0.2, ge=0)
    """Seconds without recording before an episode is read in the background; after ten times that it is read anyway."""
    max_chars: int = weight(100_000, gt=0)
    """Characters of one message that are read."""
    batch: int = weight(64, gt=0)
    """Entities and relations that are embedded for recall, and written, at a time."""


@dataclass(frozen=True, kw_only=True)
class SupersessionTuning:
    """What later statements supersede."""

    # given by Settings
    enabled: bool

    sure: float = weight(0.85, gt=0, le=1)
    """Confidence from which on a whisper leaves out what is superseded, and tells the value that was replaced."""
    candidates: int = weight(16, gt=0)
    """The nearest earlier entries that a passage of a turn is compared with."""


@dataclass(frozen=True, kw_only=True)
class AffectTuning:
    """[Tidal §3]."""

    rule: str = weight("person", among=("person", "tidal"))
    """What moves the state. ``person``: what the user says, by its most charged sentences, and the answer by a tenth as
    much, whatever their lengths. ``tidal``: both texts, weighted by their lengths, the further the longer the answer
    [Tidal §3.4]. Under it ten furious turns with polite answers left the state at a valence of −.03."""
    half_life: float = weight(6.0, gt=0)
    """Hours in which the state relaxes half way to the baseline."""
    threshold: float = weight(0.5, ge=0, le=1)
    """Intensity above which the state counts as stirred."""

    baseline: float = weight(0.0, ge=-1, le=1)
    rate: float = weight(0.5, gt=0, le=1)
    """Share by which what the user says moves the state; in the rule ``tidal`` one exchange with a long answer."""
    answer: float = weight(0.1, ge=0, le=1)
    """Share of the rate by which the answer moves it in the rule ``person``."""
    full_chars: int = weight(400, gt=0)
    """Length of an answer that counts in full in the rule ``tidal``."""
    least: float = weight(0.1, ge=0, le=1)
    """Share of the rate that the shortest answer counts in the rule ``tidal``."""
    silence: float = weight(0.05, ge=0, le=1)
    """Intensity below which there is no current affect."""
