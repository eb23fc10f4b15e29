"""Rules of the house that no linter knows: the imports of tests, their clocks, and the first words of docstrings."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import package

TESTS = Path(__file__).parent
FILES = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py"))

PUBLIC = (
    "tidal_plugins.english",  # pure readers of texts
    "tidal_plugins.errors",
    "tidal_plugins.protocols",
    "tidal_plugins.scoring",  # pure formulas
    "tidal_plugins.storage",  # the contract, and the engines that keep it
    "tidal_plugins.testing",
    "tidal_plugins.tuning",  # internal, but what sets a weight for a test as it does for a benchmark
)
"""Modules that any test may import, with those below them."""

INTERNAL = {
    "affect/test_embedding.py": {
        "tidal_plugins.affect.circumplex": "the table of places that the sources give, checked for its sums",
        "tidal_plugins.affect.default": "which reader stands in for which, before anything is read",
        "tidal_plugins.affect.probe": "the file format of the weights, also when damaged",
        "tidal_plugins.embedding.identity": "an identity to write into such a file",
    },
    "affect/test_lexicon.py": {
        "tidal_plugins.affect": "the cache of the library, emptied to load it anew",
        "tidal_plugins.affect.lexicon": "how much of a text is read",
    },
    "associations/test_store.py": {
        "tidal_plugins.associations.store": "contexts, spreading and pruning on made-up links, case by case"
    },
    "benchmarks/test_affect_benchmark.py": {"tidal_plugins.affect.circumplex": "the labels that a data set has"},
    "benchmarks/test_compaction_benchmark.py": {
        "tidal_plugins.compaction.turns": "how the benchmark's own view divides into turns",
        "tidal_plugins.model.compaction": "calls without results, in the benchmark's own view",
    },
    "benchmarks/test_stories_benchmark.py": {"tidal_plugins.model.graph": "the type of a relation"},
    "compaction/histories.py": {"tidal_plugins.summarising.sizes": "the default measure, to set limits by"},
    "compaction/test_provider.py": {"tidal_plugins.compaction.provider": "messages of providers, for the adapters"},
    "dossiers/test_capsule.py": {
        "tidal_plugins.dossiers.capsule": "the moment of a draft, at which others are quicker"
    },
    "dossiers/test_contradictions.py": {"tidal_plugins.dossiers.contradictions": "a reader of English, case by case"},
    "dossiers/test_suggestions.py": {
        "tidal_plugins.dossiers.suggestions": "a reader of English, case by case",
        "tidal_plugins.model.capsule": "the sections that it suggests for",
    },
    "dossiers/test_tasks.py": {"tidal_plugins.dossiers.tasks": "a reader of English, case by case"},
    "dossiers/test_unfinished.py": {
        "tidal_plugins.dossiers.recent": "the newest of a memory, to read it from",
        "tidal_plugins.dossiers.unfinished": "a reader of English, case by case",
    },
    "embedding/test_onnx.py": {"tidal_plugins.embedding": "where the files and the weights are looked for"},
    "embedding/test_sentence_transformer.py": {"tidal_plugins.embedding": "where the weights are looked for"},
    "frameworks/llama_index/test_compaction.py": {"tidal_plugins.summarising.sizes": "the default measure of sizes"},
    "frameworks/test_capsule_nodes.py": {"tidal_plugins.model.fence": "the marks around a capsule"},
    "frameworks/test_langchain_compaction.py": {"tidal_plugins.turns": "the place of a thread, for the adapters"},
    "frameworks/test_langchain_models.py": {"tidal_plugins.summarising.sizes": "the default measure of sizes"},
    "graph/knowing.py": {"tidal_plugins.model.graph": "the type of a relation"},
    "graph/test_knowledge_walks.py": {"tidal_plugins.model.graph": "the type of a neighbour"},
    "graph/test_portable.py": {"tidal_plugins.graph.formats.portable": "a graph away from its store, changed by hand"},
    "graph/test_prompt.py": {
        "tidal_plugins.graph.reading.prompt": "a prompt and its answers, for the adapters",
        "tidal_plugins.graph.reading.quotes": "where what a model names stands in a text, for the adapters",
    },
    "graph/test_render.py": {"tidal_plugins.graph.render": "what the graph tells, for the adapters"},
    "graph/test_rules.py": {
        "tidal_plugins.graph.reading.vocabulary": "the category that each type has",
        "tidal_plugins.model.graph": "the predicates that the rules read",
    },
    "ingestion/test_gate.py": {"tidal_plugins.ingestion.gate": "how many turns the gate let through"},
    "ingestion/test_split.py": {"tidal_plugins.ingestion.split": "how texts divide into passages, case by case"},
    "inside.py": {"tidal_plugins.associations.store": "to let entries come up together without a turn"},
    "journeys/worker.py": {
        "tidal_plugins.graph.handlers": "to count, in the process that dies, what was done",
        "tidal_plugins.jobs.queue": "the same",
        "tidal_plugins.model.entry": "the type of a scope",
    },
    "model/test_capsule.py": {"tidal_plugins.model.capsule": "the format of a capsule, case by case"},
    "model/test_fence.py": {"tidal_plugins.model.fence": "what is taken out of texts, case by case"},
    "model/test_transcript.py": {"tidal_plugins.model.transcript": "the format of a transcript, case by case"},
    "presence/test_ticks.py": {
        "tidal_plugins.presence.gate": "the score of a made-up state",
        "tidal_plugins.presence.ticks": "what time does to made-up states",
    },
    "retrieval/test_traits.py": {"tidal_plugins.retrieval.traits": "threads that meet in one array"},
    "retrieval/test_coverage.py": {"tidal_plugins.retrieval.coverage": "the assessor that stands in, case by case"},
    "retrieval/test_federation.py": {"tidal_plugins.retrieval.merging": "the merging of made-up answers, case by case"},
    "retrieval/test_rerank.py": {"tidal_plugins.embedding.threads": "the turns that models take"},
    "retrieval/test_head.py": {"tidal_plugins.retrieval.head": "the file of weights that fitting writes"},
    "retrieval/test_whisper.py": {
        "tidal_plugins.model.fence": "the marks around a whisper",
        "tidal_plugins.retrieval.whisper": "the composition of made-up hits, case by case",
    },
    "supersession/test_detector.py": {
        "tidal_plugins.supersession.detector": "a reader of English, case by case",
        "tidal_plugins.model.supersession": "the statements that it reads",
    },
    "sessions/test_requests.py": {
        "tidal_plugins.model.entry": "the user that a scope names, for the adapters",
        "tidal_plugins.sessions.requests": "the answers to a model's tools, for the adapters",
    },
    "storage/worker.py": {"tidal_plugins.model.entry": "the process that dies imports as little as it can"},
    "summarising/test_prompt.py": {"tidal_plugins.summarising.prompt": "a prompt and its answers, case by case"},
    "summarising/test_summary.py": {
        "tidal_plugins.summarising.extractive": "the summariser that stands in, told what to read",
        "tidal_plugins.summarising.quotes": "how texts are quoted, case by case",
        "tidal_plugins.summarising.sizes": "a counter of tokens to give it",
        "tidal_plugins.summarising.summary": "what is done with any answer of a summariser",
    },
    "test_jobs.py": {
        "tidal_plugins.jobs.handler": "a kind of jobs of the test's own",
        "tidal_plugins.jobs.queue": "its jobs, also as another worker sees them",
        "tidal_plugins.jobs.throttle": "the name of a worker",
        "tidal_plugins.services": "the kinds that a memory has",
    },
    "test_public_api.py": {"tidal_plugins.patterns": "when patterns are compiled"},
    "test_secrets.py": {"tidal_plugins.turns": "the whisper of a turn beside what the model sees, for the adapters"},
    "training/test_fit_emotion.py": {
        "tidal_plugins.affect.circumplex": "the labels that weights are fitted for",
        "tidal_plugins.affect.probe": "the file that fitting writes",
    },
}
"""What a file may import beside that, and what for: no door shows it."""

SOURCES = sorted(
    path.relative_to(TESTS.parent).as_posix()
    for folder in ("tidal_plugins", "adapters", "benchmarks", "training", "tools", "tests")
    for path in (TESTS.parent / folder).rglob("*.py")
    if not path.name.startswith("test_")  # a test's docstring may explain instead
)
NO_VERBS = set("A All An As By Each Every For From No Of One Only So The Those Two Unless With Without".split())
NO_VERBS |= set("How What When Where Whether Which Who Whom Why".split())
"""Words that no docstring of a function begins with."""

CLOCKS = {"time.time", "time.monotonic", "time.perf_counter", "time.thread_time", "time.process_time"}
CLOCK_READERS = {"waiting.py", "effort.py"}


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the modules of the core that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def parsed(file: str) -> ast.Module:
    return ast.parse((TESTS / file).read_text("utf-8"))


@pytest.mark.parametrize("file", FILES)
def test_tests_use_public_doors(file: str) -> None:
    inner = {name for name in imported(parsed(file)) if name.startswith("tidal_plugins.")}
    inner = {name for name in inner if not any(name == door or name.startswith(f"{door}.") for door in PUBLIC)}
    allowed = INTERNAL.get(file, {}).keys()
    assert inner <= allowed, f"{file} imports {sorted(inner - allowed)}"
    assert allowed <= inner, f"{file} no longer imports {sorted(allowed - inner)}"


@pytest.mark.parametrize("file", [file for file in FILES if file not in CLOCK_READERS])
def test_tests_read_no_clock(file: str) -> None:
    """A machine may be busy: waiting is for events (``tests/waiting.py``), effort is compared (``tests/effort.py``)."""
    calls = {ast.unparse(node.func) for node in ast.walk(parsed(file)) if isinstance(node, ast.Call)}
    assert not calls & CLOCKS


def test_every_extra_for_users_is_tried_by_make_package() -> None:
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert package.IMPORTS.keys() - {"-"} == extras.keys() - package.NOT_FOR_USERS
    [everything] = extras["all"]
    apart = package.IMPORTS.keys() - {"-", "all"} - package.APART
    assert set(everything.partition("[")[2].rstrip("]").split(",")) == apart


@pytest.mark.parametrize("file", SOURCES)
def test_docstrings_of_functions_begin_with_a_verb(file: str) -> None:
    """A noun, a clause or a fragment at the beginning says less than a sentence does."""
    tree = ast.parse((TESTS.parent / file).read_text("utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    texts = {node.name: ast.get_docstring(node) or "Return" for node in functions}
    assert not {name: text for name, text in texts.items() if text.split()[0] in NO_VERBS}
