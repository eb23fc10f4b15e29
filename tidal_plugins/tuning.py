"""The weights and bounds inside the mechanisms: no part of the public interface.

``Tuning`` is a ``Settings`` with every number there is, so that a benchmark can change one:
``TidalMemory(path, settings=Tuning(recall={"keywords": 0.2}))``. Each value has a measurement or a source behind it.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.capsule import BUDGETS
from tidal_plugins.settings import (
    AffectSettings,
    BriefSettings,
    CapsuleSettings,
    CompactionSettings,
    ConsolidationSettings,
    DecaySettings,
    DossierSettings,
    FactSettings,
    GateSettings,
    GraphSettings,
    Group,
    HopSettings,
    IngestionSettings,
    ModelSettings,
    PeerSettings,
    RecallSettings,
    RerankSettings,
    Settings,
    SignalSettings,
    StorageSettings,
    SupersessionSettings,
    WhisperSettings,
)
from tidal_plugins.shown import shown


class StorageTuning(StorageSettings):
    pass


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


class ModelTuning(ModelSettings):
    """Models that write or read: a ``Summariser``, a ``ClaimExtractor``."""


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


class RecallTuning(RecallSettings):
    """[Tidal §2.3, §3.2], [Anamnesis]."""

    pool: int = Field(100, gt=0, le=4000)
    """Candidates from each channel, at least; twice the limit where that is more."""
    shortlist: int = Field(40, gt=0, le=8000)
    """Of those, how many are ranked in full, at least; four times the limit where that is more. All of them bring
    nothing more on the development conversations (recall@10 74.9 against 75.0), and cost 2 ms."""
    rrf: int = Field(60, gt=0)
    """Constant of reciprocal rank fusion, in the profile ``attention``."""
    keywords: float = Field(0.35, ge=0)
    """Weight of keyword strength against cosine; between .3 and .7 conversations and chats do nearly alike."""
    brevity: float = Field(30.0, gt=0)
    """Words up to which a passage counts as short: the length of a spoken turn."""
    speaker: float = Field(0.3, ge=0)
    """Added where the query names the speaker: 6 nats of the embedder's scale (.05 each), since nearly all that is
    asked about a person was said by that person."""
    passages: float = Field(0.03, ge=0)
    """Taken off per nat of an entry's number of passages: many passages are many chances of a high maximum. A plan that
    people come back to is long, too: with .07 turns that go on lose a point of recall@10."""
    assistant: float = Field(0.05, ge=0)
    """Taken off an assistant's answer: users come back mostly to what they said themselves."""
    thread: float = Field(0.25, ge=0, lt=1)
    """Share of the way that an entry is raised to the best of its thread: a conversation is about something. The order
    within it stays, and where there are no threads nothing changes."""
    neighbours: float = Field(0.15, ge=0)
    """Share of what a neighbour is nearer than an ordinary candidate that it lends; half of it at two places."""
    answer: float = Field(3.0, ge=0)
    """Factor by which a question lends more to the turn right after it, which holds its answer."""
    turn: float = Field(20.0, gt=0)
    """Analysed words, without stop words, up to which a turn leans on its neighbours; a longer one does in proportion
    less, and lends less, by the root of that. Without that limit chats of long messages lose 15 points of recall@5."""
    time_mention: float = Field(0.05, ge=0)
    """Added for a turn that says when something was, taken off a short one that asks: one nat. Who tells of an event
    says when it was; a question asks for what the next turn tells."""
    reach: int = Field(20, ge=2, le=1000)
    """How far down what is near is looked at more closely: the best so many candidates bring their neighbours along, so
    many from a time that the query speaks of take part, and of so many the first must stand out to be whispered."""
    time: float = Field(0.2, ge=0)
    """Added for an entry from the time that the query speaks of («last Tuesday», «in May»): 4 nats. It raises recall@5
    of such questions from 72 to 83, in each of the development conversations; 0 reads no times."""
    recency: float = Field(0.3, ge=0)
    """Power of an entry's age in days by which a score falls, where the turn goes on with something begun earlier and
    does more than ask. Such a turn says little of what it needs, which is mostly what was done last. Questions never
    pay: what they ask for is as often old."""
    slack: float = Field(3.0, ge=0.001, le=36_500)
    """Days outside that time over which this falls to 1/e: what happens is told days later."""
    event: float = Field(0.5, ge=0)
    """Nearness, cosine and keywords, from which on the nearest memory is the event of «before the move»: well above the
    .3 that unrelated texts have."""
    sharpness: float = Field(5.0, gt=0)
    """Relevance falls to 1/e when the fused score falls by 1/sharpness, so that a factor moves near rivals only."""
    importance: float = Field(0.5, ge=0, le=1)
    """Share of the importance factor that counts: half measures best or as good on every kind of conversation."""
    lasting: float = Field(1.65, ge=1)
    """Factor of the score of what a person said for good, such as an allergy, if the turn asks: as much as a tenth of
    cosine. Among 2,000 turns of chatter it brings an allergy to walnuts from place 10 to 3 for «can I eat this
    brownie?», and from 2 to 1 for «what must I not eat?». The development stories have 16 of 18 and 8 of 10 as without.
    """
    decay: float = Field(0.05, ge=0, le=1)
    """Share of an entry's strength that counts (λ); undamped, every month-old memory would sink below fresh ones."""
    alpha_calm: float = Field(0.7, ge=0, le=1)
    """Share of meaning against feeling, α, while calm; ``balanced`` scales its ``feeling`` with 1 − α."""
    alpha_stirred: float = Field(0.3, ge=0, le=1)
    """The same above the affect threshold."""
    feeling: float = Field(0.4, ge=0)
    """Worth of full likeness of feeling in the profile ``balanced``, in cosine, times 1 − α: it decides between
    memories that are about equally near, and cannot lift one that has nothing to do with the turn."""
    emotion: float = Field(0.3, ge=0, le=1)
    """Weight of the emotion vectors' cosine in the profile ``attention``, in relevance."""
    likeness: float = Field(0.1, ge=0)
    """Worth of full likeness of emotions in the profile ``balanced``, in cosine. Added to relevance instead, it
    lifted memories that have little to do with the turn."""


