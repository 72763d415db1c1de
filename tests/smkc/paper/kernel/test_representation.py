"""Descriptions of representations: read, written back, measured, refused."""

import pytest

from smkc.errors import SettingError
from smkc.paper.kernel import CHANNELS, Representation

# The paper's scaling table (L = 64, m = 128): variant and length of its flat vector.
PAPER = [
    ("log3 band(8)", 1536),
    ("log3 band(4)", 768),
    ("log3 image", 12288),
    ("full proj(128) image", 24576),
    ("full image", 24576),
    ("full proj(64) image", 24576),
    ("log3 anchor(16)", 3072),
    ("log3 anchor(8)", 1536),
    ("base2 image", 8192),
    ("full down(16) image", 1536),
    ("seq", 16384),
]


@pytest.mark.parametrize(("text", "n_features"), PAPER)
def test_feature_counts_are_those_of_the_papers_table(text, n_features):
    assert Representation.parse(text).n_features(window=64, width=256) == n_features


@pytest.mark.parametrize("text", [text for text, _ in PAPER] + ["cos_g+log_abs band(2)"])
def test_written_back_a_description_reads_the_same(text):
    parsed = Representation.parse(text)
    assert Representation.parse(str(parsed)) == parsed


def test_words_come_in_any_order_and_case():
    expected = Representation.parse("log3 proj(64) band(4)")
    assert Representation.parse("BAND(4), proj(64), Log3") == expected


def test_channels_keep_the_papers_order_however_they_are_named():
    assert Representation.parse("log_abs+cos_g image").channels == ("cos_g", "log_abs")
    assert Representation.parse("image").channels == CHANNELS


@pytest.mark.parametrize(
    "text", ["log4", "band", "band(0)", "band(-1)", "band(x)", "log3(2)", "image(3)", "cos_g+nose"]
)
def test_an_unknown_word_is_named(text):
    with pytest.raises(SettingError, match="is not known; use"):
        Representation.parse(text)
