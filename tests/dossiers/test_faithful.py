"""What a summariser writes stands only if the numbers, dates, names and quotations in it occur in what it cites."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tidal_plugins import Statement
from tidal_plugins.testing import NOON

SOURCES = (
    "The orchard at Veldhoven has 1,400 apple trees. Ruben Aalders prunes the orchard on Wednesday.",
    "Katja paid 12,500 euros for the orchard's pump on 20 February; three neighbours carried it.",
    "The orchard's pump starts at 17:45 and stops after 2.5 hours. Its script is `drip_timer.py`, ticket ORC-88.",
    'Sebastian said "never water at noon" about the orchard. The orchard has two hundred plum trees from Belgium.',
)
TRUE = (
    "The orchard has 1400 apple trees.",
    "Ruben prunes on 4 March.",
    "Ruben Aalders prunes the orchard on Wednesday, March 4th, 2026.",
    "Mr Aalders does the pruning on 2026-03-04.",
    "The pump cost Katja €12.5k.",
    "Katja paid 12500 euros on February 20.",
    "3 neighbours carried the pump.",
    "The pump starts at 5:45 pm.",
    "It stops after two and a half hours (2.5).",
    "The script is called drip_timer.py.",
    "Ticket ORC-88 has the script.",
    'Seb\'s rule is "never water at noon".',
    "There are 200 plum trees.",
    "The Belgian plum trees stand in the orchard.",
    "About 12,000 euros went into the pump.",
    "Pruning is on 04.03.2026.",
    "In February the pump was paid.",
    "The Aalders prune at Veldhoven.",
    "Irrigation is automatic: the pump has a timer.",
    "Fruit: apples and plums.",
)
FALSE = (
    "The orchard has 1,600 apple trees.",
    "Ruben prunes on 5 March.",
    "Ruben prunes on Thursday.",
    "Wim prunes the orchard with Ruben, says Ilona.",
    "The pump cost Katja €21k.",
    "Katja paid 1,250 euros.",
    "7 neighbours carried the pump.",
    "Nine hundred neighbours carried the pump.",
    "The pump starts at 18:45.",
    "The pump starts at 6 am.",
    "It stops after 3.5 hours.",
    "The script is called `drip_time.sh`.",
    "The script is drop_timer.py.",
    "Ticket ORC-89 has the script.",
    'Seb\'s rule is "always water at noon".',
    "There are 350 plum trees.",
    "The plum trees came from Norway.",
    "About 20,000 euros went into the pump.",
    "In April the pump was paid.",
    "The pump was paid in 2024.",
    "Pruning is on 07.03.2026.",
)


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
