"""List the scripts that put no space between words; an English text may quote them."""

from __future__ import annotations

UNSPACED = (
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"  # iteration mark, Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u0e00-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
)
"""Characters of the scripts that put no white space between words, as the inside of a character class."""
