"""Hashing against the golden vectors, which are a file format."""

import json
from pathlib import Path

import pytest

from smkc.paper.sketch import hash_identifier, hash_names
from smkc.paper.sketch.hashing import CACHED_IDENTIFIERS

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
GOLDEN = json.loads((ROOT / "tests" / "golden" / "hashes.json").read_text(encoding="ascii"))


@pytest.mark.parametrize("width", [32, 64, 128, 256, 512])
def test_hashes_equal_the_golden_vectors(width):
    names = [entry["identifier"] for entry in GOLDEN]
    actual = hash_names(names, width)
    for stream, buckets, signs in (
        ("val", actual.value_bucket, actual.value_sign),
        ("pres", actual.presence_bucket, actual.presence_sign),
    ):
        assert buckets.tolist() == [entry[stream]["buckets"][str(width)] for entry in GOLDEN]
        assert signs.tolist() == [entry[stream]["sign"] for entry in GOLDEN]


def test_one_identifier_at_a_time_gives_the_same_numbers():
    for entry in GOLDEN:
        expected = (
            entry["val"]["buckets"]["128"],
            entry["val"]["sign"],
            entry["pres"]["buckets"]["128"],
            entry["pres"]["sign"],
        )
        assert hash_identifier(entry["identifier"], 128) == expected


def test_the_cache_is_bounded_however_many_names_come_by():
    hash_names([f"pod-{i}" for i in range(CACHED_IDENTIFIERS + 5_000)], 128)
    assert hash_identifier.cache_info().currsize <= CACHED_IDENTIFIERS


def test_no_names_give_no_hashes():
    assert hash_names([], 8).value_bucket.shape == (0,)
