from itertools import pairwise

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tidal_plugins.english.sentences import sentences
from tidal_plugins.scoring.text import stems, terms

LETTERS = "aZé ßİωЯש ع कि東京ひカ가ไทยᄀ0٣ _-.'’/@:#+,😀\u0301\u200b\u00ad"
texts = st.text(alphabet=LETTERS, max_size=60) | st.text(max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The user's new bicycle", ["user", "new", "bicycle"]),
        ("It’s O'Brien's, isn't it?", ["o", "brien"]),
        ("I don't know why we can't and they won't", ["know"]),
        ("Who won? Don won in May", ["won", "don", "won", "may"]),
        ("the the piano, the PIANO", ["piano", "piano"]),
        ("calculate_tax_liability", ["calculatetaxliability", "calculate", "tax", "liability"]),
        ("billing.core.ledger", ["billing", "core", "ledger"]),
        ("src/report/build.py", ["src", "report", "build", "py"]),
        ("parseConfigFile", ["parseconfigfile", "parse", "config", "file"]),
        ("HTTPServer URLs APIs", ["httpserver", "http", "server", "urls", "apis"]),
        ("v1.2.3", ["123", "1", "2", "3"]),
        ("ERR_42", ["err42", "err", "42"]),
        ("C++, C#, F# and g++", ["cpp", "csharp", "fsharp", "gpp"]),
        ("e-mail", ["email", "e", "mail"]),
        ("jo.smith@example.org", ["jo", "smith", "example", "org"]),
        ("https://www.example.org/guide?page=2", ["example", "org", "guide", "page", "2"]),
        ("HTTP 404", ["http", "404"]),
        ("at 10:30 on 2031-05-07", ["10", "30", "20310507", "2031", "05", "07"]),
        ("Straße ｆｕｌｌ ﬁne ①", ["strasse", "full", "fine", "1"]),
        ("爵士", ["爵士"]),
        ("猫", ["猫"]),
        ("猫がいる", ["猫が", "がい", "いる", "猫"]),
        ("LINEで送信", ["line", "で送", "送信"]),
        ("한국어를", ["한국", "국어", "어를"]),
        ("ﾊﾟﾝ", ["パン"]),
        ("I am the one", []),
        ("😀 🎉 !!! --- …", []),
        ("", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("query", "stored"),
    [
        ("tax", "call calculate_tax_liability() first"),
        ("calculate_tax_liability", "the tax liability is calculated by calculate_tax_liability"),
        ("calculateTaxLiability", "calculate_tax_liability"),
        ("javascript", "JavaScript"),
        ("JavaScript", "javascript"),
        ("1.2.3", "v1.2.3"),
        ("err42", "ERR_42"),
        ("wifi", "Wi-Fi"),
        ("build", "see src/report/build.py"),
        ("住んで", "東京都に住んでいます"),
        ("東京", "東京都に住んでいます"),
        ("爵士", "我喜欢爵士音乐"),
        ("猫", "私は猫が好き"),
        ("ไทย", "ประเทศไทย"),
        ("cafe\u0301", "café"),
        ("हिन्दी", "मैं हिन्दी बोलता हूँ"),
    ],
)
def test_a_query_shares_terms_with_what_it_should_find(query: str, stored: str) -> None:
    assert set(terms(query)) & set(terms(stored))


@pytest.mark.parametrize(
    "forms",
    [
        "use uses used using",
        "plan plans planned planning",
        "try tries tried trying",
        "buy buys bought buying",
        "booking booked books",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len(set(stems(forms))) == 1


def test_other_stop_words_can_be_given() -> None:
    assert terms("The piano", stop=frozenset({"piano"})) == ["the"]


@given(texts)
def test_terms_are_letters_and_digits_of_bounded_length(text: str) -> None:
    assert all(term.isalnum() and len(term) <= 64 for term in terms(text))


@given(st.text(alphabet="aZb1 _-.'/@:#+,", max_size=30), st.text(alphabet=LETTERS, max_size=30))
def test_a_word_gives_the_same_terms_whatever_stands_around_it(left: str, right: str) -> None:
    assert terms(f"{left}\n{right}") == terms(left) + terms(right)


@settings(max_examples=50)
@given(st.text(alphabet=LETTERS, min_size=1, max_size=60))
def test_fts5_keeps_every_term_as_one_token(text: str) -> None:
    found = terms(text)
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'unicode61 remove_diacritics 0')")
    db.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab (t, 'instance')")
    db.execute("INSERT INTO t VALUES (?)", (" ".join(found),))
    assert db.execute("SELECT count(*) FROM tokens").get == len(found)


@pytest.mark.parametrize(
    "unit",
    ["a", "aB", "a-", "_a", "1.", "'", "n't ", "C#", "e\u0300\u0316", "\u0300\uff9e", "漢", "://", "\u00ad", " "],
)
def test_terms_of_a_hostile_text_take_linear_time(unit: str) -> None:
    assert grows_linearly(terms, lambda chars: unit * (chars // len(unit)), 100_000)


@pytest.mark.parametrize(
    "expected",
    [
        ["One thing.", "Another thing!", "A third?", "the fourth"],
        ["Dr. Lee met J. K. Moss at 5 p.m. on Jan. 5.", "They spoke, e.g. about U.S. law, etc. at length."],
        ["It costs 3.50 at shop.example.org/a.html?x=1 today.", "Use v1.2.3 of setup.py."],
        ['"Go!" he said.', "(So we went.)", "Well... maybe not… who knows."],
        ["See fig. 3 and no. 7.", "No.", "It is not."],
        ["i went home.", "it was late"],
        ["Really?!", "Yes."],
        ["**Note.**", "Read this."],
    ],
)
def test_sentences(expected: list[str]) -> None:
    text = " ".join(expected)
    assert [text[start:end] for start, end in sentences(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今日は晴れ。明日は？多分雨！", ["今日は晴れ。", "明日は？", "多分雨！"]),
        ("「元気？」そう。", ["「元気？」", "そう。"]),
        ("Title\n\nBody text\n\n\nEnd", ["Title", "Body text", "End"]),
        ("1. Open it\n2. Close it", ["1. Open it", "2. Close it"]),
        ("To do:\n- bread\n- milk", ["To do:", "- bread", "- milk"]),
        ("Name: Kim\nCity: Oslo", ["Name: Kim", "City: Oslo"]),
        (
            "this line is long enough to have been wrapped by a program\nbefore it ended. Short.",
            ["this line is long enough to have been wrapped by a program\nbefore it ended.", "Short."],
        ),
        ("  \n\t ", []),
        ("", []),
    ],
)
def test_sentences_in_other_scripts_and_layouts(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


@given(st.text(alphabet="aB1 .!?…。」\"'\n-#\t\x85", max_size=80) | st.text(max_size=80))
def test_sentences_are_in_order_and_cover_all_but_white_space(text: str) -> None:
    spans = sentences(text)
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())


@pytest.mark.parametrize("unit", [".", ". ", '."', "…", "1. ", "e.g. ", "\n", " ", "a.\n", "\n "])
def test_sentences_of_a_hostile_text_take_linear_time(unit: str) -> None:
    assert grows_linearly(sentences, lambda chars: unit * (chars // len(unit)) + "a", 100_000)
