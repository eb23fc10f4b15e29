"""The capsule's format: read, checked, and given back to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidal_plugins import Capsule, InvalidCapsule, InvalidInput
from tidal_plugins.model.capsule import BUDGETS, WRITTEN, title

NAMES = [name for name in BUDGETS if name != "header"]


def text_of(**bodies):
    parts = [bodies.get("header", "# Capsule\n\n")]
    parts += [f"## {title(name)}\n\n{bodies.get(name, 'something')}\n\n" for name in NAMES]
    return "".join(parts)


def problem_of(text):
    with pytest.raises(InvalidCapsule) as caught:
        Capsule.parse(text)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        text_of(),
        text_of().rstrip(),
        text_of().replace("\n", "\r\n"),
        text_of(identity="I am Tidal.\n\n\n   Indented.  \n\tTabbed."),
        text_of(tools="```md\n## Identity\n# not a heading\n```\n~~~\n## Tools\n~~~"),
        text_of(recent_work="### A day\n- one\n### Another\n- two"),
        text_of(header="# CAPSULE — Last Updated: 2026-03-25\n## Meridian. Loop 3231. Calgary.\n\n"),
        text_of().replace("## Tools", "## Dropped threads\n\nThe old site.\n\n## Tools"),
        text_of(tools="a\u2028b\x0cc\x85d 🦑"),
    ],
)
def test_what_was_parsed_is_written_back_to_the_byte(text):
    assert str(Capsule.parse(text)) == text
    assert Capsule.parse(str(Capsule.parse(text))) == Capsule.parse(text)


def test_the_headings_of_capsule_documents_elsewhere_are_known():
    text = """# CAPSULE — Last Updated: 2026-03-25T12:00:00Z
