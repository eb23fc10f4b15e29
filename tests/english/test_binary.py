import base64

import pytest

from tidal_plugins.english.pasted import is_binary, without_binary

DATA = bytes(range(256)) * 10


@pytest.mark.parametrize(
    "data",
    [
        base64.b64encode(DATA).decode(),
        base64.urlsafe_b64encode(DATA).decode(),
        base64.encodebytes(DATA).decode().strip(),
        "data:image/png;base64," + base64.b64encode(DATA).decode(),
        DATA.hex(),
    ],
)
def test_binary_data_is_left_out_of_a_text(data):
    assert (
        without_binary(f"The chart of May:\n{data}\nand its caption.").split()
        == "The chart of May: and its caption.".split()
    )
    assert is_binary(data)
    assert not is_binary(f"The chart of May:\n{data}")


@pytest.mark.parametrize(
    "text",
    [
        "Knead the dough, and let it rest for an hour.",
        "https://harbour.example/tides/2026/05/high-water/pier-7?unit=cm&zone=Europe/Lisbon#noon " * 3,
        "src/tides/gauges/readers/harbour/pier/seven/high_water_at_noon_and_low_water_at_six.py",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
        "潮位は正午に最も高くなります。" * 40,
        "a,b,c,1,2,3\n" * 100,
    ],
)
def test_words_addresses_paths_and_hashes_stay(text):
    assert without_binary(text) == text
    assert not is_binary(text)