class RerankTuning(RerankSettings):
    """The reranker, if there is one [Anamnesis]."""


class HopTuning(HopSettings):
    """Recall over several hops."""

    leads: int = Field(1, gt=0, le=20)
    """Queries of each later hop that bring something new, the most telling ones. Each is a recall of its own: with one,
    two hops take about twice as long as one, with two more than three times."""
    queries: int = Field(4, ge=0, le=100)
    """Queries of all later hops together."""
    read: int = Field(5, gt=0, le=100)
    """Hits of the first hop, the best ones, that are read for what leads further; and of each later query."""
    least: float = Field(0.1, ge=0, le=1)
    """Share of its query's best score that a hit of a later hop needs: what is far below came for want of better."""
    appended: int = Field(5, ge=0, le=100)
    """Hits beyond the limit that later hops append."""


class PeerTuning(PeerSettings):
    """Other memories that recall asks [Anamnesis G5]."""


class WhisperTuning(WhisperSettings):
    """[Tidal §2.3]."""

    plain: float = Field(0.7, ge=0, le=1)
    """Share of the thresholds that counts in the profiles ``tidal`` and ``attention``. They score no context, so that
    their answers stand out less. In full, ``tidal`` shows the evidence of 36 % of the domains' questions and is silent
    on 67 %; with half of them it shows 80 % and is silent on 32 %."""
    statement_words: int = Field(9, ge=1)
    """Words from which on a turn that only tells needs ``statement_threshold``. A shorter one mostly names something
    and says little of it: so do all remarks of the development stories that call for a memory and get it."""
    statement_most: int = Field(50, ge=1)
    """Words up to which it does. A longer one mostly reports on a project: without this limit three of 76 answers on
    RealMem are lost."""
    alike: float = Field(0.9, ge=0)
    """Cosine of two memories from which on they say nearly the same: they are no rivals, and no third one of a kind
    surfaces. On the development conversations no answer is lost by it; from .8 down answers are taken for repetitions
    and the threshold tells less. Above 1 nothing is alike."""
    keywords: float = Field(0.25, ge=0)
    """Added to the margin of the first memory for the query's rare words in the memories to show, by the one that has
    most of them."""
    topic: float = Field(0.25, ge=0)
    """Added to it for the mean cosine of all these: whether the memory holds anything about the topic."""

    candidates: int = Field(8, ge=1, le=100)
    """Hits among which the lines of a whisper are chosen."""
    unit_meaning: float = Field(1.0, ge=0)
    """Weight of a unit's cosine with the turn, beside the share of the turn's rare words that it has."""
    unit_pool: int = Field(8, ge=0)
    """Units that are embedded for one whisper, those with most of these words."""
    unit_question: float = Field(0.3, ge=0)
    """Taken off a unit that asks."""

    def share(self, profile: str) -> float:
        """Return the share of the thresholds that counts in a profile."""
        return 1.0 if profile == "balanced" else self.plain

    def least(self, only_tells: bool, words: int) -> float:
        """Return the chance below which nothing surfaces for a turn of so many words, before that share."""
        strict = self.threshold and only_tells and self.statement_words <= words <= self.statement_most
        return max(self.threshold, self.statement_threshold) if strict else self.threshold


