"""What a summariser writes stands only if the numbers, dates, names and quotations in it occur in what it cites."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.sentences import sentences
from tidal_plugins import Statement
from tidal_plugins.testing import NOON

SENTENCES = sentences(__file__)

SOURCES = (
    "The orchard at Veldhoven has 1,400 apple trees. Ruben Aalders prunes the orchard on Wednesday.",
    "Katja paid 12,500 euros for the orchard's pump on 20 February; three neighbours carried it.",
    "The orchard's pump starts at 17:45 and stops after 2.5 hours. Its script is `drip_timer.py`, ticket ORC-88.",
    'Sebastian said "never water at noon" about the orchard. The orchard has two hundred plum trees from Belgium.',
)
TRUE = SENTENCES["true"]
FALSE = SENTENCES["false"]


@pytest.fixture
def written(open_memory: Any) -> Any:
    """Return a function that returns the dossier that a model writes as one claim, which cites all sources."""

    def write(*claims: str) -> Any:
        class Writes:
            def summarise(self, sources: Any, **_: Any) -> list[Statement]:
                return [Statement(claim, tuple(source.id for source in sources)) for claim in claims]

        memory = open_memory(summariser=Writes())
        for n, source in enumerate(SOURCES):
            memory.record(source, None, thread=f"t{n}", occurred_at=NOON)
        return memory.dossiers.refresh("orchard")

    return write


SAFE = "The orchard has trees."


def test_ordinary_rewordings_stand(written):
    dossier = written(SAFE, *TRUE)
    assert [claim for claim in TRUE if claim not in {finding.text for finding in dossier.findings}] == []


def test_what_the_sources_do_not_say_is_left_out(written):
    dossier = written(SAFE, *FALSE)
    assert [finding.text for finding in dossier.findings] == [SAFE]


def test_only_the_false_sentence_of_a_statement_goes_and_the_log_says_why_without_its_words(written, caplog):
    with caplog.at_level(logging.DEBUG, "tidal_plugins"):
        dossier = written("Ruben prunes the orchard. It has 9,999 trees. Katja paid for the pump.")
    assert [finding.text for finding in dossier.findings] == ["Ruben prunes the orchard. Katja paid for the pump."]
    [line] = [record.message for record in caplog.records if "left out" in record.message]
    assert "number" in line
    assert "9,999" not in line


def test_a_false_answer_is_replaced_by_quotes(written):
    dossier = written("The orchard has 9,999 trees.")
    assert (dossier.made_by, dossier.problem) == (
        "extractive",
        "nothing that was written is borne out by what it cites",
    )
    assert "1,400" in str(dossier)


def test_the_sources_of_a_claim_that_is_left_out_are_quoted(open_memory):
    class Writes:
        def summarise(self, sources: Any, **_: Any) -> list[Statement]:
            false, *true = [source.id for source in sources]
            return [Statement("The orchard has 9,999 trees.", (false,)), Statement(SAFE, tuple(true))]

    memory = open_memory(summariser=Writes())
    for n, source in enumerate(SOURCES):
        memory.record(source, None, thread=f"t{n}", occurred_at=NOON)
    texts = [finding.text for finding in memory.dossiers.refresh("orchard").findings]
    assert texts[0] == SAFE
    assert len(texts) > 1
    assert not any("9,999" in text for text in texts)
