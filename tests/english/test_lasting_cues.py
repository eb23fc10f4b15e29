"""The cues of what must not fade only save time: none of them may hide a sentence that has the form."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidal_plugins.english.lasting import FORMS, Form


@pytest.mark.parametrize("form", FORMS, ids=[form.kind for form in FORMS])
def test_every_sentence_of_a_form_has_one_of_its_cues(form: Form) -> None:
    @settings(derandomize=True, max_examples=60, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(re.compile(form.pattern.pattern, form.pattern.flags)))
    def check(sentence: str) -> None:
        if form.pattern.search(sentence.lower()):
            assert any(cue in sentence.lower() for cue in form.cues)

    check()
