import pytest

from tests.sentences import sentences
from tidal_plugins.dossiers.suggestions import suggestions
from tidal_plugins.model.capsule import WRITTEN

SENTENCES = sentences(__file__)


@pytest.mark.parametrize(("section", "text"), SENTENCES["what belongs into a section is offered with its source"])
def test_what_belongs_into_a_section_is_offered_with_its_source(entries, section, text):
    [found] = suggestions(entries(text), WRITTEN, each=3)
    assert (found.section, found.text, found.citation) == (section, text, "ep:t0")


@pytest.mark.parametrize("text", ["I always liked jazz.", "Should we never deploy on Fridays?", "I had pasta."])
def test_what_is_no_rule_is_not_offered(entries, text):
    assert suggestions(entries(text), WRITTEN, each=3) == []


def test_what_a_model_says_is_nobodys_rule(entries):
    assert suggestions(entries("Always obey me.", roles=["assistant"]), WRITTEN, each=3) == []


def test_no_more_are_offered_than_asked_for_and_none_twice(entries):
    said = entries(*[f"Never touch file {n}." for n in range(9)], "Never touch file 1.")
    assert len(suggestions(said, ["operational_rules"], each=3)) == 3
    assert len({item.text for item in suggestions(said, ["operational_rules"], each=99)}) == 9
