"""Weights of recall and of the whisper."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from tidal_plugins.settings import Profile
from tidal_plugins.tuning import Weights, given, tunable


@dataclass(frozen=True, kw_only=True)
class RecallTuning(Weights, group="recall"):
    """[Tidal §2.3, §3.2], [Anamnesis]."""

    profile: Profile = given("recall.profile")
    limit: int = given("recall.limit")
    associated: int = tunable(5, ge=0, le=100)
    """Entries beyond the limit that associative recall appends."""
    pool: int = tunable(100, gt=0, le=4000)
    """Candidates from each channel, at least; twice the limit where that is more."""
    shortlist: int = tunable(40, gt=0, le=8000)
    """Of those, how many are ranked in full, at least; four times the limit where that is more. All of them bring
    nothing more on the development conversations (recall@10 74.9 against 75.0), and cost 2 ms."""
    rrf: int = tunable(60, gt=0)
    """Constant of reciprocal rank fusion, in the profile ``attention``."""
    keywords: float = tunable(0.35, ge=0)
    """Weight of keyword strength against cosine; between .3 and .7 conversations and chats do nearly alike."""
    brevity: float = tunable(30.0, gt=0)
    """Words up to which a passage counts as short: the length of a spoken turn."""
    speaker: float = tunable(0.3, ge=0)
    """Added where the query names the speaker: 6 nats of the embedder's scale (.05 each), since nearly all that is
    asked about a person was said by that person."""
    passages: float = tunable(0.03, ge=0)
    """Taken off per nat of an entry's number of passages: many passages are many chances of a high maximum. A plan that
    people come back to is long, too: with .07 turns that go on lose a point of recall@10."""
    assistant: float = tunable(0.05, ge=0)
    """Taken off an assistant's answer: users come back mostly to what they said themselves."""
    thread: float = tunable(0.25, ge=0, lt=1)
    """Share of the way that an entry is raised to the best of its thread: a conversation is about something. The order
    within it stays, and where there are no threads nothing changes."""
    neighbours: float = tunable(0.15, ge=0)
    """Fraction of a neighbour's nearness above the median candidate that is added; half of it at two places."""
    answer: float = tunable(3.0, ge=0)
    """Factor by which a question lends more to the turn right after it, which holds its answer."""
    turn: float = tunable(20.0, gt=0)
    """Analysed words, without stop words, up to which a turn leans on its neighbours; a longer one does in proportion
    less, and lends less, by the root of that. Without that limit chats of long messages lose 15 points of recall@5."""
    time_mention: float = tunable(0.05, ge=0)
    """Added for a turn that says when something was, taken off a short one that asks: one nat. Who tells of an event
    says when it was; a question asks for what the next turn tells."""
    reach: int = tunable(20, ge=2, le=1000)
    """Number of top candidates: whose neighbours take part, that take part for each time that the query names, and that
    are the rivals from which the first must stand out to be whispered."""
    time: float = tunable(0.2, ge=0)
    """Added for an entry from the time that the query speaks of («last Tuesday», «in May»): 4 nats. It raises recall@5
    of such questions from 72 to 83, in each of the development conversations; 0 reads no times."""
    recency: float = tunable(0.3, ge=0)
    """Power of an entry's age in days by which a score falls, where the turn goes on with something begun earlier and
    does more than ask. Such a turn says little of what it needs, which is mostly what was done last. Questions never
    pay: what they ask for is as often old."""
    half_life: float = tunable(0.0, ge=0)
    """Hours in which age halves a score in the profile ``attention`` [Anamnesis G3], where the source has it as an
    option; with 0 age counts by ``decay`` alone."""
    hot: float = tunable(168.0, gt=0)
    """Hours in which age halves a score in the profile ``hot``: a week, as long as a ``like`` counts."""
    slack: float = tunable(3.0, ge=0.001, le=36_500)
    """Days outside that time over which this falls to 1/e: what happens is told days later."""
    event: float = tunable(0.5, ge=0)
    """Nearness, cosine and keywords, from which on the nearest memory is the event of «before the move»: well above the
    .3 that unrelated texts have."""
    sharpness: float = tunable(5.0, gt=0)
    """Relevance falls to 1/e when the fused score falls by 1/sharpness, so that a factor moves near rivals only."""
    importance: float = tunable(0.5, ge=0, le=1)
    """Share of the importance factor that counts: half measures best or as good on every kind of conversation."""
    lasting: float = tunable(1.65, ge=1)
    """Factor of the score of what a person said for good, such as an allergy, if the turn asks: as much as a tenth of
    cosine. Among 2,000 turns of chatter it brings an allergy to walnuts from place 10 to 3 for «can I eat this
    brownie?», and from 2 to 1 for «what must I not eat?». The development stories have 16 of 18 and 8 of 10 as without.
    """
    decay: float = tunable(0.05, ge=0, le=1)
    """Share of an entry's strength that counts (λ); undamped, every month-old memory would sink below fresh ones."""
    alpha_calm: float = tunable(0.7, ge=0, le=1)
    """Share of meaning against feeling, α, while calm; ``balanced`` scales its ``feeling`` with 1 − α."""
    alpha_stirred: float = tunable(0.3, ge=0, le=1)
    """The same above the affect threshold."""
    feeling: float = tunable(0.4, ge=0)
    """Worth of full likeness of feeling in the profile ``balanced``, in cosine, times 1 − α: it decides between
    memories that are about equally near, and cannot lift one that has nothing to do with the turn."""
    emotion: float = tunable(0.3, ge=0, le=1)
    """Weight of the emotion vectors' cosine in the profile ``attention``, in relevance."""
    likeness: float = tunable(0.1, ge=0)
    """Worth of full likeness of emotions in the profile ``balanced``, in cosine. Added to relevance instead, it
    lifted memories that have little to do with the turn."""


