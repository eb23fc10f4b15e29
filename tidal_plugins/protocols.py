"""Protocols of the parts that a user may bring. Each has the shape of one method; ``None`` in its place means off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from tidal_plugins.errors import InvalidInput
from tidal_plugins.shown import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from tidal_plugins.model.affect import Affect
    from tidal_plugins.model.dossier import Source, Statement
    from tidal_plugins.model.fact import Claim
    from tidal_plugins.model.graph import Extraction, ModelAnswer, SinkBatch, SinkIds
    from tidal_plugins.model.recall import Coverage
    from tidal_plugins.model.sentence import SentenceTags
    from tidal_plugins.secrets.finding import Secret

READERS = "tidal_plugins.readers"
"""Entry points of adapters, each named by the package of a framework: a class that makes a ``TurnReader`` of a model of
that framework."""

Purpose = Literal["summary", "synthesis", "dossier", "message"]
"""``summary``: what matters of many turns, as a narrative. ``synthesis``: what one turn came to, and how. ``dossier``:
what is known of one topic now. ``message``: what an agent says to the person, unprompted, about a thing that is open;
the last message of each source is what it would say without a model."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors.

    ``embed`` returns one row for each text: an array of shape ``(len(texts), dimensions)``, or anything that
    ``numpy.asarray`` takes for one. Rows need not be normalised. It may be called from several threads.

    An embedder may also have ``embed_queries``, the same method for what is asked: models such as E5 and BGE tell a
    question from the texts that it is compared with.

    An embedder may also have a string ``id``, which names the model and its revision. A store remembers it, and refuses
    another one. Without an ``id`` it knows an embedder by its class, its dimensions and the vector of a probe text.

    An embedder with an ``id`` may also have ``reads``, a tuple of ids. Its vectors of queries may be compared with
    stored vectors of these ids, as those of a quantised model may with those of the original. Vectors to store beside
    them come from ``writer_for(id)``: it returns the embedder that makes vectors of exactly this ``id``, which is the
    embedder itself for its own, or ``None``. So a store holds vectors of one ``id`` only. Without ``reads`` an
    embedder reads the vectors of its own ``id``.
    """

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


@runtime_checkable
class SentenceEncoder(Protocol):
    """Turns sentences into vectors of their form, which tell tense, mood and kind rather than the topic.

    ``forms`` returns one row of length 1 for each text. ``id`` names the model. An embedder may be one, as the default
    one is: then its tagger reads better.
    """

    @property
    def id(self) -> str: ...

    def forms(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


@runtime_checkable
class SentenceTagger(Protocol):
    """Reads what sentences do and what they carry.

    ``tag`` returns a ``SentenceTags`` for each sentence; ``roles`` are those of who said them, such as ``user``. It may
    be called from several threads.
    """

    def tag(self, sentences: Sequence[str], roles: Sequence[str]) -> Sequence[SentenceTags]: ...


@runtime_checkable
class EmotionEstimator(Protocol):
    """Reads how texts feel.

    ``estimate`` returns an ``Affect`` for each text. ``vectors`` are the embeddings of the texts if the caller has
    them, one row of length 1 for each; for a text of several passages, the direction of their mean. A row of zeros
    stands for none.
    """

    def estimate(self, texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> list[Affect]: ...


@runtime_checkable
class Reranker(Protocol):
    """Scores how well each text answers a query.

    ``rerank`` returns a score for each text, higher is better, on any scale. It may raise anything and may block: it is
    called without locks, and the earlier order stands if it does not answer in time. It may be called from several
    threads.
    """

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]: ...


@runtime_checkable
class CoverageAssessor(Protocol):
    """Finds the parts of a query that texts leave open, and the queries to ask next.

    ``texts`` are those found so far, the newest finds first, each with «name: » ahead if its speaker is known. It may
    raise anything and may block: it is called without locks, and the hits so far are the answer if it does not answer
    in time.
    """

    def assess(self, query: str, texts: Sequence[str]) -> Coverage: ...


@runtime_checkable
class Summariser(Protocol):
    """Condenses sources into statements, each with the ids of the sources that it rests on.

    ``previous`` are the statements made of earlier sources. Those that still matter come back among the new ones, with
    their ids. All together should stay within ``max_tokens``. It may raise anything and may block: it is called without
    locks, and extracts stand in for it.
    """

    def summarise(
        self, sources: Sequence[Source], *, purpose: Purpose, previous: Sequence[Statement] = (), max_tokens: int
    ) -> Sequence[Statement]: ...


@runtime_checkable
class ClaimExtractor(Protocol):
    """Reads the statements of texts about known facts.

    ``facts`` are the values by key. ``extract`` returns for each text the claims it makes, with the words that make
    them. A claim that names no fact, or quotes words that are not in its text, is left out. It may raise anything and
    may block: it is called without locks, and rules stand in for it.
    """

    def extract(self, texts: Sequence[str], facts: Mapping[str, Any]) -> Sequence[Sequence[Claim]]: ...


@runtime_checkable
class GraphExtractor(Protocol):
    """Reads the entities and relations of texts.

    ``extract_graph`` returns for each text its mentions and assertions, with the spans that support them. A span that
    is not in its text is left out. It may raise anything and may block: it is called in the background, and the text is
    read again later.
    """

    def extract_graph(self, texts: Sequence[str]) -> Sequence[Extraction]: ...


@runtime_checkable
class TurnReader(Protocol):
    """Asks a model about episodes: the agent's own model, or another one.

    ``answer`` returns the model's answer to a prompt: a structure of ``schema``, or plain text if that is ``None``. It
    raises ``NotImplementedError`` if the model has no structures. It may raise anything and may block: it is called in
    the background, and the episodes are read again later.

    A reader may also have a flag ``ready``. While it is false nothing is asked, and the episodes wait.
    """

    def answer(self, prompt: str, schema: type[BaseModel] | None) -> ModelAnswer: ...


@runtime_checkable
class Redactor(Protocol):
    """Finds the secrets of a text, before any of it is stored.

    ``find`` returns a ``Secret(start, end, kind)`` for each, apart from each other; a kind is a short name such as
    ``password``. Where the text has a name in an object, it stands behind it: ``password: …``. What was replaced
    already, such as ``[password ·5f0c2b9e]``, is passed over. It may be called from several threads. If it raises,
    nothing is stored, and the caller gets ``ComponentError``.
    """

    def find(self, text: str) -> Sequence[Secret]: ...


@runtime_checkable
class GraphSink(Protocol):
    """Another graph engine that ``memory.graph.mirror`` keeps like the graph of a memory.

    ``name`` tells sinks apart: the store remembers under it what the sink has. It holds no password. With
    ``with_texts`` the sink gets the texts of episodes; else it gets their citations alone.

    ``apply`` returns when the engine has a batch for good, and raises any error if it has not. Applying a batch again,
    whole or after a part of it, changes nothing more. ``held`` returns the ids of everything that the engine has of a
    graph. Both are called by one thread at a time.
    """

    @property
    def name(self) -> str: ...

    @property
    def with_texts(self) -> bool: ...

    def apply(self, batch: SinkBatch) -> None: ...

    def held(self, graph: str) -> SinkIds: ...


@runtime_checkable
class CurrentFiles(Protocol):
    """Tells what the files of an agent are now, such as ``DiskFiles``.

    ``root`` is the folder in which relative paths begin. ``read`` returns the text of a file, or ``None`` for one that
    it does not give, and raises ``FileNotFoundError`` if there is no such file. It may block.
    """

    @property
    def root(self) -> str: ...

    def read(self, path: str) -> str | None: ...


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text, as the model that receives it would, or nearly so."""

    def count(self, text: str) -> int: ...


