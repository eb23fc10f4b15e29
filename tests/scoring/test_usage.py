from __future__ import annotations

import pytest

from tidal_plugins.scoring.usage import cites, echoes
from tidal_plugins.tuning import UseTuning

USE = UseTuning()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("As you said [ep:6k1m0aaaaaaaa].", True),
        ("[mem:7abcdefghjkmn] says so", True),
        ("See 7abcdefghjkmn", True),
        ("See 7abcdefghjkmnx", False),  # another id
        ("Nothing of the kind [ep:000]", False),
        ("", False),
    ],
)
def test_an_answer_cites_by_whole_ids(answer: str, expected: bool) -> None:
    assert cites(answer, {"6k1m0aaaaaaaa", "7abcdefghjkmn"}) is expected


@pytest.mark.parametrize(
    ("question", "entry", "answer", "expected"),
    [
        # told: play, jazz, piano; said: jazz, piano, scales, slowly; 2 of min(3, 4)
        ("What should I practise?", "I play jazz piano", "Practise jazz piano scales slowly.", True),
        # one of three words is chance
        ("What should I practise?", "I play jazz piano", "Play outside with friends.", False),
        # the question had jazz and piano already: only «play» is left to tell
        ("How do I start with jazz piano?", "I play jazz piano", "Begin with jazz piano voicings.", False),
        # all that the entry adds
        ("What is my dog called?", "My dog is called Rex", "Rex!", True),
        ("What is my dog called?", "My dog is called Rex", "I do not know.", False),
        # two of twelve words of the entry, but two of the answer's three
        (
            "Where do I live?",
            "Moved from Berlin to a small flat in Lisbon near the river Tagus with two cats and plants last spring",
            "Lisbon, near Tagus!",
            True,
        ),
        # two common words in a long answer about something else: 2 of 8
        (
            "Tell me a story",
            "Our build server keeps failing because disk space runs out weekly",
            "A dragon lived in space and guarded a disk of gold, fearing knights, thunder, winter.",
            False,
        ),
        ("q", "the of and", "the of and", False),  # stop words say nothing
        ("Do I play?", "Yes, thanks, jazz", "Yes. Thanks!", False),  # nor do pleasantries
        ("Where do I live?", "I moved to Lisbon with two cats", "Lisbon.", True),  # it says nothing else
        ("Where do I live?", "I moved to Lisbon with two cats", "Lisbon or Porto, who knows?", False),
        ("Is the bridge down?", "The bridge is down today", "I have no idea about today.", False),  # one word is chance
        ("Capital of Spain?", "Lisbon", "Not Lisbon, it is Madrid.", False),
        ("What tea?", "I like strong coffee in the morning", "In the morning, unlike strong coffee, mint.", False),
        ("May I deploy?", "Never deploy on friday evenings", "Do not do so on friday evenings.", True),  # both deny
        ("q", "", "", False),
        ("私は?", "東京都に住んでいます", "東京都ですね", True),
    ],
)
def test_an_answer_echoes_what_only_the_memory_could_tell(
    question: str, entry: str, answer: str, expected: bool
) -> None:
    assert echoes(answer, question, entry, words=USE.echo_words, share=USE.echo_share) is expected


@pytest.mark.parametrize(("share", "expected"), [(0.5, True), (0.51, False)])
def test_the_share_is_of_the_shorter_of_both(share: float, expected: bool) -> None:
    # told: alpha beta gamma delta (4); said: alpha beta one two three (5): 2 of 4
    assert echoes("alpha beta uno due tre", "q", "alpha beta gamma delta", words=2, share=share) is expected


@pytest.mark.parametrize(("words", "expected"), [(1, True), (2, True), (3, False)])
def test_fewer_words_than_asked_for_are_chance(words: int, expected: bool) -> None:
    assert echoes("alpha beta uno due", "q", "alpha beta gamma delta", words=words, share=0.3) is expected
