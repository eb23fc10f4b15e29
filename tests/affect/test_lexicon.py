from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tests.sentences import sentences
from tidal_plugins import Affect, LexiconEmotion, TidalError
from tidal_plugins.affect import lexicon
from tidal_plugins.affect.lexicon import READ_CHARS

SENTENCES = sentences(__file__)

UPSET = SENTENCES["upset"]
ELATED = SENTENCES["elated"]
CALM = SENTENCES["calm"]
DETAILS = "The job started at nine and wrote two files to the archive. Then it read the third one from the disk. "


def estimate(text: str) -> Affect:
    return LexiconEmotion().estimate([text])[0]


def test_strong_feelings_are_intense_and_calm_texts_are_calm() -> None:
    for texts, sign in ((UPSET, -1), (ELATED, 1)):
        for text in texts:
            affect = estimate(text)
            assert affect.valence * sign > 0, text
            assert affect.intensity > 0.5, text
    assert [text for text in CALM if estimate(text).intensity >= 0.3] == []
    assert 0 < estimate("Thank you, that helps.").intensity < 0.5
    assert abs(estimate("It was a bad trip.").valence) > estimate("It was a good trip.").valence
    sentence = "That is a good plan and I like the idea. "
    assert estimate(sentence * 40).intensity == pytest.approx(estimate(sentence).intensity), "length alone is nothing"
    complaint = "I am furious, you destroyed my horrible week's work. "
    assert estimate(DETAILS + complaint + DETAILS).valence < estimate(complaint).valence / 5  # one sentence of five


EMPHASIS = SENTENCES["emphasis"]
NEGATED = {"I like it.": 1, "I don't like it.": -1, "I don’t like it.": -1, "Not bad at all.": 1, "No problem.": 0}


def test_emphasis_raises_arousal_and_negation_turns_the_sign() -> None:
    assert [calmer for calmer, livelier in EMPHASIS if estimate(livelier).arousal <= estimate(calmer).arousal] == []
    found = {text: estimate(text).valence for text in NEGATED}
    assert {text: (valence > 0) - (valence < 0) for text, valence in found.items()} == NEGATED


def test_a_long_text_is_read_at_its_beginning_and_its_end() -> None:
    filler = DETAILS * (2 * READ_CHARS // len(DETAILS))
    assert estimate("I hate this. " + filler).valence < 0
    assert estimate(filler + " I hate this.").valence < 0
    assert estimate(filler + "I hate this. " + filler) == Affect()


def test_texts_without_english_words_are_neutral() -> None:
    for text in ("", " \n\t ", "…", "12 345", "\0", "\ud800", "日本語のテキスト。"):
        assert estimate(text) == Affect()


@given(st.text(max_size=300) | st.lists(st.sampled_from([*UPSET, *ELATED, *CALM, "!!!", "\n", "😁"])).map(" ".join))
def test_every_text_stays_within_the_ranges(text: str) -> None:
    affect = estimate(text)
    assert -1 <= affect.valence <= 1
    assert 0 <= affect.arousal <= 1
    assert affect.emotions is None


@pytest.mark.parametrize("unit", ["not good ", "hate.\n", "!", "a", "😁", "😁 ", "but "])
def test_time_is_bounded_whatever_the_text(unit: str) -> None:
    assert grows_linearly(estimate, lambda chars: unit * (chars // len(unit)), 200_000)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vaderSentiment.vaderSentiment", None)
    lexicon._analyzer.cache_clear()
    with pytest.raises(TidalError, match="pip install vaderSentiment"):
        LexiconEmotion().estimate(["Hello"])


@pytest.mark.slow
def test_the_library_is_imported_at_first_use_and_warns_of_nothing() -> None:
    code = (
        "import sys; from tidal_plugins.affect.lexicon import LexiconEmotion; estimator = LexiconEmotion(); "
        "assert 'vaderSentiment' not in sys.modules and 'numpy' not in sys.modules; "
        "assert estimator.estimate(['I love it'])[0].valence > 0"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
