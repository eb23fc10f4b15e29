"""LangChain's own suites, run on our tools and on our retriever."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from langchain_tidal import (
    AnnotateMemory,
    ReadEpisode,
    RewardMemory,
    SaveMemory,
    SearchGraph,
    SearchMemory,
    TidalRetriever,
)
from tidal_plugins import Policy

RULES = {"policy": Policy(allow={"reward", "annotate"})}
TOOLS: dict[Any, tuple[dict[str, Any], dict[str, Any]]] = {
    SearchMemory: ({}, {"query": "jazz piano", "limit": 3}),
    SaveMemory: ({}, {"text": "Mr Quill tunes the piano.", "kind": "fact", "tags": ["piano"]}),
    ReadEpisode: ({}, {"citation": "{turn}", "page": 1}),
    SearchGraph: ({}, {"entity": "pedals.py", "aspect": "dependents", "limit": 3}),
    RewardMemory: (RULES, {"citation": "{turn}", "note": "piano keys"}),
    AnnotateMemory: (RULES, {"citation": "{turn}", "note": "piano keys"}),
}
"""Each tool with further arguments of its class, and an example of its own arguments."""


class _OverMemory:
    @pytest.fixture(autouse=True)
    def _store(self, memory):
        self.turn = memory.record("A jazz piano has 88 keys.", "keys.py depends on pedals.py.", thread="t").citation
        memory.remember(["The jazz piano is black.", "The jazz piano is old.", "A jazz piano swings."])
        memory.graph.index_pending()
        self.store = memory


def suite(tool: Any, tests: Any) -> type:
    class Suite(_OverMemory, tests):
        @property
        def tool_constructor(self):
            return tool

        @property
        def tool_constructor_params(self):
            return {"memory": self.store, **TOOLS[tool][0]}

        @property
        def tool_invoke_params_example(self):
            return {name: self.turn if value == "{turn}" else value for name, value in TOOLS[tool][1].items()}

    return Suite


for made in TOOLS:
    globals()[f"Test{made.__name__}Unit"] = suite(made, ToolsUnitTests)
    globals()[f"Test{made.__name__}Integration"] = suite(made, ToolsIntegrationTests)


class TestRetriever(_OverMemory, RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return TidalRetriever

    @property
    def retriever_constructor_params(self):
        return {"memory": self.store}

    @property
    def retriever_query_example(self):
        return "Which jazz piano?"
