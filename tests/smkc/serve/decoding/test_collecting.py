"""Readings are gathered within limits, under names that everybody can write down."""

import pytest
from tests.smkc.serve.decoding.refusals import refused

from smkc.serve.config import Limits
from smkc.serve.decoding.collecting import LONGEST_NAME, Collector, series_name


def test_what_is_gathered():
    collector = Collector(Limits())
    for name, time, value in (("a", 3, 0.5), ("b", 1, 1.5), ("a", 2, 2.5)):
        collector.add(collector.code(name), time, value)
    samples = collector.samples()
    assert samples.names == ("a", "b")
    assert samples.codes.tolist() == [0, 1, 0]
    assert samples.times.tolist() == [3, 1, 2]
    assert samples.values.tolist() == [0.5, 1.5, 2.5]


def test_the_number_of_samples_is_bounded():
    collector = Collector(Limits(samples_per_request=2))
    collector.add(0, 0, 0.0)
    collector.add(0, 1, 0.0)
    with refused(413, "2 samples"):
        collector.add(0, 2, 0.0)


def test_names_are_bounded_each_and_together():
    collector = Collector(Limits(decoded_bytes=100))
    for _ in range(9):
        collector.code("a" * 60)
    with refused(413, "100 letters"):
        collector.code("b" * 60)
    with refused(400, "characters or more"):
        Collector(Limits()).code("a" * (LONGEST_NAME + 1))


@pytest.mark.parametrize("time", [2**63, -(2**63) - 1])
def test_times_are_whole_numbers_of_64_bits(time):
    with refused(400, "not a time"):
        Collector(Limits()).add(0, time, 0.0)


def test_half_a_letter_is_no_name():
    with refused(400, "lone surrogate"):
        Collector(Limits()).code("a\ud800")


def test_a_series_is_named_by_its_labels():
    assert series_name([("b", "2"), ("__name__", "m"), ("a", "1")]) == 'm{a="1",b="2"}'
    with refused(400, "twice"):
        series_name([("a", "1"), ("a", "1")])