def check_protocol(given: Any, protocol: type, rule: str) -> Any:
    """Return an object that fits the protocol, or ``None``. Raises ``InvalidInput`` with the rule."""
    if given is not None and (isinstance(given, type) or not isinstance(given, protocol)):
        name = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
        raise InvalidInput(f"{rule}, got {name}; adapters wrap models")
    return given


def reader_of(given: Any) -> TurnReader | None:
    """Return a reader: one that is given, or one made of a model of a framework for which an adapter is installed.

    Raises ``InvalidInput`` for anything else.
    """
    if given is not None and not isinstance(given, type | TurnReader):
        from importlib.metadata import entry_points  # reads the metadata of all that is installed

        packages = {kind.__module__.partition(".")[0] for kind in type(given).__mro__}
        adapter = next((one for one in entry_points(group=READERS) if one.name in packages), None)
        given = adapter.load()(given) if adapter else given
    reader: TurnReader | None = check_protocol(given, TurnReader, "a reader has a method answer")
    return reader


def check_embedder(given: Any) -> None:
    """Raise ``InvalidInput`` for anything that is no embedder. Reads no dimensions, since that may load a model."""
    if isinstance(given, type) or not callable(getattr(given, "embed", None)):
        name = f"the class {given.__name__}" if isinstance(given, type) else shown(given)
        raise InvalidInput(
            f"an embedder has dimensions and a method embed, such as OnnxEmbedder(), SentenceTransformerEmbedder(name) "
            f"or LangChainEmbedder(embeddings), got {name}"
        )
