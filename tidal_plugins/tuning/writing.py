"""Weights and bounds of the write path: ingestion, use, facts, graph, supersession and affect."""

from __future__ import annotations

from pydantic import Field

from tidal_plugins.settings import (
    AffectSettings,
    DecaySettings,
    FactSettings,
    GateSettings,
    GraphSettings,
    Group,
    IngestionSettings,
    SupersessionSettings,
)


class IngestionTuning(IngestionSettings):
    whole_words: int = Field(180, ge=20)
    """Words up to which a text is one passage: about what the embedder reads (MiniLM: 256 word pieces)."""
    passage_words: int = Field(120, ge=20)
    """Words of a passage of a longer text."""
    summary_chars: int = Field(320, ge=40)
    """Characters of an episode's summary."""
    batch: int = Field(64, gt=0)
    """Notes or turns that a bulk write embeds and commits together."""
    batch_chars: int = Field(20_000, gt=0)
    """Characters after which a batch is closed sooner, so that long documents show progress too."""


class DecayTuning(DecaySettings):
    """[Tidal §2.4]; times in hours."""

    floor: float = Field(0.01, gt=0, lt=1)
    """Weight below which an entry graduates to the next colder tier."""


class UseTuning(Group):
    """Strengthening [Tidal §2.4]; the amounts are ours."""

    used: float = Field(1.0, ge=0)
    """Added to the weight of what an answer used, or what was said again word for word."""
    surfaced: float = Field(0.5, ge=0)
    """Added to the weight of what was shown and not used."""
    beside: float = Field(0.25, ge=0)
    """Added to the weight of what was said in the same turn as what was shown, and was not shown itself: half of that
    again. Without it what is on by default cost 0.6 points of recall@5 on the development conversations, with it 0.2,
    since the half of an exchange that nobody asks for was archived from beside the other."""
    cap: float = Field(10.0, gt=0)
    """Weight that nothing exceeds."""
    echo_words: int = Field(2, gt=0)
    """Words of a memory that an answer repeats, beyond the question's, from which on it used the memory."""
    echo_share: float = Field(0.4, gt=0, le=1)
    """Share of the new words of the memory or of the answer, whichever has fewer, that these must be: on development
    conversations it finds 41 % of the turns that an answer rests on, and 1.4 % of others that match the question."""


class GateTuning(GateSettings):
    """[Anamnesis G6]."""

    by_importance: float = Field(0.5, ge=0)
    by_intensity: float = Field(0.2, ge=0)
    by_surprise: float = Field(0.3, ge=0)
    important: float = Field(8.0, ge=0)
    """Importance that is kept for good however little salient."""


class FactTuning(FactSettings):
    """[Capsule]."""

    importance: float = Field(7.0, ge=1, le=10)
    """Importance of the entry by which recall finds a fact."""


class GraphTuning(GraphSettings):
    """[SIYA §3.3]."""

    floor: float = Field(0.3, ge=0, le=1)
    """Confidence below which it does not fade."""
    similarity: float = Field(0.92, gt=0, le=1)
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
    max_mentions: int = Field(500, gt=0)
    """Mentions that are kept of one message."""
    max_assertions: int = Field(500, gt=0)
    """Assertions that are kept of one message."""
    slice: int = Field(50, gt=0)
    """Entities and assertions of an episode that are written at a time: nobody else can write for some 50 ms then; a
    long episode with thousands of them takes seconds in all."""
    max_name: int = Field(200, gt=0)
    """Characters of an entity's name."""
    cited: int = Field(5, gt=0)
    """Episodes that an entity or a relation names when many are listed; one that is asked for names all."""
    each: int = Field(50, gt=0)
    """Relations, the surest ones, that a walk follows from an entity."""
    compared: int = Field(2_000, gt=0)
    """Entities, the last seen ones, among which names that may be one are looked for."""
    retry: float = Field(60.0, gt=0)
    """Seconds before an episode that could not be read is read again; they double each time."""
    retry_cap: float = Field(86_400.0, gt=0)
    """The longest such wait in seconds."""
    attempts: int = Field(8, gt=0)
    """Times that an episode is read in vain before it waits until somebody asks for it."""
    orphaned: float = Field(120.0, ge=0)
    """Seconds after which an episode that another process has recorded and not read is taken over from it."""
    claim: float = Field(120.0, gt=0)
    """Seconds, beside those that a model may take, for which a process holds the episodes that it reads. When it was
    killed, others on other machines read them after that."""
    quiet: float = Field(0.2, ge=0)
    """Seconds without recording before an episode is read in the background; after ten times that it is read anyway."""
    max_chars: int = Field(100_000, gt=0)
    """Characters of one message that are read."""
    batch: int = Field(64, gt=0)
    """Entities and relations that are embedded for recall, and written, at a time."""


class SupersessionTuning(SupersessionSettings):
    candidates: int = Field(16, gt=0)
    """The nearest earlier entries that a passage of a turn is compared with."""


class AffectTuning(AffectSettings):
    """[Tidal §3]."""

    baseline: float = Field(0.0, ge=-1, le=1)
    rate: float = Field(0.5, gt=0, le=1)
    """Share by which what the user says moves the state; in the rule ``tidal`` one exchange with a long answer."""
    answer: float = Field(0.1, ge=0, le=1)
    """Share of the rate by which the answer moves it in the rule ``person``."""
    full_chars: int = Field(400, gt=0)
    """Length of an answer that counts in full in the rule ``tidal``."""
    least: float = Field(0.1, ge=0, le=1)
    """Share of the rate that the shortest answer counts in the rule ``tidal``."""
    silence: float = Field(0.05, ge=0, le=1)
    """Intensity below which there is no current affect."""