class AssociationTuning(Group):
    """[Capsule]."""

    new: float = Field(1.0, gt=0)
    """Weight of an edge when two entries first come up together."""
    step: float = Field(1.0, ge=0)
    """Added each time they do so again."""
    cap: float = Field(10.0, gt=0)
    daily: float = Field(0.95, gt=0, le=1)
    """Share of its weight that an edge keeps per day."""
    floor: float = Field(0.01, gt=0)
    """Weight below which an edge is pruned."""
    context: int = Field(32, ge=2, le=500)
    """Entries of one context that are linked, the strongest: 32 are 496 pairs."""
    threshold: float = Field(0.15, ge=0, le=1)
    """Activation below which spreading stops: one new edge passes .5, two .25, three .125."""
    depth: int = Field(2, ge=0)
    """Hops that activation spreads."""
    limit: int = Field(20, ge=0, le=1000)
    """Entries that spreading returns."""


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
    line: int = Field(160, ge=40)
    """Characters of a generated line, without its date and citation."""
    newest: int = Field(500, gt=0)
    """Entries, the newest ones, that the generated sections are made from."""
    days: float = Field(30.0, gt=0)
    """Age in days beyond which nothing is a priority or pending any more."""
    priority: float = Field(7.0, ge=1, le=10)
    """Importance from which an entry may be a priority."""
    work: float = Field(5.0, ge=0, le=10)
    """Importance from which a statement is recent work, unless it tells what was done or decided. One that no rule
    speaks about has 4.5: of four stories, the jokes, moods and small events lie below."""
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


class SignalTuning(SignalSettings):
    """[tidalDB]."""

    hint: float = Field(0.3, ge=0)
    """Gain in its session of an entry that has all keywords of an annotation, on a relevance of at most 1."""
    reward: float = Field(0.2, ge=0)
    """Largest gain of an entry for rewards in its session."""
    shared: float = Field(0.2, ge=0)
    """Largest change of an entry by signals outside a session."""
    joined: int = Field(10, ge=0, le=200)
    """Entries, the most rewarded ones, that take part in a recall of their session which did not find them."""
    faded: float = Field(0.001, gt=0)
    """Score below which a signal counts for nothing: it is worth 0.0002 then."""
    max_weight: float = Field(1_000.0, gt=0)
    """Weight that one signal may have."""
    annotation_chars: int = Field(500, gt=0)


class Tuning(Settings):
    """All settings and all weights."""

    storage: StorageTuning = Field(default_factory=StorageTuning)
    ingestion: IngestionTuning = Field(default_factory=IngestionTuning)
    models: ModelTuning = Field(default_factory=ModelTuning)
    decay: DecayTuning = Field(default_factory=DecayTuning)
    use: UseTuning = Field(default_factory=UseTuning)
    gate: GateTuning = Field(default_factory=GateTuning)
    facts: FactTuning = Field(default_factory=FactTuning)
    graph: GraphTuning = Field(default_factory=GraphTuning)
    supersession: SupersessionTuning = Field(default_factory=SupersessionTuning)
    affect: AffectTuning = Field(default_factory=AffectTuning)
    recall: RecallTuning = Field(default_factory=RecallTuning)
    rerank: RerankTuning = Field(default_factory=RerankTuning)
    hops: HopTuning = Field(default_factory=HopTuning)
    peers: PeerTuning = Field(default_factory=PeerTuning)
    whisper: WhisperTuning = Field(default_factory=WhisperTuning)
    associations: AssociationTuning = Field(default_factory=AssociationTuning)
    consolidation: ConsolidationTuning = Field(default_factory=ConsolidationTuning)
    compaction: CompactionTuning = Field(default_factory=CompactionTuning)
    dossier: DossierTuning = Field(default_factory=DossierTuning)
    capsule: CapsuleTuning = Field(default_factory=CapsuleTuning)
    brief: BriefTuning = Field(default_factory=BriefTuning)
    signals: SignalTuning = Field(default_factory=SignalTuning)

    @classmethod
    def of(cls, settings: Settings) -> Tuning:
        """Return settings with the default of everything that they do not name. Raises ``InvalidInput``."""
        if isinstance(settings, cls):
            return settings
        if not isinstance(settings, Settings):
            raise InvalidInput(
                f"settings= takes Settings, such as Settings(recall={{'limit': 5}}), got {shown(settings)}"
            )
        return cls(**_plain(settings), **_groups(settings))


def _plain(settings: Settings) -> dict[str, object]:
    """Return the fields that are no groups, by their names."""
    fields = {name: getattr(settings, name) for name in type(settings).model_fields}
    return {name: value for name, value in fields.items() if not isinstance(value, Group)}


def _groups(settings: Settings) -> dict[str, dict[str, object]]:
    """Return the fields of each group, by its name."""
    groups = {name: getattr(settings, name) for name in type(settings).model_fields}
    return {
        name: {field: getattr(group, field) for field in type(group).model_fields}
        for name, group in groups.items()
        if isinstance(group, Group)
    }