## Meridian. Loop 3231. Calgary.
## Who I Am
I am Meridian.
## How to Run the Loop (MANDATORY — every 5 minutes)
1. Check.
## Key People
- Joel
## Tools
- mail
## Current Priority
Grant.
## Recent Work (most recent first)
- Loop 3230
## Critical Rules
1. Never sleep.
## Pending Work
1. Reply.
"""
    capsule = Capsule.parse(text)
    assert [section.name for section in capsule.sections] == list(BUDGETS)
    assert capsule["identity"] == "I am Meridian."
    assert capsule["loop_protocol"] == "1. Check."
    assert str(capsule) == text


def test_sections_may_stand_in_any_order():
    parts = [f"## {title(name)}\n{name}\n" for name in reversed(NAMES)]
    capsule = Capsule.parse("# Capsule\n" + "".join(parts))
    assert capsule["tools"] == "tools"


def test_a_section_that_is_not_there_is_empty_and_not_shown():
    text = "# Capsule\n## Identity\nme\n## Tools\nhammer\n"
    capsule = Capsule.parse(text)
    assert [section.name for section in capsule.sections if not section.body] == [
        name for name in NAMES if name not in ("identity", "tools")
    ]
    assert (capsule["key_contacts"], str(capsule)) == ("", text)
    assert "## Key contacts\n\nCarla" in str(capsule.edit(key_contacts="Carla"))
    assert str(Capsule.parse(text + "## Key contacts\n\n")) == text


@pytest.mark.parametrize("text", ["", "   \n", "no headings at all"])
def test_what_begins_with_no_heading_is_no_capsule(text):
    assert "the header is missing" in problem_of(text)


def test_a_missing_header_is_named():
    assert "the header is missing" in problem_of(text_of(header=""))


def test_a_section_that_stands_there_twice_is_named():
    message = problem_of(text_of() + "## Tools\n\nmore\n")
    assert "«Tools» stand there more than once" in message


def test_other_sections_may_repeat():
    assert Capsule.parse(text_of() + "## Note\na\n## Note\nb\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_section_may_be_as_long_as_its_budget_and_no_longer(name):
    most = BUDGETS[name]
    assert Capsule.parse(text_of(**{name: "\n".join(["line"] * most)}))
    message = problem_of(text_of(**{name: "\n".join(["line"] * (most + 1))}))
    assert f"«{title(name)}» has {most + 1} lines of at most {most}" in message


def test_empty_lines_count_for_the_whole_only():
    assert Capsule.parse(text_of(tools="\n\n".join(["line"] * 10)))
    assert "the limit is 300" in problem_of(text_of(tools="\n" * 300))


def test_a_capsule_of_ten_thousand_lines_is_refused():
    assert "10,000 lines, and the limit is 300" in problem_of("\n".join(["line"] * 10_000))


def test_a_code_block_that_never_ends_takes_in_the_sections_after_it():
    problem = problem_of(text_of(identity="```\nforgot to close"))
    assert "«Identity» has" in problem


@pytest.mark.parametrize("text", [None, 7, b"# Capsule"])
def test_what_is_no_text_is_refused(text):
    assert "a capsule is a text" in problem_of(text)


def test_an_edit_changes_its_sections_and_no_byte_elsewhere():
    capsule = Capsule.parse(text_of())
    edited = capsule.edit(identity="I am Tidal.", tools="- search")
    assert edited["identity"] == "I am Tidal."
    changed = [a.name for a, b in zip(capsule.sections, edited.sections, strict=True) if a != b]
    assert changed == ["identity", "tools"]


@pytest.mark.parametrize("name", [name for name in BUDGETS if name not in WRITTEN] + ["nonsense"])
def test_only_sections_written_by_people_can_be_edited(name):
    with pytest.raises(InvalidInput, match="cannot be edited"):
        Capsule.parse(text_of()).edit(**{name: "x"})


def test_an_edit_cannot_bring_in_the_heading_of_another_section():
    with pytest.raises(InvalidCapsule, match="more than once"):
        Capsule.parse(text_of()).edit(identity="I am.\n## Tools\nmine")


HEADINGS = st.sampled_from(
    [f"## {title(name)}" for name in NAMES] + ["# Capsule", "## Other", "```", "~~~~", "## ", "text", ""]
)


@given(st.lists(HEADINGS | st.text(max_size=20), max_size=40).map("\n".join))
def test_any_text_is_refused_or_given_back_to_the_byte(text):
    try:
        capsule = Capsule.parse(text)
    except InvalidCapsule:
        return
    assert str(capsule) == text or not all(section.body for section in capsule.sections)
    assert Capsule.parse(str(capsule)) == capsule


@given(st.permutations(NAMES), st.lists(st.text(max_size=30), min_size=8, max_size=8))
def test_sections_of_any_text_are_given_back_to_the_byte(names, bodies):
    text = "# Capsule\n" + "".join(f"## {title(n)}\n-{b}\n" for n, b in zip(names, bodies, strict=True))
    assert str(Capsule.parse(text)) == text


@given(st.lists(HEADINGS | st.text(max_size=20), max_size=20).map("\n".join), st.sampled_from(WRITTEN))
def test_a_capsule_with_a_section_filled_in_is_read_back_as_it_was(text, name):
    try:
        capsule = Capsule.parse(f"# Capsule\n{text}").edit(**{name: "mine"})
    except InvalidCapsule:
        return
    assert Capsule.parse(str(capsule), budgets={}) == capsule


def test_a_section_of_ones_own_may_stand_first():
    capsule = Capsule.parse("# Capsule\n## My notes\nhello\n## Tools\nhammer")
    assert [section.name for section in capsule.sections][:3] == ["header", "My notes", "tools"]
    assert str(capsule.edit(key_contacts="Carla")).endswith("hammer\n\n## Key contacts\n\nCarla\n\n")


def test_one_endless_line_is_refused_at_once():
    assert "characters" in problem_of(text_of(tools="## " + " " * 10_000_000))
    assert Capsule.parse(text_of(tools="## " + " " * 50_000 + "x"))


@pytest.mark.parametrize("body", [None, 5, b"x", ["x"]])
def test_a_section_that_is_no_text_is_refused(body: object) -> None:
    with pytest.raises(InvalidInput, match="identity"):
        Capsule(()).edit(identity=body)  # type: ignore[arg-type]
