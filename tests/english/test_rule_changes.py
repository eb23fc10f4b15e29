"""Whether a rule takes the place of an earlier one."""

import pytest

from tidal_plugins.english.rule_changes import differs_in_one_value, replaces


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Always use tabs for Makefiles.", "From now on use spaces for Makefiles."),
        ("Always quote strings with apostrophes.", "From now on quote strings with quotation marks instead."),
        ("Always write in Danish.", "From now on write in Dutch."),
        ("Always send the digest on Mondays.", "From now on always send the digest on Fridays."),
        ("Use parentheses.", "Use brackets instead of parentheses."),
        ("Never page anyone after 10 pm.", "From now on never page anyone after 9 pm."),
        ("Always ask Lena before a merge.", "From now on always ask Omar before a merge."),
        ("Always use British spelling.", "From now on use American spelling."),
    ],
)
def test_another_value_in_one_place_replaces_a_rule(older, newer):
    assert replaces(newer, older)
    assert not replaces(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Always use type hints.", "From now on use brackets."),
        ("Always wear boots on the site.", "From now on wear goggles on the site."),
        ("Always copy Lena on offers.", "From now on also copy Omar on offers."),
        ("Never touch the valve by hand.", "From now on never touch the fuse by hand."),
        ("Always answer in two sentences.", "From now on answer in Danish."),
        ("Always write in Danish.", "Always write in Dutch."),
    ],
)
def test_rules_that_may_stand_together_do(older, newer):
    assert not replaces(newer, older)


def test_a_capsule_has_the_newer_rule_alone(memory, clock):
    memory.record("Always send the digest on Mondays.", "OK.")
    clock.advance(days=1)
    memory.record("From now on always send the digest on Fridays.", "OK.")
    rules = memory.capsule.read()["operational_rules"]
    assert "Fridays" in rules
    assert "Mondays" not in rules


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        ("A crate must hold at most 40 jars.", "A crate must hold at most 60 jars.", True),
        ("Always write in Danish.", "Always write in Dutch.", True),
        ("We decided to send crate 3 on day 3.", "We decided to send crate 4 on day 4.", False),
        ("Lena must sign each offer.", "Omar must sign each offer.", False),
        ("Always.", "Always", False),
    ],
)
def test_a_rule_may_be_said_again_with_another_value(older, newer, expected):
    assert differs_in_one_value(newer, older) == expected