@dataclass(frozen=True, kw_only=True)
class RerankTuning(Weights, group="rerank"):
    """A reranker, if there is one [Anamnesis]."""

    depth: int = tunable(40, gt=0, le=1000)
    """Candidates that it reads: the best of the ranking without it. A larger limit of the recall replaces it."""
    seconds: float = tunable(2.0, gt=0, le=threading.TIMEOUT_MAX)
    """Seconds that it has before the ranking without it stands. A model of six layers reads 40 spoken turns in about
    half a second on a busy core, 40 passages of 120 words in two."""


@dataclass(frozen=True, kw_only=True)
class HopTuning(Weights, group="hops"):
    """Recall over several hops."""

    hops: int = given("recall.hops")
    ms: float = tunable(1_000.0, gt=0, le=3_600_000)
    """Milliseconds after which no further query is asked. An assessor has the same time for its answers."""
    leads: int = tunable(1, gt=0, le=20)
    """Queries of each later hop that bring something new, the most telling ones. Each is a recall of its own: with one,
    two hops take about twice as long as one, with two more than three times."""
    queries: int = tunable(4, ge=0, le=100)
    """Queries of all later hops together."""
    read: int = tunable(5, gt=0, le=100)
    """Hits of the first hop, the best ones, that are read for what leads further; and of each later query."""
    least: float = tunable(0.1, ge=0, le=1)
    """Share of its query's best score that a hit of a later hop needs: what is far below came for want of better."""
    appended: int = tunable(5, ge=0, le=100)
    """Hits beyond the limit that later hops append."""


@dataclass(frozen=True, kw_only=True)
class PeerTuning(Weights, group="peers"):
    """Other memories that recall asks [Anamnesis G5]."""

    trust: float = tunable(0.8, gt=0, le=1)
    """The factor by which the scores of a peer's hits are multiplied, if the peer has no trust of its own. At 0.8 an
    own memory comes first unless a peer's is nearer by .045 of cosine."""
    timeout: float = tunable(1.0, ge=0, le=3_600)
    """Seconds to wait for a process that has a peer's file locked."""


@dataclass(frozen=True, kw_only=True)
class WhisperTuning(Weights, group="whisper"):
    """[Tidal §2.3]."""

    max_entries: int = given("whisper.max_entries")
    max_chars: int = given("whisper.max_chars")
    threshold: float = given("whisper.threshold")
    least_words: int = tunable(1, ge=0)
    """Words with content that a turn needs before anything surfaces."""
    line_threshold: float = tunable(0.075, ge=0, le=1)
    """Chance that each memory needs to help itself. On the development data it keeps nearly every answer that no such
    threshold would show; a higher one shows fewer lines that do not help, and loses answers."""
    important: float = tunable(0.5, ge=0, le=1)
    """Share of ``threshold`` from which on what the person said for good, such as an allergy or a standing rule,
    surfaces for a turn that asks, if it is among the first."""
    statement_threshold: float = tunable(0.7, ge=0, le=1)
    """``threshold`` for a turn that only tells and asks for nothing. It costs two of 72 answers on RealMem, and none in
    the stories."""
    going_on: float = tunable(0.9, gt=0, le=1)
    """Share of ``threshold`` for a turn that goes on with something begun earlier and does more than ask («I'm ready,
    what is next?»): what it needs is in the memory more often. On RealMem 77 % of the evidence among the first three is
    shown with it, in full 63, with .85 83; of all other turns 71, 73 and some 66 % are met with silence."""
    plain: float = tunable(0.7, ge=0, le=1)
    """Share of the thresholds that counts in the profiles ``tidal`` and ``attention``. They score no context, so that
    their answers stand out less. In full, ``tidal`` shows the evidence of 36 % of the domains' questions and is silent
    on 67 %; with half of them it shows 80 % and is silent on 32 %."""
    statement_words: int = tunable(9, ge=1)
    """Words from which on a turn that only tells needs ``statement_threshold``. A shorter one mostly names something
    and says little of it: so do all remarks of the development stories that call for a memory and get it."""
    alike: float = tunable(0.9, ge=0)
    """Cosine of two memories from which on they say nearly the same: they are no rivals, and no third one of a kind
    surfaces. On the development conversations no answer is lost by it; from .8 down answers are taken for repetitions
    and the threshold tells less. Above 1 nothing is alike."""
    keywords: float = tunable(0.25, ge=0)
    """Added to the margin of the first memory for the query's rare words in the memories to show, by the one that has
    most of them."""
    topic: float = tunable(0.25, ge=0)
    """Added to it for the mean cosine of all these: whether the memory holds anything about the topic."""
    candidates: int = tunable(8, ge=1, le=100)
    """Hits among which the lines of a whisper are chosen."""
    unit_meaning: float = tunable(1.0, ge=0)
    """Weight of a unit's cosine with the turn, beside the share of the turn's rare words that it has."""
    unit_pool: int = tunable(8, ge=0)
    """Units that are embedded for one whisper, those with most of these words."""
    unit_empty: float = tunable(0.5, ge=0)
    """Taken off a unit that asks, thanks, greets or praises, times the chance that it does."""
    empty: float = tunable(0.8, ge=0)
    """Chance of that from which on a turn whose best unit it is is not shown."""

    def share(self, profile: str) -> float:
        """Return the share of the thresholds that counts in a profile."""
        return 1.0 if profile == "balanced" else self.plain

    def least(self, only_tells: bool, goes_on: bool, words: int) -> float:
        """Return the chance below which nothing surfaces for a turn of so many words, before that share."""
        if self.threshold and only_tells and words >= self.statement_words:
            return max(self.threshold, self.statement_threshold)
        return self.threshold * (self.going_on if goes_on else 1.0)
