"""The objects of a caller's own that a memory works with, one for each protocol."""

from __future__ import annotations

from dataclasses import dataclass
from types import EllipsisType

from tidal_plugins.affect.default import check_estimator
from tidal_plugins.embedding.onnx import OnnxEmbedder
from tidal_plugins.protocols import (
    ClaimExtractor,
    CoverageAssessor,
    Embedder,
    EmotionEstimator,
    GraphExtractor,
    Redactor,
    Reranker,
    SentenceTagger,
    Summariser,
    check_embedder,
    check_protocol,
)


@dataclass(frozen=True, slots=True)
class Components:
    """The components of a store, as the arguments of ``TidalMemory``. ``None`` means the default, or off.

    Raises ``InvalidInput`` for one that does not fit its protocol.
    """

    embedder: Embedder | None = None
    emotion: EmotionEstimator | EllipsisType | None = ...
    summariser: Summariser | None = None
    claim_extractor: ClaimExtractor | None = None
    graph_extractor: GraphExtractor | None = None
    reranker: Reranker | None = None
    redactor: Redactor | None = None
    assessor: CoverageAssessor | None = None
    tagger: SentenceTagger | None = None

    def __post_init__(self) -> None:
        check_protocol(self.summariser, Summariser, "a summariser has a method summarise")
        check_protocol(self.reranker, Reranker, "a reranker has a method rerank")
        check_protocol(self.assessor, CoverageAssessor, "an assessor has a method assess")
        check_protocol(self.redactor, Redactor, "a redactor has a method find")
        check_protocol(self.tagger, SentenceTagger, "a tagger has a method tag")
        check_protocol(self.claim_extractor, ClaimExtractor, "a claim extractor has a method extract")
        check_protocol(self.graph_extractor, GraphExtractor, "a graph extractor has a method extract_graph")
        if self.embedder is not None:
            check_embedder(self.embedder)
        if self.emotion is not ...:
            check_protocol(self.emotion, EmotionEstimator, "an emotion estimator has a method estimate")
        check_estimator(self.emotion, self.embeds)

    @property
    def embeds(self) -> Embedder:
        """Return the embedder, the default one if none was given."""
        return OnnxEmbedder() if self.embedder is None else self.embedder
